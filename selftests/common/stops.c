// SPDX-License-Identifier: GPL-2.0
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stops.h"
#include "util.h"

#define WAIT_MS		20000

int stops_wait(pid_t pid)
{
	uint64_t since = test_now_ns();
	int status;

	while (test_now_ns() - since < WAIT_MS * 1000000ULL) {
		if (waitpid(pid, &status, WNOHANG | WUNTRACED | __WALL) == pid)
			return WIFSTOPPED(status) ? (test_now_ns() - since) / 1000000 : -1;
		test_sleep_us(200);
	}
	return -1;
}

static bool group_has(const char *line)
{
	char buf[256] = "";
	int fd = open(STOPS_GROUP "/cgroup.events", O_RDONLY);
	ssize_t n = fd < 0 ? -1 : read(fd, buf, sizeof(buf) - 1);

	close(fd);
	return n > 0 && strstr(buf, line);
}

bool stops_frozen(void)
{
	unsigned int ms;

	for (ms = 0; ms < WAIT_MS; ms++) {
		if (group_has("frozen 1"))
			return true;
		test_sleep_us(1000);
	}
	return false;
}

bool stops_group(pid_t pid)
{
	char text[32];

	mkdir("/sys/fs/cgroup", 0755);
	if (access("/sys/fs/cgroup/cgroup.controllers", F_OK))
		mount("none", "/sys/fs/cgroup", "cgroup2", 0, "");
	mkdir(STOPS_GROUP, 0755);
	snprintf(text, sizeof(text), "%d", pid);
	return test_put(STOPS_GROUP "/cgroup.procs", text) && !access(STOPS_GROUP "/cgroup.freeze", F_OK);
}
