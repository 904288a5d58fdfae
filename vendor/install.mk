# install.mk: install, uninstall and the portable tarball.

MANS := $(wildcard man/*.1 man/*.3 man/*.5 man/*.7)
INSTALLED := bin/gpumemsnap lib/gpumemsnap lib/libgpumemalloc.so lib/libgpumemalloc.so.0 lib/libgpumemalloc.a \
	lib/pkgconfig/gpumemalloc.pc include/gpumemsnap.h include/gpumemalloc.h \
	$(foreach m,$(MANS),share/man/man$(patsubst .%,%,$(suffix $(m)))/$(notdir $(m)))
D := $(DESTDIR)$(PREFIX)

install: all
	$(call say,INSTALL,$(D))
	$(Q)mkdir -p $(D)/bin $(D)/lib/gpumemsnap $(D)/include
	$(Q)install -m 755 $(PROGRAM) $(D)/bin/
	$(Q)if [ -d $(L) ]; then cp -a $(L)/. $(D)/lib/gpumemsnap/; fi
	$(Q)for f in $(wildcard include/*.h); do install -m 644 $$f $(D)/include/; done
	$(Q)for f in $(wildcard $(B)/lib/libgpumemalloc.*); do cp -a $$f $(D)/lib/; done
	$(Q)if [ -e src/alloc/gpumemalloc.pc.in ]; then mkdir -p $(D)/lib/pkgconfig && \
		sed 's|@PREFIX@|$(PREFIX)|; s|@VERSION@|$(VERSION)|' src/alloc/gpumemalloc.pc.in >$(D)/lib/pkgconfig/gpumemalloc.pc; fi
	$(Q)for f in $(MANS); do s=$${f##*.}; mkdir -p $(D)/share/man/man$$s && install -m 644 $$f $(D)/share/man/man$$s/; done

uninstall:
	$(Q)cd $(D) 2>/dev/null && rm -rf $(INSTALLED)

DIST := gpumemsnap-$(VERSION)-$(shell uname -s | tr A-Z a-z)-$(shell uname -m)
dist:
	$(Q)$(MAKE) --no-print-directory all
	$(Q)B=$(abspath $(B)) vendor/dist.sh $(DIST)

.PHONY: install uninstall dist
