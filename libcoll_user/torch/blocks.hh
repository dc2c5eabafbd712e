/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Lists of tensors as blocks of one vector. Memory between the blocks of a command is not touched,
 * so they may lie anywhere: the vector begins at the lowest one, and nothing is copied.
 */
#ifndef COLL_TORCH_BLOCKS_HH
#define COLL_TORCH_BLOCKS_HH

#include <cstdint>
#include <vector>

#include "op.hh"

namespace coll_torch {

/**
 * struct Blocks - one block for each rank
 * @base: the lowest address
 * @counts: elements of each
 * @displs: where each begins, in elements from @base
 */
struct Blocks {
	char *base = nullptr;
	std::vector<uint64_t> counts;
	std::vector<uint64_t> displs;
};

/* @tensors have been checked; there have to be @nr of them. Throws std::invalid_argument. */
Blocks blocks_of(const char *name, const char *what, const std::vector<at::Tensor> &tensors,
		 size_t nr);

/* No two outputs may share memory. Throws std::invalid_argument. */
void check_apart(const char *name, const char *what, const std::vector<at::Tensor> &outputs);

/* @inputs, or copies of all of them if one shares memory with one of @outputs. */
std::vector<at::Tensor> apart(const std::vector<at::Tensor> &inputs,
			      const std::vector<at::Tensor> &outputs);

/**
 * blocks_in() - the blocks of one tensor, along its first dimension
 * @splits: rows of each block; empty: all alike
 */
Blocks blocks_in(const char *name, const char *what, const at::Tensor &t,
		 const std::vector<int64_t> &splits, size_t nr);

/* The blocks one behind the other: where they are, if they lie like that; else a copy. */
void *packed(Op &op, const std::vector<at::Tensor> &tensors, const Blocks &blocks);

} // namespace coll_torch

#endif
