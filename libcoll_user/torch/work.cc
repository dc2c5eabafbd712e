// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * A work has no thread. Whoever waits for it, or tests it, looks at the commands itself, one
 * thread at a time; others wait until that one has completed it. If a future was asked for, a
 * thread of the group does so (waiter.hh).
 */
#include "work.hh"

#include <algorithm>
#include <stdexcept>

#include "gil.hh"

namespace coll_torch {

using Clock = std::chrono::steady_clock;

CollWork::CollWork(std::shared_ptr<Comm> comm, std::unique_ptr<Op> op, int rank, c10d::OpType type,
		   std::vector<Tensors> outputs, const char *title, const Tensors &inputs)
	: c10d::Work(rank, type, title, inputs), comm_(std::move(comm)), op_(std::move(op)),
	  outputs_(std::move(outputs))
{
}

CollWork::~CollWork()
{
	if (!over_)
		comm_->leave(std::move(op_));
}

/* Look for @ns. Return: it is over. */
bool CollWork::look(uint64_t ns)
{
	std::unique_lock<std::timed_mutex> driver(driving_, std::defer_lock);

	if (ns ? !driver.try_lock_for(std::chrono::nanoseconds(ns)) : !driver.try_lock())
		return false;
	return op_->look(ns);
}

/* The same. If it is over, it is completed, unless another thread is just doing that. */
bool CollWork::drive(uint64_t ns)
{
	if (!look(ns))
		return false;
	complete();
	return true;
}

void CollWork::complete()
{
	c10::intrusive_ptr<c10::ivalue::Future> future;
	std::exception_ptr error;
	{
		std::lock_guard<std::mutex> guard(state_);

		if (over_)
			return;
		over_ = true;
		future = future_;
	}
	if (op_->error()) {
		comm_->fail(*op_);
		error = std::make_exception_ptr(
			std::runtime_error(comm_->explain(op_->name(), op_->error())));
	}
	finish(error);
	if (future)
		set(*future);
}

/* What was asked for; NULL: nothing. */
c10::intrusive_ptr<c10::ivalue::Future> CollWork::future()
{
	std::lock_guard<std::mutex> guard(state_);

	return future_;
}

/* A work that is over has a future that is over, as with the other backends. */
bool CollWork::isCompleted()
{
	drive(0);
	if (!c10d::Work::isCompleted())
		return false;
	auto promised = future();

	return !promised || promised->completed();
}

/* Until another thread has completed it. */
bool CollWork::await(Clock::time_point until, bool for_ever)
{
	std::unique_lock<std::mutex> guard(mutex_);
	auto completed = [this] { return completed_; };

	if (!for_ever)
		return cv_.wait_until(guard, until, completed);
	cv_.wait(guard, completed);
	return true;
}

bool CollWork::run_until(Clock::time_point until, bool for_ever)
{
	bool given_away;
	{
		std::lock_guard<std::mutex> guard(state_);

		given_away = given_away_;
	}
	/* A callback looks itself: the waiter has another thread to do so only after a while. */
	if (given_away && !comm_->waiter().is_me())
		return await(until, for_ever);
	for (;;) {
		uint64_t ns = A_WHILE_NS;

		if (!for_ever) {
			auto left = until - Clock::now();

			ns = std::min<int64_t>(std::max<int64_t>(left.count(), 0), A_WHILE_NS);
		}
		if (drive(ns))
			return await(until, true);
		if (!for_ever && !ns)
			return false;
	}
}

bool CollWork::wait(std::chrono::milliseconds timeout)
{
	const bool for_ever = timeout == kNoTimeout || is_for_ever(timeout);
	const auto until = for_ever ? Clock::time_point() : Clock::now() + timeout;

	if (!run_until(until, for_ever))
		throw std::runtime_error(std::string("coll: ") + op_->name() +
					 ": not over within the time of this wait");
	/* Another thread may be about to set it. It is over before its callbacks are called. */
	if (auto promised = future())
		promised->wait();
	if (exception())
		std::rethrow_exception(exception());
	return true;
}

Tensors CollWork::result()
{
	return outputs_.empty() ? Tensors() : outputs_[0];
}

int CollWork::sourceRank() const
{
	return op_->source();
}

/* As of the other backends: the tensors, or a list of lists of them */
void CollWork::set(c10::ivalue::Future &future)
{
	if (exception())
		future.setError(exception());
	else if (outputs_.size() > 1)
		future.markCompleted(c10::IValue(outputs_));
	else
		future.markCompleted(c10::IValue(result()));
}

c10::intrusive_ptr<c10::ivalue::Future> CollWork::getFuture()
{
	c10::TypePtr type = c10::ListType::create(c10::TensorType::get());
	bool over;
	{
		std::lock_guard<std::mutex> guard(state_);

		if (future_)
			return future_;
		if (outputs_.size() > 1)
			type = c10::ListType::create(type);
		future_ = c10::make_intrusive<c10::ivalue::Future>(type);
		over = over_;
		given_away_ = !over && !comm_->waiter().is_me();
	}
	if (over) {
		without_gil([this] { await(Clock::time_point(), true); });
		set(*future_);
		return future_;
	}
	auto self = c10::intrusive_ptr<CollWork>::reclaim_copy(this);

	if (given_away_ && comm_->waiter().add({[self](uint64_t ns) { return self->look(ns); },
						[self] { self->complete(); }, !op_->is_message()}))
		return future_;
	/* There is no thread to complete it: a callback has asked for it, or the group has ended. */
	without_gil([this] {
		while (!drive(A_WHILE_NS))
			;
	});
	return future_;
}

} // namespace coll_torch
