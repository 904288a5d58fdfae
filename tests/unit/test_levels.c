/* test_levels.c: stacks made coarser lose no bytes and say what they stand for. */
#include "analyze/levels.h"
#include "base/mem.h"
#include "models.h"

static uint32_t python_stack(struct model *m)
{
	static const struct {
		const char *function, *file, *module;
	} frame[] = {
	    {"c10::alloc", "", "/opt/libc10.so"},
	    {"empty", "", "/opt/libc10.so"},
	    {"forward", "/venv/lib/python3.12/site-packages/torch/nn/modules/linear.py", ""},
	    {"_call_impl", "/venv/lib/python3.12/site-packages/torch/nn/modules/module.py", ""},
	    {"run", "/usr/lib/python3.12/runpy.py", ""},
	    {"<module>", "/home/me/train.py", ""},
	    {"main", "Programs/python.c", ""},
	};
	uint32_t id[7];

	for (size_t i = 0; i < 7; i++)
		id[i] = model_frame(m, &(struct frame){.function = model_cstring(m, frame[i].function),
		                                       .file = model_cstring(m, frame[i].file),
		                                       .module = model_cstring(m, frame[i].module),
		                                       .line = (uint32_t)i});
	return model_stack(m, id, 7);
}

/* The names along the first children, from the root. */
static void assert_path(const struct flame *f, const char *const *want)
{
	uint32_t node = f->node[0].child;

	for (; *want; want++, node = f->node[node].child) {
		assert_int_not_equal(node, 0);
		assert_string_equal(model_text(f->m, f->m->frames.v[f->node[node].frame].function), *want);
	}
	assert_int_equal(node, 0);
}

static void tree_of(struct flame *f, struct levels *l, struct model *m, enum level level, bool phases,
                    bool reverse)
{
	flame_begin(f, m, &(struct flame_options){.reverse = reverse});
	levels_make(l, m, level, phases, reverse);
	levels_fill(l, f, 0, m->ev.n - 1, false, false);
	flame_build(f, 1);
}

static void calls_within_a_file_or_module_are_one_box(void **state)
{
	static const char *const files[] = {"Programs/python.c",
	                                    "me/train.py",
	                                    "python3.12/runpy.py",
	                                    "modules/module.py",
	                                    "modules/linear.py",
	                                    "libc10.so",
	                                    NULL};
	/* the interpreter's nameless frames are no module */
	static const char *const modules[] = {"train.py", "Python", "torch", "libc10.so", NULL};
	struct model m;
	struct levels l;
	struct flame f;

	(void)state;
	model_init(&m, "test");
	uint32_t stack = python_stack(&m), frames = (uint32_t)m.frames.n;
	put(&m, GMS_K_DEVICE, GMS_A_ALLOC, .addr = 0x1000, .size = 100, .stack = stack);
	model_link(&m);
	tree_of(&f, &l, &m, LEVEL_FILE, false, false);
	assert_path(&f, files);
	assert_int_equal(f.node[0].total, 100);
	/* what a coarse frame stands for is a frame of the recording */
	for (size_t i = 1; i < f.n; i++) {
		assert_true(f.node[i].frame >= frames);
		assert_true(levels_original(&l, f.node[i].frame) < frames);
	}
	flame_free(&f);
	levels_free(&l);
	tree_of(&f, &l, &m, LEVEL_MODULE, false, false);
	assert_path(&f, modules);
	flame_free(&f);
	levels_free(&l);
	model_free(&m);
}

static void add_phase(struct model *m, const char *name, int64_t begin, int64_t end)
{
	*VEC_PUSH(m->phases, m->n_phases, m->cap_phases) = (struct phase){
	    .name = model_cstring(m, name), .device = MODEL_NO_DEVICE, .begin_ns = begin, .end_ns = end};
}

static void phases_nest_at_the_root_and_every_block_is_in_one(void **state)
{
	static const char *const nested[] = {"step", "forward", "main", "f", NULL};
	static const char *const reversed[] = {"step", "forward", "f", "main", NULL};
	struct model m;
	struct levels l;
	struct flame f;

	(void)state;
	model_init(&m, "test");
	add_phase(&m, "forward", 120, 150);
	add_phase(&m, "step", 100, 200);
	uint32_t stack = site(&m, "f", "main");
	put(&m, GMS_K_DEVICE, GMS_A_ALLOC, .t_ns = 50, .addr = 0x1000, .size = 10, .stack = stack);
	put(&m, GMS_K_DEVICE, GMS_A_ALLOC, .t_ns = 110, .addr = 0x2000, .size = 20, .stack = stack);
	put(&m, GMS_K_DEVICE, GMS_A_ALLOC, .t_ns = 130, .addr = 0x3000, .size = 400, .stack = stack);
	put(&m, GMS_K_DEVICE, GMS_A_ALLOC, .t_ns = 160, .addr = 0x4000, .size = 80, .stack = stack);
	put(&m, GMS_K_DEVICE, GMS_A_FREE, .t_ns = 170, .addr = 0x4000);
	model_link(&m);
	tree_of(&f, &l, &m, LEVEL_FUNCTION, true, false);
	assert_path(&f, nested);
	assert_int_equal(f.node[0].total, 430);
	assert_int_equal(f.node[f.node[0].child].total, 420);
	uint32_t outside = f.node[f.node[0].child].next;
	assert_string_equal(model_text(&m, m.frames.v[f.node[outside].frame].function),
	                    "(outside any phase)");
	assert_int_equal(f.node[outside].total, 10);
	assert_int_equal(levels_original(&l, f.node[outside].frame), LEVELS_PHASE);
	flame_free(&f);
	levels_free(&l);
	tree_of(&f, &l, &m, LEVEL_FUNCTION, true, true);
	assert_path(&f, reversed);
	flame_free(&f);
	/* all that was allocated, freed blocks too */
	flame_begin(&f, &m, &(struct flame_options){0});
	levels_fill(&l, &f, 0, 0, true, true);
	assert_int_equal(f.total, 4);
	flame_free(&f);
	levels_free(&l);
	model_free(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(calls_within_a_file_or_module_are_one_box),
	    cmocka_unit_test(phases_nest_at_the_root_and_every_block_is_in_one),
	};

	return cmocka_run_group_tests_name("levels", tests, NULL, NULL);
}
