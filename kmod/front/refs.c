// SPDX-License-Identifier: GPL-2.0
#include <linux/atomic.h>
#include <linux/fs.h>

#include "file.h"
#include "refs.h"

/* In the low half of ->refs: how many. In the high half: how often that has changed. */
#define COLL_REFS_CHANGED	(1LL << 32)

void coll_end_hold(struct coll_file *cf)
{
	/* The reference is there before it counts: see coll_end_is_closed(). */
	smp_mb__before_atomic();
	atomic64_add(COLL_REFS_CHANGED + 1, &cf->refs);
}

void coll_end_drop(struct coll_file *cf)
{
	atomic64_add(COLL_REFS_CHANGED - 1, &cf->refs);
	/* It counts no more before it goes. */
	smp_mb__after_atomic();
}

bool coll_end_is_closed(struct coll_file *cf, long own)
{
	s64 before = atomic64_read(&cf->refs), after;
	long nr;

	smp_rmb();	/* pairs with coll_end_hold() */
	nr = file_count(cf->file);
	smp_rmb();	/* pairs with coll_end_drop() */
	after = atomic64_read(&cf->refs);
	return before == after && nr - own <= (u32)before;
}
