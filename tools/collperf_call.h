/* SPDX-License-Identifier: GPL-2.0 */
/* The ops of an iteration. */
#ifndef COLLPERF_CALL_H
#define COLLPERF_CALL_H

#include "collperf.h"
#include "collperf_data.h"

/**
 * struct call - ops that are started together
 * @spec: what is run at the moment
 * @send: input of the first op; that of the next one begins @stride bytes behind it
 * @recv: output, in the same way
 * @stride: bytes
 * @counts: of blocks: two for each rank
 * @cmds: commands, opt->aggregate of them
 * @reqs: the same number; prepared, if opt->persistent
 */
struct call {
	coll_comm_t *comm;
	const struct perf_options *opt;
	struct data_spec spec;
	uint8_t *send, *recv;
	size_t stride;
	uint64_t *counts;
	struct coll_cmd *cmds;
	coll_request_t **reqs;
};

/* Fill in the command of op @nth, and prepare it. 0 or a negative errno. */
int call_fill(struct call *c, int nth, const struct shape *s);
/* All ops, to their end. 0 or a negative errno. */
int call_run(const struct call *c);
int call_barrier(const struct call *c);
/* Give back what was prepared. */
void call_end(struct call *c);

#endif
