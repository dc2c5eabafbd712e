/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Types and operators of MPI, and those of coll. */
#ifndef LIBCOLL_MPI_TYPES_H
#define LIBCOLL_MPI_TYPES_H

#include <mpi.h>

#include <coll/coll.h>

#include "layout.h"

/**
 * types_find_op() - operator and type of coll for those of MPI
 *
 * All ranks of a reduction have the same operator and type, so they get the same answer. It is
 * false for operators of the application, for derived types, and for pairs of operator
 * and type that the MPI standard does not have.
 */
bool types_find_op(MPI_Op op, MPI_Datatype type, enum coll_op_code *code, enum coll_dtype *dtype);

/**
 * types_gap() - the gap in each element of a pair
 * @dtype: of types_find_op()
 *
 * The bytes belong to the application: a result must not change them.
 */
struct gap types_gap(enum coll_dtype dtype);

/**
 * types_is_dense() - are the bytes of a vector of these elements in order, without gaps?
 *
 * Each rank may have a type of its own with the same signature. So this may decide how a rank
 * hands its data over, but never whether coll does the call.
 */
bool types_is_dense(MPI_Datatype type);

/**
 * types_combiner() - how was a type made?
 *
 * Return: as MPI_Type_get_envelope(). MPI_COMBINER_NAMED for all predefined types: they cannot be
 * freed. MPI_UNDEFINED if MPI does not say.
 */
int types_combiner(MPI_Datatype type);

/**
 * types_keep() - a type with the same layout, for a call that outlives the application's type
 * @type: derived
 * @kept: result; to be freed by PMPI_Type_free()
 *
 * MPI_Type_dup() would copy attributes: it calls functions of the application, and the copy calls
 * others when it is freed. Return: false: MPI has no memory.
 */
bool types_keep(MPI_Datatype type, MPI_Datatype *kept);

/** types_size() - bytes of an element, without gaps; 0 if MPI does not say */
uint64_t types_size(MPI_Datatype type);

/** types_extent() - from one element to the next one, in bytes */
int64_t types_extent(MPI_Datatype type);

#endif
