// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* The end of a communicator, also of one whose ranks have not all come. */
#include <coll/coll.h>

#include "comm/comm.h"
#include "nonblocking/async.h"

int coll_finalize(coll_comm_t *comm)
{
	if (!comm)
		return 0;
	async_destroy(comm);
	comm_free(comm);
	return 0;
}
