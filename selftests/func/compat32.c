// SPDX-License-Identifier: GPL-2.0
/* Starts compat32_rank, a 32-bit program, where the kernel runs such. */
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "harness.h"

#define NO_EXEC	126

TEST(program_of_32_bits)
{
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 20);
	int status;
	pid_t pid;

	ASSERT_LT(0, n);
	strcpy(path + n, "_rank");
	if (access(path, X_OK))
		SKIP(return, "the compiler makes no 32-bit programs");
	pid = fork();
	if (!pid) {
		execl(path, path, NULL);
		_exit(errno == ENOEXEC ? NO_EXEC : 127);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	if (WIFEXITED(status) && WEXITSTATUS(status) == NO_EXEC)
		SKIP(return, "this kernel runs no 32-bit programs");
	EXPECT_EQ(0, status) TH_LOG("see compat32_rank.c for what %d means", WEXITSTATUS(status));
}

TEST_HARNESS_MAIN
