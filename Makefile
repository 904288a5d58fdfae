# Makefile: builds, checks, demonstrates and packs gpumemsnap. `make help` lists the targets.
#
# Every src/LAYER/*.c, tests/unit/test_*.c, samples/*.c … is found by wildcard: a new file needs
# no change here. The build tree mirrors the installed one ($B/bin, $B/lib/gpumemsnap), so that
# every program finds its neighbours the same way before and after installation.

.DEFAULT_GOAL := all
VERSION  := 0.1.0
PREFIX   ?= /usr/local
B        ?= build$(if $(SAN),-san)
# One name for one folder: what objects depend on is noted under the name they were built by.
override B := $(patsubst $(CURDIR)/%,%,$(B))
V        ?= 0
CFLAGS   ?= -O2 -g
WERROR   ?=
include vendor/vendor.mk

Q        := $(if $(filter 1,$(V)),,@)
say       = $(if $(filter 1,$(V)),,@printf '  %-7s %s\n' '$(1)' '$(patsubst $(B)/%,%,$(2))')
SANFLAGS := $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer -fno-sanitize-recover=undefined)
WARN     := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wformat=2 $(if $(WERROR),-Werror)
# The same sources give the same bytes in whatever folder they are built.
SAMEPATH := -ffile-prefix-map=$(CURDIR)=.
BASE     := -std=gnu11 -D_GNU_SOURCE -DGPUMEMSNAP_VERSION='"$(VERSION)"' -Isrc -Iinclude $(WARN) $(CFLAGS) $(SAMEPATH) -MMD -MP
CLI_FLAGS   = $(BASE) $(SANFLAGS) $(DEP_CFLAGS) $(CLI_EXTRA)
GUEST_FLAGS = $(BASE) $(CUDA_CFLAGS) -fPIC -fvisibility=hidden -ftls-model=initial-exec -fno-omit-frame-pointer -fno-tree-slp-vectorize
LIB_FLAGS   = $(BASE) $(CUDA_CFLAGS) -fPIC -fvisibility=hidden

# --- what there is -------------------------------------------------------------------------
CLI_LAYERS := base wire model symbol format analyze render nvml cli
CLI_SRC    := $(foreach l,$(CLI_LAYERS),$(wildcard src/$(l)/*.c))
CORE_SRC   := $(wildcard src/alloc/core*.c)
FACE_SRC   := $(filter-out $(CORE_SRC) $(wildcard src/alloc/shim*.c),$(wildcard src/alloc/*.c))
SHIM_SRC   := $(wildcard src/alloc/shim*.c)
REC_SRC    := $(wildcard src/record/*.c)
SIM_SRC    := $(wildcard src/simcuda/*.c)
UNIT_SRC   := $(filter-out $(if $(HAVE_CUDA),,tests/unit/test_sim_%),$(wildcard tests/unit/test_*.c))
FAULT_SRC  := $(wildcard tests/fault/*.c)
BENCH_SRC  := $(wildcard tests/bench/*.c)
STRESS_SRC := $(wildcard tests/stress/*.c)
FAKE_SRC   := $(wildcard tests/fake/*.c)
SAMPLE_SRC := $(wildcard samples/*.c)
FUZZ_SRC   := $(wildcard tests/fuzz/fuzz_*.c)

obj       = $(patsubst %.c,$(B)/obj/%.o,$(1))
pic       = $(patsubst %.c,$(B)/pic/%.o,$(1))
CLI_OBJ   := $(call obj,$(CLI_SRC) $(CORE_SRC))
LIB_OBJ   := $(filter-out $(B)/obj/src/cli/main.o,$(CLI_OBJ))
UNIT_BIN  := $(patsubst tests/unit/%.c,$(B)/tests/unit/%,$(UNIT_SRC))
FAULT_LIB := $(filter tests/fault/lib%,$(FAULT_SRC))
FAULT_BIN := $(if $(HAVE_CUDA),$(patsubst tests/fault/%.c,$(B)/tests/fault/%,$(filter-out $(FAULT_LIB),$(FAULT_SRC))) \
             $(patsubst tests/fault/%.c,$(B)/tests/fault/%.so,$(FAULT_LIB)))
BENCH_BIN := $(if $(HAVE_CUDA),$(patsubst tests/bench/%.c,$(B)/tests/bench/%,$(BENCH_SRC)))
STRESS_BIN := $(if $(HAVE_CUDA),$(patsubst tests/stress/%.c,$(B)/tests/stress/%,$(STRESS_SRC)))
SAMPLE_BIN := $(if $(HAVE_CUDA),$(patsubst samples/%.c,$(B)/samples/%,$(SAMPLE_SRC)))
FAKE_LIB  := $(patsubst tests/fake/%.c,$(B)/tests/fake/%.so.1,$(FAKE_SRC))
FUZZ_BIN  := $(patsubst tests/fuzz/%.c,$(B)/tests/fuzz/%,$(FUZZ_SRC))

L         := $(B)/lib/gpumemsnap
PROGRAM   := $(B)/bin/gpumemsnap
GUESTS    := $(if $(HAVE_CUDA),$(if $(REC_SRC),$(L)/libgpumemsnap.so $(L)/libunwind.so.8 $(L)/python/sitecustomize.py) \
             $(if $(SIM_SRC),$(L)/sim/libcuda.so.1) $(if $(SHIM_SRC),$(L)/libgpumemcache.so))
ALLOCATOR := $(if $(HAVE_CUDA),$(if $(FACE_SRC),$(B)/lib/libgpumemalloc.so $(B)/lib/libgpumemalloc.a))

all: need-build $(PROGRAM) $(GUESTS) $(ALLOCATOR) $(SAMPLE_BIN)
ifndef HAVE_CUDA
	@echo 'note: no CUDA headers (CUDA_HOME, /usr/local/cuda, pkg-config cuda): the analyser alone was built, without record and the allocator'
endif

# --- compiling -----------------------------------------------------------------------------
$(B)/obj/src/alloc/%.o: src/alloc/%.c
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CLI_FLAGS) -c $< -o $@
$(B)/obj/%.o: %.c
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CLI_FLAGS) -c $< -o $@
$(B)/pic/src/alloc/%.o: src/alloc/%.c
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(LIB_FLAGS) -c $< -o $@
$(B)/pic/%.o: %.c
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(GUEST_FLAGS) -c $< -o $@

$(PROGRAM): $(CLI_OBJ)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(SANFLAGS) -o $@ $^ $(LDFLAGS) -Wl,--disable-new-dtags,-rpath,'$$ORIGIN/../lib/gpumemsnap' $(DEP_LIBS)

$(L)/libgpumemsnap.so: $(call pic,$(REC_SRC)) $(wildcard src/record/*.map)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) -shared -Wl,-z,defs,-z,now,-Bsymbolic -Wl,-soname,$(@F) $(addprefix -Wl$(,)--version-script=,$(filter %.map,$^)) \
		-o $@ $(filter %.o,$^) $(LDFLAGS) -ldl -lpthread
$(L)/sim/libcuda.so.1: $(call pic,$(SIM_SRC)) $(wildcard src/simcuda/*.map)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) -shared -Wl,-z,defs,-Bsymbolic -Wl,-soname,$(@F) $(addprefix -Wl$(,)--version-script=,$(filter %.map,$^)) \
		-o $@ $(filter %.o,$^) $(LDFLAGS) -lpthread
	@ln -sf libcuda.so.1 $(@D)/libcuda.so
$(L)/libgpumemcache.so: $(call pic,$(SHIM_SRC) $(CORE_SRC) $(FACE_SRC)) $(wildcard src/alloc/shim*.map)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) -shared -Wl,-z,defs -Wl,-soname,$(@F) $(addprefix -Wl$(,)--version-script=,$(filter %.map,$^)) \
		-o $@ $(filter %.o,$^) $(LDFLAGS) -ldl -lpthread
$(B)/lib/libgpumemalloc.so: $(call pic,$(CORE_SRC) $(FACE_SRC)) $(wildcard src/alloc/libgpumemalloc.map)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) -shared -Wl,-z,defs -Wl,-soname,$(@F).0 \
		$(addprefix -Wl$(,)--version-script=,$(filter %.map,$^)) -o $@.0 $(filter %.o,$^) $(LDFLAGS) -ldl -lpthread
	@ln -sf $(@F).0 $@
$(B)/lib/libgpumemalloc.a: $(call pic,$(CORE_SRC) $(FACE_SRC))
	$(call say,AR,$@)
	@mkdir -p $(@D)
	$(Q)rm -f $@ && $(AR) rcsD $@ $^
$(L)/python/%.py: src/record/python/%.py
	@mkdir -p $(@D)
	$(Q)cp $< $@
$(L)/libunwind.so.8:
	@mkdir -p $(@D)
	$(Q)cp -L $(LIBUNWIND_SO) $@ && cp -L $(LIBLZMA_SO) $(@D)/liblzma.so.5
, := ,

# --- samples and test programs -------------------------------------------------------------
$(B)/samples/gma_%: samples/gma_%.c $(ALLOCATOR) $(GUESTS)
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(BASE) $(CUDA_CFLAGS) -MF $@.d -o $@ $< -L$(B)/lib -lgpumemalloc -Wl,-rpath,'$$ORIGIN/../lib' $(L)/sim/libcuda.so.1 -lpthread
$(B)/samples/%: samples/%.c $(GUESTS)
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(BASE) $(CUDA_CFLAGS) -MF $@.d -o $@ $< $(L)/sim/libcuda.so.1 -lpthread
$(B)/tests/fault/liblinked_%.so: tests/fault/liblinked_%.c $(GUESTS)
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(BASE) $(CUDA_CFLAGS) -shared -fPIC -Wl,-z,relro,-z,$* -MF $@.d -o $@ $< $(L)/sim/libcuda.so.1 -ldl
$(B)/tests/fault/lib%.so: tests/fault/lib%.c
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(BASE) $(CUDA_CFLAGS) -shared -fPIC -MF $@.d -o $@ $< -ldl
$(B)/tests/fault/linked_%: tests/fault/linked_%.c $(GUESTS)
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(BASE) $(CUDA_CFLAGS) -MF $@.d -o $@ $< $(L)/sim/libcuda.so.1
$(B)/tests/fault/%: tests/fault/%.c $(GUESTS)
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(BASE) $(CUDA_CFLAGS) -MF $@.d -o $@ $< -Wl,--enable-new-dtags,-rpath,'$$ORIGIN' -ldl -lpthread
$(B)/tests/bench/%: tests/bench/%.c $(GUESTS) $(ALLOCATOR)
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(BASE) $(CUDA_CFLAGS) -MF $@.d -o $@ $< $(wildcard $(B)/lib/libgpumemalloc.a) -ldl -lpthread
# The libraries above go into other programs, so sanitizers stay out of them; here the allocator is built in.
$(B)/tests/stress/%: tests/stress/%.c $(GUESTS) $(CORE_SRC) $(FACE_SRC) $(wildcard src/alloc/*.h)
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(BASE) $(SANFLAGS) $(CUDA_CFLAGS) -MF $@.d -o $@ $< $(CORE_SRC) $(FACE_SRC) -ldl -lpthread
$(B)/tests/unit/test_sim_%: tests/unit/test_sim_%.c $(L)/sim/libcuda.so.1
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(BASE) $(CUDA_CFLAGS) -MF $@.d -o $@ $< $(L)/sim/libcuda.so.1 -Wl,-rpath,'$$ORIGIN/../../lib/gpumemsnap/sim' $(CMOCKA_LIBS) -lpthread
$(B)/tests/unit/%: $(B)/obj/tests/unit/%.o $(LIB_OBJ)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(SANFLAGS) -o $@ $^ $(LDFLAGS) $(DEP_LIBS) $(CMOCKA_LIBS) -lpthread
$(B)/tests/fuzz/%: $(B)/obj/tests/fuzz/%.o $(LIB_OBJ)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(SANFLAGS) $(FUZZ_LINK) -o $@ $^ $(LDFLAGS) $(DEP_LIBS) -lpthread
$(B)/tests/fake/%.so.1: tests/fake/%.c
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(BASE) -MF $@.d -fPIC -shared -Wl,-soname,$(@F) -o $@ $<
tests: $(UNIT_BIN) $(FAKE_LIB) $(FAULT_BIN) $(STRESS_BIN) $(FUZZ_BIN)

# --- what people type ----------------------------------------------------------------------
check: need-check
	$(Q)$(MAKE) --no-print-directory -j$$(nproc) all tests
	$(Q)B=$(abspath $(B)) tests/run.sh
demo: need-build
	$(Q)$(MAKE) --no-print-directory -j$$(nproc) all
	$(Q)B=$(abspath $(B)) samples/demo.sh
# Every fuzz target for a while, with libFuzzer; what it finds lies in build-fuzz.
FUZZ_SECONDS ?= 30
FUZZ_NAMES := $(patsubst tests/fuzz/fuzz_%.c,%,$(FUZZ_SRC))
fuzz-smoke:
	$(Q)$(MAKE) --no-print-directory B=build-fuzz CC=clang SAN=address,undefined,fuzzer-no-link CFLAGS='-O1 -g -DLIBFUZZER' \
		FUZZ_LINK=-fsanitize=fuzzer $(patsubst %,build-fuzz/tests/fuzz/fuzz_%,$(FUZZ_NAMES))
	$(Q)cd build-fuzz && for t in $(FUZZ_NAMES); do mkdir -p found/$$t && d=$(CURDIR)/tests/fuzz/$$t.dict && \
		tests/fuzz/fuzz_$$t -max_total_time=$(FUZZ_SECONDS) -timeout=10 -rss_limit_mb=2048 -verbosity=0 \
		$$([ -e $$d ] && echo -dict=$$d) found/$$t $(CURDIR)/tests/fuzz/corpus/$$t || exit 1; done
# What convert writes, read by the programs it is for: they come from a network, so this is no part of check.
check-formats: all
	$(Q)B=$(abspath $(B)) tests/consumers/run.sh
bench: all $(BENCH_BIN) $(if $(HAVE_CUDA),$(B)/tests/fault/libquick.so)
	$(Q)B=$(abspath $(B)) tests/bench/run.sh
# Recordings of up to 20 million events; SCALE=0.1: of a tenth of everything; CASE=live: that one alone.
bench-load: all $(BENCH_BIN)
	$(Q)B=$(abspath $(B)) python3 tests/bench/load.py $(or $(SCALE),1) $(CASE)
lint:
	$(Q)tests/lint/run.sh

include vendor/install.mk

clean:
	rm -rf build build-*
help:
	@echo 'make           build into ./build          make check      every test'
	@echo 'make demo      record, report, pictures    make bench      speed, as ratios'
	@echo 'make bench-load  recordings of up to 20 million events (SCALE=0.1, CASE=live)'
	@echo 'make check-formats  other programs read what convert writes (needs npm, apt, a network)'
	@echo 'make fuzz-smoke  each fuzz target for FUZZ_SECONDS=30 (needs clang)'
	@echo 'make install   PREFIX=/usr/local DESTDIR=  make uninstall  take it away again'
	@echo 'make dist      one portable tarball        make deb        Debian packages, in build/deb'
	@echo 'make lint      cppcheck, gcc, clang-tidy   make clean      remove what was built'
	@echo 'Options: V=1 (show commands)  SAN=address,undefined (into build-san)  WERROR=1  CC=clang  B=DIR'
	@echo '         CUDA_HOME=DIR  NO_INSTALL=1 (never call apt)'

.PHONY: all tests check check-formats demo bench bench-load fuzz-smoke lint clean help
.SECONDARY:
-include $(shell find $(B) -name '*.d' -type f 2>/dev/null)
