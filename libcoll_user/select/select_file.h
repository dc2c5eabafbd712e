/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * Files of tables: text, for several sets of hosts.
 *
 *	coll-tables 1
 *	# whatever
 *	hosts 9f86d081884c7d659a2feaa0c55ad015 nodes 2 ranks 4
 *	costs 21000000000 1500000000 230000 90000 0 310000
 *	allreduce 4096 recursive_doubling
 *	allreduce max chain 65536
 *
 * The first line has the version. A line "hosts" begins the lines of a set of hosts: a
 * digest of their names, or "any", and the numbers of nodes and ranks. Rows follow: collective,
 * largest number of bytes, algorithm, and the bytes of a segment unless the kernel chooses it.
 * Rows of a collective ascend, up to "max". "costs" has the numbers of the model as integers, in
 * femtoseconds, so that no file depends on the decimal point of a locale.
 */
#ifndef LIBCOLL_SELECT_FILE_H
#define LIBCOLL_SELECT_FILE_H

#include <stdio.h>

#include "select_tables.h"

/* A longer file is not a file of tables. */
#define SELECT_FILE_MAX		(1 << 20)
#define SELECT_FILE_SETS	512

/**
 * struct select_key - the set of hosts that tables are for
 * @any: for all hosts, if the numbers of nodes and ranks are equal; @digest is zeroes
 */
struct select_key {
	uint8_t digest[SELECT_HOST_LEN];
	bool any;
	uint32_t nodes, ranks;
};

bool select_key_same(const struct select_key *a, const struct select_key *b);

/**
 * struct select_set - tables of one set of hosts
 * @line: where it begins, from 1
 * @begin: its text, @len bytes
 */
struct select_set {
	struct select_key key;
	uint32_t line;
	const char *begin;
	size_t len;
	struct select_tables tables;
};

/**
 * struct select_file - a file in memory
 * @text: all of it
 * @line: after an error of parsing: the line that is wrong
 * @what: after an error of parsing: what is wrong there
 */
struct select_file {
	char *text;
	size_t len;
	uint32_t nr;
	struct select_set *sets;
	uint32_t line;
	char what[96];
};

/**
 * select_key_of() - the key of the hosts of a communicator
 * @hosts: host of each node, @nodes of them
 * @ranks_on: number of ranks on each node
 *
 * The key does not depend on the order of the nodes.
 */
int select_key_of(const struct select_host *hosts, const uint32_t *ranks_on, uint32_t nodes,
		  struct select_key *key);

/**
 * select_file_parse() - parse the text of a file
 * @text: @len bytes, from malloc(); owned by @f afterwards, also on errors
 *
 * Return: 0; -EINVAL, @f->line and @f->what say why; -ENOMEM. Then select_file_free().
 */
int select_file_parse(struct select_file *f, char *text, size_t len);
/* Read and parse a file. Also -EFBIG, and the errors of open() and read(). */
int select_file_read(struct select_file *f, const char *path);
void select_file_free(struct select_file *f);

/* The set for @key: the one of these hosts, else "any" with the same numbers; NULL: none. */
const struct select_set *select_file_find(const struct select_file *f,
					  const struct select_key *key);

#endif
