// SPDX-License-Identifier: GPL-2.0
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/coll.h>

#include "ioctl_calls.h"

static _Atomic uint64_t calls, sleeps, submits;

int ioctl(int fd, unsigned long request, ...)
{
	va_list ap;
	void *arg;

	va_start(ap, request);
	arg = va_arg(ap, void *);
	va_end(ap);
	atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed);
	if (request == COLL_IOC_SHM_WAIT)
		atomic_fetch_add_explicit(&sleeps, 1, memory_order_relaxed);
	if (request == COLL_IOC_SUBMIT)
		atomic_fetch_add_explicit(&submits, 1, memory_order_relaxed);
	return (int)syscall(SYS_ioctl, fd, request, arg);
}

uint64_t ioctl_calls(void)
{
	return calls;
}

uint64_t ioctl_submits(void)
{
	return submits;
}

uint64_t ioctl_sleeps(void)
{
	return sleeps;
}
