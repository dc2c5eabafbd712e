// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <netlink/socket.h>

#include <coll/coll.h>

#include "collctl.h"
#include "names.h"
#include "optable.h"
#include "select/select_env.h"

static void usage(FILE *f)
{
	fputs("usage: collctl [--json] list\n"
	      "       collctl [--json] show [ID]\n"
	      "       collctl [--json] stalls [-a SECONDS] [ID]\n"
	      "       collctl tune -o FILE [-t SECONDS] [-- COLLRUN-OPTIONS]\n"
	      "       collctl tables FILE\n"
	      "       collctl timeline start [KIB] | stop [FILE] | merge FILE...\n\n"
	      "list  one line for each communicator of this kernel (those of your user id)\n"
	      "show  everything about one or all: members and connections, with counters, and\n"
	      "      which algorithms are taken up to which sizes, and who says so: measured,\n"
	      "      by the model, from a file, fixed by the environment, or set\n"
	      "stalls  which tensors wait (for SECONDS at least), for which ranks, and whether these\n"
	      "      run, are stopped, frozen, dead or gone\n"
	      "tune  time all algorithms between these hosts, and put into FILE which are the best;\n"
	      "      COLL_SELECT=FILE (with a / in it) then takes them. Runs as the ranks of a job,\n"
	      "      whatever starts it (srun -n 8 collctl tune -o ./tables); with arguments, collrun\n"
	      "      does, on this machine (collctl tune -o ./tables -- -n 8 --nodes 4)\n"
	      "tables  check such a file, and say what is in it\n"
	      "timeline  record what the communicators of this kernel do, in a ring of KIB for each\n"
	      "      CPU; stop writes FILE as JSON for ui.perfetto.dev and chrome://tracing: when each\n"
	      "      rank was ready with each tensor, ops and links; merge makes one timeline of those\n"
	      "      of several hosts\n", f);
}

static unsigned long long get(const struct object *o, int attr)
{
	return o->value[attr];
}

/* Print the first failure, from the netlink attributes, in words. */
static void print_cause(const struct object *g, const char *indent)
{
	struct coll_cause c = {
		.kind = (uint32_t)get(g, COLL_NL_GROUP_CAUSE_KIND),
		.error = (uint32_t)get(g, COLL_NL_GROUP_ERROR),
		.rank = COLL_RANK_NONE,
		.node = COLL_RANK_NONE,
		.pid = (uint32_t)get(g, COLL_NL_GROUP_CAUSE_PID),
		.signal = (uint32_t)get(g, COLL_NL_GROUP_CAUSE_SIGNAL),
		.code = (uint32_t)get(g, COLL_NL_GROUP_CAUSE_CODE),
		.seq = get(g, COLL_NL_GROUP_CAUSE_SEQ),
	};
	char text[256];

	if (!g->has[COLL_NL_GROUP_CAUSE_KIND] || c.kind == COLL_CAUSE_NONE)
		return;
	if (g->has[COLL_NL_GROUP_CAUSE_RANK])
		c.rank = (uint32_t)get(g, COLL_NL_GROUP_CAUSE_RANK);
	if (g->has[COLL_NL_GROUP_CAUSE_NODE])
		c.node = (uint32_t)get(g, COLL_NL_GROUP_CAUSE_NODE);
	memcpy(c.host, g->text, strnlen(g->text, sizeof(c.host) - 1));
	coll_cause_str(&c, text, sizeof(text));
	printf("%sfailed: %s (%s)\n", indent, coll_strerror((int)c.error), text);
}

static void list(const struct objects *groups)
{
	size_t i;

	printf("%6s %6s %6s %6s %8s %6s %6s %-8s %10s %10s %14s\n", "ID", "NODE", "NODES",
	       "SIZE", "LOCAL", "LINKS", "UID", "STATE", "STARTED", "DONE", "BYTES");
	for (i = 0; i < groups->nr; i++) {
		const struct object *g = &groups->at[i];
		char local[32];

		snprintf(local, sizeof(local), "%llu/%llu", get(g, COLL_NL_GROUP_NR_JOINED),
			 get(g, COLL_NL_GROUP_NR_LOCAL));
		printf("%6llu %6llu %6llu %6llu %8s %6llu %6llu %-8s %10llu %10llu %14llu\n",
		       get(g, COLL_NL_GROUP_ID), get(g, COLL_NL_GROUP_NODE),
		       get(g, COLL_NL_GROUP_NR_NODES), get(g, COLL_NL_GROUP_SIZE), local,
		       get(g, COLL_NL_GROUP_NR_LINKS), get(g, COLL_NL_GROUP_UID),
		       known(coll_state_name(get(g, COLL_NL_GROUP_STATE))),
		       get(g, COLL_NL_GROUP_SEQ_STARTED), get(g, COLL_NL_GROUP_SEQ_DONE),
		       get(g, COLL_NL_GROUP_BYTES));
	}
}

static void show_members(const struct objects *members, uint64_t id)
{
	size_t i;

	for (i = 0; i < members->nr; i++) {
		const struct object *m = &members->at[i];

		if (get(m, COLL_NL_MEMBER_GROUP) == id)
			printf("  rank %llu: pid %llu, posted %llu, completed %llu, pinned %llu bytes, "
			       "reduced or moved %llu bytes, %.3f ms in calls, %llu ops in shared memory\n",
			       get(m, COLL_NL_MEMBER_RANK), get(m, COLL_NL_MEMBER_PID),
			       get(m, COLL_NL_MEMBER_POSTED),
			       get(m, COLL_NL_MEMBER_COMPLETED),
			       get(m, COLL_NL_MEMBER_PINNED), get(m, COLL_NL_MEMBER_BYTES),
			       (double)get(m, COLL_NL_MEMBER_CALL_NS) / 1e6,
			       get(m, COLL_NL_MEMBER_SHM_OPS));
	}
}

/* How a data stream sends large frames, and has sent. */
static void show_sent(const struct object *l)
{
	printf("    sends by %s: %llu bytes copied, %llu spliced, %llu with a ubuf, "
	       "of these %llu without a copy\n",
	       known(coll_send_mode_name(get(l, COLL_NL_LINK_SEND_MODE))),
	       get(l, COLL_NL_LINK_TX_COPIED), get(l, COLL_NL_LINK_TX_SPLICED),
	       get(l, COLL_NL_LINK_TX_UBUF), get(l, COLL_NL_LINK_TX_ZEROCOPY));
	if (get(l, COLL_NL_LINK_TX_SAVED))
		printf("    saved %llu bytes by smaller types on the link\n",
		       get(l, COLL_NL_LINK_TX_SAVED));
	if (get(l, COLL_NL_LINK_RATE_COPY))
		printf("    measured, GB/s: copy %.3f, splice %.3f, ubuf %.3f\n",
		       1e-9 * get(l, COLL_NL_LINK_RATE_COPY),
		       1e-9 * get(l, COLL_NL_LINK_RATE_SPLICE),
		       1e-9 * get(l, COLL_NL_LINK_RATE_UBUF));
}

static void show_links(const struct objects *links, uint64_t id)
{
	size_t i;

	for (i = 0; i < links->nr; i++) {
		const struct object *l = &links->at[i];

		if (get(l, COLL_NL_LINK_GROUP) != id)
			continue;
		printf("  link to node %llu stripe %llu: %s, sent %llu bytes in %llu frames, "
		       "received %llu in %llu, %llu stalls, %llu communicators, "
		       "%llu bytes in the backlog\n",
		       get(l, COLL_NL_LINK_PEER), get(l, COLL_NL_LINK_STRIPE),
		       known(coll_link_state_name(get(l, COLL_NL_LINK_STATE))),
		       get(l, COLL_NL_LINK_TX_BYTES), get(l, COLL_NL_LINK_TX_FRAMES),
		       get(l, COLL_NL_LINK_RX_BYTES), get(l, COLL_NL_LINK_RX_FRAMES),
		       get(l, COLL_NL_LINK_TX_STALLS), get(l, COLL_NL_LINK_USERS),
		       get(l, COLL_NL_LINK_SPILLED));
		if (get(l, COLL_NL_LINK_STRIPE) % 2)
			show_sent(l);
	}
}

static void show_row(const struct object *row)
{
	uint32_t alg = (uint32_t)get(row, COLL_NL_SELECT_ALGORITHM);
	char name[SELECT_NAME];

	if (get(row, COLL_NL_SELECT_BYTES) == UINT64_MAX)
		printf(" then");
	else
		printf(" up to %llu bytes", get(row, COLL_NL_SELECT_BYTES));
	printf(" %s", select_name((uint32_t)get(row, COLL_NL_SELECT_COLLECTIVE), (uint16_t)alg,
				  name));
	if (get(row, COLL_NL_SELECT_SEGMENT))
		printf(" in segments of %llu", get(row, COLL_NL_SELECT_SEGMENT));
}

/* Rows of a table come one behind the other: a line for each. */
static void show_select(const struct objects *select, uint64_t id)
{
	uint64_t last = 0;
	size_t i;

	for (i = 0; i < select->nr; i++) {
		const struct object *row = &select->at[i];
		uint64_t what = get(row, COLL_NL_SELECT_COLLECTIVE);
		const char *name = coll_collective_name((uint32_t)what);

		if (get(row, COLL_NL_SELECT_GROUP) != id)
			continue;
		if (what == last)
			putchar(',');
		else
			printf("%s  %s (%s):", last ? "\n" : "", name ? name : "?",
			       known(coll_select_source_name(get(row, COLL_NL_SELECT_SOURCE))));
		show_row(row);
		last = what;
	}
	if (last)
		putchar('\n');
}

static void show_features(uint64_t features)
{
	unsigned int i;

	printf("  features:");
	for (i = 0; i < 64; i++) {
		if (!(features >> i & 1))
			continue;
		if (coll_feature_name(i))
			printf(" %s", coll_feature_name(i));
		else		/* of a newer module */
			printf(" bit-%u", i);
	}
	putchar('\n');
}

/*
 * Print the version of the module. A user of netlink may not be allowed to open the device:
 * then there is no such line.
 */
static void show_module(void)
{
	struct coll_version v;
	int fd = open("/dev/coll", O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return;
	if (!ioctl(fd, COLL_IOC_VERSION, &v)) {
		printf("module: abi %u, wire %u, reductions by %.16s\n", v.abi, v.wire, v.simd);
		printf("limits: %u ranks, %u commands of a user in flight, %u steps of an op\n",
		       v.max_size, v.max_inflight, v.max_steps);
		show_features(v.features);
	}
	close(fd);
}

static void show(const struct objects *groups, const struct objects *members,
		 const struct objects *links, const struct objects *select, int64_t id)
{
	size_t i;

	show_module();
	for (i = 0; i < groups->nr; i++) {
		const struct object *g = &groups->at[i];

		if (id >= 0 && get(g, COLL_NL_GROUP_ID) != (uint64_t)id)
			continue;
		printf("group %llu: node %llu of %llu, %llu ranks, %llu of %llu local ones joined, "
		       "%llu links, %s, uid %llu, epoch %llu\n",
		       get(g, COLL_NL_GROUP_ID), get(g, COLL_NL_GROUP_NODE),
		       get(g, COLL_NL_GROUP_NR_NODES), get(g, COLL_NL_GROUP_SIZE),
		       get(g, COLL_NL_GROUP_NR_JOINED), get(g, COLL_NL_GROUP_NR_LOCAL),
		       get(g, COLL_NL_GROUP_NR_LINKS),
		       known(coll_state_name(get(g, COLL_NL_GROUP_STATE))), get(g, COLL_NL_GROUP_UID),
		       get(g, COLL_NL_GROUP_EPOCH));
		if (get(g, COLL_NL_GROUP_STRIPES) > 1)
			printf("  large collectives go over up to %llu links to each node\n",
			       get(g, COLL_NL_GROUP_STRIPES));
		printf("  ops: started up to %llu, over up to %llu, %llu ended well with %llu bytes\n",
		       get(g, COLL_NL_GROUP_SEQ_STARTED), get(g, COLL_NL_GROUP_SEQ_DONE),
		       get(g, COLL_NL_GROUP_OPS), get(g, COLL_NL_GROUP_BYTES));
		printf("  time: %.3f ms of workers, %.3f ms in calls of the ranks\n",
		       (double)get(g, COLL_NL_GROUP_WORK_NS) / 1e6,
		       (double)get(g, COLL_NL_GROUP_CALL_NS) / 1e6);
		print_cause(g, "  ");
		show_members(members, get(g, COLL_NL_GROUP_ID));
		show_links(links, get(g, COLL_NL_GROUP_ID));
		show_select(select, get(g, COLL_NL_GROUP_ID));
	}
}

static int run(bool all, bool json, int64_t id)
{
	struct objects groups, members = { 0 }, links = { 0 }, select = { 0 };
	struct nl_sock *sk;
	int family, ret;

	if (collctl_open(&sk, &family) || collctl_dump(sk, family, &kind_group, &groups))
		return 1;
	if (all && (collctl_dump(sk, family, &kind_member, &members) ||
		    collctl_dump(sk, family, &kind_link, &links) ||
		    collctl_dump(sk, family, &kind_select, &select)))
		return 1;
	ret = !collctl_has(&groups, id);
	if (json) {
		puts("{");
		json_objects(&kind_group, &groups, COLL_NL_GROUP_ID, id, "  ");
		if (all) {
			puts(",");
			json_objects(&kind_member, &members, COLL_NL_MEMBER_GROUP, id, "  ");
			puts(",");
			json_objects(&kind_link, &links, COLL_NL_LINK_GROUP, id, "  ");
			puts(",");
			json_objects(&kind_select, &select, COLL_NL_SELECT_GROUP, id, "  ");
		}
		puts("\n}");
	} else if (all) {
		show(&groups, &members, &links, &select, id);
	} else {
		list(&groups);
	}
	nl_socket_free(sk);
	free(groups.at);
	free(members.at);
	free(links.at);
	free(select.at);
	return ret;
}

/* The number of a group; -1: all; -2: not a number. */
static int64_t group_id(int argc, char **argv)
{
	long long id;
	char *end;

	if (argc == 1)
		return -1;
	id = strtoll(argv[1], &end, 10);
	return argc == 2 && end != argv[1] && !*end && id >= 0 ? id : -2;
}

static int command(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "age", required_argument, NULL, 'a' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	bool json = false;
	double age = 0;
	int64_t id;
	char *end;
	int c;

	/* Options of its own, and those of collrun behind them. */
	if (argc > 1 && !strcmp(argv[1], "tune")) {
		c = collctl_tune(argc - 1, argv + 1);
		if (c < 0)
			usage(stderr);
		return c < 0 ? 2 : c;
	}
	if (argc > 1 && !strcmp(argv[1], "timeline")) {
		c = collctl_timeline(argc - 1, argv + 1);
		if (c < 0)
			usage(stderr);
		return c < 0 ? 2 : c;
	}
	while ((c = getopt_long(argc, argv, "ja:h", longs, NULL)) != -1) {
		if (c == 'h') {
			usage(stdout);
			return 0;
		}
		if (c == 'a') {
			age = strtod(optarg, &end);
			if (end == optarg || *end || !(age >= 0))
				c = '?';
		}
		if (c == '?') {
			usage(stderr);
			return 2;
		}
		json |= c == 'j';
	}
	argc -= optind;
	argv += optind;
	if (argc == 2 && !strcmp(argv[0], "tables"))
		return collctl_tables(argv[1]);
	if (argc == 1 && !strcmp(argv[0], "list"))
		return run(false, json, -1);
	id = argc ? group_id(argc, argv) : -2;
	if (id >= -1 && !strcmp(argv[0], "show"))
		return run(true, json, id);
	if (id >= -1 && !strcmp(argv[0], "stalls"))
		return collctl_stalls(json, id, age);
	usage(stderr);
	return 2;
}

int main(int argc, char **argv)
{
	int ret = command(argc, argv);

	if (!fflush(stdout) && !ferror(stdout))
		return ret;
	perror("collctl: the output cannot be written");
	return ret ? ret : 1;
}
