/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* One operation: the commands that it takes, and what they point at. */
#ifndef COLL_TORCH_OP_HH
#define COLL_TORCH_OP_HH

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include <coll/coll.h>

namespace coll_torch {

/* About 100 years: a longer time is no limit. What was too long for others' types is negative. */
constexpr std::chrono::milliseconds A_LIFE = std::chrono::hours(24 * 36525);

inline bool is_for_ever(std::chrono::milliseconds time)
{
	return time.count() < 0 || time > A_LIFE;
}

/* As time to wait: any. Nobody waits longer than that without looking again. */
constexpr uint64_t A_WHILE_NS = 1000000000;

/**
 * class Op - commands under way
 *
 * It must not be destroyed before it is over: until then the kernel may use the tensors.
 */
class Op {
public:
	explicit Op(const char *name, bool message = false) : name_(name), message_(message) {}
	Op(const Op &) = delete;
	Op &operator=(const Op &) = delete;

	const char *name() const { return name_; }
	/* Messages end in any order, and most of their errors are not the communicator's. */
	bool is_message() const { return message_; }
	/* 0, or the first error */
	int error() const { return error_; }

	/* Memory that is there until the operation is over. */
	void keep(const at::Tensor &t) { tensors_.push_back(t); }
	void keep(const std::vector<at::Tensor> &ts);
	const uint64_t *keep(std::vector<uint64_t> array);
	struct coll_message *message();

	/* When it is over without an error, @from is copied to @to. They are of the same shape. */
	void copy_back(const at::Tensor &from, const at::Tensor &to);

	/* The rank that a received message came from. */
	int source() const { return got_ ? static_cast<int>(got_->source) : -1; }

	/**
	 * post() - start a command, unless one before it was refused
	 * @timeout_ns: its deadline; 0: none
	 */
	void post(coll_comm_t *comm, struct coll_cmd cmd, uint64_t timeout_ns);

	/**
	 * look() - is it over, or within @ns nanoseconds?
	 *
	 * Once it is, the tensors are let go. One thread at a time.
	 */
	bool look(uint64_t ns);

	/* Take back messages that have no partner yet. It is still to be looked at. */
	void cancel();

	/* coll_finalize() has ended all commands, and freed the requests. */
	void forget();

private:
	void write_back();
	void release();

	const char *name_;
	bool message_;
	int error_ = 0;
	std::vector<coll_request_t *> requests_;
	std::vector<at::Tensor> tensors_;
	std::vector<std::pair<at::Tensor, at::Tensor>> copies_;
	std::deque<std::vector<uint64_t>> arrays_;
	std::unique_ptr<struct coll_message> got_;
};

} // namespace coll_torch

#endif
