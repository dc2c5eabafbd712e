// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include "group.hh"

#include <stdexcept>

#include "meet.hh"

namespace coll_torch {

Group::Group(c10d::Store &store, int rank, int size, std::chrono::milliseconds timeout)
	: c10d::ProcessGroup(rank, size), timeout_(timeout),
	  comm_(std::make_shared<Comm>(meet(store, rank, size, timeout)))
{
}

Group::~Group()
{
	close();
}

struct coll_cmd &Group::command(Call &call)
{
	call.cmds.emplace_back();
	return call.cmds.back();
}

uint32_t Group::root(const Call &call, int64_t rank) const
{
	if (rank < 0 || rank >= size_)
		throw std::invalid_argument(std::string("coll: ") + call.op->name() + ": no rank " +
					    std::to_string(rank));
	return static_cast<uint32_t>(rank);
}

/* As deadline of a command; 0: none */
static uint64_t deadline(std::chrono::milliseconds timeout)
{
	return is_for_ever(timeout) ? 0 : std::chrono::nanoseconds(timeout).count();
}

uint64_t Group::timeout_ns() const
{
	return deadline(timeout_);
}

WorkPtr Group::start(Call &call)
{
	const std::chrono::milliseconds timeout =
		call.timeout.count() < 0 ? timeout_ : call.timeout;
	const uint64_t ns = deadline(timeout);
	/* The name outlives the operation. */
	const char *name = call.op->name();
	int err;

	comm_->sweep();
	call.op->keep(call.inputs);
	for (const Tensors &ts : call.outputs)
		call.op->keep(ts);
	for (struct coll_cmd &cmd : call.cmds) {
		cmd.flags |= comm_->flags();
		call.op->post(comm_->get(), cmd, ns);
	}
	sequence_++;
	err = call.op->error();
	if (err) {
		comm_->fail(*call.op);
		comm_->leave(std::move(call.op));
		throw std::runtime_error(comm_->explain(name, err));
	}
	return c10::make_intrusive<CollWork>(comm_, std::move(call.op), rank_, call.type,
					     std::move(call.outputs), call.title, call.inputs);
}

} // namespace coll_torch
