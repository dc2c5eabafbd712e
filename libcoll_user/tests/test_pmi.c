// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * PMI-1 with a process manager that the test makes up: two ranks, each a process, with a line for
 * each. The rank whose barrier has timed out calls again: the ranks then agree, the process manager
 * sees one call in each barrier, and each answer is that of its call.
 */
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launch/launch.h"
#include "tap.h"

#define BLOB		40
#define RANKS		2
#define LONG_MS		20000
#define SHORT_MS	1000

/* ---- the process manager ---- */

/**
 * struct manager - state of the process manager
 * @in: ranks that are in the barrier
 * @finalized: ranks that have said so
 * @twice: a rank has entered the barrier again before it was over
 * @value: of each key coll-N, by N
 */
struct manager {
	int fd[RANKS];
	bool in[RANKS];
	int finalized;
	bool twice;
	int open;
	char value[8][512];
};

static void answer(const struct manager *m, int rank, const char *text)
{
	/* A rank that is owed an answer may have ended. */
	send(m->fd[rank], text, strlen(text), MSG_NOSIGNAL);
}

static void enter_barrier(struct manager *m, int rank)
{
	int r;

	m->twice |= m->in[rank];
	m->in[rank] = true;
	if (!m->in[!rank])
		return;
	for (r = 0; r < RANKS; r++) {
		m->in[r] = false;
		answer(m, r, "cmd=barrier_out rc=0\n");
	}
}

static void serve(struct manager *m, int rank, const char *line)
{
	unsigned int key;
	char value[512], text[700];

	if (!strncmp(line, "cmd=init ", 9)) {
		answer(m, rank, "cmd=response_to_init rc=0 pmi_version=1 pmi_subversion=1\n");
	} else if (!strcmp(line, "cmd=get_maxes")) {
		answer(m, rank, "cmd=maxes kvsname_max=64 keylen_max=64 vallen_max=512\n");
	} else if (!strcmp(line, "cmd=get_my_kvsname")) {
		answer(m, rank, "cmd=my_kvsname kvsname=k\n");
	} else if (sscanf(line, "cmd=put kvsname=k key=coll-%u value=%511s", &key, value) == 2) {
		snprintf(m->value[key % 8], sizeof(m->value[0]), "%s", value);
		answer(m, rank, "cmd=put_result rc=0\n");
	} else if (sscanf(line, "cmd=get kvsname=k key=coll-%u", &key) == 1) {
		snprintf(text, sizeof(text), "cmd=get_result rc=%d value=%s\n",
			 *m->value[key % 8] ? 0 : -1, m->value[key % 8]);
		answer(m, rank, text);
	} else if (!strcmp(line, "cmd=barrier_in")) {
		enter_barrier(m, rank);
	} else if (!strcmp(line, "cmd=finalize")) {
		m->finalized++;
		answer(m, rank, "cmd=finalize_ack rc=0\n");
	}
}

/* One line of a rank; false: it has ended. */
static bool serve_line(struct manager *m, int rank)
{
	char line[1024];
	size_t n = 0;

	while (n < sizeof(line) - 1) {
		if (read(m->fd[rank], line + n, 1) != 1)
			return false;
		if (line[n] == '\n')
			break;
		n++;
	}
	line[n] = '\0';
	serve(m, rank, line);
	return true;
}

/* Until both ranks have ended. */
static void manage(struct manager *m)
{
	struct pollfd p[RANKS];
	int r;

	m->open = RANKS;
	for (r = 0; r < RANKS; r++)
		p[r] = (struct pollfd){ .fd = m->fd[r], .events = POLLIN };
	while (m->open) {
		if (poll(p, RANKS, LONG_MS) <= 0)
			break;
		for (r = 0; r < RANKS; r++) {
			if (p[r].fd < 0 || !p[r].revents || serve_line(m, r))
				continue;
			p[r].fd = -1;
			m->open--;
		}
	}
}

/* ---- the ranks ---- */

static struct coll_config cfg;

/* Rank 0 gives a blob of @mark. Return: its mark, or a negative errno. */
static int exchange(uint8_t mark, uint32_t ms)
{
	uint8_t mine[BLOB], all[RANKS * BLOB];
	int ret, i;

	memset(mine, mark, sizeof(mine));
	memset(all, 0, sizeof(all));
	ret = cfg.exchange(NULL, mine, all, BLOB, ms);
	if (ret)
		return ret;
	for (i = 1; i < BLOB; i++)
		if (all[i] != all[0])
			return -EBADMSG;
	return all[0];
}

/* The other rank comes when this one has timed out: @go is closed then. */
static void wait_for(int go)
{
	char c;

	while (read(go, &c, 1) > 0)
		;
}

/* Rank 1 is early. What it gets at the second call is what rank 0 gives at its first one. */
static bool other_is_late(uint32_t rank, const int *go)
{
	if (rank) {
		close(go[0]);
		if (exchange(0, SHORT_MS) != -ETIMEDOUT)
			return false;
		close(go[1]);
		return exchange(0, LONG_MS) == 11 && exchange(0, LONG_MS) == 12;
	}
	close(go[1]);
	wait_for(go[0]);
	return exchange(11, LONG_MS) == 11 && exchange(12, LONG_MS) == 12;
}

/* Rank 0 is early. Rank 1 gets what it gave then, and the new blob at the next call. */
static bool zero_is_early(uint32_t rank, const int *go)
{
	if (!rank) {
		close(go[0]);
		if (exchange(21, SHORT_MS) != -ETIMEDOUT)
			return false;
		close(go[1]);
		return exchange(22, LONG_MS) == 22 && exchange(23, LONG_MS) == 23;
	}
	close(go[1]);
	wait_for(go[0]);
	return exchange(0, LONG_MS) == 21 && exchange(0, LONG_MS) == 22 &&
	       exchange(0, LONG_MS) == 23;
}

/* Rank 1 ends though its barrier is not over. Rank 0 does nothing. */
static bool ends_late(uint32_t rank, const int *go)
{
	close(go[0]);
	close(go[1]);
	return !rank || exchange(0, SHORT_MS) == -ETIMEDOUT;
}

static void run_rank(uint32_t rank, int fd, const int *go, bool (*fn)(uint32_t, const int *))
{
	char text[16];

	snprintf(text, sizeof(text), "%u", rank);
	setenv("PMI_RANK", text, 1);
	snprintf(text, sizeof(text), "%d", fd);
	setenv("PMI_FD", text, 1);
	setenv("PMI_SIZE", "2", 1);
	if (launch_pmi.configure(&cfg))
		exit(2);
	exit(!fn(rank, go));
}

static void test(bool (*fn)(uint32_t, const int *), int ends, const char *name)
{
	struct manager m = { .twice = false };
	int lines[RANKS][2], go[2], status;
	bool good = true;
	uint32_t r;

	if (pipe(go))
		abort();
	for (r = 0; r < RANKS; r++)
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, lines[r]))
			abort();
	fflush(stdout);
	for (r = 0; r < RANKS; r++) {
		if (fork())
			continue;
		close(lines[!r][0]);
		close(lines[!r][1]);
		close(lines[r][0]);
		run_rank(r, lines[r][1], go, fn);
	}
	close(go[0]);
	close(go[1]);
	for (r = 0; r < RANKS; r++) {
		close(lines[r][1]);
		m.fd[r] = lines[r][0];
	}
	manage(&m);
	for (r = 0; r < RANKS; r++)
		close(m.fd[r]);
	while (wait(&status) > 0)
		good &= !status;
	ok(good && !m.twice && m.finalized == ends, name);
}

int main(void)
{
	alarm(300);
	test(other_is_late, 2, "a barrier times out, and rank 0 comes later");
	test(zero_is_early, 2, "a barrier of rank 0 times out");
	test(ends_late, 1, "a rank ends whose barrier is not over");
	return ok_done();
}
