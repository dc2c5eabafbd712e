// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* The part of coll_init() that chooses algorithms and the order of the nodes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "comm/topology.h"
#include "init_select.h"
#include "order.h"
#include "rendezvous/rendezvous.h"
#include "shm_limit.h"

/* The blob of the last round: all ranks fill in theirs, and the blob of rank 0 decides. */
enum { BLOB_CAN, BLOB_MODE, BLOB_ORDER, BLOB_HOST = SELECT_BLOB_SHM + SHM_BLOB };

_Static_assert(SELECT_BLOB_SHM == BLOB_ORDER + 1, "on top of each other");
_Static_assert(BLOB_HOST + sizeof(struct select_host) <= RDV_BLOB, "does not fit a round");

int select_offer(coll_comm_t *comm, const char *node, struct select_plan *plan, uint8_t *blob)
{
	struct select_host host = { { 0 }, "" };
	struct select_file f;
	uint32_t c;
	int ret;

	comm->hosts = calloc(comm->nr_nodes, sizeof(*comm->hosts));
	if (!comm->hosts)
		return -ENOMEM;
	ret = select_host_of(node, &host);
	memcpy(blob + BLOB_HOST, &host, sizeof(host));
	/* With more nodes some algorithms have no links. */
	blob[BLOB_CAN] = comm->nr_nodes <= TOPOLOGY_FULL &&
			 comm->version.features & COLL_FEAT_SELECT;
	blob[BLOB_MODE] = SELECT_MODE_NONE;
	blob[BLOB_ORDER] = ORDER_NONE;
	if (ret || comm->rank)
		return ret;
	ret = order_offer();
	if (ret < 0)
		return ret;
	blob[BLOB_ORDER] = (uint8_t)ret;
	ret = select_env(plan);
	for (c = 1; c < COLL_NR_COLLECTIVES; c++)
		if (plan->fixed[c])
			blob[BLOB_MODE] = SELECT_MODE_FIXED;
	/* On one node there is little to choose: measure only if the user asks for it. */
	if (plan->budget_ms >= 0 && (comm->nr_nodes > 1 || plan->all))
		blob[BLOB_MODE] = SELECT_MODE_MEASURE;
	if (ret || !plan->file)
		return ret;
	blob[BLOB_MODE] = SELECT_MODE_FILE;
	/* Report an error in the file now, when all ranks learn of it. */
	ret = select_read_file(&f, plan->file);
	select_file_free(&f);
	/* ENOENT would mean that the device is missing. */
	return ret == -ENOENT ? -EINVAL : ret;
}

int select_accept(coll_comm_t **comm, const struct select_plan *plan, const uint8_t *blobs,
		  size_t stride, struct deadline deadline)
{
	coll_comm_t *c = *comm;
	uint32_t i;
	int ret;

	for (i = c->size; i-- > 0; )
		memcpy(&c->hosts[c->node_of[i]], blobs + i * stride + BLOB_HOST,
		       sizeof(*c->hosts));
	for (i = 0; i < c->nr_nodes; i++)
		c->hosts[i].name[SELECT_NAME_LEN - 1] = 0;
	ret = order_accept(comm, blobs[BLOB_ORDER], deadline);
	if (ret)
		return ret;
	c = *comm;
	for (i = 0; i < c->size; i++)
		if (!blobs[i * stride + BLOB_CAN])
			return 0;
	if (blobs[BLOB_MODE] == SELECT_MODE_NONE)
		return 0;
	return select_run_mode(c, plan, blobs[BLOB_MODE], deadline);
}
