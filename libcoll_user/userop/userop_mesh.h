/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Sizes of the pieces in collectives with operators of the application. Tests make them smaller. */
#ifndef LIBCOLL_USEROP_MESH_H
#define LIBCOLL_USEROP_MESH_H

#include <stdint.h>

/* Bytes of a piece, and of all inputs of a small call. Tests make them smaller. */
extern uint64_t userop_piece, userop_small;

#endif
