/* test_top.c: the layout of top: what fits, what is cut, what comes first. */
#include "base/mem.h"
#include "render/top.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void add_process(struct top *t, int pid, uint64_t used, const char *command)
{
	*VEC_PUSH(t->processes, t->n_processes, t->cap_processes) =
		(struct top_process){.pid = pid, .gpu = 0, .command = mem_strdup(command), .used = used,
				     .live = MODEL_UNKNOWN, .peak = MODEL_UNKNOWN, .per_minute = TOP_UNKNOWN};
}

static void add_recorded(struct top *t, int pid, uint64_t live, size_t sites)
{
	struct top_process *p;
	size_t i;

	add_process(t, pid, live * 2, "train");
	p = &t->processes[t->n_processes - 1];
	p->recorded = true;
	p->live = p->active = live;
	p->reserved = live * 2;
	p->external = NAN;
	p->per_minute = -1024;
	p->sites = mem_zalloc(sites, sizeof *p->sites);
	for (i = 0; i < sites; i++)
		p->sites[p->n_sites++] = (struct top_site){mem_printf("site %zu", i), live, 1, 2048};
	t->n_recorded++;
}

static struct top machine(void)
{
	struct top t = {0};

	*VEC_PUSH(t.gpus, t.n_gpus, t.cap_gpus) = (struct top_gpu){
		.name = "A very long name of a graphics processor", .total = 1 << 30, .used = 1 << 29, .free = 1 << 29, .busy = -1};
	add_process(&t, 10, 100, "b");
	add_process(&t, 11, MODEL_UNKNOWN, "c");
	add_recorded(&t, 12, 4096, 30);
	add_process(&t, 13, 200, "/usr/bin/\033[31mevil\n\xff name");
	return t;
}

static size_t lines(const struct text *t)
{
	size_t i, n = 1;

	for (i = 0; i < t->n; i++)
		n += t->s[i] == '\n';
	return n;
}

static size_t widest(const struct text *t)
{
	size_t i, width = 0, most = 0;

	for (i = 0; i < t->n; i++) {
		width = t->s[i] == '\n' ? 0 : width + ((t->s[i] & 0xc0) != 0x80);
		most = width > most ? width : most;
	}
	return most;
}

static void every_screen_size_is_filled_and_not_exceeded(void **state)
{
	struct top t = machine();
	struct text out = {0};
	struct top_look look = {.utf8 = true};

	(void)state;
	top_sort(&t, TOP_BY_USED);
	for (look.height = 6; look.height < 50; look.height++)
		for (look.width = 20; look.width < 200; look.width += 9) {
			out.n = 0;
			top_text(&out, &t, &look);
			assert_int_equal(lines(&out), look.height);
			assert_true(widest(&out) <= look.width);
		}
	text_free(&out);
	top_free(&t);
}

static void orders_put_the_most_first_and_the_unknown_last(void **state)
{
	struct top t = machine();

	(void)state;
	top_sort(&t, TOP_BY_USED);
	assert_int_equal(t.processes[0].pid, 12);
	assert_int_equal(t.processes[1].pid, 13);
	assert_int_equal(t.processes[2].pid, 10);
	assert_int_equal(t.processes[3].pid, 11);
	top_sort(&t, TOP_BY_PID);
	assert_int_equal(t.processes[0].pid, 10);
	top_sort(&t, TOP_BY_GROWTH);
	assert_int_equal(t.processes[0].pid, 12);
	top_free(&t);
}

static void names_of_others_cannot_control_the_terminal(void **state)
{
	struct top t = machine();
	struct text out = {0};
	struct top_look look = {.width = 200, .utf8 = true};

	(void)state;
	top_text(&out, &t, &look);
	text_add(&out, "", 1);
	assert_null(strchr(out.s, '\033'));
	assert_non_null(strstr(out.s, "?[31mevil?? name"));
	text_free(&out);
	top_free(&t);
}

static void figures_stand_in_their_columns(void **state)
{
	struct top t = machine();
	struct text out = {0};
	struct top_look look = {.width = 80, .order = TOP_BY_PID};

	(void)state;
	top_sort(&t, TOP_BY_PID);
	top_text(&out, &t, &look);
	text_add(&out, "", 1);
	assert_non_null(strstr(out.s, "\n0   A very long name of a~ 512.00 MiB 512.00 MiB   1.00 GiB #####....  50%    -\n"));
	assert_non_null(strstr(out.s, "\n     11   0          -          -           -    -    - c\n"));
	assert_non_null(strstr(out.s, "\n     12   0   8.00 KiB   4.00 KiB   -1.00 KiB  50%    0 train\n"));
	assert_non_null(strstr(out.s, "\n    4.00 KiB         1   +2.00 KiB site 4\n"));
	assert_null(strstr(out.s, "site 5"));
	text_free(&out);
	top_free(&t);
}

int main(void)
{
	const struct CMUnitTest top[] = {
		cmocka_unit_test(every_screen_size_is_filled_and_not_exceeded),
		cmocka_unit_test(orders_put_the_most_first_and_the_unknown_last),
		cmocka_unit_test(names_of_others_cannot_control_the_terminal),
		cmocka_unit_test(figures_stand_in_their_columns),
	};
	return cmocka_run_group_tests(top, NULL, NULL);
}
