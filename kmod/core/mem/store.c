// SPDX-License-Identifier: GPL-2.0
#include <linux/err.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "area.h"
#include "buf.h"
#include "store.h"

/* The pages are pinned one at a time, as they are written. */
static int coll_store_remote(const struct coll_memlock *ml, u64 to, const void *from, u32 len)
{
	struct coll_area area = coll_area_range(to, len);
	struct coll_vec v = { .buf = coll_buf_window(ml, &area, true) };
	struct coll_run run;
	u32 done;
	int ret = 0;

	if (IS_ERR(v.buf))
		return PTR_ERR(v.buf);
	for (done = 0; done < len; done += run.len) {
		ret = coll_vec_run(&v, done, len - done, &run);
		if (ret)
			break;
		memcpy(run.addr, from + done, run.len);
		coll_run_put(&run);
	}
	coll_buf_put(v.buf);
	return ret;
}

int coll_store(const struct coll_memlock *ml, u64 to, const void *from, u32 len)
{
	int ret;

	if (!len)
		return 0;
	if (current->mm == ml->mm)
		return copy_to_user(u64_to_user_ptr(to), from, len) ? -EFAULT : 0;
	ret = coll_store_remote(ml, to, from, len);
	return ret == -ENOMEM ? ret : ret ? -EFAULT : 0;
}
