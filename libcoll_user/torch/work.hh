/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* An operation as a Work of c10d. */
#ifndef COLL_TORCH_WORK_HH
#define COLL_TORCH_WORK_HH

#include <memory>
#include <mutex>
#include <vector>

#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include "comm.hh"

namespace coll_torch {

using Tensors = std::vector<at::Tensor>;

class CollWork : public c10d::Work {
public:
	/**
	 * CollWork() - of an operation that is under way
	 * @outputs: the value of the future
	 * @title, @inputs: for the profiler
	 */
	CollWork(std::shared_ptr<Comm> comm, std::unique_ptr<Op> op, int rank, c10d::OpType type,
		 std::vector<Tensors> outputs, const char *title, const Tensors &inputs);
	~CollWork() override;

	bool isCompleted() override;
	bool wait(std::chrono::milliseconds timeout = kNoTimeout) override;
	Tensors result() override;
	int sourceRank() const override;
	c10::intrusive_ptr<c10::ivalue::Future> getFuture() override;

private:
	bool run_until(std::chrono::steady_clock::time_point until, bool for_ever);
	bool await(std::chrono::steady_clock::time_point until, bool for_ever);
	c10::intrusive_ptr<c10::ivalue::Future> future();
	bool look(uint64_t ns);
	bool drive(uint64_t ns);
	void complete();
	void set(c10::ivalue::Future &future);

	std::shared_ptr<Comm> comm_;
	std::unique_ptr<Op> op_;
	const std::vector<Tensors> outputs_;
	/* Held by the thread that looks at op_ */
	std::timed_mutex driving_;
	/* Protects the next three */
	std::mutex state_;
	bool over_ = false;
	/* The waiter has it, and nobody else waits for op_. */
	bool given_away_ = false;
	c10::intrusive_ptr<c10::ivalue::Future> future_;
};

} // namespace coll_torch

#endif
