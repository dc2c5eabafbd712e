// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collrun.h"

static void usage(FILE *f)
{
	fputs("usage: collrun -n RANKS [OPTIONS] CMD [ARGS...]\n"
	      "Runs CMD as RANKS processes of one job.\n\n"
	      "  -n, --ranks RANKS    how many\n"
	      "  -N, --nodes N        spread them over N nodes, each with a network of its own\n"
	      "                       (blocks: rank r is on node r*N/RANKS; needs root)\n"
	      "  -l, --prefix         begin each line of output with [rank]\n"
	      "  -t, --timeout S      end the job after S seconds, exit status 124\n"
	      "  -k, --keep-going     let the others run when a rank fails\n"
	      "  -b, --bind           bind each rank to a CPU, in turn\n"
	      "  -g, --grace S        seconds between SIGTERM and SIGKILL (5)\n"
	      "  -e, --env K=V        set in all ranks; may be repeated\n"
	      "  -r, --report FILE    write \"rank pid\" lines when all are started\n\n"
	      "Exit status: that of the first rank that failed (128 + signal if a signal\n"
	      "ended it), else 0. 125: collrun itself failed.\n", f);
}

static int number(const char *s, int min, int max, int *out)
{
	char *end;
	long v;

	errno = 0;
	v = strtol(s, &end, 10);
	if (errno || end == s || *end || v < min || v > max)
		return -1;
	*out = (int)v;
	return 0;
}

static int seconds(const char *s, double *out)
{
	char *end;

	errno = 0;
	*out = strtod(s, &end);
	return errno || end == s || *end || !(*out > 0) || *out > 1e6 ? -1 : 0;
}

static int take_option(struct options *opt, int c)
{
	double s;

	switch (c) {
	case 'n':
		return number(optarg, 1, COLLRUN_MAX_RANKS, &opt->ranks);
	case 'N':
		return number(optarg, 1, COLLRUN_MAX_NODES, &opt->nodes);
	case 'l':
		opt->prefix = true;
		return 0;
	case 'k':
		opt->keep_going = true;
		return 0;
	case 'b':
		opt->bind = true;
		return 0;
	case 't':
		return seconds(optarg, &opt->timeout_s);
	case 'g':
		if (seconds(optarg, &s))
			return -1;
		opt->grace_ms = s < 0.001 ? 1 : (int)(s * 1000);
		return 0;
	case 'e':
		if (!strchr(optarg, '=') || optarg[0] == '=')
			return -1;
		opt->env[opt->nr_env++] = optarg;
		return 0;
	case 'r':
		opt->report = optarg;
		return 0;
	default:
		return -1;
	}
}

static int parse(struct options *opt, int argc, char **argv)
{
	static const struct option longs[] = {
		{ "ranks", required_argument, NULL, 'n' },
		{ "nodes", required_argument, NULL, 'N' },
		{ "prefix", no_argument, NULL, 'l' },
		{ "timeout", required_argument, NULL, 't' },
		{ "keep-going", no_argument, NULL, 'k' },
		{ "bind", no_argument, NULL, 'b' },
		{ "grace", required_argument, NULL, 'g' },
		{ "env", required_argument, NULL, 'e' },
		{ "report", required_argument, NULL, 'r' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int c;

	opt->env = calloc((size_t)argc, sizeof(*opt->env));
	if (!opt->env)
		return -1;
	while ((c = getopt_long(argc, argv, "+n:N:lt:kbg:e:r:h", longs, NULL)) != -1) {
		if (c == 'h') {
			usage(stdout);
			exit(0);
		}
		if (take_option(opt, c)) {
			if (c != '?')
				fprintf(stderr, "collrun: bad argument \"%s\"\n",
					optarg ? optarg : "");
			return -1;
		}
	}
	opt->argv = argv + optind;
	if (!opt->ranks || !*opt->argv) {
		fprintf(stderr, "collrun: -n and a command are needed\n");
		return -1;
	}
	if (opt->nodes > opt->ranks) {
		fprintf(stderr, "collrun: more nodes than ranks\n");
		return -1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct options opt = { .nodes = 1, .grace_ms = 5000 };
	struct network net;
	bool interrupted;
	sigset_t set;
	int status;

	/* If it is ignored at our start, the kernel reaps the ranks, and waitid() finds none. */
	signal(SIGCHLD, SIG_DFL);
	if (parse(&opt, argc, argv)) {
		usage(stderr);
		return 125;
	}
	if (network_create(&net, opt.nodes))
		return 125;
	status = ranks_run(&opt, &net, &interrupted);
	network_destroy(&net);
	free(opt.env);
	/* A shell leaves a loop only if the command has died of SIGINT. */
	if (interrupted && status == 128 + SIGINT) {
		sigemptyset(&set);
		sigaddset(&set, SIGINT);
		signal(SIGINT, SIG_DFL);
		raise(SIGINT);
		sigprocmask(SIG_UNBLOCK, &set, NULL);
	}
	return status;
}
