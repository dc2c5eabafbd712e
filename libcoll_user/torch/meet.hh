/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* How the ranks of a group find each other: by the store that c10d has for the group. */
#ifndef COLL_TORCH_MEET_HH
#define COLL_TORCH_MEET_HH

#include <chrono>

#include <torch/csrc/distributed/c10d/Store.hpp>

#include <coll/coll.h>

namespace coll_torch {

/**
 * meet() - coll_init() with the store as exchange
 * @store: of this group alone
 * @timeout: for all of it
 *
 * Called by all ranks of the group. A failure on any rank ends it on all of them. Throws
 * std::runtime_error with a text that says what failed, and on which rank.
 */
coll_comm_t *meet(c10d::Store &store, int rank, int size, std::chrono::milliseconds timeout);

} // namespace coll_torch

#endif
