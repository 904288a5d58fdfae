/* test_frames.c: where a person starts reading a stack, and what frames are called. */
#include "analyze/frames.h"
#include "models.h"

struct f {
	const char *function, *file, *module;
	uint32_t line;
};

static uint32_t stack_of(struct model *m, const struct f *f, size_t n)
{
	uint32_t id[32];
	size_t i;

	for (i = 0; i < n; i++)
		id[i] =
		    model_frame(m, &(struct frame){.function = model_cstring(m, f[i].function),
		                                   .file = model_cstring(m, f[i].file),
		                                   .module = model_cstring(m, f[i].module ? f[i].module : ""),
		                                   .line = f[i].line});
	return model_stack(m, id, n);
}

/* The labels of the frames shown, joined by " < ". */
static const char *shown(const struct f *f, size_t n)
{
	static struct text t;
	struct model m;
	size_t at[4], k, i, depth;
	uint32_t stack;
	const uint32_t *frame;

	model_init(&m, "test");
	stack = stack_of(&m, f, n);
	k = frames_shown(&m, stack, at, 4);
	frame = model_stack_frames(&m, stack, &depth);
	text_free(&t);
	text_puts(&t, "");
	for (i = 0; i < k; i++) {
		text_puts(&t, i ? " < " : "");
		frames_label(&t, &m, frame[at[i]]);
	}
	model_free(&m);
	return t.s;
}
#define SHOWN(...) shown((struct f[]){__VA_ARGS__}, sizeof((struct f[]){__VA_ARGS__}) / sizeof(struct f))

static void a_c_program_is_read_from_its_own_first_frame(void **state)
{
	(void)state;
	assert_string_equal(
	    SHOWN({"cuMemAlloc_v2", "", "/usr/lib/libcuda.so.1", 0}, {"cudaMalloc", "", "/app/a.out", 0},
	          {"grid_new", "src/grid.c", "/app/a.out", 12}, {"main", "src/main.c", "/app/a.out", 40},
	          {"__libc_start_main", "", "/lib/libc.so.6", 0}, {"_start", "", "/app/a.out", 0}),
	    "grid_new grid.c:12 < main main.c:40");
}

static void what_calls_c_for_a_script_is_the_interpreter(void **state)
{
	(void)state;
	assert_string_equal(
	    SHOWN({"cuMemAlloc_v2", "", "/usr/lib/libcuda.so.1", 0}, {"ffi_call_unix64", "src/x86/unix64.S", "", 104},
	          {"??", "", "/usr/lib/x86_64-linux-gnu/libffi.so.8", 0},
	          {"_call_function_pointer", "./Modules/_ctypes/callproc.c", "", 940},
	          {"PyCFuncPtr_call", "/usr/lib/python3/_ctypes.cpython-313-x86_64-linux-gnu.so", "", 0},
	          {"??", "", "/usr/lib/python3/_ctypes.cpython-313-x86_64-linux-gnu.so", 0},
	          {"grow", "/home/ada/grow.py", "", 7}, {"<module>", "/home/ada/grow.py", "", 20},
	          {"Py_RunMain", "Modules/main.c", "/usr/bin/python3", 700}),
	    "grow grow.py:7 < <module> grow.py:20");
	assert_string_equal(SHOWN({"cuMemAlloc_v2", "", "libcuda.so.1", 0}, {"ffi_call_int", "src/x86/ffi64.c", "", 5},
	                          {"_ctypes_callproc", "callproc.c", "", 1262}, {"plugin_run", "plugin.c", "", 3}),
	                    "plugin_run plugin.c:3");
}

static void a_library_that_asked_is_named_before_the_user(void **state)
{
	(void)state;
	assert_string_equal(SHOWN({"cuMemAlloc_v2", "", "/usr/lib/libcuda.so.1", 0},
	                          {"cublasCreate_v2", "", "/usr/lib/libcublas.so.13", 0},
	                          {"setup", "app.c", "/app/a.out", 7}),
	                    "cublasCreate_v2 [libcublas.so.13] < setup app.c:7");
}

static void a_torch_stack_is_operator_library_user(void **state)
{
	(void)state;
	assert_string_equal(
	    SHOWN({"torch::unwind::unwind()", "??", "", 0},
	          {"c10::StorageImpl::StorageImpl(c10::StorageImpl::use_byte_size_t, c10::SymInt const&)", "",
	           "", 0},
	          {"at::_ops::empty_memory_format::redispatch(c10::DispatchKeySet)", "??", "", 0},
	          {"at::_ops::mm::call(at::Tensor const&, at::Tensor const&)", "??", "", 0},
	          {"at::_ops::linear::call(at::Tensor const&)", "??", "", 0}, {"PyMethod_New", "??", "", 0},
	          {"forward", "/opt/python3.12/site-packages/torch/nn/modules/linear.py", "", 134},
	          {"_PyEval_EvalFrameDefault", "??", "", 0},
	          {"_call_impl", "/opt/python3.12/site-packages/torch/nn/modules/module.py", "", 1790},
	          {"slot_tp_call", "", "", 0}, {"forward", "/home/u/model.py", "", 23},
	          {"<module>", "/home/u/train.py", "", 46}),
	    "aten::linear < forward linear.py:134 < forward model.py:23 < <module> train.py:46");
}

static void the_backward_thread_has_only_its_node(void **state)
{
	(void)state;
	assert_string_equal(
	    SHOWN({"at::detail::empty_cuda(c10::ArrayRef<long>)", "??", "", 0},
	          {"torch::autograd::generated::MmBackward0::apply(std::vector<at::Tensor>&&)", "??", "", 0},
	          {"torch::autograd::Engine::thread_init(int)", "??", "", 0},
	          {"execute_native_thread_routine", "thread.cc", "", 82}, {"clone", "", "", 0}),
	    "MmBackward0");
}

static void if_all_is_noise_the_leaf_is_shown_and_nothing_for_no_stack(void **state)
{
	(void)state;
	assert_string_equal(SHOWN({"cuMemAlloc_v2", "", "", 0}, {"_start", "", "", 0}), "cuMemAlloc_v2");
	assert_string_equal(shown(NULL, 0), "");
}

static void windows_paths_have_folders_too(void **state)
{
	(void)state;
	assert_string_equal(
	    SHOWN({"einsum", "D:\\x\\.venv\\Lib\\site-packages\\torch\\functional.py", "", 373},
	          {"forward", "D:\\x\\model.py", "", 39}),
	    "einsum functional.py:373 < forward model.py:39");
}

static const char *label(const char *function)
{
	return shown(&(struct f){function, "a.cc", "", 5}, 1);
}

static void cxx_names_lose_arguments_and_nothing_else(void **state)
{
	(void)state;
	assert_string_equal(label("ns::Tensor ns::make<long, 3>(ns::List<int>) const"), "ns::make a.cc:5");
	assert_string_equal(label("ns::(anonymous namespace)::helper(int)"),
	                    "ns::(anonymous namespace)::helper a.cc:5");
	assert_string_equal(label("main::{lambda(int)#1}::operator()(int) const"),
	                    "main::{lambda}::operator() a.cc:5");
	assert_string_equal(label("operator new(unsigned long)"), "operator new a.cc:5");
	assert_string_equal(label("<module>"), "<module> a.cc:5");
	assert_string_equal(label("<lambda>"), "<lambda> a.cc:5");
	assert_string_equal(label("plain_c"), "plain_c a.cc:5");
	assert_string_equal(label("unclosed(int"), "unclosed(int a.cc:5");
	assert_string_equal(label(""), "?? a.cc:5");
}

static void memory_of_libraries_is_told_apart(void **state)
{
	struct model m;

	(void)state;
	model_init(&m, "test");
	assert_true(frames_library_owned(
	    &m,
	    stack_of(&m, (struct f[]){{"cublasCreate_v2", "", "libcublas.so.13", 0}, {"main", "a.c", "", 1}},
	             2)));
	assert_false(frames_library_owned(
	    &m,
	    stack_of(&m, (struct f[]){{"cudaMalloc", "", "libcudart.so.13", 0}, {"main", "a.c", "", 1}}, 2)));
	assert_false(frames_library_owned(&m, 0));
	model_free(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_c_program_is_read_from_its_own_first_frame),
	    cmocka_unit_test(what_calls_c_for_a_script_is_the_interpreter),
	    cmocka_unit_test(a_library_that_asked_is_named_before_the_user),
	    cmocka_unit_test(a_torch_stack_is_operator_library_user),
	    cmocka_unit_test(the_backward_thread_has_only_its_node),
	    cmocka_unit_test(if_all_is_noise_the_leaf_is_shown_and_nothing_for_no_stack),
	    cmocka_unit_test(windows_paths_have_folders_too),
	    cmocka_unit_test(cxx_names_lose_arguments_and_nothing_else),
	    cmocka_unit_test(memory_of_libraries_is_told_apart),
	};

	return cmocka_run_group_tests_name("frames", tests, NULL, NULL);
}
