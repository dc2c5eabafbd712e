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

/**
 * buffers_as_of() - for a command that is kept: when were its registered buffers right?
 *
 * Return: for buffers_renew(). 0: it names none, or wrong ones, which the kernel has to report.
 */
uint64_t buffers_as_of(coll_comm_t *comm, const struct coll_cmd *cmd);

/**
 * buffers_now() - for a command that may wait for another rank before the kernel gets it
 *
 * Cheaper than buffers_as_of(): its buffers may be wrong. Return: for buffers_renew(). 0: it names
 * none.
 */
uint64_t buffers_now(const struct coll_cmd *cmd);

/**
 * buffers_renew() - just before the kernel gets a command that was kept
 * @as_of: of buffers_as_of() or buffers_now(); changed
 *
 * The application may have unregistered its buffers since then. It may not know that the command
 * names them: the library chose them. Then they are looked for again.
 */
void buffers_renew(coll_comm_t *comm, struct coll_cmd *cmd, uint64_t *as_of);

/** buffers_free() - forget all of them; the kernel unpins them when the file is closed */
void buffers_free(coll_comm_t *comm);

#endif
