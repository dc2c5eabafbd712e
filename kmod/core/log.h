/* SPDX-License-Identifier: GPL-2.0 */
/* Lines of the kernel's log that users can cause, and whose rate is therefore limited. */
#ifndef COLL_CORE_LOG_H
#define COLL_CORE_LOG_H

#include <linux/printk.h>
#include <linux/ratelimit.h>

/**
 * coll_log_allowed() - may a line be written now?
 * @rs: the limit of this line: of all users together, or of one user
 * @func: the function that writes it, for the kernel's line about those that were suppressed
 *
 * In place of ___ratelimit(), which before Linux 6.16 also refuses while another CPU asks. Timers of
 * two communicators often run out in the same tick, and then one of their lines would be lost.
 *
 * Context: process context.
 * Return: true if so.
 */
bool coll_log_allowed(struct ratelimit_state *rs, const char *func);

/* As printk_ratelimited(): @print is pr_warn or pr_info. */
#define coll_log_ratelimited(print, ...)						\
do {											\
	static DEFINE_RATELIMIT_STATE(coll_log_limit, DEFAULT_RATELIMIT_INTERVAL,	\
				      DEFAULT_RATELIMIT_BURST);				\
											\
	if (coll_log_allowed(&coll_log_limit, __func__))				\
		print(__VA_ARGS__);							\
} while (0)

#endif /* COLL_CORE_LOG_H */
