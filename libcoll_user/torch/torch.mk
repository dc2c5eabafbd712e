# SPDX-License-Identifier: LGPL-2.1 OR MIT
#
# Included by ../Makefile: the package coll_torch, a backend of torch.distributed, where the headers
# of torch and of pybind11 are. Without them nothing is built. A C++ extension belongs to one
# version of Python, whose suffix its name has.

TORCH_INCLUDE ?= /usr/include
TORCH := $(and $(wildcard $(TORCH_INCLUDE)/torch/csrc/distributed/c10d/ProcessGroup.hpp),\
	$(wildcard $(TORCH_INCLUDE)/pybind11/pybind11.h))
TORCH_OUT := $(OUT)/python3/dist-packages/coll_torch
TORCH_PY := $(wildcard torch/coll_torch/*)
TORCH_SRC := $(sort $(wildcard torch/*.cc))

ifneq ($(TORCH),)
TORCH_SUFFIX := $(shell $(PYTHON) -c 'import sysconfig; print(sysconfig.get_config_var("EXT_SUFFIX"))')
TORCH_PYTHON := $(shell $(PYTHON) -c 'import sysconfig; print(sysconfig.get_path("include"))')
TORCH_LIB := $(TORCH_OUT)/_c10d$(TORCH_SUFFIX)

CXX ?= g++
# Headers of others are not ours to mend. With -g there would be more of them than of our code.
TORCH_CXXFLAGS := -std=gnu++17 -pthread -fPIC -fvisibility=hidden -Wall -Wextra -Werror \
	$(addprefix -isystem ,$(filter-out /usr/include,$(TORCH_INCLUDE)) $(TORCH_PYTHON)) -Iinclude -I../uapi $(filter-out -g,$(CFLAGS))

$(OUT)/obj/torch/%.o: torch/%.cc Makefile torch/torch.mk
	@mkdir -p $(@D)
	@echo '  CXX     $(notdir $@)'
	$(Q)$(CXX) $(TORCH_CXXFLAGS) -MMD -MP -c -o $@ $<

# $(call torch_link,FILE,WAY): WAY is the relative path from the directory of FILE to that of
# libcoll.so.0.
torch_link = $(CXX) -shared -Wl,-z,relro,-z,now -Wl,-rpath,'$$ORIGIN/$(2)' $(LDFLAGS) -o $(1) \
	$(TORCH_SRC:%.cc=$(OUT)/obj/%.o) -L$(OUT) -lcoll -ltorch_python -ltorch_cpu -lc10 -pthread

$(TORCH_LIB): $(TORCH_SRC:%.cc=$(OUT)/obj/%.o) | $(OUT)/libcoll.so
	@mkdir -p $(@D)
	@echo '  CXX     $(notdir $@)'
	$(Q)$(call torch_link,$@,../../..)
endif

torch: $(if $(TORCH),$(TORCH_LIB) $(TORCH_PY:torch/coll_torch/%=$(TORCH_OUT)/%))

$(TORCH_OUT)/%: torch/coll_torch/%
	@mkdir -p $(@D)
	$(Q)install -m 644 $< $@

-include $(TORCH_SRC:%.cc=$(OUT)/obj/%.d)
