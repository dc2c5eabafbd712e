// SPDX-License-Identifier: GPL-2.0
#include <linux/compiler.h>
#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/workqueue.h>

#include "../core/group/failure.h"
#include "file.h"
#include "watch.h"

#define COLL_WATCH_FIRST	((unsigned long)HZ / 20)
#define COLL_WATCH_MOST		((unsigned long)HZ)

static void coll_watch_in(struct coll_file *cf, unsigned long delay)
{
	WRITE_ONCE(cf->watch_delay, delay);
	queue_delayed_work(coll_alarm_wq, &cf->watch, delay);
}

void coll_watch_soon(struct coll_file *cf)
{
	/* Do not rearm a watch that is due soon: each command of a file may call this. */
	if (READ_ONCE(cf->watch_delay) > COLL_WATCH_FIRST) {
		WRITE_ONCE(cf->watch_delay, COLL_WATCH_FIRST);
		mod_delayed_work(coll_alarm_wq, &cf->watch, COLL_WATCH_FIRST);
	} else {
		coll_watch_in(cf, COLL_WATCH_FIRST);
	}
}

void coll_watch_later(struct coll_file *cf)
{
	coll_watch_in(cf, min(2 * READ_ONCE(cf->watch_delay), COLL_WATCH_MOST));
}
