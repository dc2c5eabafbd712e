/* SPDX-License-Identifier: GPL-2.0 */
/* collrun: starts the ranks of a job on this machine. */
#ifndef COLLRUN_H
#define COLLRUN_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#define COLLRUN_MAX_RANKS	1024
#define COLLRUN_MAX_NODES	250

/**
 * struct options - the command line
 * @prefix: output lines begin with the rank
 * @keep_going: a rank that fails does not end the others
 * @bind: each rank to a CPU
 * @timeout_s: 0: none
 * @grace_ms: between SIGTERM and SIGKILL
 * @report: file for "rank pid" lines, or NULL
 * @env: @nr_env strings K=V
 * @argv: command, NULL-terminated
 */
struct options {
	int ranks;
	int nodes;
	bool prefix;
	bool keep_going;
	bool bind;
	double timeout_s;
	int grace_ms;
	const char *report;
	char **env;
	int nr_env;
	char **argv;
};

/**
 * struct network - where ranks live and meet (collrun_nodes.c)
 * @ns: network namespace of each node, or NULL: all in ours
 * @hold: keeps the rendezvous port from everybody but rank 0
 * @rendezvous: "address:port"
 */
struct network {
	int nodes;
	int *ns;
	int hold;
	char rendezvous[64];
};

int network_create(struct network *net, int nodes);
/* In a child: move into a node's namespace. */
int network_enter(const struct network *net, int node);
void network_destroy(struct network *net);

/* Output of the ranks with their numbers before it (collrun_output.c). */
struct output;

struct output *output_create(int ranks);
/* Two fds for the child's stdout and stderr; the parent closes them. */
int output_pipes(struct output *o, int rank, int fds[2]);
/* Fill in what poll() is to wait for: 2 for each rank at most. Return: how many. */
size_t output_polled(struct output *o, struct pollfd *p);
/* Take a piece of each, unless our own output is full. */
void output_pump(struct output *o);
/* The ranks are over: output_pump() takes what is there now, and prints unfinished lines. */
void output_end(struct output *o);
/* Has all of that been taken? */
bool output_over(const struct output *o);

/* Our own output, 1 or 2, for which we do not wait (collrun_sink.c). */
void sinks_open(void);
bool sink_has_room(int fd, size_t len);
void sink_put(int fd, const char *text, size_t len);
/* Write as much as is possible now. */
void sinks_flush(void);
bool sinks_empty(void);
/* Bytes so far */
uint64_t sinks_written(void);
bool sink_failed(int fd);
/* Fill in what poll() is to wait for: 2 at most. Return: how many. */
size_t sinks_polled(struct pollfd *p);
/* A line of collrun itself on stderr */
void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * In a child: bind it to one of the CPUs that collrun may use, and go round if there are more ranks
 * (collrun_bind.c). Return: 0, or -1 with errno.
 */
int bind_rank(int rank);

/**
 * struct orphans - processes that ranks leave running (collrun_orphans.c)
 * @others: @nr children that this process had before: a shell's tee, say
 */
struct orphans {
	pid_t *others;
	size_t nr;
};

/* Before any rank. Such processes become children of this one. */
void orphans_begin(struct orphans *o);
bool orphans_left(const struct orphans *o);
/* When the ranks are over: end them all. */
void orphans_end(struct orphans *o);

/*
 * Starts, watches and ends the ranks (collrun_ranks.c). Return: the exit status; *@interrupted:
 * SIGINT has ended the job.
 */
int ranks_run(const struct options *opt, const struct network *net, bool *interrupted);

/* A clock that nobody sets */
static inline int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

#endif
