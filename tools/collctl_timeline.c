// SPDX-License-Identifier: GPL-2.0
/*
 * collctl timeline: records the tracepoints of the module in a ring of the kernel's tracing, and
 * makes a timeline of it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "collctl.h"
#include "collctl_trace.h"

#define TRACING		"/sys/kernel/tracing"
#define INSTANCE	TRACING "/instances/coll"
/* KiB for each CPU: some 50000 events. */
#define RING_KIB	"8192"

static const char *const events[] = {
	"coll_tensor_post", "coll_tensor_start", "coll_tensor_over", "coll_submit", "coll_start",
	"coll_segment", "coll_complete", "coll_abort",
};

static int put(const char *file, const char *text)
{
	char path[256];
	int fd, ret = 0;

	snprintf(path, sizeof(path), INSTANCE "/%s", file);
	fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	if (fd < 0 || write(fd, text, strlen(text)) < 0) {
		fprintf(stderr, "collctl: %s: %s\n", path, strerror(errno));
		ret = 1;
	}
	if (fd >= 0)
		close(fd);
	return ret;
}

static int enable(const char *value)
{
	char file[64];
	size_t k;
	int ret = 0;

	for (k = 0; k < sizeof(events) / sizeof(events[0]) && !ret; k++) {
		snprintf(file, sizeof(file), "events/coll/%s/enable", events[k]);
		ret = put(file, value);
	}
	return ret;
}

static int start(const char *kib)
{
	if (access(TRACING "/events", F_OK) && mount("none", TRACING, "tracefs", 0, NULL)) {
		fprintf(stderr, "collctl: " TRACING ": %s\n", strerror(errno));
		return 1;
	}
	if (mkdir(INSTANCE, 0700) && errno != EEXIST) {
		fprintf(stderr, "collctl: " INSTANCE ": %s\n", strerror(errno));
		return 1;
	}
	/* Setting the clock empties the ring. */
	return put("tracing_on", "0") || put("trace_clock", "mono") ||
	       put("buffer_size_kb", kib) || enable("1") || put("trace", "") ||
	       put("tracing_on", "1");
}

/* Events that the ring had no room for. */
static unsigned long long lost(void)
{
	unsigned long long sum = 0, n;
	char path[256], line[128];
	FILE *f;
	int cpu;

	for (cpu = 0; ; cpu++) {
		snprintf(path, sizeof(path), INSTANCE "/per_cpu/cpu%d/stats", cpu);
		f = fopen(path, "re");
		if (!f)
			return sum;
		while (fgets(line, sizeof(line), f))
			if (sscanf(line, "overrun: %llu", &n) == 1 ||
			    sscanf(line, "dropped events: %llu", &n) == 1)
				sum += n;
		fclose(f);
	}
}

/* The wall clock when the other one was 0, in microseconds: that is the same on all hosts. */
static double epoch_us(void)
{
	struct timespec wall, mono;

	clock_gettime(CLOCK_MONOTONIC, &mono);
	clock_gettime(CLOCK_REALTIME, &wall);
	return 1e6 * (double)(wall.tv_sec - mono.tv_sec) +
	       1e-3 * (double)(wall.tv_nsec - mono.tv_nsec);
}

/* Flush or close @out: a write error may show only here. */
static int finish(FILE *out)
{
	int bad = ferror(out);

	return (out == stdout ? fflush(out) : fclose(out)) || bad;
}

static int stop(const char *to)
{
	struct timeline_info info = { .epoch_us = epoch_us() };
	FILE *in, *out = stdout;
	int ret;

	if (put("tracing_on", "0"))
		return 1;
	info.lost = lost();
	gethostname(info.host, sizeof(info.host) - 1);
	in = fopen(INSTANCE "/trace", "re");
	if (to && strcmp(to, "-"))
		out = fopen(to, "we");
	if (!in || !out) {
		fprintf(stderr, "collctl: %s: %s\n", in ? to : INSTANCE "/trace", strerror(errno));
		return 1;
	}
	ret = timeline_write(in, out, &info);
	fclose(in);
	if (finish(out)) {
		fprintf(stderr, "collctl: %s: %s\n", out == stdout ? "stdout" : to,
			strerror(errno));
		ret = 1;
	}
	if (info.lost)
		fprintf(stderr, "collctl: %llu events are lost: give start a larger ring\n",
			info.lost);
	enable("0");
	if (ret)
		fprintf(stderr, "collctl: the recording is kept: run collctl timeline stop again\n");
	else
		rmdir(INSTANCE);
	return ret;
}

int collctl_timeline(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "", *kib = RING_KIB;
	char *end;

	if (!strcmp(what, "start") && argc <= 3) {
		if (argc == 3) {
			kib = argv[2];
			if (!strtoul(kib, &end, 10) || *end)
				return -1;
		}
		return start(kib);
	}
	if (!strcmp(what, "stop") && argc <= 3)
		return stop(argc == 3 ? argv[2] : NULL);
	if (!strcmp(what, "merge") && argc > 2)
		return timeline_merge(argv + 2, stdout);
	return -1;
}
