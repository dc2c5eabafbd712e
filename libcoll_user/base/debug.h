/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* What the library is doing, on stderr, only where COLL_DEBUG asks for it. */
#ifndef LIBCOLL_DEBUG_H
#define LIBCOLL_DEBUG_H

void coll_debug(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* What coll_last_error() tells: more than an errno can. The last call of a thread holds. */
void coll_explain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#define EXPLAIN_LEN	256	/* with its NUL */

#endif
