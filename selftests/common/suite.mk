# SPDX-License-Identifier: GPL-2.0
#
# What the suites have in common. OUTPUT, TOP and KSELFTEST come from
# selftests/Makefile; building and the harness from the kernel's lib.mk.

CFLAGS	+= -O2 -g -Wall -Wextra -Wno-unused-parameter -Wno-missing-field-initializers \
	   -Wno-sign-compare -I$(TOP)/uapi -I$(TOP)/selftests/common -I$(TOP)/kmod
LDLIBS	+= -luring -Wl,--as-needed -lcrypto -Wl,--no-as-needed -lpthread

COMMON	:= $(wildcard $(TOP)/selftests/common/*.c)
include $(TOP)/kmod/pure/pure.mk
PURE	:= $(pure-kernel:%=$(TOP)/kmod/pure/%.c)
LOCAL_HDRS := $(wildcard *.h) $(wildcard $(TOP)/selftests/common/*.h) $(TOP)/uapi/linux/coll.h \
	   $(wildcard $(TOP)/kmod/pure/*.h $(TOP)/kmod/pure/*/*.h)

NAMES	:= $(TEST_GEN_PROGS) $(TEST_PROGS)

include $(KSELFTEST)/lib.mk

# What programs share is compiled once; lib.mk links what a program depends on.
SHARED	:= $(patsubst $(TOP)/%.c,$(OUTPUT)/shared/%.o,$(COMMON) $(PURE))

$(TEST_GEN_PROGS) $(TEST_GEN_PROGS_EXTENDED): $(OUTPUT)/shared.a

$(OUTPUT)/shared.a: $(SHARED)
	$(call msg,AR,,$@)
	$(Q)rm -f $@ && $(AR) qcs $@ $^

$(SHARED): $(OUTPUT)/shared/%.o: $(TOP)/%.c $(LOCAL_HDRS)
	$(call msg,CC,,$@)
	$(Q)mkdir -p $(@D) && $(COMPILE.c) -o $@ $<

print-tests:
	@echo $(NAMES)

.PHONY: print-tests
