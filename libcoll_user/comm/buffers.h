/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Registered buffers. */
#ifndef LIBCOLL_BUFFERS_H
#define LIBCOLL_BUFFERS_H

#include <stdbool.h>

#include "comm.h"

/** buffers_apply() - use registered buffers where the memory of @cmd lies in one */
void buffers_apply(coll_comm_t *comm, struct coll_cmd *cmd);

/**
 * buffers_hold() - does the memory of @cmd lie in the registered buffers that it names?
 * @cmd: a collective without counts; the buffers that it names may be wrong
 *
 * Return: false: it does not, or only the kernel can tell.
 */
bool buffers_hold(coll_comm_t *comm, const struct coll_cmd *cmd);

/** buffers_free() - forget all of them; the kernel unpins them when the file is closed */
void buffers_free(coll_comm_t *comm);

#endif
