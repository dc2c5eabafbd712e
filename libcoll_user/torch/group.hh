/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* The backend: a ProcessGroup of c10d whose operations are commands of coll. */
#ifndef COLL_TORCH_GROUP_HH
#define COLL_TORCH_GROUP_HH

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "comm.hh"
#include "work.hh"

namespace coll_torch {

using WorkPtr = c10::intrusive_ptr<c10d::Work>;

class Group : public c10d::ProcessGroup {
public:
	/* Called by all ranks of the group, with a store of its own; throws as meet(). */
	Group(c10d::Store &store, int rank, int size, std::chrono::milliseconds timeout);
	~Group() override;

	const std::string getBackendName() const override { return "coll"; }

	/* group_reduce.cc */
	WorkPtr allreduce(Tensors &tensors, const c10d::AllreduceOptions &opts) override;
	WorkPtr allreduce_coalesced(Tensors &tensors,
				    const c10d::AllreduceCoalescedOptions &opts) override;
	WorkPtr reduce(Tensors &tensors, const c10d::ReduceOptions &opts) override;
	WorkPtr reduce_scatter(Tensors &outputs, std::vector<Tensors> &inputs,
			       const c10d::ReduceScatterOptions &opts) override;
	WorkPtr _reduce_scatter_base(at::Tensor &output, at::Tensor &input,
				     const c10d::ReduceScatterOptions &opts) override;

	/* group_move.cc */
	WorkPtr broadcast(Tensors &tensors, const c10d::BroadcastOptions &opts) override;
	WorkPtr allgather(std::vector<Tensors> &outputs, Tensors &inputs,
			  const c10d::AllgatherOptions &opts) override;
	WorkPtr _allgather_base(at::Tensor &output, at::Tensor &input,
				const c10d::AllgatherOptions &opts) override;
	WorkPtr allgather_coalesced(std::vector<Tensors> &outputs, Tensors &inputs,
				    const c10d::AllgatherOptions &opts) override;
	WorkPtr gather(std::vector<Tensors> &outputs, Tensors &inputs,
		       const c10d::GatherOptions &opts) override;
	WorkPtr scatter(Tensors &outputs, std::vector<Tensors> &inputs,
			const c10d::ScatterOptions &opts) override;
	WorkPtr alltoall_base(at::Tensor &output, at::Tensor &input,
			      std::vector<int64_t> &output_splits,
			      std::vector<int64_t> &input_splits,
			      const c10d::AllToAllOptions &opts) override;
	WorkPtr alltoall(Tensors &outputs, Tensors &inputs,
			 const c10d::AllToAllOptions &opts) override;
	WorkPtr barrier(const c10d::BarrierOptions &opts) override;

	/* group_message.cc */
	WorkPtr send(Tensors &tensors, int to, int tag) override;
	WorkPtr recv(Tensors &tensors, int from, int tag) override;
	WorkPtr recvAnysource(Tensors &tensors, int tag) override;

	/* For named tensors of these ranks. */
	std::shared_ptr<Comm> comm() const { return comm_; }
	/* Deadline of an operation; 0: none */
	uint64_t timeout_ns() const;

	/* How many operations this rank has begun: the same on all ranks when they agree. */
	void setSequenceNumberForGroup() override {}
	uint64_t getSequenceNumberForGroup() override { return sequence_; }

protected:
	/* Its last callbacks are over afterwards. */
	void close() { comm_->close(); }

private:
	/**
	 * struct Call - an operation before it is under way
	 * @title: for the profiler
	 * @timeout: of this call; negative: that of the group
	 */
	struct Call {
		Call(const char *name, const char *title, c10d::OpType type,
		     std::chrono::milliseconds timeout, bool message = false)
			: title(title), type(type), timeout(timeout),
			  op(new Op(name, message)) {}

		const char *title;
		c10d::OpType type;
		std::chrono::milliseconds timeout;
		std::unique_ptr<Op> op;
		std::vector<struct coll_cmd> cmds;
		Tensors inputs;
		std::vector<Tensors> outputs;
	};

	/* Starts it; throws std::runtime_error if it is refused. */
	WorkPtr start(Call &call);
	struct coll_cmd &command(Call &call);
	uint32_t root(const Call &call, int64_t rank) const;
	/* Return: what the command works on. */
	at::Tensor add_allreduce(Call &call, const at::Tensor &t, const c10d::ReduceOp &op);
	/*
	 * The tensors have been checked. @outputs: in rows; @all: the outputs of all commands of
	 * the call
	 */
	void add_allgather(Call &call, const Tensors &outputs, const at::Tensor &input,
			   const Tensors &all);
	WorkPtr receive(Call &call, at::Tensor &t, uint32_t from, int tag);

	const std::chrono::milliseconds timeout_;
	std::shared_ptr<Comm> comm_;
	std::atomic<uint64_t> sequence_{0};
};

} // namespace coll_torch

#endif
