// SPDX-License-Identifier: LGPL-2.1 OR MIT
#define _GNU_SOURCE	/* dladdr() */
#include <dlfcn.h>
#include <stddef.h>

#include "base/debug.h"
#include "outside.h"

static const char *const waits[] = {
	"MPI_Wait", "MPI_Waitall", "MPI_Waitany", "MPI_Waitsome",
	"MPI_Test", "MPI_Testall", "MPI_Testany", "MPI_Testsome",
	"MPI_Request_get_status", "MPI_Request_free", "MPI_Start", "MPI_Startall",
};

/* The object that an address belongs to; NULL: none. */
static const void *object_of(const void *address)
{
	Dl_info info;

	return dladdr(address, &info) ? info.dli_fbase : NULL;
}

bool outside_waits(void)
{
	const void *own = object_of(waits);
	size_t i;

	for (i = 0; i < sizeof(waits) / sizeof(waits[0]); i++) {
		const void *first = dlsym(RTLD_DEFAULT, waits[i]);

		if (!first || object_of(first) == own)
			continue;
		coll_debug("mpi: %s() is not that of this library: only blocking calls use coll",
			   waits[i]);
		return true;
	}
	return false;
}
