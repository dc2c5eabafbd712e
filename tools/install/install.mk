# SPDX-License-Identifier: GPL-2.0
#
# Included by the Makefile at the top: make install, uninstall and modules_install. All files go
# below $(DESTDIR). Programs are stripped, and need nothing of this tree.

# Make it absolute: the other makefiles run in other directories.
override DESTDIR := $(if $(DESTDIR),$(abspath $(DESTDIR)))

PREFIX		?= /usr/local
BINDIR		?= $(PREFIX)/bin
LIBDIR		?= $(PREFIX)/lib
INCLUDEDIR	?= $(PREFIX)/include
# For udev and sysusers.d, which read these below /usr/local and /etc, too. Only root may write
# there: without root and DESTDIR these files are left out.
SYSTEM		:= $(or $(DESTDIR),$(filter 0,$(shell id -u)))
UDEVDIR		?= $(if $(SYSTEM),$(if $(filter /usr,$(PREFIX)),/usr/lib/udev,/etc/udev))
SYSUSERSDIR	?= $(if $(SYSTEM),$(if $(filter /usr,$(PREFIX)),/usr/lib/sysusers.d,/etc/sysusers.d))
# A kernel's build directory, and where its modules go.
KDIR		?= /lib/modules/$(shell uname -r)/build
INSTALL_MOD_PATH ?= $(DESTDIR)

INSTALL_TOOLS	:= collrun collperf collctl collplan
INSTALLED_TOOLS	:= $(INSTALL_TOOLS:%=$(BINDIR)/%)
UDEV_RULES	:= $(UDEVDIR:%=%/rules.d/60-coll.rules)
SYSUSERS	:= $(SYSUSERSDIR:%=%/coll.conf)
INSTALLED	:= $(INSTALLED_TOOLS) $(UDEV_RULES) $(SYSUSERS)
LIBRARY_MAKE	= $(MAKE) -s -C libcoll_user PREFIX=$(PREFIX) LIBDIR=$(LIBDIR) \
		  INCLUDEDIR=$(INCLUDEDIR) DESTDIR=$(DESTDIR)

install: user
	$(Q)$(LIBRARY_MAKE) install
	$(Q)install -d $(sort $(dir $(INSTALLED:%=$(DESTDIR)%)))
	$(Q)install -s -m 755 $(INSTALL_TOOLS:%=.build/tools/%) $(DESTDIR)$(BINDIR)
	$(Q)$(if $(UDEV_RULES),install -m 644 tools/install/60-coll.rules $(DESTDIR)$(UDEV_RULES))
	$(Q)$(if $(SYSUSERS),install -m 644 tools/install/coll.sysusers $(DESTDIR)$(SYSUSERS))
	$(Q)$(if $(DESTDIR)$(filter-out 0,$(shell id -u)),,PATH=$$PATH:/usr/sbin:/sbin ldconfig || :)

# Files of ours only: directories may be others' as well.
uninstall:
	$(Q)$(LIBRARY_MAKE) uninstall
	$(Q)rm -f $(INSTALLED:%=$(DESTDIR)%)

# kbuild's own. It builds in this directory.
modules_install:
	$(Q)$(MAKE) -C $(KDIR) M=$(CURDIR) modules
	$(Q)$(MAKE) -C $(KDIR) M=$(CURDIR) INSTALL_MOD_PATH=$(INSTALL_MOD_PATH) modules_install

.PHONY: install uninstall modules_install
