// SPDX-License-Identifier: GPL-2.0
/* Coverage by kcov: see Documentation/dev-tools/kcov.rst of the kernel. */
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"

#define KCOV_INIT_TRACE	_IOR('c', 1, unsigned long)
#define KCOV_ENABLE	_IO('c', 100)
#define KCOV_TRACE_PC	0
#define COVER_WORDS	(64 << 10)
#define PLACE_BITS	18

static unsigned long *cover;
static uint8_t seen[1 << PLACE_BITS];
static unsigned int places;

bool kcov_start(void)
{
	int fd = open("/sys/kernel/debug/kcov", O_RDWR | O_CLOEXEC);
	void *map;

	if (fd < 0 || ioctl(fd, KCOV_INIT_TRACE, COVER_WORDS))
		return false;
	map = mmap(NULL, COVER_WORDS * sizeof(*cover), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED || ioctl(fd, KCOV_ENABLE, KCOV_TRACE_PC))
		return false;
	cover = map;
	return true;
}

void kcov_round(void)
{
	if (cover)
		__atomic_store_n(&cover[0], 0, __ATOMIC_RELAXED);
}

unsigned int kcov_new(void)
{
	unsigned long n, i;
	unsigned int fresh = 0;

	n = cover ? __atomic_load_n(&cover[0], __ATOMIC_RELAXED) : 0;
	for (i = 1; i <= n && i < COVER_WORDS; i++) {
		uint64_t h = cover[i] * 0x9e3779b97f4a7c15ULL >> (64 - PLACE_BITS);

		fresh += !seen[h];
		seen[h] = 1;
	}
	places += fresh;
	return fresh;
}

unsigned int kcov_places(void)
{
	return places;
}
