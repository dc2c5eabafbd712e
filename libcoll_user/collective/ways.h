/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* The ways to run a command that coll_cmd_X() has filled in. */
#ifndef LIBCOLL_WAYS_H
#define LIBCOLL_WAYS_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

#include "comm/comm.h"

/* These calls have no argument for a factor, and must not take 0 for it. */
static inline bool ways_lack_factor(const struct coll_cmd *cmd)
{
	return cmd->op == COLL_OP_PREMULSUM;
}

/* @params: declared, @args: passed on; the three ways to run a command */
#define WAYS(name, params, args)						\
int coll_##name(coll_comm_t *comm, UNPACK params)				\
{										\
	struct coll_cmd cmd;							\
										\
	coll_cmd_##name(comm, &cmd, UNPACK args);				\
	if (ways_lack_factor(&cmd))						\
		return -EINVAL;							\
	return coll_submit(comm, &cmd);						\
}										\
										\
int coll_i##name(coll_comm_t *comm, UNPACK params, coll_request_t **req)	\
{										\
	struct coll_cmd cmd;							\
										\
	coll_cmd_##name(comm, &cmd, UNPACK args);				\
	if (req)								\
		*req = NULL;							\
	if (!req || ways_lack_factor(&cmd))					\
		return -EINVAL;							\
	return coll_isubmit(comm, &cmd, req);					\
}										\
										\
INIT(name, params, args)

#define INIT(name, params, args)						\
int coll_##name##_init(coll_comm_t *comm, UNPACK params, coll_request_t **req)	\
{										\
	struct coll_cmd cmd;							\
										\
	coll_cmd_##name(comm, &cmd, UNPACK args);				\
	if (req)								\
		*req = NULL;							\
	if (!req || ways_lack_factor(&cmd))					\
		return -EINVAL;							\
	return coll_persist(comm, &cmd, req);					\
}

#define UNPACK(...)	__VA_ARGS__

#endif
