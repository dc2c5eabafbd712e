/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Chooses the algorithms of calls that do not name one: by tables. */
#ifndef LIBCOLL_SELECT_H
#define LIBCOLL_SELECT_H

#include "base/deadline.h"
#include "comm/comm.h"
#include "select_env.h"
#include "select_file.h"

/**
 * enum select_mode - where tables come from
 * @SELECT_MODE_NONE: there are none
 * @SELECT_MODE_FIXED: from the names in the environment
 * @SELECT_MODE_MEASURE: from measurements
 * @SELECT_MODE_FILE: from a file
 */
enum select_mode { SELECT_MODE_NONE, SELECT_MODE_FIXED, SELECT_MODE_MEASURE, SELECT_MODE_FILE };

/** select_read_file() - read a file of tables; with COLL_DEBUG errors are reported */
int select_read_file(struct select_file *f, const char *path);

/**
 * select_run_mode() - make tables and set them, on all ranks
 * @deadline: of every command
 *
 * Return: 0 or -errno.
 */
int select_run_mode(coll_comm_t *comm, const struct select_plan *plan, enum select_mode mode,
		    struct deadline deadline);

#endif
