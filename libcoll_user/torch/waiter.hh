/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * The threads of a group that complete futures.
 *
 * A work needs no thread: it is looked at when it is waited for or tested. A future of torch is
 * another thing. Whoever waits for one sleeps until somebody sets it, and so there has to be
 * somebody. A thread is started when the first future is asked for that is not yet there.
 *
 * One thread at a time looks at the operations, the driver. If one is over, the same thread completes
 * it, which runs the callbacks of its future. A callback may wait for another future. So if the
 * driver does not come back for a while, a further thread becomes the driver.
 */
#ifndef COLL_TORCH_WAITER_HH
#define COLL_TORCH_WAITER_HH

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>

namespace coll_torch {

class Waiter : public std::enable_shared_from_this<Waiter> {
public:
	/**
	 * struct Entry - an operation
	 * @look: looks for so many nanoseconds. Return: it is over
	 * @complete: called once it is over, by the same thread: tells those who wait
	 * @in_order: it does not end before those that were added before it
	 */
	struct Entry {
		std::function<bool(uint64_t ns)> look;
		std::function<void()> complete;
		bool in_order;
	};

	/**
	 * add() - look at an operation until it is over, and complete it
	 *
	 * Return: false: there is no thread to do so, or the group has ended.
	 */
	bool add(Entry entry);

	/* Is the caller a callback that a thread of this waiter runs? */
	bool is_me() const;

	/* Wait until all that was added is over. Return: it is. */
	bool drain(std::chrono::milliseconds most);

	/* Take no more, and end when all is over. */
	void stop();

private:
	using Entries = std::list<Entry>;
	using Guard = std::unique_lock<std::mutex>;
	using Clock = std::chrono::steady_clock;

	void run();
	bool have_thread();
	bool has_work() const;
	bool become_driver(Guard &guard, bool is_back);
	bool drive(Guard &guard, Entries &over);
	bool look_at_all(Entries &over);
	void complete(Guard &guard, Entries &over);

	std::mutex lock_;
	std::condition_variable changed_;
	/* Added, and not yet seen by a driver */
	Entries added_;
	/* Under way; the driver looks at them without the lock. */
	Entries entries_;
	bool driven_ = false;
	/* Until then the last driver may become the driver again before other threads. */
	Clock::time_point away_until_;
	/* Added, and not yet completed */
	size_t nr_ = 0;
	/* Threads, and those of them that are neither the driver nor in callbacks */
	size_t threads_ = 0, idle_ = 0;
	bool stopping_ = false;
};

} // namespace coll_torch

#endif
