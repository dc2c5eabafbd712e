# SPDX-License-Identifier: GPL-2.0
#
# What the suites have in common. OUTPUT, TOP and KSELFTEST come from
# selftests/Makefile; building and the harness from the kernel's lib.mk.

CFLAGS	+= -O2 -g -Wall -Wextra -Wno-unused-parameter -Wno-missing-field-initializers \
	   -Wno-sign-compare -I$(TOP)/uapi -I$(TOP)/selftests/common -I$(TOP)/kmod
LDLIBS	+= -luring -lpthread

COMMON	:= $(wildcard $(TOP)/selftests/common/*.c)
PURE	:= $(filter-out $(wildcard $(TOP)/kmod/pure/check*.c $(TOP)/kmod/pure/reduce*.c),\
	   $(wildcard $(TOP)/kmod/pure/*.c))
LOCAL_HDRS := $(wildcard $(TOP)/selftests/common/*.h) $(TOP)/uapi/linux/coll.h \
	   $(wildcard $(TOP)/kmod/pure/*.h)

NAMES	:= $(TEST_GEN_PROGS) $(TEST_PROGS)

include $(KSELFTEST)/lib.mk

# Every source a program is made of; lib.mk links what it depends on.
$(TEST_GEN_PROGS) $(TEST_GEN_PROGS_EXTENDED): $(COMMON) $(PURE)

print-tests:
	@echo $(NAMES)

.PHONY: print-tests
