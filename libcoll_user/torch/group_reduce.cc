// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include "group.hh"

#include <stdexcept>

#include <ATen/ATen.h>

#include "blocks.hh"
#include "rows.hh"
#include "types.hh"

namespace coll_torch {

at::Tensor Group::add_allreduce(Call &call, const at::Tensor &t, const c10d::ReduceOp &op)
{
	const char *name = call.op->name();
	enum coll_dtype dtype = check_tensor(name, "the tensor", t);
	enum coll_op_code code = op_of(name, op, dtype);
	const at::Tensor rows = output_rows(*call.op, t);

	coll_cmd_allreduce(comm_->get(), &command(call), COLL_IN_PLACE, rows.data_ptr(),
			   rows.numel(), dtype, code);
	return rows;
}

WorkPtr Group::allreduce(Tensors &tensors, const c10d::AllreduceOptions &opts)
{
	Call call("allreduce", "coll:all_reduce", c10d::OpType::ALLREDUCE, opts.timeout);

	add_allreduce(call, only("allreduce", "input", tensors), opts.reduceOp);
	call.inputs = tensors;
	call.outputs = {tensors};
	return start(call);
}

WorkPtr Group::allreduce_coalesced(Tensors &tensors, const c10d::AllreduceCoalescedOptions &opts)
{
	Call call("allreduce_coalesced", "coll:all_reduce", c10d::OpType::ALLREDUCE_COALESCED,
		  opts.timeout);

	Tensors rows;

	for (const at::Tensor &t : tensors)
		rows.push_back(add_allreduce(call, t, opts.reduceOp));
	check_apart("allreduce_coalesced", "the list", rows);
	call.inputs = tensors;
	call.outputs = {tensors};
	return start(call);
}

WorkPtr Group::reduce(Tensors &tensors, const c10d::ReduceOptions &opts)
{
	Call call("reduce", "coll:reduce", c10d::OpType::REDUCE, opts.timeout);
	at::Tensor &t = only("reduce", "input", tensors);
	enum coll_dtype dtype = check_tensor("reduce", "the tensor", t);
	enum coll_op_code code = op_of("reduce", opts.reduceOp, dtype);
	uint32_t to = root(call, opts.rootRank);
	bool here = to == static_cast<uint32_t>(rank_);
	const at::Tensor rows = here ? output_rows(*call.op, t) : input_rows(*call.op, t);

	coll_cmd_reduce(comm_->get(), &command(call), here ? COLL_IN_PLACE : rows.data_ptr(),
			here ? rows.data_ptr() : nullptr, rows.numel(), dtype, code, to);
	call.inputs = tensors;
	call.outputs = {tensors};
	return start(call);
}

WorkPtr Group::reduce_scatter(Tensors &outputs, std::vector<Tensors> &inputs,
			      const c10d::ReduceScatterOptions &opts)
{
	const char *name = "reduce_scatter";
	Call call(name, "coll:reduce_scatter", c10d::OpType::REDUCE_SCATTER, opts.timeout);
	at::Tensor &output = only(name, "output", outputs);
	enum coll_dtype dtype = check_tensor(name, "the output", output);
	enum coll_op_code op = op_of(name, opts.reduceOp, dtype);

	if (inputs.size() != 1)
		throw std::invalid_argument("coll: reduce_scatter: one list of inputs was expected");
	check_tensors(name, "an input", inputs[0], dtype);

	const at::Tensor rows = output_rows(*call.op, output);
	Tensors list = input_rows(*call.op, inputs[0]);
	Blocks in = blocks_of(name, "the list of inputs", list, size_);

	if (in.counts[rank_] != static_cast<uint64_t>(output.numel()))
		throw std::invalid_argument(
			"coll: reduce_scatter: the output has another size than the input for this rank");
	call.outputs = {outputs};
	/* The command reads its input, which is in one piece, while it writes the output. */
	call.inputs = apart(list, {rows});
	in = blocks_of(name, "the list of inputs", call.inputs, size_);

	void *send = packed(*call.op, call.inputs, in);

	coll_cmd_reduce_scatter(comm_->get(), &command(call), send, rows.data_ptr(),
				call.op->keep(in.counts), dtype, op);
	return start(call);
}

WorkPtr Group::_reduce_scatter_base(at::Tensor &output, at::Tensor &input,
				    const c10d::ReduceScatterOptions &opts)
{
	const char *name = "reduce_scatter_base";
	Call call(name, "coll:_reduce_scatter_base", c10d::OpType::_REDUCE_SCATTER_BASE, opts.timeout);
	enum coll_dtype dtype = check_tensor(name, "the output", output);

	check_tensors(name, "the input", {input}, dtype);
	if (input.numel() != output.numel() * size_)
		throw std::invalid_argument(
			"coll: reduce_scatter_base: the input has to be the output's size for each rank");

	enum coll_op_code code = op_of(name, opts.reduceOp, dtype);
	const at::Tensor rows = output_rows(*call.op, output);
	const at::Tensor from = apart({input_rows(*call.op, input)}, {rows})[0];

	coll_cmd_reduce_scatter_block(comm_->get(), &command(call), from.data_ptr(),
				      rows.data_ptr(), rows.numel(), dtype, code);
	call.inputs = {from};
	call.outputs = {{output}};
	return start(call);
}

} // namespace coll_torch
