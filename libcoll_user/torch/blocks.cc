// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include "blocks.hh"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>

#include <ATen/ATen.h>

namespace coll_torch {

[[noreturn]] static void refuse(const char *name, const char *what, const std::string &text)
{
	throw std::invalid_argument(std::string("coll: ") + name + ": " + what + " " + text);
}

static void check_number(const char *name, const char *what, size_t got, size_t nr)
{
	if (got != nr)
		refuse(name, what, "has to have " + std::to_string(nr) +
		       " entries, one for each rank, not " + std::to_string(got));
}

static char *address(const at::Tensor &t)
{
	return static_cast<char *>(t.data_ptr());
}

Blocks blocks_of(const char *name, const char *what, const std::vector<at::Tensor> &tensors,
		 size_t nr)
{
	Blocks b;

	check_number(name, what, tensors.size(), nr);
	for (const at::Tensor &t : tensors)
		if (t.numel() && (!b.base || address(t) < b.base))
			b.base = address(t);
	for (const at::Tensor &t : tensors) {
		size_t bytes = t.numel() ? address(t) - b.base : 0;

		if (bytes % t.element_size())
			refuse(name, what, "lies at an address that is not a multiple of its elements");
		b.counts.push_back(t.numel());
		b.displs.push_back(bytes / t.element_size());
	}
	return b;
}

/* The memory of tensors that have some, by address. */
using Range = std::pair<char *, char *>;

static std::vector<Range> ranges_of(const std::vector<at::Tensor> &tensors)
{
	std::vector<Range> ranges;

	for (const at::Tensor &t : tensors)
		if (t.nbytes())
			ranges.emplace_back(address(t), address(t) + t.nbytes());
	std::sort(ranges.begin(), ranges.end());
	return ranges;
}

void check_apart(const char *name, const char *what, const std::vector<at::Tensor> &outputs)
{
	const std::vector<Range> ranges = ranges_of(outputs);

	for (size_t i = 1; i < ranges.size(); i++)
		if (ranges[i].first < ranges[i - 1].second)
			refuse(name, what, "has two entries that share memory");
}

std::vector<at::Tensor> apart(const std::vector<at::Tensor> &inputs,
			      const std::vector<at::Tensor> &outputs)
{
	const std::vector<Range> in = ranges_of(inputs), out = ranges_of(outputs);
	std::vector<at::Tensor> copies;
	at::NoGradGuard no_grad;
	bool share = false;

	/* Both are sorted. What ends before an output begins is before all later outputs, too. */
	for (size_t i = 0, o = 0; i < in.size() && o < out.size() && !share;) {
		if (in[i].second <= out[o].first)
			i++;
		else if (out[o].second <= in[i].first)
			o++;
		else
			share = true;
	}
	if (!share)
		return inputs;
	for (const at::Tensor &t : inputs)
		copies.push_back(t.clone());
	return copies;
}

static std::vector<int64_t> equal_splits(const char *name, const char *what, int64_t rows,
					 size_t nr)
{
	if (rows % static_cast<int64_t>(nr))
		refuse(name, what, "has " + std::to_string(rows) + " rows, which " +
		       std::to_string(nr) + " ranks cannot divide equally");
	return std::vector<int64_t>(nr, rows / static_cast<int64_t>(nr));
}

Blocks blocks_in(const char *name, const char *what, const at::Tensor &t,
		 const std::vector<int64_t> &splits, size_t nr)
{
	const int64_t rows = t.dim() ? t.size(0) : 1, row = rows ? t.numel() / rows : 0;
	const std::vector<int64_t> sizes = splits.empty() ? equal_splits(name, what, rows, nr) : splits;
	int64_t at = 0;
	Blocks b;

	check_number(name, what, sizes.size(), nr);
	b.base = address(t);
	for (int64_t size : sizes) {
		if (size < 0 || size > rows - at)
			refuse(name, what, "has splits that do not fit it");
		b.counts.push_back(size * row);
		b.displs.push_back(at * row);
		at += size;
	}
	if (at != rows)
		refuse(name, what, "has splits that are not all of it");
	return b;
}

void *packed(Op &op, const std::vector<at::Tensor> &tensors, const Blocks &blocks)
{
	uint64_t at = 0;
	bool apart = false;

	for (size_t i = 0; i < blocks.counts.size(); at += blocks.counts[i++])
		apart |= blocks.counts[i] && blocks.displs[i] != at;
	if (!apart)
		return blocks.base;

	at::NoGradGuard no_grad;
	std::vector<at::Tensor> flat;

	for (const at::Tensor &t : tensors)
		flat.push_back(t.reshape({-1}));
	at::Tensor copy = at::cat(flat);

	op.keep(copy);
	return copy.data_ptr();
}

} // namespace coll_torch
