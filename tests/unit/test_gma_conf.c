/* test_gma_conf.c: the allocator's configuration text and its rounding rules. */
#include "gma.h"

static struct gma_conf c;
static struct gma_conf_error e;

static void the_default_is_pytorchs(void **state)
{
	(void)state;
	assert_true(gma_conf_parse(&c, "", &e));
	assert_true(c.max_split_size == GMA_UNLIMITED);
	assert_int_equal(c.max_non_split_rounding, 20 * MIB);
	assert_true(c.gc_threshold == 0 && !c.expandable && !c.has_fraction && c.growth);
	assert_true(gma_conf_parse(&c, NULL, &e));
}

static void all_keys_are_read(void **state)
{
	(void)state;
	assert_true(gma_conf_parse(&c,
				   " max_split_size_mb : 64, max_non_split_rounding_mb:30 ,garbage_collection_threshold:0.8,"
				   "expandable_segments:True,per_process_memory_fraction:0.0135,backend:native,"
				   "release_lock_on_cudamalloc:True,pinned_num_register_threads:8,large_segment_size_mb:40,"
				   "memory_limit:1.5GiB,growth:False,throw_on_cudamalloc_oom:True",
				   &e));
	assert_int_equal(c.max_split_size, 64 * MIB);
	assert_int_equal(c.max_non_split_rounding, 30 * MIB);
	assert_true(c.gc_threshold == 0.8 && c.memory_fraction == 0.0135 && c.has_fraction);
	assert_true(c.expandable && c.release_lock && !strcmp(c.idle, "pinned_num_register_threads") && !c.growth && !c.async);
	assert_int_equal(c.large_segment_size, 40 * MIB);
	assert_int_equal(c.memory_limit, 3 * GIB / 2);
}

static void divisions_are_a_number_or_a_list(void **state)
{
	(void)state;
	assert_true(gma_conf_parse(&c, "roundup_power2_divisions:8", &e));
	assert_true(c.divisions[0] == 8 && c.divisions[15] == 8);
	assert_true(gma_conf_parse(&c, "roundup_power2_divisions:[256:1,512:2,>:8],expandable_segments:True", &e));
	assert_true(c.divisions[0] == 1 && c.divisions[8] == 1 && c.divisions[9] == 2 && c.divisions[10] == 8 && c.divisions[15] == 8);
	assert_true(c.expandable);
	assert_true(gma_conf_parse(&c, "roundup_power2_divisions:[256:1,512:2,1024:4,>:8]", &e));
	assert_true(c.divisions[9] == 2 && c.divisions[10] == 4 && c.divisions[11] == 8);
	assert_true(gma_conf_parse(&c, "roundup_power2_divisions:[>:4]", &e));
	assert_true(c.divisions[0] == 4 && c.divisions[15] == 4);
	assert_true(gma_conf_parse(&c, "roundup_power2_divisions:[ 4 : 4 , 16 : 0 ]", &e));
	assert_true(c.divisions[0] == 4 && c.divisions[2] == 4 && c.divisions[3] == 0 && c.divisions[4] == 0);
}

static void a_mistake_is_named_with_its_place(void **state)
{
	static const struct {
		const char *text, *says;
		size_t at;
	} wrong[] = {
		{"max_split_size:64", "'max_split_size' is not known", 0},
		{"expandable_segments:True,foo:1", "'foo' is not known", 25},
		{"expandable_segments:true", "True or False", 20},
		{"max_split_size_mb:19", "at least 20", 18},
		{"max_split_size_mb", "needs ':'", 0},
		{"garbage_collection_threshold:1", "between 0 and 1", 29},
		{"garbage_collection_threshold:0", "between 0 and 1", 29},
		{"per_process_memory_fraction:1.5", "from 0 to 1", 28},
		{"per_process_memory_fraction:0,5", "'5' is not known", 30},
		{"roundup_power2_divisions:3", "power of two", 25},
		{"roundup_power2_divisions:[3:2]", "interval", 26},
		{"roundup_power2_divisions:[4:3]", "divisions", 28},
		{"roundup_power2_divisions:[4:4", "should end with ']'", 29},
		{"backend:cudaMalloc", "native or cudaMallocAsync", 8},
		{"pinned_num_register_threads:256", "power of two", 28},
		{"memory_limit:lots", "size like 12GiB", 13},
		{"growth:True;expandable_segments:True", "True or False", 7},
		{"growth:True memory_limit:1G", "',' or the end", 12},
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		assert_false(gma_conf_parse(&c, wrong[i].text, &e));
		if (!strstr(e.text, wrong[i].says) || e.at != wrong[i].at)
			fail_msg("'%s': %zu '%s'", wrong[i].text, e.at, e.text);
	}
}

static void odd_texts_end(void **state)
{
	static const char *const odd[] = {",", ":", "[", "]", "roundup_power2_divisions:[", "roundup_power2_divisions:[>",
					  "roundup_power2_divisions:[,", "memory_limit:99999999999999999999999999",
					  "max_split_size_mb:99999999999999999999", "per_process_memory_fraction:.",
					  "per_process_memory_fraction:0.1.1", "growth", "growth:", "\t\n"};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof odd / sizeof *odd - 1; i++)
		assert_false(gma_conf_parse(&c, odd[i], &e));
	assert_true(gma_conf_parse(&c, odd[i], NULL));
}

static void sizes_are_rounded_to_512(void **state)
{
	(void)state;
	gma_conf_default(&c);
	assert_int_equal(gma_round_size(&c, 1), 512);
	assert_int_equal(gma_round_size(&c, 512), 512);
	assert_int_equal(gma_round_size(&c, 513), 1024);
	assert_int_equal(gma_round_size(&c, 10 * MIB + 1), 10 * MIB + 512);
}

static void divisions_round_up_between_powers_of_two(void **state)
{
	(void)state;
	gma_conf_parse(&c, "roundup_power2_divisions:4", &e);
	assert_int_equal(gma_round_size(&c, 1200), 1536);    /* not above 4 * 512: as usual */
	assert_int_equal(gma_round_size(&c, 2049), 2560);
	assert_int_equal(gma_round_size(&c, 1200 * KIB), 1280 * KIB);
	assert_int_equal(gma_round_size(&c, 2 * MIB), 2 * MIB); /* powers stay */
	assert_int_equal(gma_round_size(&c, 7 * MIB + 1), 8 * MIB);
	gma_conf_parse(&c, "roundup_power2_divisions:[1:0,4:2,8:1,>:1]", &e);
	assert_int_equal(gma_round_size(&c, 1200 * KIB), 1200 * KIB);
	assert_int_equal(gma_round_size(&c, 5 * MIB), 6 * MIB);
	assert_int_equal(gma_round_size(&c, 9 * MIB), 9 * MIB);
}

static void segments_come_in_three_sizes(void **state)
{
	(void)state;
	gma_conf_default(&c);
	assert_int_equal(gma_segment_size(&c, 1 * MIB), 2 * MIB);
	assert_int_equal(gma_segment_size(&c, 1 * MIB + 512), 20 * MIB);
	assert_int_equal(gma_segment_size(&c, 10 * MIB - 512), 20 * MIB);
	assert_int_equal(gma_segment_size(&c, 10 * MIB), 10 * MIB);
	assert_int_equal(gma_segment_size(&c, 11 * MIB), 12 * MIB);
}

int main(void)
{
	const struct CMUnitTest gma_conf[] = {
		cmocka_unit_test(the_default_is_pytorchs),
		cmocka_unit_test(all_keys_are_read),
		cmocka_unit_test(divisions_are_a_number_or_a_list),
		cmocka_unit_test(a_mistake_is_named_with_its_place),
		cmocka_unit_test(odd_texts_end),
		cmocka_unit_test(sizes_are_rounded_to_512),
		cmocka_unit_test(divisions_round_up_between_powers_of_two),
		cmocka_unit_test(segments_come_in_three_sizes),
	};

	return cmocka_run_group_tests(gma_conf, NULL, NULL);
}
