// SPDX-License-Identifier: GPL-2.0
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "pages.h"
#include "util.h"

/* One line of /proc/vmstat. */
static long vmstat(const char *which)
{
	char name[64];
	long n, value = -1;
	FILE *f;

	if (!test_put("/proc/sys/vm/stat_refresh", "1"))
		return -1;
	f = fopen("/proc/vmstat", "r");
	while (f && value < 0 && fscanf(f, "%63s %ld", name, &n) == 2)
		if (!strcmp(name, which))
			value = n;
	if (f)
		fclose(f);
	return value;
}

long pages_pinned_ever(void)
{
	return vmstat("nr_foll_pin_acquired");
}

long pages_pinned(void)
{
	long acquired = pages_pinned_ever(), released = vmstat("nr_foll_pin_released");

	return acquired < 0 || released < 0 ? -1 : acquired - released;
}

char *pages_map_absent(size_t ahead, int *fd)
{
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	struct uffdio_api api = { .api = UFFD_API };
	size_t page = sysconf(_SC_PAGESIZE);
	char *at;

	*fd = syscall(SYS_userfaultfd, O_CLOEXEC);
	if (*fd < 0)
		return NULL;
	at = mmap(NULL, ahead + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED)
		goto close;
	reg.range.start = (uintptr_t)at + ahead;
	reg.range.len = page;
	if (!ioctl(*fd, UFFDIO_API, &api) && !ioctl(*fd, UFFDIO_REGISTER, &reg))
		return at;
	munmap(at, ahead + page);
close:
	close(*fd);
	return NULL;
}

int pages_wait_for_faults(int fd, unsigned int n)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	struct uffd_msg msg;

	if (fcntl(fd, F_SETFL, O_NONBLOCK))
		return -errno;
	while (n) {
		if (poll(&p, 1, 20000) != 1)
			return -ETIME;
		/* Each thread says so once. */
		if (read(fd, &msg, sizeof(msg)) == sizeof(msg))
			n -= msg.event == UFFD_EVENT_PAGEFAULT;
	}
	return 0;
}

int pages_fill(int fd, void *at, const void *from)
{
	struct uffdio_copy copy = {
		.dst = (uintptr_t)at,
		.src = (uintptr_t)from,
		.len = sysconf(_SC_PAGESIZE),
	};

	return ioctl(fd, UFFDIO_COPY, &copy) ? -errno : 0;
}
