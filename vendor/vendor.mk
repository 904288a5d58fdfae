# vendor.mk: finds the libraries we stand on, and installs them if it may. README beside this says why each.

PKG_CONFIG  ?= pkg-config
BUILD_PKGS  := libcjson libpng freetype2 zlib libdw
FONT_DIR    ?= /usr/share/fonts/truetype/dejavu
CUDA_HOME   ?= $(firstword $(wildcard /usr/local/cuda /usr/lib/cuda))
CUDA_CFLAGS := $(if $(wildcard $(CUDA_HOME)/include/cuda.h),-isystem $(CUDA_HOME)/include,$(shell $(PKG_CONFIG) --cflags cuda 2>/dev/null))
HAVE_CUDA   := $(shell printf '\043include <cuda.h>\n' | $(CC) $(CUDA_CFLAGS) -E - >/dev/null 2>&1 && echo 1)

DEP_CFLAGS   = $(shell $(PKG_CONFIG) --cflags $(BUILD_PKGS))
DEP_LIBS     = $(shell $(PKG_CONFIG) --libs $(BUILD_PKGS)) $(LIBSTDCXX) -ldl -lm -lpthread
# Only the demangler is used: from the archive it costs 100 KB and brings no newer glibc along.
LIBSTDCXX    = $(if $(wildcard $(shell $(CC) -print-file-name=libstdc++.a)),-l:libstdc++.a,-lstdc++)
CMOCKA_LIBS  = $(shell $(PKG_CONFIG) --libs cmocka)
solib        = $(firstword $(wildcard $(addsuffix /$(1),$(shell $(CC) -print-search-dirs | sed -n 's/^libraries: =//p' | tr ':' ' '))))
LIBUNWIND_SO = $(call solib,libunwind.so.8)
LIBLZMA_SO   = $(call solib,liblzma.so.5)

# Debian and Ubuntu packages for building, and what testing needs besides.
APT_BUILD := gcc make pkg-config libc6-dev g++ libcjson-dev libpng-dev zlib1g-dev libfreetype-dev libdw-dev libunwind-dev fonts-dejavu-core
APT_CHECK := $(APT_BUILD) libcmocka-dev bats jq python3 xz-utils man-db tmux procps

# The two faces become part of the program (src/render/font_data.c): GPU servers have no fonts.
FONT_FILES := $(FONT_DIR)/DejaVuSans.ttf $(FONT_DIR)/DejaVuSans-Bold.ttf
$(B)/obj/src/render/font_data.o: $(wildcard $(FONT_FILES))
$(B)/obj/src/render/font_data.o: CLI_EXTRA += -DFONT_DIR='"$(FONT_DIR)"'

need-build:
	@vendor/install-packages.sh build $(APT_BUILD)
need-check:
	@vendor/install-packages.sh check $(APT_CHECK)
.PHONY: need-build need-check

# So do the files of the page that `gpumemsnap html` writes (src/render/html_files.c).
$(B)/obj/src/render/html_files.o: $(wildcard src/render/html/*)
