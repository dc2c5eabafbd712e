/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Named tensors beside a group: ranks post gradients in any order. */
#ifndef COLL_TORCH_NAMED_HH
#define COLL_TORCH_NAMED_HH

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include <ATen/core/Tensor.h>
#include <torch/csrc/distributed/c10d/Types.hpp>

#include <coll/tensor.h>

#include "comm.hh"

namespace coll_torch {

class NamedWork;

/**
 * struct NamedOptions - options of an allreduce by name
 * @prescale: factor of inputs
 * @postscale: factor of results
 * @wire: the type of float32 between nodes; COLL_DTYPE_NONE: float32
 * @priority: of the tensors that all ranks have posted, higher ones start first
 * @present: an average is divided by the number of ranks that have not joined
 */
struct NamedOptions {
	double prescale = 1;
	double postscale = 1;
	enum coll_dtype wire = COLL_DTYPE_NONE;
	uint32_t priority = 0;
	bool present = false;
};

class Named : public std::enable_shared_from_this<Named> {
public:
	/**
	 * Named() - a communicator for named tensors; called by all ranks of the group
	 * @comm: of the group, which stays as long as this object
	 * @timeout_ns: deadline of each tensor; 0: none
	 */
	Named(std::shared_ptr<Comm> comm, uint64_t timeout_ns);
	~Named();
	Named(const Named &) = delete;
	Named &operator=(const Named &) = delete;

	/* Post a tensor, in place. Throws std::runtime_error with the text of the library. */
	std::shared_ptr<NamedWork> allreduce(const std::string &name, const at::Tensor &t,
					     const c10d::ReduceOp &op, const NamedOptions &options);
	std::shared_ptr<NamedWork> broadcast(const std::string &name, const at::Tensor &t, int root);
	/*
	 * This rank posts no more, until all have joined. Then @last, an int32, is the rank that joined
	 * last.
	 */
	std::shared_ptr<NamedWork> join(const at::Tensor &last);

private:
	friend class NamedWork;
	using Left = std::pair<coll_tensor_t *, at::Tensor>;

	std::shared_ptr<NamedWork> post(struct coll_tensor_spec &spec, const at::Tensor &t);
	/* Take over a tensor that no caller waits for. Its memory stays until it is over. */
	void leave(coll_tensor_t *handle, const at::Tensor &t);
	/* Free the tensors of leave() that are over. */
	void sweep();

	std::shared_ptr<Comm> comm_;
	coll_tensors_t *tensors_ = nullptr;
	std::mutex lock_;
	std::list<Left> left_;
};

/* A named tensor that has been posted. One thread may wait for it. */
class NamedWork {
public:
	NamedWork(std::shared_ptr<Named> named, coll_tensor_t *handle, at::Tensor t)
		: named_(std::move(named)), handle_(handle), tensor_(std::move(t)) {}
	~NamedWork();
	NamedWork(const NamedWork &) = delete;
	NamedWork &operator=(const NamedWork &) = delete;

	/**
	 * look() - is it over, or within @ns nanoseconds?
	 *
	 * Throws std::runtime_error, each time, if it has failed.
	 */
	bool look(uint64_t ns);

private:
	friend class Named;

	std::shared_ptr<Named> named_;
	coll_tensor_t *handle_;
	at::Tensor tensor_;
	std::string error_;
};

} // namespace coll_torch

#endif
