// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include "comm.hh"

#include <cerrno>

#include <sys/ioctl.h>
#include <unistd.h>

namespace coll_torch {

/* What nobody has waited for may go on so long after the end of the group. */
constexpr std::chrono::milliseconds GRACE{2000};

/*
 * A command in shared memory makes progress only while this rank calls coll. But until it waits for
 * the work, this rank may wait for others outside of coll, while they wait for it here. A command
 * with COLL_CMD_SLEEP goes to the kernel at once. A module that does not know the flag has no
 * shared memory.
 */
static uint32_t flags_for(coll_comm_t *comm)
{
	struct coll_version version = {};

	if (ioctl(coll_comm_fd(comm), COLL_IOC_VERSION, &version))
		return 0;
	return version.features & COLL_FEAT_SPIN ? COLL_CMD_SLEEP : 0;
}

Comm::Comm(coll_comm_t *comm)
	: comm_(comm), pid_(getpid()), flags_(flags_for(comm)), waiter_(std::make_shared<Waiter>())
{
}

std::string Comm::explain(const char *name, int err) const
{
	std::string text = std::string("coll: ") + name + ": " + coll_strerror(err);
	struct coll_status status;
	char cause[512];

	if (coll_comm_status(comm_, &status) || !status.cause.kind)
		return text;
	coll_cause_str(&status.cause, cause, sizeof(cause));
	return text + "; " + cause;
}

void Comm::fail(const Op &op)
{
	if (!op.is_message())
		coll_abort(comm_, static_cast<uint32_t>(-op.error()));
}

void Comm::leave(std::unique_ptr<Op> op)
{
	std::lock_guard<std::mutex> guard(lock_);

	left_.push_back(std::move(op));
}

void Comm::sweep()
{
	std::list<std::unique_ptr<Op>> mine;
	{
		std::lock_guard<std::mutex> guard(lock_);

		mine.swap(left_);
	}
	/* Tensors are let go without the lock: that may take the GIL, whose owner may want it. */
	mine.remove_if([this](const std::unique_ptr<Op> &op) {
		if (!op->look(0))
			return false;
		if (op->error())
			fail(*op);
		return true;
	});
	std::lock_guard<std::mutex> guard(lock_);

	left_.splice(left_.begin(), mine);
}

/* A child that was forked has none of our threads, and its calls are refused. */
bool Comm::is_copy() const
{
	return getpid() != pid_;
}

void Comm::close()
{
	if (is_copy())
		return;
	if (!waiter_->is_me() && !waiter_->drain(GRACE))
		coll_abort(comm_, ECANCELED);
	waiter_->stop();
}

Comm::~Comm()
{
	const auto until = std::chrono::steady_clock::now() + GRACE;

	if (is_copy()) {
		/* It is not destroyed: its condition variable has waiters that the child does not have. */
		new std::shared_ptr<Waiter>(waiter_);
		coll_finalize(comm_);
		for (auto &op : left_)
			op->forget();
		return;
	}
	waiter_->stop();
	for (auto &op : left_)
		op->cancel();
	for (auto &op : left_) {
		auto left = until - std::chrono::steady_clock::now();

		if (!op->look(left.count() > 0 ? left.count() : 0)) {
			coll_abort(comm_, ECANCELED);
			break;
		}
	}
	/* It waits for all that is under way, and frees it. */
	coll_finalize(comm_);
	for (auto &op : left_)
		op->forget();
}

} // namespace coll_torch
