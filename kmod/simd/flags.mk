# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# Compiler flags of the objects that compute with floats or vectors: the one
# list for Kbuild and for everything that builds them in user space.
#
# -ffp-contract=off: a*b+c stays two roundings on every instruction set.
# The scalar reference is not vectorised, so that it stays a reference.
# SSE2 is in every x86-64; the kernel just forbids it outside such objects.

coll-simd-cflags-scalar	:= -O2 -ffp-contract=off -fno-tree-vectorize
coll-simd-cflags-sse2	:= -O3 -ffp-contract=off -msse2
coll-simd-cflags-avx2	:= -O3 -ffp-contract=off -mavx2

# The kernel: undo -mno-sse and its like, which stand earlier in the command line.
# CC_FLAGS_FPU exists from 6.10 on. That of user-mode Linux does not switch SSE on
# (and floats would be computed by the x87, with other results), hence always all.
# Paths are those from the top-level Kbuild.
ifdef KERNELRELEASE
ifeq ($(CONFIG_X86_64),y)
coll-simd-fpu := $(CC_FLAGS_FPU) -mhard-float -msse -msse2
endif

CFLAGS_kmod/pure/reduce_scalar.o := $(coll-simd-fpu) $(coll-simd-cflags-scalar)
CFLAGS_kmod/simd/reduce_sse2.o := $(coll-simd-fpu) $(coll-simd-cflags-sse2)
CFLAGS_kmod/simd/reduce_avx2.o := $(coll-simd-fpu) $(coll-simd-cflags-avx2)
ifdef CC_FLAGS_NO_FPU
CFLAGS_REMOVE_kmod/pure/reduce_scalar.o := $(CC_FLAGS_NO_FPU)
CFLAGS_REMOVE_kmod/simd/reduce_sse2.o := $(CC_FLAGS_NO_FPU)
CFLAGS_REMOVE_kmod/simd/reduce_avx2.o := $(CC_FLAGS_NO_FPU)
endif
endif
