// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include "waiter.hh"

#include <iterator>
#include <system_error>
#include <thread>

namespace coll_torch {

/* How long the oldest one is waited for before the others are looked at */
constexpr uint64_t IN_ORDER_NS = 20000000;
constexpr uint64_t IN_ANY_ORDER_NS = 1000000;
/*
 * A callback that takes longer may be waiting. Most callbacks are short: then futures are completed
 * in the order of the operations, by one thread.
 */
constexpr std::chrono::milliseconds SHORT_CALLBACK{10};

/* The waiter whose thread this is. */
static thread_local const Waiter *mine;

bool Waiter::is_me() const
{
	return mine == this;
}

bool Waiter::drain(std::chrono::milliseconds most)
{
	Guard guard(lock_);

	return changed_.wait_for(guard, most, [this] { return !nr_; });
}

void Waiter::stop()
{
	Guard guard(lock_);

	stopping_ = true;
	changed_.notify_all();
	/* A callback may have let the last of the group go: its thread ends by itself. */
	if (!is_me())
		changed_.wait(guard, [this] { return !threads_; });
}

/* Is there anything for a driver to do? Lock held, and there is no driver. */
bool Waiter::has_work() const
{
	return !added_.empty() || !entries_.empty();
}

/* If all threads are in callbacks, start one more. Lock held. Return: there is a thread. */
bool Waiter::have_thread()
{
	if (!driven_ && !idle_ && has_work()) {
		try {
			std::thread([self = shared_from_this()] { self->run(); }).detach();
			threads_++;
			idle_++;
		} catch (const std::system_error &) {
			/* The threads in callbacks come back, unless these callbacks wait. */
			return threads_;
		}
	}
	changed_.notify_all();
	return true;
}

bool Waiter::add(Entry entry)
{
	Guard guard(lock_);

	if (stopping_)
		return false;
	added_.push_back(std::move(entry));
	if (!have_thread()) {
		added_.pop_back();
		return false;
	}
	nr_++;
	return true;
}

/*
 * Wait until this thread is the driver.
 * @is_back: it has been the driver, and comes back from a callback; else it is idle
 * Return: false: it is time to end.
 */
bool Waiter::become_driver(Guard &guard, bool is_back)
{
	if (is_back && !driven_) {
		driven_ = true;
		return true;
	}
	idle_ += is_back;
	while (driven_ || !has_work() || Clock::now() < away_until_) {
		if (!driven_ && stopping_ && !has_work()) {
			idle_--;
			return false;
		}
		if (driven_ || !has_work())
			changed_.wait(guard);
		else
			changed_.wait_until(guard, away_until_);
	}
	idle_--;
	driven_ = true;
	return true;
}

/* Look at all of them; if none is over, wait a moment for the oldest one. Return: one is over. */
bool Waiter::look_at_all(Entries &over)
{
	bool in_order = true;
	auto it = entries_.begin();

	for (; it != entries_.end(); ++it) {
		in_order &= it->in_order;
		if (it->look(0))
			break;
	}
	if (it == entries_.end()) {
		it = entries_.begin();
		if (!it->look(in_order || entries_.size() == 1 ? IN_ORDER_NS : IN_ANY_ORDER_NS))
			return false;
	}
	over.splice(over.end(), entries_, it);
	return true;
}

/* As the driver, until one is over. Return: false: all are, and no more will come. */
bool Waiter::drive(Guard &guard, Entries &over)
{
	bool found = false;

	while (!found) {
		if (entries_.empty())
			changed_.wait(guard, [this] { return stopping_ || !added_.empty(); });
		entries_.splice(entries_.end(), added_);
		if (entries_.empty())
			return false;
		guard.unlock();
		found = look_at_all(over);
		guard.lock();
	}
	return true;
}

/* Complete the one that is over. Meanwhile another thread may become the driver. */
void Waiter::complete(Guard &guard, Entries &over)
{
	driven_ = false;
	away_until_ = Clock::now() + SHORT_CALLBACK;
	have_thread();
	guard.unlock();
	over.front().complete();
	/* What it holds may be the last of the group: it is let go without the lock. */
	over.clear();
	guard.lock();
	nr_--;
	changed_.notify_all();
}

void Waiter::run()
{
	Guard guard(lock_);
	bool is_back = false;
	Entries over;

	mine = this;
	while (become_driver(guard, is_back) && drive(guard, over)) {
		complete(guard, over);
		is_back = true;
	}
	driven_ = false;
	threads_--;
	changed_.notify_all();
}

} // namespace coll_torch
