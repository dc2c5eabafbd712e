# SPDX-License-Identifier: LGPL-2.1 OR MIT
#
# Included by ../Makefile: a library to be preloaded into programs of MPI, for each MPI whose
# compiler wrapper is there. Without any nothing is built. The sources are the same; <mpi.h> is not.

MPI_KINDS := $(foreach k,mpich openmpi,$(if $(shell command -v mpicc.$(k)),$(k)))
MPI_LIBS := $(MPI_KINDS:%=$(OUT)/libcoll_mpi_%.so)
# These parts of libcoll are in this library, too.
MPI_SRC := $(sort $(wildcard mpi/*.c)) base/env.c base/debug.c base/error.c

mpi: $(MPI_LIBS)

define MPI_RULES
$(OUT)/obj/$(1)/%.o: %.c Makefile mpi/mpi.mk
	@mkdir -p $$(@D)
	@echo '  MPICC   $$(notdir $$@)'
	$$(Q)mpicc.$(1) $$(ALL_CFLAGS) -fvisibility=default -MMD -MP -c -o $$@ $$<

# It finds libcoll.so.0 beside itself.
$(OUT)/libcoll_mpi_$(1).so: $(MPI_SRC:%.c=$(OUT)/obj/$(1)/%.o) mpi/mpi.map | $(OUT)/libcoll.so
	@echo '  MPICC   $$(notdir $$@)'
	$$(Q)mpicc.$(1) -shared -Wl,--version-script,mpi/mpi.map -Wl,-z,defs -Wl,-z,relro,-z,now \
		-Wl,-rpath,'$$$$ORIGIN' $$(LDFLAGS) -o $$@ $$(filter %.o,$$^) -L$(OUT) -lcoll -pthread

-include $(MPI_SRC:%.c=$(OUT)/obj/$(1)/%.d)
endef

$(foreach k,$(MPI_KINDS),$(eval $(call MPI_RULES,$(k))))
