// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* Gives tables to the kernel, on all ranks. */
#include <errno.h>
#include <sys/ioctl.h>

#include "select_measure.h"
#include "select_set.h"

int select_set_table(coll_comm_t *comm, uint32_t collective, const struct coll_select_row *rows,
		     uint32_t nr, uint32_t source)
{
	struct coll_select s = {
		.collective = collective, .nr = nr, .rows = (uint64_t)(uintptr_t)rows,
		.flags = source,
	};

	return ioctl(comm->fd, COLL_IOC_SELECT, &s) ? -errno : 0;
}

int select_barrier(coll_comm_t *comm, struct deadline deadline)
{
	return select_run(comm, deadline, COLL_BARRIER, COLL_ALG_DISSEMINATION, NULL, NULL, 0);
}

/* No rank returns before all ranks have set their tables, or one has failed to set them. */
int select_agree(coll_comm_t *comm, struct deadline deadline, int ret)
{
	int32_t worst = ret;
	struct coll_cmd cmd = {
		.collective = COLL_ALLREDUCE,
		.algorithm = COLL_ALG_RECURSIVE_DOUBLING,
		.op = COLL_OP_MIN,
		.dtype = COLL_I32,
		.flags = COLL_CMD_INPLACE,
		.recv_addr = (uint64_t)(uintptr_t)&worst,
		.count = 1,
		.timeout_ns = ((uint64_t)deadline_left(deadline) + 1) * 1000000,
	};
	int err = coll_submit(comm, &cmd);

	return err ? err : worst;
}

int select_put_tables(coll_comm_t *comm, const struct select_tables *t,
		      const struct select_tables *before)
{
	uint32_t c;
	int ret = 0;

	for (c = 1; c < COLL_NR_COLLECTIVES && !ret; c++) {
		bool had = before && before->of[c].nr;

		/* Skip collectives that the module does not have. */
		if ((t->of[c].nr || had) && comm->version.collectives >> c & 1)
			ret = select_set_table(comm, c, t->of[c].rows, t->of[c].nr, t->of[c].source);
	}
	return ret;
}

/*
 * If a rank could not set them, all ranks put the old ones back: with different tables the next
 * collective would fail.
 */
static int set_tables(coll_comm_t *comm, const struct select_tables *t, struct deadline deadline)
{
	static const struct select_tables none;
	const struct select_tables *old = comm->select ? comm->select : &none;
	int ret = select_barrier(comm, deadline), undone;

	if (ret)
		return ret;
	ret = select_agree(comm, deadline, select_put_tables(comm, t, old));
	if (!ret)
		return 0;
	undone = select_agree(comm, deadline, select_put_tables(comm, old, t));
	if (undone)
		coll_abort(comm, (uint32_t)-undone);
	return ret;
}

int select_share_tables(coll_comm_t *comm, struct select_tables *t, struct deadline deadline)
{
	int ret = select_run(comm, deadline, COLL_BROADCAST, COLL_ALG_BINOMIAL, NULL, t, sizeof(*t));

	return ret ? ret : set_tables(comm, t, deadline);
}
