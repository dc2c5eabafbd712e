// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "files.h"

/*
 * Number of communicators of coll. Each has a file open, and opens a second one in its first call
 * that does not end in shared memory. Assume that all of them need the second one.
 */
static _Atomic int nr_comms;

bool files_suffice(void)
{
	struct rlimit most;
	int fd;

	if (getrlimit(RLIMIT_NOFILE, &most))
		return false;
	/* The lowest number that is free. */
	fd = eventfd(0, EFD_CLOEXEC);
	if (fd < 0)
		return false;
	close(fd);
	return (rlim_t)fd + (rlim_t)nr_comms < most.rlim_cur / 2;
}

void files_count(int nr)
{
	nr_comms += nr;
}
