/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Tables of algorithms. */
#ifndef LIBCOLL_SELECT_TABLES_H
#define LIBCOLL_SELECT_TABLES_H

#include <coll/coll.h>

#include "select_model.h"

/* Few enough for all tables to be one small broadcast. */
#define SELECT_MAX_ROWS	24
/* The sizes that are measured: 4 bytes times 16 to the k. */
#define SELECT_SIZES	7
#define SELECT_BYTES(k)	(4ULL << 4 * (k))
/* Algorithms of one collective, and some of them with several segments. */
#define SELECT_MAX_ALGS	40
/* The most bytes of all blocks together, of collectives with one block for each rank. */
#define SELECT_MAX_BYTES SELECT_BYTES(SELECT_SIZES - 1)

/**
 * struct select_table - of one collective
 * @source: enum coll_select_source
 */
struct select_table {
	uint32_t nr;
	uint32_t source;
	struct coll_select_row rows[SELECT_MAX_ROWS];
};

/**
 * struct select_tables - of a communicator
 * @model: costs of transfers, for parts of the communicator; all 0: not known
 * @of: by collective
 */
struct select_tables {
	struct select_model model;
	struct select_table of[COLL_NR_COLLECTIVES];
};

#define SELECT_HOST_LEN	16
#define SELECT_NAME_LEN	40

/**
 * struct select_host - how files of tables identify a node
 * @id: digest of host name and COLL_NODE; not of the boot id, so it stays valid after a reboot
 * @name: host name, for the comment in the file
 */
struct select_host {
	uint8_t id[SELECT_HOST_LEN];
	char name[SELECT_NAME_LEN];
};

#endif
