// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include "waiter.hh"

#include <iterator>

namespace coll_torch {

/* How long the oldest one is waited for before the others are looked at */
constexpr uint64_t IN_ORDER_NS = 20000000;
constexpr uint64_t IN_ANY_ORDER_NS = 1000000;

bool Waiter::add(Drive drive, bool in_order)
{
	std::lock_guard<std::mutex> guard(lock_);

	if (stopping_)
		return false;
	added_.push_back({std::move(drive), in_order});
	nr_++;
	if (!thread_.joinable())
		thread_ = std::thread([self = shared_from_this()] { self->run(); });
	changed_.notify_all();
	return true;
}

bool Waiter::is_me()
{
	std::lock_guard<std::mutex> guard(lock_);

	return thread_.get_id() == std::this_thread::get_id();
}

bool Waiter::drain(std::chrono::milliseconds most)
{
	std::unique_lock<std::mutex> guard(lock_);

	return changed_.wait_for(guard, most, [this] { return !nr_; });
}

void Waiter::stop()
{
	std::thread thread;
	{
		std::lock_guard<std::mutex> guard(lock_);

		stopping_ = true;
		changed_.notify_all();
		/* It ends by itself: a callback has let the last of the group go. */
		if (thread_.get_id() == std::this_thread::get_id())
			thread_.detach();
		else
			thread.swap(thread_);
	}
	if (thread.joinable())
		thread.join();
}

/* Look at one of @mine, and take it out if it is over. Return: it was. */
bool Waiter::step(Entries &mine, Entries::iterator it, uint64_t ns)
{
	if (!it->drive(ns))
		return false;
	/* What it holds may be the last of the group: it is let go without the lock. */
	mine.erase(it);
	std::lock_guard<std::mutex> guard(lock_);

	nr_--;
	changed_.notify_all();
	return true;
}

/* At all of them; if none is over, wait a moment for the oldest one. */
void Waiter::look_at(Entries &mine)
{
	bool any = false, in_order = true;
	size_t nr = mine.size();

	for (auto it = mine.begin(); it != mine.end();) {
		auto next = std::next(it);

		in_order &= it->in_order;
		any |= step(mine, it, 0);
		it = next;
	}
	if (!any)
		step(mine, mine.begin(), in_order || nr == 1 ? IN_ORDER_NS : IN_ANY_ORDER_NS);
}

/* Sleep while there is nothing. Return: false: it is time to end. */
bool Waiter::take_added(Entries &mine)
{
	std::unique_lock<std::mutex> guard(lock_);

	if (mine.empty())
		changed_.wait(guard, [this] { return stopping_ || !added_.empty(); });
	mine.splice(mine.end(), added_);
	return !mine.empty();
}

void Waiter::run()
{
	Entries mine;

	while (take_added(mine))
		look_at(mine);
}

} // namespace coll_torch
