/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by the files of collplan. */
#ifndef COLLPLAN_H
#define COLLPLAN_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pure/algorithms/table.h"

/* collplan.c */
void die(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));
void *need(void *p);
const char *collective_name(u32 collective);
u32 collective_number(const char *name);
bool is_rooted(u32 collective);
const struct coll_algorithm *find_algorithm(const char *collective, const char *name);
u64 parse_bytes(const char *s);
double parse_number(const char *s);

/**
 * struct schedule - the steps of all participants
 * @n: participants
 * @steps: of all of them, one after the other
 * @base: [n + 1] first step of each
 */
struct schedule {
	u32 n;
	struct coll_step *steps;
	u64 *base;
};

void load_schedule(struct schedule *s, const struct coll_algorithm *a, u32 n, u32 root,
		   u32 radix);
void free_schedule(struct schedule *s);

/**
 * struct model - what a transfer costs
 * @alpha: seconds from the start of a send until its first byte is there
 * @beta: seconds per byte on the way in or out of a participant
 * @gamma: seconds per byte folded
 * @overhead: seconds a message occupies its sender
 * @segment: bytes after which what comes can go on; 0: all of it first
 * @topology: if set, alpha and beta are those of the way between two hosts
 * @host_of: [participants] of it
 */
struct model {
	double alpha;
	double beta;
	double gamma;
	double overhead;
	u64 segment;
	const struct topology *topology;
	const u32 *host_of;
};

/**
 * struct cost - what a schedule costs
 * @steps: transfers in the longest chain
 * @total: bytes sent by all
 * @most: bytes sent by the one who sends most
 * @largest: bytes of the longest message; 0: not known
 * @seconds: until the last one is done
 * @simulated: else from closed formulas
 */
struct cost {
	u32 steps;
	double total;
	double most;
	double largest;
	double seconds;
	bool simulated;
};

/* collplan_sim.c */
double step_bytes(const struct coll_step *s, u64 bytes, u32 chunks);
void cost_of(const struct coll_algorithm *a, u32 n, u32 root, u32 radix, u64 bytes,
	     const struct model *m, struct cost *c);

/* collplan_topo.c: see there for the file format */
struct topology {
	u32 hosts;		/* nodes 0 .. hosts - 1 are hosts */
	u32 nodes;
	u32 links;
	char (*name)[32];	/* [nodes] */
	u32 *end;		/* [2 * links] */
	double *rate;		/* [links] bytes per second */
	double *delay;		/* [links] seconds */
	u32 *next;		/* [hosts * nodes] link towards host h from a node */
	double *far;		/* [hosts * hosts] seconds between two hosts */
};

void read_topology(struct topology *t, const char *file);
void free_topology(struct topology *t);
/* Rate of the slowest link between two hosts; delay to the nearest other host. */
double topology_slowest(const struct topology *t, u32 a, u32 b);
double topology_near(const struct topology *t, u32 host);
/* Hosts of ranks, from a file of host names; NULL: as the topology has them. */
void read_order(const struct topology *t, const char *file, u32 *host_of);
void topology_cost(const struct topology *t, const struct coll_algorithm *a, u32 root, u32 radix,
		   u64 bytes, const u32 *host_of, struct model *m);

/* commands: arguments begin after the command's name */
int cmd_check(int argc, char **argv);
int cmd_show(int argc, char **argv);
int cmd_cost(int argc, char **argv);
int cmd_order(int argc, char **argv);

#endif /* COLLPLAN_H */
