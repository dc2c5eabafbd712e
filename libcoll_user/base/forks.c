// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include <errno.h>
#include <pthread.h>

#include "forks.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int watching = -ENOMEM;
static uint32_t count;

/* A child has one thread. */
static void count_one(void)
{
	count++;
}

static void watch(void)
{
	if (!pthread_atfork(NULL, NULL, count_one))
		watching = 0;
}

int forks_watch(void)
{
	pthread_once(&once, watch);
	return watching;
}

uint32_t forks_count(void)
{
	return count;
}
