# install.mk: install, uninstall, the portable tarball and Debian packages. The installed tree may be moved: every file finds
# its neighbours from its own place. LIBDIR is where the allocator's library goes (lib/TRIPLET on Debian).

LIBDIR ?= lib
D      := $(DESTDIR)$(PREFIX)
MANS   := $(wildcard man/*.1 man/*.3 man/*.5 man/*.7)
PC     := $(wildcard src/*/*.pc.in)
# FILE:PLACE for what is copied as it is.
PLAIN := $(patsubst %,%:include,$(wildcard include/*.h)) \
	$(foreach m,$(MANS),$(m):share/man/man$(patsubst .%,%,$(suffix $(m)))) \
	src/cli/completion/gpumemsnap.bash:share/bash-completion/completions \
	src/cli/completion/_gpumemsnap:share/zsh/site-functions \
	src/cli/completion/gpumemsnap.fish:share/fish/vendor_completions.d
INSTALLED := bin/gpumemsnap lib/gpumemsnap $(patsubst %,$(LIBDIR)/libgpumemalloc.%,so so.0 a) \
	$(patsubst %.pc.in,$(LIBDIR)/pkgconfig/%.pc,$(notdir $(PC))) \
	$(foreach p,$(PLAIN),$(lastword $(subst :, ,$(p)))/$(notdir $(firstword $(subst :, ,$(p)))))

install: all
	$(call say,INSTALL,$(D))
	$(Q)install -d $(D)/bin $(D)/lib/gpumemsnap $(D)/$(LIBDIR)/pkgconfig
	$(Q)install -m 755 $(PROGRAM) $(D)/bin/
	$(Q)if [ -d $(L) ]; then cp -R -P $(L)/. $(D)/lib/gpumemsnap/; fi
	$(Q)for f in $(wildcard $(B)/lib/libgpumemalloc.*); do cp -P $$f $(D)/$(LIBDIR)/ || exit 1; done
	$(Q)up=$$(echo $(LIBDIR) | sed 's|[^/]*|..|g') && for f in $(PC); do n=$${f##*/} && \
		sed "s|@UP@|$$up|; s|@LIBDIR@|$(LIBDIR)|; s|@VERSION@|$(VERSION)|" $$f >$(D)/$(LIBDIR)/pkgconfig/$${n%.in} || exit 1; done
	$(Q)for p in $(PLAIN); do install -D -m 644 $${p%:*} $(D)/$${p#*:}/$$(basename $${p%:*}) || exit 1; done

uninstall:
	$(Q)cd $(D) 2>/dev/null && rm -rf $(INSTALLED)

DIST := gpumemsnap-$(VERSION)-$(shell uname -s | tr A-Z a-z)-$(shell uname -m)
dist:
	$(Q)$(MAKE) --no-print-directory all
	$(Q)B=$(abspath $(B)) vendor/dist.sh $(DIST)

# Debian packages, built from a copy of the sources; needs dpkg-dev and debhelper.
deb:
	$(Q)B=$(abspath $(B)) vendor/deb.sh $(VERSION)

.PHONY: install uninstall dist deb
