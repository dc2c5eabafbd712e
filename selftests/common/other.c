// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "other.h"
#include "raw.h"
#include "util.h"

#define CGROUPS	"/sys/fs/cgroup"
#define LOOPS	5
#define TURNS	100000UL
#define CPU_NS	100000000ULL

int other_start(struct other *o, int (*begin)(void *arg), void *arg)
{
	int ready[2], stop[2], ret;
	char c;

	if (pipe(ready) || pipe(stop))
		return -errno;
	fflush(NULL);
	o->pid = fork();
	if (!o->pid) {
		close(ready[0]);
		close(stop[1]);
		ret = begin(arg);
		if (write(ready[1], &ret, sizeof(ret)) != sizeof(ret) || ret)
			_exit(1);
		while (read(stop[0], &c, 1) > 0)
			;
		_exit(0);
	}
	close(ready[1]);
	close(stop[0]);
	o->ready = ready[0];
	o->stop = stop[1];
	if (o->pid < 0)
		return -errno;
	return read(ready[0], &ret, sizeof(ret)) == sizeof(ret) ? ret : -EPIPE;
}

void other_stop(struct other *o)
{
	if (o->pid > 0) {
		kill(o->pid, SIGKILL);
		waitpid(o->pid, NULL, 0);
	}
	close(o->ready);
	close(o->stop);
	o->pid = 0;
}

static bool put(const char *name, const char *file, const char *value)
{
	char path[128];

	snprintf(path, sizeof(path), CGROUPS "/%s/%s", name, file);
	return test_put(path, value);
}

int other_enter_cgroup(const char *name, const char *file, const char *value)
{
	char controller[64], path[128], pid[16];
	size_t len = 0;

	if (access(CGROUPS "/cgroup.controllers", F_OK) &&
	    mount("none", CGROUPS, "cgroup2", 0, ""))
		return -errno;
	controller[len++] = '+';
	while (file[len - 1] && file[len - 1] != '.' && len < sizeof(controller) - 1) {
		controller[len] = file[len - 1];
		len++;
	}
	controller[len] = 0;
	snprintf(path, sizeof(path), CGROUPS "/%s", name);
	snprintf(pid, sizeof(pid), "%d", getpid());
	if (!put("", "cgroup.subtree_control", controller))
		return -EOPNOTSUPP;
	if (mkdir(path, 0755) && errno != EEXIST)
		return -errno;
	return put(name, file, value) && put(name, "cgroup.procs", pid) ? 0 : -EOPNOTSUPP;
}

int64_t other_cgroup_number(const char *name, const char *file)
{
	char path[128];
	long long n;
	FILE *f;

	snprintf(path, sizeof(path), CGROUPS "/%s/%s", name, file);
	f = fopen(path, "r");
	if (!f)
		return -1;
	if (fscanf(f, "%lld", &n) != 1)
		n = -1;
	fclose(f);
	return n;
}

/* Wall and CPU time of a loop that gets @CPU_NS of CPU time. */
static void loop(uint64_t *wall, uint64_t *cpu)
{
	uint64_t begin = test_now_ns(), cpu_begin = test_cpu_ns();
	volatile unsigned long n;

	do {
		for (n = 0; n < TURNS; n++)
			;
		*cpu = test_cpu_ns() - cpu_begin;
	} while (*cpu < CPU_NS);
	*wall = test_now_ns() - begin;
}

unsigned int other_loop_percent(void)
{
	uint64_t best = UINT64_MAX, wall, cpu;
	int i;

	for (i = 0; i < LOOPS; i++) {
		loop(&wall, &cpu);
		if (wall * 100 / cpu < best)
			best = wall * 100 / cpu;
	}
	return best;
}

static uint64_t time_once(uint64_t timeout_ns)
{
	struct raw_comm c;
	struct coll_cmd cmd;
	uint64_t begin;
	int ret;

	raw_plan(&c, 2, 1);
	c.fd[0] = raw_open();
	if (c.fd[0] < 0)
		return 0;
	ret = raw_join(c.fd[0], &c, 0);
	raw_barrier(&cmd);
	cmd.timeout_ns = timeout_ns;
	begin = test_now_ns();
	if (!ret)
		ret = raw_submit(c.fd[0], &cmd);
	begin = test_now_ns() - begin;
	close(c.fd[0]);
	return ret == -ETIMEDOUT ? begin : 0;
}

uint64_t other_time_deadline(uint64_t timeout_ns)
{
	uint64_t best = UINT64_MAX, took, enough = timeout_ns + test_bound_ms() * 1000000ULL;
	int i;

	for (i = 0; i < 10 && best > enough; i++) {
		took = time_once(timeout_ns);
		if (took < best)
			best = took;
	}
	return best;
}
