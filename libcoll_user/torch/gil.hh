/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * The global lock of Python. torch calls some functions of a work with it. Whoever completes what
 * they wait for may need it: to free a tensor of Python, or to run a callback.
 */
#ifndef COLL_TORCH_GIL_HH
#define COLL_TORCH_GIL_HH

#include <functional>

namespace coll_torch {

/* Calls @wait; without the lock, if this thread has it and the Python module is there. */
void without_gil(const std::function<void()> &wait);

/* How to do that; set once, by the Python module. */
void set_without_gil(void (*how)(const std::function<void()> &wait));

} // namespace coll_torch

#endif
