// SPDX-License-Identifier: GPL-2.0
#include <linux/atomic.h>
#include <linux/fs.h>

#include "file.h"
#include "refs.h"

/* The low half of ->refs is the number of references. The high half counts its changes. */
#define COLL_REFS_CHANGED	(1LL << 32)

void coll_end_hold(struct coll_file *cf)
{
	/* The reference exists before it is counted: pairs with coll_end_is_closed(). */
	smp_mb__before_atomic();
	atomic64_add(COLL_REFS_CHANGED + 1, &cf->refs);
}

void coll_end_drop(struct coll_file *cf)
{
	atomic64_add(COLL_REFS_CHANGED - 1, &cf->refs);
	/* The reference is uncounted before it goes: pairs with coll_end_is_closed(). */
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
