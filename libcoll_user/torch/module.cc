// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* The Python module coll_torch._c10d: makes groups. */
#include <pybind11/chrono.h>
#include <pybind11/pybind11.h>

#include <coll/coll.h>

#include "gil.hh"
#include "group.hh"

namespace py = pybind11;

/* As in the bindings of torch, whose classes these are. */
PYBIND11_DECLARE_HOLDER_TYPE(T, c10::intrusive_ptr<T>, true);

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
}
