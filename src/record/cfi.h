/* cfi.h: a fast walk of the stack by call frame information. Only stack.c and its test include this.
 *
 * What always holds: a walk is a function of the starting registers and of the words that it says it
 * read (each frame's return address and saved frame pointer). So, as long as nothing was unloaded, a
 * later walk from equal registers over equal words is the same walk: rec_walk_same tells, without
 * looking anything up.
 */
#ifndef RECORD_CFI_H
#define RECORD_CFI_H

#include <stdbool.h>
#include <stdint.h>

struct rec_registers {
	uint64_t pc, sp, bp; /* pc is a return address; sp as it is once that has been popped */
};

struct rec_step { /* out of one frame into its caller */
	uint64_t pc;  /* the return address … */
	uint64_t at;  /* … which stands here */
	uint64_t bp;  /* the caller's frame pointer … */
	uint64_t bp_at; /* … which stands here; 0 = it was not saved, it is unchanged */
};

/* The walk from start: out[0] is the step out of start's frame. At most max steps. Returns their number, or
 * -1 if a frame cannot be walked this way (the caller asks libunwind then). *ended: the stack's root was
 * reached. */
int rec_cfi_walk(struct rec_registers start, struct rec_step *out, int max, bool *ended);

bool rec_cfi_root(uint64_t pc); /* is this return address in a stack's outermost frame, as far as is known? */

/* Are the words that a walk read still the same? */
static inline bool rec_walk_same(const struct rec_step *s, int n)
{
	int i;

	for (i = 0; i < n; i++)
		if (*(const uint64_t *)(uintptr_t)s[i].at != s[i].pc ||
		    (s[i].bp_at && *(const uint64_t *)(uintptr_t)s[i].bp_at != s[i].bp))
			return false;
	return true;
}

void rec_cfi_flush(void); /* something was unloaded: forget what is known of its code */

#endif
