/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Elements of 16 bits between nodes: which commands can have that. */
#ifndef LIBCOLL_COMMAND_WIRE_TYPE_H
#define LIBCOLL_COMMAND_WIRE_TYPE_H

#include <stdbool.h>
#include <stdint.h>

#include <linux/coll.h>

/* The flag of a command for this type; 0: there is none. */
uint32_t wire_type_flag(uint32_t dtype);
/* Why a command cannot have such a type; NULL: it can. The kernel has the last word. */
const char *wire_type_refusal(const struct coll_cmd *cmd);

#endif
