// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* The Python module coll_torch._c10d: makes groups, and named tensors of their ranks. */
#include <pybind11/chrono.h>
#include <pybind11/pybind11.h>

#include <torch/csrc/Dtype.h>
#include <torch/csrc/utils/pybind.h>

#include <coll/coll.h>

#include "gil.hh"
#include "group.hh"
#include "named.hh"
#include "types.hh"

namespace py = pybind11;

namespace coll_torch {
namespace {

/* A callback of Python that the group's end waits for needs the GIL. */
class PyGroup : public Group {
public:
	using Group::Group;

	~PyGroup() override
	{
		if (!Py_IsInitialized() || !PyGILState_Check())
			return;
		py::gil_scoped_release no_gil;

		close();
	}
};

c10::intrusive_ptr<c10d::ProcessGroup> create(const c10::intrusive_ptr<c10d::Store> &store, int rank,
					      int size, std::chrono::milliseconds timeout)
{
	return c10::make_intrusive<PyGroup>(*store, rank, size, timeout);
}

/* Named tensors of the ranks of a group. Called by all of them. */
std::shared_ptr<Named> named(const c10::intrusive_ptr<c10d::ProcessGroup> &pg)
{
	const auto *group = dynamic_cast<const Group *>(pg.get());

	if (!group)
		throw std::invalid_argument("coll: the group is one of " + pg->getBackendName());
	return std::make_shared<Named>(group->comm(), group->timeout_ns());
}

/* @wire: a type of torch, or None */
std::shared_ptr<NamedWork> allreduce(Named &self, const std::string &name, const at::Tensor &t,
				     const c10d::ReduceOp &op, double prescale, double postscale,
				     const py::object &wire, uint32_t priority, bool present)
{
	NamedOptions options{prescale, postscale, COLL_DTYPE_NONE, priority, present};

	if (!wire.is_none()) {
		if (!THPDtype_Check(wire.ptr()))
			throw std::invalid_argument("coll: allreduce: wire is not a type");
		options.wire = dtype_of(reinterpret_cast<THPDtype *>(wire.ptr())->scalar_type);
		if (options.wire == COLL_DTYPE_NONE)
			throw std::invalid_argument("coll: allreduce: no such type between nodes");
	}
	py::gil_scoped_release no_gil;

	return self.allreduce(name, t, op, options);
}

/* Waits with looks at signals. */
void wait(NamedWork &self)
{
	bool over = false;

	while (!over) {
		{
			py::gil_scoped_release no_gil;

			over = self.look(A_WHILE_NS / 10);
		}
		if (PyErr_CheckSignals())
			throw py::error_already_set();
	}
}

void wait_without_gil(const std::function<void()> &wait)
{
	if (!Py_IsInitialized() || !PyGILState_Check()) {
		wait();
		return;
	}
	py::gil_scoped_release no_gil;

	wait();
}

} // namespace
} // namespace coll_torch

PYBIND11_MODULE(_c10d, m)
{
	coll_torch::set_without_gil(coll_torch::wait_without_gil);
	m.doc() = "Groups of torch.distributed on coll";
	/* Ranks wait for each other: the GIL is free meanwhile. */
	m.def("create", &coll_torch::create, py::arg("store"), py::arg("rank"), py::arg("size"),
	      py::arg("timeout"), py::call_guard<py::gil_scoped_release>());
	m.def("version", &coll_version);

	using coll_torch::Named;
	using coll_torch::NamedWork;
	py::class_<NamedWork, std::shared_ptr<NamedWork>>(m, "NamedWork")
		.def("wait", &coll_torch::wait)
		.def("is_completed", [](NamedWork &self) { return self.look(0); },
		     py::call_guard<py::gil_scoped_release>());
	py::class_<Named, std::shared_ptr<Named>>(m, "Named")
		.def(py::init(&coll_torch::named), py::arg("group"),
		     py::call_guard<py::gil_scoped_release>())
		.def("allreduce", &coll_torch::allreduce, py::arg("name"), py::arg("tensor"),
		     py::arg("op"), py::arg("prescale") = 1.0, py::arg("postscale") = 1.0,
		     py::arg("wire") = py::none(), py::arg("priority") = 0, py::arg("present") = false)
		.def("join", &Named::join, py::arg("last"), py::call_guard<py::gil_scoped_release>())
		.def("broadcast", &Named::broadcast, py::arg("name"), py::arg("tensor"),
		     py::arg("root") = 0, py::call_guard<py::gil_scoped_release>());
}
