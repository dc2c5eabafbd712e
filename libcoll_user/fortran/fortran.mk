# SPDX-License-Identifier: LGPL-2.1 OR MIT
#
# Included by ../Makefile: module coll for Fortran, if gfortran is there.

GFORTRAN := $(shell command -v gfortran)
# in the order in which they use each other
FORTRAN := $(if $(GFORTRAN),types comms collectives messages requests ops)
FORTRAN_SRC := $(if $(GFORTRAN),$(FORTRAN:%=fortran/coll_%.f90) fortran/coll.f90)
FORTRAN_OUT := $(OUT)/fortran
FORTRAN_LIB := $(if $(GFORTRAN),$(OUT)/libcoll_fortran.a)
FORTRAN_MOD := $(FORTRAN_SRC:fortran/%.f90=$(FORTRAN_OUT)/%.mod)
FORTRAN_PC_IN := fortran/libcoll_fortran.pc.in

fortran: $(FORTRAN_LIB)

# A compiler writes the .mod of a file with its object.
$(OUT)/libcoll_fortran.a: $(FORTRAN_SRC) Makefile fortran/fortran.mk
	@mkdir -p $(FORTRAN_OUT)
	@rm -f $@
	$(Q)for f in $(FORTRAN_SRC); do \
		echo "  FC      $$(basename $$f)"; \
		$(GFORTRAN) -std=f2008ts -Wall -Wextra -Werror -O2 -g -fPIC -J$(FORTRAN_OUT) \
			-c -o $(FORTRAN_OUT)/$$(basename $$f .f90).o $$f || exit; \
	done
	$(Q)$(AR) qcs $@ $(FORTRAN_SRC:fortran/%.f90=$(FORTRAN_OUT)/%.o)
