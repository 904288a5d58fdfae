/* carry.h: a new program's environment, so that it is recorded as this one is. Only exits.c and init.c include this. */
#ifndef RECORD_CARRY_H
#define RECORD_CARRY_H

#include <stdbool.h>
#include <stddef.h>

#define CARRIED 8 /* variables */

void rec_carry_init(void); /* once, after the options were read */

/* What an environment has and lacks. */
struct rec_carry {
	size_t n;	    /* strings in it */
	size_t at[CARRIED]; /* which of them is the variable, from 1 on; 0: it is not there */
	bool has[CARRIED], lacks;
	size_t bytes; /* room for the strings that it needs */
};
bool rec_carry_lacks(char *const envp[], struct rec_carry *c);
/* envp with what it lacks, in env, which has room for n + CARRIED + 1 pointers, and `to`, for `bytes`. */
char *const *rec_carry_mend(char *const envp[], const struct rec_carry *c, char **env, char *to);

/* The same for a command of system() or popen(): the room it needs, 0 if it may stay as it is. */
size_t rec_carry_command_bytes(const char *command);
const char *rec_carry_command(const char *command, char *to, size_t bytes);

#endif
