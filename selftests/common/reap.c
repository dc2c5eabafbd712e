// SPDX-License-Identifier: GPL-2.0
#include <signal.h>
#include <sys/wait.h>

#include "reap.h"
#include "util.h"

int reap_one(pid_t *pid, unsigned int ms)
{
	uint64_t end = test_now_ns() + ms * 1000000ULL;
	int status;

	while (waitpid(*pid, &status, WNOHANG) != *pid) {
		if (test_now_ns() > end)
			return -1;
		test_sleep_us(200);
	}
	*pid = 0;
	return status;
}

void reap_all(pid_t *pid, uint32_t nr, unsigned int ms)
{
	uint32_t i;

	for (i = 0; i < nr; i++) {
		if (pid[i] && reap_one(&pid[i], ms) < 0) {
			kill(pid[i], SIGKILL);
			waitpid(pid[i], NULL, 0);
			pid[i] = 0;
		}
	}
}
