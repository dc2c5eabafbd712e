// SPDX-License-Identifier: GPL-2.0
/*
 * What ranks leave running, also in sessions of its own: collrun is a subreaper, so it becomes the
 * parent of processes whose own parent is over.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collrun.h"

/* A process that has got SIGKILL may need this long, and have started others before. */
#define END_MS	2000

static FILE *open_children(void)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	return fopen(path, "re");
}

void orphans_begin(struct orphans *o)
{
	FILE *f = open_children();
	pid_t *more;
	int pid;

	while (f && fscanf(f, "%d", &pid) == 1) {
		more = realloc(o->others, (o->nr + 1) * sizeof(*more));
		if (!more)
			break;
		o->others = more;
		o->others[o->nr++] = pid;
	}
	if (f)
		fclose(f);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
}

static bool is_other(const struct orphans *o, pid_t pid)
{
	size_t i;

	for (i = 0; i < o->nr && o->others[i] != pid; i++)
		;
	return i < o->nr;
}

/* Return: false: collrun may not, as it is the process of another user. */
static bool end_one(pid_t pid)
{
	if (kill(pid, SIGKILL))
		return false;
	waitpid(pid, NULL, WNOHANG);
	/* Even if it is over already: its own children are ours now, and are to end as well. */
	return true;
}

/* Return: how many there are; with @end, how many of them have been told to end. */
static size_t look(const struct orphans *o, bool end)
{
	FILE *f = open_children();
	size_t left = 0;
	int pid;

	while (f && fscanf(f, "%d", &pid) == 1)
		left += !is_other(o, pid) && (!end || end_one(pid));
	if (f)
		fclose(f);
	return left;
}

bool orphans_left(const struct orphans *o)
{
	return look(o, false);
}

void orphans_end(struct orphans *o)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	int64_t until = now_ms() + END_MS;
	size_t left;

	while ((left = look(o, true)) && now_ms() < until)
		nanosleep(&pause, NULL);
	if (left)
		say("%zu processes that ranks have left running do not end", left);
	free(o->others);
	*o = (struct orphans){ 0 };
}
