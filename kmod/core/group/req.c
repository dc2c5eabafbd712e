// SPDX-License-Identifier: GPL-2.0
#include <linux/lockdep.h>
#include <linux/mm.h>

#include "../limits.h"
#include "group.h"
#include "member.h"
#include "req.h"

int coll_req_count(struct coll_req *req)
{
	struct coll_group *g = coll_member_group(req->member);

	lockdep_assert_held(&g->lock);
	if (!req->in_flight && !coll_is_message(req->cmd.collective)) {
		req->in_flight = req->in_bytes + req->bytes;
		atomic64_add(req->in_flight, &req->member->in_flight);
	}
	if (req->counted || coll_member_inflight(req->member) < COLL_INFLIGHT_FREE)
		return 0;
	if (!coll_user_add_command(g->user))
		return -ENOMEM;
	req->counted = true;
	return 0;
}

void coll_req_uncount(struct coll_req *req)
{
	if (req->counted)
		coll_user_drop_command(coll_member_group(req->member)->user);
	req->counted = false;
	atomic64_sub(req->in_flight, &req->member->in_flight);
	req->in_flight = 0;
}

int coll_req_release(struct coll_req *req, int result)
{
	/* A rank that was cut off itself gets ECANCELED; the others get the error of its death. */
	if (result == -EHOSTDOWN && test_bit(0, &req->member->gone))
		result = -ECANCELED;
	coll_buf_put(req->in.buf);
	coll_buf_put(req->out.buf);
	kvfree(req->counts);
	req->in.buf = NULL;
	req->out.buf = NULL;
	req->counts = NULL;
	req->starts = NULL;
	req->has_displs = false;
	coll_req_uncount(req);
	return result;
}

void coll_req_done(struct coll_req *req, int result)
{
	result = coll_req_release(req, result);
	req->done(req, result);
}
