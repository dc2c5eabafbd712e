/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Messages on stderr about what the library does, if COLL_DEBUG is set. */
#ifndef LIBCOLL_DEBUG_H
#define LIBCOLL_DEBUG_H

#include <stdint.h>

void coll_debug(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * For the lines of coll_debug(), without COLL_RANK: the rank of this process in its first
 * communicator, which usually has all ranks. Later calls change nothing.
 */
void coll_debug_rank(uint32_t rank);

/*
 * Set the text of coll_last_error(), which says more than an errno. The last call of a thread
 * counts.
 */
void coll_explain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#define EXPLAIN_LEN	256	/* with its NUL */

#endif
