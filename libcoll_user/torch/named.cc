// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include "named.hh"

#include <cerrno>
#include <chrono>
#include <stdexcept>

#include "types.hh"

namespace coll_torch {

/* Tensors that nobody waits for may go on so long after the end. */
constexpr std::chrono::milliseconds GRACE{2000};

/* About the last error of this thread. */
static std::string text_of(int err)
{
	const char *text = coll_tensor_error();

	return std::string("coll: ") + (*text ? text : coll_strerror(err));
}

Named::Named(std::shared_ptr<Comm> comm, uint64_t timeout_ns) : comm_(std::move(comm))
{
	int err = coll_tensors_create(comm_->get(), 0, &tensors_);

	if (err)
		throw std::runtime_error(text_of(err));
	coll_comm_set_timeout(coll_tensors_comm(tensors_), timeout_ns);
}

Named::~Named()
{
	const auto until = std::chrono::steady_clock::now() + GRACE;

	for (Left &one : left_) {
		auto left = until - std::chrono::steady_clock::now();
		int done = 0;

		coll_tensor_wait_for(one.first, left.count() > 0 ? left.count() : 0, &done);
		if (!done) {
			coll_tensors_abort(tensors_, ECANCELED);
			break;
		}
	}
	/* Waits for all tensors that are posted, and frees them. */
	coll_tensors_finalize(tensors_);
}

std::shared_ptr<NamedWork> Named::post(struct coll_tensor_spec &spec, const at::Tensor &t)
{
	coll_tensor_t *handle = nullptr;
	int err;

	sweep();
	if (t.dim() > 0 && t.dim() <= COLL_TENSOR_DIMS) {
		spec.ndim = static_cast<uint32_t>(t.dim());
		for (int64_t k = 0; k < t.dim(); k++)
			spec.dims[k] = static_cast<uint64_t>(t.size(k));
	}
	/* This may throw, and nothing has been posted yet. */
	auto work = std::make_shared<NamedWork>(shared_from_this(), nullptr, t);

	err = coll_tensor_submit(tensors_, &spec, &handle);
	if (err)
		throw std::runtime_error(text_of(err));
	work->handle_ = handle;
	return work;
}

std::shared_ptr<NamedWork> Named::allreduce(const std::string &name, const at::Tensor &t,
					    const c10d::ReduceOp &op, const NamedOptions &options)
{
	enum coll_dtype dtype = check_rows("allreduce", name.c_str(), t);
	struct coll_tensor_spec spec;

	coll_tensor_spec_init(&spec, name.c_str());
	coll_cmd_allreduce(coll_tensors_comm(tensors_), &spec.cmd, COLL_IN_PLACE, t.data_ptr(),
			   t.numel(), dtype, op_of("allreduce", op, dtype));
	spec.prescale = options.prescale;
	spec.postscale = options.postscale;
	spec.priority = options.priority;
	spec.flags = options.present ? COLL_TENSOR_AVG_PRESENT : 0;
	/* Other types have no smaller type between nodes. */
	spec.wire = dtype == COLL_F32 ? options.wire : COLL_DTYPE_NONE;
	return post(spec, t);
}

std::shared_ptr<NamedWork> Named::broadcast(const std::string &name, const at::Tensor &t, int root)
{
	enum coll_dtype dtype = check_rows("broadcast", name.c_str(), t);
	struct coll_tensor_spec spec;

	if (root < 0 || static_cast<uint32_t>(root) >= coll_comm_size(comm_->get()))
		throw std::invalid_argument("coll: broadcast: no rank " + std::to_string(root));
	coll_tensor_spec_init(&spec, name.c_str());
	coll_cmd_broadcast(coll_tensors_comm(tensors_), &spec.cmd, t.data_ptr(), t.numel(), dtype,
			   static_cast<uint32_t>(root));
	return post(spec, t);
}

std::shared_ptr<NamedWork> Named::join(const at::Tensor &last)
{
	static_assert(sizeof(int32_t) == sizeof(uint32_t), "");
	if (check_rows("join", "last", last) != COLL_I32 || last.numel() != 1)
		throw std::invalid_argument("coll: join: the result is one int32");
	/* The work keeps the memory of the result. This may throw, and nothing has begun yet. */
	auto work = std::make_shared<NamedWork>(shared_from_this(), nullptr, last);
	coll_tensor_t *handle = nullptr;
	int err;

	sweep();
	err = coll_tensors_ijoin(tensors_, reinterpret_cast<uint32_t *>(last.data_ptr<int32_t>()),
				 nullptr, nullptr, &handle);
	if (err)
		throw std::runtime_error(text_of(err));
	work->handle_ = handle;
	return work;
}

void Named::leave(coll_tensor_t *handle, const at::Tensor &t)
{
	std::lock_guard<std::mutex> guard(lock_);

	left_.emplace_back(handle, t);
}

void Named::sweep()
{
	std::list<Left> mine, over;
	{
		std::lock_guard<std::mutex> guard(lock_);

		mine.swap(left_);
	}
	for (auto it = mine.begin(); it != mine.end();) {
		auto next = std::next(it);
		int done = 0;

		/* The result is dropped. */
		coll_tensor_test(it->first, &done);
		if (done)
			over.splice(over.end(), mine, it);
		it = next;
	}
	std::lock_guard<std::mutex> guard(lock_);

	left_.splice(left_.begin(), mine);
}

NamedWork::~NamedWork()
{
	if (handle_)
		named_->leave(handle_, tensor_);
}

bool NamedWork::look(uint64_t ns)
{
	int done = 1, err = 0;

	if (handle_) {
		err = coll_tensor_wait_for(handle_, ns, &done);
		if (!done)
			return false;
		handle_ = nullptr;
		tensor_.reset();
	}
	if (err)
		error_ = text_of(err);
	if (!error_.empty())
		throw std::runtime_error(error_);
	return true;
}

} // namespace coll_torch
