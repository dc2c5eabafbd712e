/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* A communicator, as long as its group or any work of it is there. */
#ifndef COLL_TORCH_COMM_HH
#define COLL_TORCH_COMM_HH

#include <list>
#include <memory>
#include <mutex>
#include <string>

#include <sys/types.h>

#include "op.hh"
#include "waiter.hh"

namespace coll_torch {

class Comm {
public:
	/* Takes @comm over. */
	explicit Comm(coll_comm_t *comm);
	~Comm();
	Comm(const Comm &) = delete;
	Comm &operator=(const Comm &) = delete;

	coll_comm_t *get() const { return comm_; }
	Waiter &waiter() const { return *waiter_; }
	/* Flags of every command. */
	uint32_t flags() const { return flags_; }

	/* What an error of an operation means, and what ended the communicator, if anything did. */
	std::string explain(const char *name, int err) const;

	/**
	 * fail() - an operation of this rank has failed
	 *
	 * A collective that was refused does not count: the next one of this rank would be matched
	 * with the one in which the others wait. So the communicator is ended, on all ranks, if it
	 * has not been before.
	 */
	void fail(const Op &op);

	/* Nobody will wait for this one. Its tensors stay until it is over. */
	void leave(std::unique_ptr<Op> op);

	/* Let those go that were left and are over meanwhile. */
	void sweep();

	/* The group has ended: complete what futures wait for, soon. */
	void close();

private:
	bool is_copy() const;

	coll_comm_t *comm_;
	/* The process that has made it */
	const pid_t pid_;
	const uint32_t flags_;
	std::shared_ptr<Waiter> waiter_;
	std::mutex lock_;
	std::list<std::unique_ptr<Op>> left_;
};

} // namespace coll_torch

#endif
