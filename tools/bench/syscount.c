// SPDX-License-Identifier: GPL-2.0
/*
 * usage: syscount PROGRAM [ARG...]: counts the system calls of a program and all that it starts
 *
 * By ptrace(), which works in user-mode Linux too. The program maps the descriptor SYSCOUNT_FD and
 * finds there how often it was stopped for a system call: twice for each. So it can look at any
 * moment, and a look is no system call.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#define OPTIONS	(PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | \
		 PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL)

static volatile uint64_t *count;

static void fail(const char *what)
{
	perror(what);
	exit(127);
}

static void share_count(void)
{
	int fd = memfd_create("syscount", 0);
	char text[16];

	if (fd < 0 || ftruncate(fd, sizeof(*count)))
		fail("memfd");
	count = mmap(NULL, sizeof(*count), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (count == MAP_FAILED)
		fail("mmap");
	snprintf(text, sizeof(text), "%d", fd);
	setenv("SYSCOUNT_FD", text, 1);
}

static pid_t start(char **argv)
{
	pid_t pid = fork();

	if (pid < 0)
		fail("fork");
	if (pid)
		return pid;
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
		fail("ptrace");
	raise(SIGSTOP);
	execvp(argv[0], argv);
	fail(argv[0]);
	return 0;
}

/* The signal to go on with: those that ptrace() itself makes are nobody's. */
static int signal_of(int status)
{
	int sig = WSTOPSIG(status);

	if (sig == (SIGTRAP | 0x80)) {
		(*count)++;
		return 0;
	}
	/* of an event, and the first stop of a new thread */
	return sig == SIGTRAP || sig == SIGSTOP ? 0 : sig;
}

int main(int argc, char **argv)
{
	int status, result = 127;
	pid_t first, pid;

	if (argc < 2)
		return 2;
	share_count();
	first = start(argv + 1);
	if (waitpid(first, &status, 0) != first || !WIFSTOPPED(status) ||
	    ptrace(PTRACE_SETOPTIONS, first, NULL, (void *)OPTIONS))
		fail("ptrace");
	ptrace(PTRACE_SYSCALL, first, NULL, NULL);
	while ((pid = waitpid(-1, &status, __WALL)) > 0 || errno == EINTR) {
		if (pid <= 0)
			continue;
		if (WIFSTOPPED(status))
			ptrace(PTRACE_SYSCALL, pid, NULL, (void *)(long)signal_of(status));
		else if (pid == first)
			result = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	}
	return result;
}
