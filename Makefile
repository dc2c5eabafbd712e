# SPDX-License-Identifier: GPL-2.0
#
# Top-level targets; see make help.

KERNEL	?= debian-6.1
KERNELS	?= uml uml-debug debian-6.1 debian-6.12
N	?= 1000
SECONDS	?= 600
DEBUG_KERNEL ?= uml-debug
TOP	:= $(CURDIR)
Q	:= $(if $(V),,@)
COLLVM	:= $(TOP)/tools/collvm
# as many jobs as CPUs, unless make was told how many
jobs	= $(if $(filter -j% --jobserver%,$(MAKEFLAGS)),,-j$(shell nproc))

# The kernel way works too: make -C $KDIR M=$PWD modules reads Kbuild, not this.

all: packages user modules

help:
	@echo 'make demo [KERNEL=uml]      k-means and regression over /dev/coll in a VM, on two nodes'
	@echo 'make check [KERNELS="uml"]  all suites, sampled; ends with "N passed, N failed"'
	@echo 'make check-full             every test on every kernel'
	@echo 'make all                    library, tools, and coll.ko for KERNEL'
	@echo 'make unit | layers | static the tests that need no VM'
	@echo 'make func | net             kselftests in a VM (KERNEL=uml ...)'
	@echo 'make hosts                  two VMs on one network (KERNEL=debian-6.1, debian-6.12)'
	@echo 'make check-programs         programs of MPI and PyTorch on coll; installs them first'
	@echo 'make stress-kill N=1000     seeded kill -9 injections (KERNEL=uml-debug; WAY=shm)'
	@echo 'make fuzz SECONDS=600       ioctl, io_uring, wire, generic netlink (uml-debug)'
	@echo 'make faultinject            failing allocations and copies, each in turn (uml-debug)'
	@echo 'make bench                  beside MPI and Gloo, into Documentation/performance.rst'
	@echo '                            (BENCH_SETTING=uml|vm|native, see tools/bench/run)'
	@echo 'make bench-each             every collective beside MPI, into Documentation/performance-each.rst'
	@echo 'make bench-ops              speed of every reduction, into Documentation/reductions-speed.rst'
	@echo 'make bench-select           is the chosen algorithm the best one? into Documentation/selection.rst'
	@echo 'make bench-tensors          named tensors beside what Horovod does with MPI'
	@echo 'make timeline               a picture of a training step, into Documentation/timeline.svg'
	@echo 'make install PREFIX=/usr    library, headers, tools, udev rule (uninstall, DESTDIR=...)'
	@echo 'make modules_install        coll.ko for KDIR, or for the running kernel'
	@echo 'kernels: uml uml-debug debian-6.1 debian-6.12 debian-6.1-rt kcsan (default $(KERNEL))'

packages:
	$(Q)tools/packages

user: packages
	$(Q)$(MAKE) $(jobs) -s -C libcoll_user
	$(Q)$(MAKE) $(jobs) -s -C tools

modules: packages
	$(Q)$(COLLVM) fetch $(KERNEL)
	$(Q)$(COLLVM) build $(KERNEL)

demo: user
	$(Q)tools/demo $(KERNEL)

layers:
	$(Q)sh selftests/unit/layers.sh

unit: packages
	$(Q)$(MAKE) -s -C selftests/unit run

static: packages
	$(Q)selftests/static.sh $(firstword $(KERNELS))
	$(Q)for k in $(KERNELS); do selftests/kernel.sh $$k $(KERNELS) || exit; done

func net hosts: user
	$(Q)$(MAKE) -s -C selftests run-$@ KERNEL=$(KERNEL)

# torch is large, also in memory. What is built against it is built when it is there.
check-programs: packages
	$(Q)tools/packages programs
	$(Q)$(MAKE) -s user
	$(Q)COLL_MPICH_TESTS=$$(tools/mpich-tests) && COLL_SLURM=$$(tools/slurm) && \
		export COLL_MPICH_TESTS COLL_SLURM && \
		$(MAKE) -s -C selftests run-net KERNEL=$(KERNEL) VMFLAGS="$(or $(VMFLAGS),--mem 3072)" \
		TESTS="$(or $(TESTS),mpi.sh mpi_programs.sh slurm.sh torch.sh mpich.sh)" LIMIT_PROG=7200 LIMIT_SUITE=10800

check: user
	$(Q)selftests/check.sh $(KERNELS)

check-full: user
	$(Q)COLL_CHECK_SEED=all selftests/check.sh $(KERNELS)

stress-kill: user
	$(Q)$(MAKE) -s -C selftests stress-kill N=$(N) KERNEL=$(KERNEL) WAY=$(WAY)

# Only the sanitizer kernel has KCOV.
fuzz: user
	$(Q)$(MAKE) -s -C selftests run-fuzz SECONDS=$(SECONDS) KERNEL=$(DEBUG_KERNEL)

# Only the sanitizer kernel has fault injection.
faultinject: user
	$(Q)$(MAKE) -s -C selftests run-faultinject KERNEL=$(DEBUG_KERNEL)

bench: user
	$(Q)tools/bench/run

bench-each: user
	$(Q)tools/bench/each

bench-ops: packages
	$(Q)tools/bench/ops

bench-select: user
	$(Q)tools/bench/select

bench-tensors: user
	$(Q)tools/bench/tensors

timeline: user
	$(Q)tools/bench/timeline

include tools/install/install.mk

clean:
	rm -rf .build

.PHONY: all help packages user modules demo layers unit static func net hosts check check-full check-programs \
	stress-kill fuzz faultinject bench bench-each bench-ops bench-select bench-tensors timeline clean
