/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Tensors and operators of torch as types and operators of coll. */
#ifndef COLL_TORCH_TYPES_HH
#define COLL_TORCH_TYPES_HH

#include <vector>

#include <ATen/core/Tensor.h>
#include <torch/csrc/distributed/c10d/Types.hpp>

#include <coll/coll.h>

namespace coll_torch {

/**
 * check_tensor() - has coll collectives of such tensors?
 * @name: of the collective, for the text of the exception
 * @what: which tensor it is, for the same
 *
 * Return: its type. Throws std::invalid_argument unless it is a dense tensor in the memory of the
 * CPU whose type coll has.
 */
enum coll_dtype check_tensor(const char *name, const char *what, const at::Tensor &t);

/*
 * The elements lie one behind the other, in row-major order, and are no conjugate or negative view.
 */
bool is_in_rows(const at::Tensor &t);

/* The same as check_tensor(), and it has to be in rows. */
enum coll_dtype check_rows(const char *name, const char *what, const at::Tensor &t);

/* The type of coll; COLL_DTYPE_NONE: it has none. */
enum coll_dtype dtype_of(at::ScalarType type);

/* The same as check_tensor() for each of @tensors, which have to be of type @dtype. */
void check_tensors(const char *name, const char *what, const std::vector<at::Tensor> &tensors,
		   enum coll_dtype dtype);

/* The only tensor in @tensors; throws std::invalid_argument if there are none or several. */
at::Tensor &only(const char *name, const char *what, std::vector<at::Tensor> &tensors);

/* The operator for elements of that type; throws std::invalid_argument if coll has none. */
enum coll_op_code op_of(const char *name, const c10d::ReduceOp &op, enum coll_dtype dtype);

} // namespace coll_torch

#endif
