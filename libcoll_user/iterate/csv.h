/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* A CSV file that several ranks read, and a part of it. */
#ifndef LIBCOLL_ITERATE_CSV_H
#define LIBCOLL_ITERATE_CSV_H

#include "session.h"

/**
 * struct csv_file - the file as one rank sees it
 * @length: bytes of it
 * @columns: 0: as many as the first row
 * @mine: lines that begin in this rank's bytes; @before: in those of lower ranks
 * @counts: @mine of all ranks; @offset: where the part of each rank begins
 * @buf: to read pieces into
 */
struct csv_file {
	coll_comm_t *comm;
	const char *path;
	uint32_t rank, size;
	int fd;
	char separator;
	uint32_t columns;
	uint64_t length, header, rows, mine, before;
	uint64_t *counts, *offset;
	char *buf;
	char text[ITER_TEXT];
};

/**
 * struct csv_part - the bytes of this rank's rows
 * @text: @len bytes and a NUL; owned
 * @first_line: number of the first line in the file, from 1
 * @error, @bad_line, @why: the first thing wrong in it
 */
struct csv_part {
	char *text;
	uint64_t len, rows, first_line;
	int error;
	uint64_t bad_line;
	char why[128];
};

#endif
