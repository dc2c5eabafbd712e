/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * The thread of a group that completes futures.
 *
 * A work needs no thread: it is looked at when it is waited for or tested. A future of torch is
 * another thing. Whoever waits for one sleeps until somebody sets it, and so there has to be
 * somebody. The thread is started when the first future is asked for that is not yet there.
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
#include <thread>

namespace coll_torch {

/* Looks for so many nanoseconds. Return: it is over, and whoever waits has been told. */
using Drive = std::function<bool(uint64_t ns)>;

class Waiter : public std::enable_shared_from_this<Waiter> {
public:
	/**
	 * add() - drive this until it is over
	 * @in_order: it does not end before those that were added before it
	 *
	 * Return: false: not any more, the group has ended.
	 */
	bool add(Drive drive, bool in_order);

	/* Is this the calling thread? It must not wait for itself. */
	bool is_me();

	/* Wait until all that was added is over. Return: it is. */
	bool drain(std::chrono::milliseconds most);

	/* Take no more, and end when all is over. */
	void stop();

private:
	struct Entry {
		Drive drive;
		bool in_order;
	};
	using Entries = std::list<Entry>;

	void run();
	bool take_added(Entries &mine);
	void look_at(Entries &mine);
	bool step(Entries &mine, Entries::iterator it, uint64_t ns);

	std::mutex lock_;
	std::condition_variable changed_;
	/* Added, and not yet seen by the thread */
	Entries added_;
	/* Not yet over */
	size_t nr_ = 0;
	bool stopping_ = false;
	std::thread thread_;
};

} // namespace coll_torch

#endif
