// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include "rows.hh"

#include <stdexcept>
#include <string>

#include <ATen/ATen.h>
#include <ATen/MemoryOverlap.h>

#include "types.hh"

namespace coll_torch {

static at::Tensor rows_of(const at::Tensor &t)
{
	at::NoGradGuard no_grad;

	return t.resolve_conj().resolve_neg().contiguous();
}

at::Tensor input_rows(Op &op, const at::Tensor &t)
{
	if (is_in_rows(t))
		return t;

	const at::Tensor copy = rows_of(t);

	op.keep(copy);
	return copy;
}

at::Tensor output_rows(Op &op, const at::Tensor &t)
{
	if (is_in_rows(t))
		return t;
	if (at::has_internal_overlap(t) == at::MemOverlap::Yes)
		throw std::invalid_argument(std::string("coll: ") + op.name() +
					    ": elements of an output share memory");

	const at::Tensor copy = rows_of(t);

	op.keep(copy);
	op.copy_back(copy, t);
	return copy;
}

std::vector<at::Tensor> input_rows(Op &op, const std::vector<at::Tensor> &tensors)
{
	std::vector<at::Tensor> all;

	for (const at::Tensor &t : tensors)
		all.push_back(input_rows(op, t));
	return all;
}

std::vector<at::Tensor> output_rows(Op &op, const std::vector<at::Tensor> &tensors)
{
	std::vector<at::Tensor> all;

	for (const at::Tensor &t : tensors)
		all.push_back(output_rows(op, t));
	return all;
}

} // namespace coll_torch
