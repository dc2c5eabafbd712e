# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# The objects that compute with floats or vectors, and their compiler flags: the
# one list for Kbuild and for everything that builds them in user space.
#
#	coll-simd-objs			paths below kmod/, without suffix
#	coll-simd-cflags-<basename>	flags of each, e.g. -reduce_avx2
#
# In user space they are for the target of $(CC).
#
# -ffp-contract=off: a*b+c stays two roundings on every instruction set.
# The scalar reference is not vectorised, so that it stays a reference.
# SSE2 is in every x86-64; the kernel just forbids it outside such objects.

ifdef KERNELRELEASE
coll-simd-arch := $(if $(CONFIG_X86_64),x86_64)$(if $(CONFIG_ARM64),aarch64)
else
coll-simd-arch := $(firstword $(subst -, ,$(shell $(CC) -dumpmachine)))
endif

coll-simd-scalar  := reduce_scalar reduce_scalar_copy reduce_scalar_float \
		     reduce_scalar_int reduce_scalar_pair reduce_scalar_small \
		     reduce_scalar_wide
coll-simd-x86_64  := simd/reduce_x87 simd/reduce_sse2 simd/reduce_avx2 simd/reduce_avx512
coll-simd-aarch64 := simd/reduce_neon
coll-simd-objs	  := $(coll-simd-scalar:%=pure/reduction/%) $(coll-simd-$(coll-simd-arch))

coll-simd-base := -O2 -ffp-contract=off
coll-simd-cflags-reduce_x87    := $(coll-simd-base) -m80387 -mfp-ret-in-387
coll-simd-cflags-reduce_sse2   := $(coll-simd-base) -msse2
coll-simd-cflags-reduce_avx2   := $(coll-simd-base) -mavx2 -mf16c
coll-simd-cflags-reduce_avx512 := $(coll-simd-base) -mavx512f -mavx512bw -mavx512dq \
				  -mavx512vl -mprefer-vector-width=512
coll-simd-cflags-reduce_neon   := $(coll-simd-base)
$(foreach obj,$(coll-simd-scalar),\
	$(eval coll-simd-cflags-$(obj) := $(coll-simd-base) -fno-tree-vectorize))

# The kernel: undo -mno-sse and its like, which stand earlier in the command line.
# CC_FLAGS_FPU and CC_FLAGS_NO_FPU exist from 6.10 on. Those of user-mode Linux do not
# switch SSE on (and the x87 would compute floats, with other results), hence always all.
# Paths are those from the top-level Kbuild.
ifdef KERNELRELEASE
coll-simd-fpu := $(CC_FLAGS_FPU)
ifeq ($(coll-simd-arch),x86_64)
coll-simd-fpu += -mhard-float -msse -msse2
endif
coll-simd-no-fpu := $(CC_FLAGS_NO_FPU) $(if $(CONFIG_ARM64),-mgeneral-regs-only)

define coll-simd-flags
CFLAGS_kmod/$(1).o := $(coll-simd-fpu) $(coll-simd-cflags-$(notdir $(1)))
CFLAGS_REMOVE_kmod/$(1).o := $(coll-simd-no-fpu)
endef
$(foreach obj,$(coll-simd-objs),$(eval $(call coll-simd-flags,$(obj))))
endif
