/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Adasum: a sum of gradients that does not grow with the number of ranks that agree.
 *
 * S. Maleki et al., "Scaling Distributed Training with Adaptive Summation", MLSys 2021. Two
 * vectors a and b become
 *
 *	(1 - a.b / (2 a.a)) a + (1 - a.b / (2 b.b)) b
 *
 * which is their sum if they are orthogonal, and their mean if they are equal. A vector
 * without length does not change the other one.
 */
#ifndef COLL_ADASUM_H
#define COLL_ADASUM_H

#ifndef COLL_COLL_H
#error "include <coll/coll.h>"
#endif

/**
 * coll_adasum() - adasum of all ranks' vectors, everywhere
 * @send: input, or COLL_IN_PLACE: the input is in @recv
 * @recv: result; undefined after an error
 * @counts: elements of each tensor; the tensors lie one behind the other
 * @nr: tensors; each has scalar products and factors of its own
 * @dtype: COLL_F32 or COLL_F64
 *
 * Vectors are combined in a binary tree of ranks: 0 with 1, 2 with 3, then these pairs, and so
 * on. The number of ranks must be a power of 2. Products are summed in f64, and each element of
 * a pair is computed in f64 and rounded once. All ranks get the same bits. A COLL_F64 tensor whose
 * length is above 1e154 has a product that f64 cannot hold, and the result may be NaN.
 *
 * Each rank sends and receives about 2 (p - 1) / p times the vector, as for an allreduce, and log2 p
 * times 24 bytes for each tensor of each rank. It allocates half of the vector. A sequence of
 * collectives of @comm: all ranks must call it in the same order, and no named communicator can be
 * @comm.
 *
 * Errors, on all ranks: EINVAL, EOVERFLOW or ENOMEM of one rank; EBADE if the ranks disagree about
 * @counts or @dtype; EOPNOTSUPP for another type, or if the number of ranks is no power of 2. These
 * leave the communicator as it was; but if a rank has no memory even to tell the others, it aborts.
 * Other errors are those of collectives. After them the communicator has failed.
 */
int coll_adasum(coll_comm_t *comm, const void *send, void *recv, const uint64_t *counts,
		uint32_t nr, enum coll_dtype dtype);

#endif
