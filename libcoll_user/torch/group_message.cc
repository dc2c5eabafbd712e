// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include "group.hh"

#include <stdexcept>

#include "rows.hh"
#include "types.hh"

namespace coll_torch {

static uint32_t tag_of(const char *name, int tag)
{
	if (tag < 0)
		throw std::invalid_argument(std::string("coll: ") + name + ": tags begin with 0");
	return static_cast<uint32_t>(tag);
}

WorkPtr Group::send(Tensors &tensors, int to, int tag)
{
	Call call("send", "coll:send", c10d::OpType::SEND, timeout_, true);
	at::Tensor &t = only("send", "input", tensors);
	enum coll_dtype dtype = check_tensor("send", "the tensor", t);

	const at::Tensor rows = input_rows(*call.op, t);

	coll_cmd_send(comm_->get(), &command(call), rows.data_ptr(), rows.numel(), dtype,
		      root(call, to), tag_of("send", tag));
	call.inputs = tensors;
	return start(call);
}

WorkPtr Group::receive(Call &call, at::Tensor &t, uint32_t from, int tag)
{
	const char *name = call.op->name();
	enum coll_dtype dtype = check_tensor(name, "the tensor", t);

	const at::Tensor rows = output_rows(*call.op, t);

	coll_cmd_recv(comm_->get(), &command(call), rows.data_ptr(), rows.numel(), dtype, from,
		      tag_of(name, tag), call.op->message());
	call.outputs = {{t}};
	return start(call);
}

WorkPtr Group::recv(Tensors &tensors, int from, int tag)
{
	Call call("recv", "coll:recv", c10d::OpType::RECV, timeout_, true);

	return receive(call, only("recv", "output", tensors), root(call, from), tag);
}

WorkPtr Group::recvAnysource(Tensors &tensors, int tag)
{
	Call call("recv", "coll:recvAnySource", c10d::OpType::RECVANYSOURCE, timeout_, true);

	return receive(call, only("recv", "output", tensors), COLL_RANK_ANY, tag);
}

} // namespace coll_torch
