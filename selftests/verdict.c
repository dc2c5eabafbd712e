// SPDX-License-Identifier: GPL-2.0
/*
 * usage: leftover file|files|socket|namespace|nothing
 *
 * Leaves something open behind, as a module would that loses a reference: in a process
 * whose first thread has ended, so that it has no /proc/PID/exe. collvm takes it for a thread
 * of the kernel, and does not end it.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* More than a count may be wrong that is not exact */
#define MANY	600

static void *stay(void *arg)
{
	for (;;)
		pause();
	return NULL;
}

/* collvm ends processes whose program it can see. */
static void await_first_thread(pid_t pid)
{
	char path[40], program[8];

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	while (readlink(path, program, sizeof(program)) >= 0)
		usleep(1000);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	int file = open("/", O_RDONLY), sock = socket(AF_INET, SOCK_STREAM, 0);
	pthread_t t;
	pid_t pid;
	int i;

	if (file < 0 || sock < 0)
		return 1;
	if (!strcmp(what, "nothing"))
		return 0;
	if (!strcmp(what, "file") || !strcmp(what, "files"))
		close(sock);
	if (!strcmp(what, "files"))
		for (i = 0; i < MANY; i++)
			if (open("/", O_RDONLY) < 0)
				return 1;
	if (!strcmp(what, "socket"))
		close(file);
	if (!strcmp(what, "namespace")) {
		close(file);
		close(sock);
		if (unshare(CLONE_NEWNET))
			return 1;
	}
	pid = fork();
	if (pid) {
		await_first_thread(pid);
		return 0;
	}
	setsid();
	close(0);
	close(1);
	close(2);
	if (pthread_create(&t, NULL, stay, NULL))
		return 1;
	pthread_exit(NULL);
}
