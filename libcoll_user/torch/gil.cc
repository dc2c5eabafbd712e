// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include "gil.hh"

#include <atomic>

namespace coll_torch {

static std::atomic<void (*)(const std::function<void()> &)> without{nullptr};

void without_gil(const std::function<void()> &wait)
{
	auto how = without.load();

	if (how)
		how(wait);
	else
		wait();
}

void set_without_gil(void (*how)(const std::function<void()> &wait))
{
	without = how;
}

} // namespace coll_torch
