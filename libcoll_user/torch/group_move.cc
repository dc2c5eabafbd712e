// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include "group.hh"

#include <stdexcept>

#include "blocks.hh"
#include "rows.hh"
#include "types.hh"

namespace coll_torch {

/* For a receive buffer, too: a scatter's root leaves its output out. */
static void *const IN_PLACE = const_cast<void *>(COLL_IN_PLACE);

/* The block of this rank is where it will be. */
static bool in_place(const at::Tensor &own, const Blocks &b, size_t rank, size_t element)
{
	return own.numel() && own.data_ptr() == b.base + b.displs[rank] * element;
}

static Tensors &only_list(const char *name, std::vector<Tensors> &lists)
{
	if (lists.size() != 1)
		throw std::invalid_argument(std::string("coll: ") + name + ": one list of tensors was "
					    "expected, not " + std::to_string(lists.size()));
	return lists[0];
}

/* Other ranks than the root of gather and scatter have no list. */
static void no_list(const char *name, const std::vector<Tensors> &lists)
{
	if (!lists.empty() && !(lists.size() == 1 && lists[0].empty()))
		throw std::invalid_argument(std::string("coll: ") + name +
					    ": a list is for the root only");
}

static void check_block(const char *name, const Blocks &b, size_t rank, const at::Tensor &own)
{
	if (b.counts[rank] != static_cast<uint64_t>(own.numel()))
		throw std::invalid_argument(std::string("coll: ") + name + ": the tensor of this rank has "
					    "another size than its place in the list");
}

WorkPtr Group::broadcast(Tensors &tensors, const c10d::BroadcastOptions &opts)
{
	Call call("broadcast", "coll:broadcast", c10d::OpType::BROADCAST, opts.timeout);
	at::Tensor &t = only("broadcast", "input", tensors);
	enum coll_dtype dtype = check_tensor("broadcast", "the tensor", t);
	uint32_t from = root(call, opts.rootRank);
	const at::Tensor rows = from == static_cast<uint32_t>(rank_) ? input_rows(*call.op, t) :
								       output_rows(*call.op, t);

	coll_cmd_broadcast(comm_->get(), &command(call), rows.data_ptr(), rows.numel(), dtype,
			   from);
	call.inputs = tensors;
	call.outputs = {tensors};
	return start(call);
}

/* The input, which may be its block of @out already. Else it shares no memory with @outputs. */
static const void *input_of(Op &op, const at::Tensor &input, const Blocks &out,
			    const Tensors &outputs, size_t rank)
{
	if (in_place(input, out, rank, input.element_size()))
		return COLL_IN_PLACE;

	const Tensors from = apart({input}, outputs);

	op.keep(from);
	return from[0].data_ptr();
}

static void check_gathered(const char *name, const at::Tensor &input, const Tensors &outputs)
{
	check_tensors(name, "an output", outputs, check_tensor(name, "the input", input));
}

void Group::add_allgather(Call &call, const Tensors &outputs, const at::Tensor &input,
			  const Tensors &all)
{
	const char *name = call.op->name();
	enum coll_dtype dtype = dtype_of(input.scalar_type());
	Blocks out = blocks_of(name, "the list of outputs", outputs, size_);

	check_block(name, out, rank_, input);

	const void *from = input_of(*call.op, input_rows(*call.op, input), out, all, rank_);

	coll_cmd_allgatherv(comm_->get(), &command(call), from, out.base,
			    call.op->keep(out.counts), call.op->keep(out.displs), dtype);
}

WorkPtr Group::allgather(std::vector<Tensors> &outputs, Tensors &inputs,
			 const c10d::AllgatherOptions &opts)
{
	Call call("allgather", "coll:all_gather", c10d::OpType::ALLGATHER, opts.timeout);
	const Tensors &list = only_list("allgather", outputs);
	const at::Tensor &input = only("allgather", "input", inputs);

	check_gathered("allgather", input, list);

	const Tensors rows = output_rows(*call.op, list);

	add_allgather(call, rows, input, rows);
	check_apart("allgather", "the list of outputs", rows);
	call.inputs = inputs;
	call.outputs = outputs;
	return start(call);
}

WorkPtr Group::allgather_coalesced(std::vector<Tensors> &outputs, Tensors &inputs,
				   const c10d::AllgatherOptions &opts)
{
	Call call("allgather_coalesced", "coll:all_gather", c10d::OpType::ALLGATHER_COALESCED,
		  opts.timeout);
	std::vector<Tensors> rows;
	Tensors all;

	/* One list for each rank, with a tensor for each input */
	if (outputs.size() != static_cast<size_t>(size_))
		throw std::invalid_argument(
			"coll: allgather_coalesced: one list of outputs for each rank was expected");
	for (const Tensors &ts : outputs)
		if (ts.size() != inputs.size())
			throw std::invalid_argument("coll: allgather_coalesced: each list has to have "
						    "one tensor for each input");
	for (const Tensors &ts : outputs) {
		for (size_t i = 0; i < inputs.size(); i++)
			check_gathered("allgather_coalesced", inputs[i], {ts[i]});
		rows.push_back(output_rows(*call.op, ts));
		all.insert(all.end(), rows.back().begin(), rows.back().end());
	}
	check_apart("allgather_coalesced", "the list of outputs", all);
	for (size_t i = 0; i < inputs.size(); i++) {
		Tensors column;

		for (const Tensors &ts : rows)
			column.push_back(ts[i]);
		add_allgather(call, column, inputs[i], all);
	}
	call.inputs = inputs;
	call.outputs = outputs;
	return start(call);
}

WorkPtr Group::_allgather_base(at::Tensor &output, at::Tensor &input,
			       const c10d::AllgatherOptions &opts)
{
	const char *name = "allgather_base";
	Call call(name, "coll:_all_gather_base", c10d::OpType::_ALLGATHER_BASE, opts.timeout);
	enum coll_dtype dtype = check_tensor(name, "the input", input);

	check_tensors(name, "the output", {output}, dtype);
	if (output.numel() != input.numel() * size_)
		throw std::invalid_argument(
			"coll: allgather_base: the output has to be the input's size for each rank");

	const at::Tensor to = output_rows(*call.op, output), rows = input_rows(*call.op, input);
	const char *own = static_cast<const char *>(to.data_ptr()) + rank_ * rows.nbytes();
	const at::Tensor from = rows.data_ptr() == own ? rows : apart({rows}, {to})[0];

	call.op->keep(from);
	coll_cmd_allgather(comm_->get(), &command(call),
			   rows.data_ptr() == own ? COLL_IN_PLACE : from.data_ptr(),
			   to.data_ptr(), rows.numel(), dtype);
	call.inputs = {input};
	call.outputs = {{output}};
	return start(call);
}

WorkPtr Group::gather(std::vector<Tensors> &outputs, Tensors &inputs, const c10d::GatherOptions &opts)
{
	Call call("gather", "coll:gather", c10d::OpType::GATHER, opts.timeout);
	at::Tensor &input = only("gather", "input", inputs);
	enum coll_dtype dtype = check_tensor("gather", "the input", input);
	const at::Tensor from = input_rows(*call.op, input);
	uint32_t to = root(call, opts.rootRank);

	call.inputs = inputs;
	if (to != static_cast<uint32_t>(rank_)) {
		no_list("gather", outputs);
		coll_cmd_gatherv(comm_->get(), &command(call), from.data_ptr(), from.numel(),
				 nullptr, nullptr, nullptr, dtype, to);
		return start(call);
	}

	check_tensors("gather", "an output", only_list("gather", outputs), dtype);

	const Tensors list = output_rows(*call.op, outputs[0]);
	Blocks out = blocks_of("gather", "the list of outputs", list, size_);

	check_block("gather", out, rank_, from);
	check_apart("gather", "the list of outputs", list);
	coll_cmd_gatherv(comm_->get(), &command(call), input_of(*call.op, from, out, list, rank_),
			 from.numel(), out.base, call.op->keep(out.counts),
			 call.op->keep(out.displs), dtype, to);
	call.outputs = outputs;
	return start(call);
}

WorkPtr Group::scatter(Tensors &outputs, std::vector<Tensors> &inputs,
		       const c10d::ScatterOptions &opts)
{
	Call call("scatter", "coll:scatter", c10d::OpType::SCATTER, opts.timeout);
	at::Tensor &output = only("scatter", "output", outputs);
	enum coll_dtype dtype = check_tensor("scatter", "the output", output);
	const at::Tensor to = output_rows(*call.op, output);
	uint32_t from = root(call, opts.rootRank);

	call.outputs = {outputs};
	if (from != static_cast<uint32_t>(rank_)) {
		no_list("scatter", inputs);
		coll_cmd_scatterv(comm_->get(), &command(call), nullptr, nullptr, nullptr,
				  to.data_ptr(), to.numel(), dtype, from);
		return start(call);
	}

	check_tensors("scatter", "an input", only_list("scatter", inputs), dtype);

	Tensors list = input_rows(*call.op, inputs[0]);
	Blocks in = blocks_of("scatter", "the list of inputs", list, size_);

	check_block("scatter", in, rank_, to);
	if (!in_place(to, in, rank_, to.element_size())) {
		list = apart(list, {to});
		in = blocks_of("scatter", "the list of inputs", list, size_);
	}
	coll_cmd_scatterv(comm_->get(), &command(call), in.base, call.op->keep(in.counts),
			  call.op->keep(in.displs),
			  in_place(to, in, rank_, to.element_size()) ? IN_PLACE : to.data_ptr(),
			  to.numel(), dtype, from);
	call.inputs = list;
	return start(call);
}

static std::vector<uint64_t> both(const std::vector<uint64_t> &first,
				  const std::vector<uint64_t> &second)
{
	std::vector<uint64_t> all(first);

	all.insert(all.end(), second.begin(), second.end());
	return all;
}

WorkPtr Group::alltoall_base(at::Tensor &output, at::Tensor &input,
			     std::vector<int64_t> &output_splits, std::vector<int64_t> &input_splits,
			     const c10d::AllToAllOptions &opts)
{
	const char *name = "alltoall_base";
	Call call(name, "coll:all_to_all", c10d::OpType::ALLTOALL_BASE, opts.timeout);
	enum coll_dtype dtype = check_tensor(name, "the input", input);

	check_tensors(name, "the output", {output}, dtype);

	const at::Tensor to = output_rows(*call.op, output);
	const at::Tensor from = apart({input_rows(*call.op, input)}, {to})[0];
	Blocks in = blocks_in(name, "the input", from, input_splits, size_);
	Blocks out = blocks_in(name, "the output", to, output_splits, size_);

	if (output_splits.empty() && input_splits.empty()) {
		if (in.counts != out.counts)
			throw std::invalid_argument(
				"coll: alltoall_base: input and output differ in size");
		coll_cmd_alltoall(comm_->get(), &command(call), in.base, out.base, in.counts[0], dtype);
	} else {
		coll_cmd_alltoallv(comm_->get(), &command(call), in.base, out.base,
				   call.op->keep(both(in.counts, out.counts)),
				   call.op->keep(both(in.displs, out.displs)), dtype);
	}
	call.inputs = {from};
	call.outputs = {{output}};
	return start(call);
}

WorkPtr Group::alltoall(Tensors &outputs, Tensors &inputs, const c10d::AllToAllOptions &opts)
{
	Call call("alltoall", "coll:all_to_all", c10d::OpType::ALLTOALL, opts.timeout);
	enum coll_dtype dtype = inputs.empty() ? COLL_DTYPE_NONE :
						 check_tensor("alltoall", "an input", inputs[0]);

	check_tensors("alltoall", "an input", inputs, dtype);
	check_tensors("alltoall", "an output", outputs, dtype);

	const Tensors to = output_rows(*call.op, outputs);
	const Tensors from = apart(input_rows(*call.op, inputs), to);
	Blocks in = blocks_of("alltoall", "the list of inputs", from, size_);
	Blocks out = blocks_of("alltoall", "the list of outputs", to, size_);

	check_apart("alltoall", "the list of outputs", to);
	coll_cmd_alltoallv(comm_->get(), &command(call), in.base, out.base,
			   call.op->keep(both(in.counts, out.counts)),
			   call.op->keep(both(in.displs, out.displs)), dtype);
	call.inputs = from;
	call.outputs = {outputs};
	return start(call);
}

WorkPtr Group::barrier(const c10d::BarrierOptions &opts)
{
	Call call("barrier", "coll:barrier", c10d::OpType::BARRIER, opts.timeout);

	coll_cmd_barrier(comm_->get(), &command(call));
	return start(call);
}

} // namespace coll_torch
