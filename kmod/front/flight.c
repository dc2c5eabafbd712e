// SPDX-License-Identifier: GPL-2.0
#include <linux/container_of.h>

#include "decode.h"
#include "file.h"
#include "flight.h"
#include "progress.h"

static void coll_flight_done(struct coll_req *req, int result)
{
	struct coll_flight *f = container_of(req, struct coll_flight, req);

	f->result = result;
	coll_progress_end(f->progress);
	f->landed(f);
}

int coll_flight_decode(struct coll_flight *f, struct coll_file *cf, u64 arg, u32 len,
		       const struct coll_fixed *fixed)
{
	f->cf = cf;
	f->req.done = coll_flight_done;
	return coll_decode(cf->member, arg, len, fixed, &f->req);
}

int coll_flight_post(struct coll_flight *f)
{
	struct coll_file *cf = f->cf;
	int ret;

	f->progress = coll_progress_begin(cf, &f->req);
	ret = coll_op_post(&f->req);
	if (!ret)
		return 0;
	coll_progress_end(f->progress);
	coll_decode_undo(&f->req);
	return coll_refused(cf->member, ret);
}
