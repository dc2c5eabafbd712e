// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include "op.hh"

#include <chrono>

#include <ATen/ATen.h>

namespace coll_torch {

void Op::keep(const std::vector<at::Tensor> &ts)
{
	tensors_.insert(tensors_.end(), ts.begin(), ts.end());
}

const uint64_t *Op::keep(std::vector<uint64_t> array)
{
	arrays_.push_back(std::move(array));
	return arrays_.back().data();
}

struct coll_message *Op::message()
{
	got_.reset(new struct coll_message());
	return got_.get();
}

void Op::copy_back(const at::Tensor &from, const at::Tensor &to)
{
	/* As with other backends, autograd does not see that it changes. */
	copies_.emplace_back(from, to.variable_data());
}

void Op::write_back()
{
	at::NoGradGuard no_grad;

	if (!error_)
		for (auto &copy : copies_)
			copy.second.copy_(copy.first);
}

void Op::post(coll_comm_t *comm, struct coll_cmd cmd, uint64_t timeout_ns)
{
	coll_request_t *request = nullptr;

	if (error_)
		return;
	/* Whatever is thrown here, is thrown before anything is under way. */
	requests_.reserve(requests_.size() + 1);
	cmd.timeout_ns = timeout_ns;
	error_ = coll_isubmit(comm, &cmd, &request);
	if (!error_)
		requests_.push_back(request);
}

bool Op::look(uint64_t ns)
{
	const auto until = std::chrono::steady_clock::now() + std::chrono::nanoseconds(ns);

	for (coll_request_t *&request : requests_) {
		auto left = until - std::chrono::steady_clock::now();
		int done = 1, ret;

		if (!request)
			continue;
		ret = coll_wait_for(request, left.count() > 0 && ns ? left.count() : 0, &done);
		if (!done)
			return false;
		request = nullptr;
		if (ret && !error_)
			error_ = ret;
	}
	write_back();
	release();
	return true;
}

void Op::cancel()
{
	if (!message_)
		return;
	for (coll_request_t *request : requests_)
		coll_cancel(request);
}

void Op::forget()
{
	release();
}

void Op::release()
{
	requests_.clear();
	tensors_.clear();
	copies_.clear();
	arrays_.clear();
}

} // namespace coll_torch
