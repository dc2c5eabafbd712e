/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Tensors of any strides. A command takes elements in row-major order, one behind the other. A
 * tensor that is laid out like that is used as it is; of any other one a copy is used.
 */
#ifndef COLL_TORCH_ROWS_HH
#define COLL_TORCH_ROWS_HH

#include <vector>

#include "op.hh"

namespace coll_torch {

/* @t, or a copy that is there until @op is over. */
at::Tensor input_rows(Op &op, const at::Tensor &t);
std::vector<at::Tensor> input_rows(Op &op, const std::vector<at::Tensor> &tensors);

/*
 * @t, or a copy of it, which is copied back when @op is over, unless it has failed. Throws
 * std::invalid_argument if elements of @t share memory.
 */
at::Tensor output_rows(Op &op, const at::Tensor &t);
std::vector<at::Tensor> output_rows(Op &op, const std::vector<at::Tensor> &tensors);

} // namespace coll_torch

#endif
