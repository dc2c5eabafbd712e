/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Parses the rows of a rank. */
#ifndef LIBCOLL_ITERATE_CSV_PARSE_H
#define LIBCOLL_ITERATE_CSV_PARSE_H

#include "csv.h"

/* Fields of the first row */
uint32_t csv_columns(const struct csv_part *p, char separator);
/* All rows, into @x; errors go into @p. */
void csv_parse(struct csv_part *p, char separator, uint32_t columns, double *x);

#endif
