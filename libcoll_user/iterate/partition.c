// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* Which rows a task has: Alink's DefaultDistributedInfo. */
#include "session.h"

uint64_t coll_iter_start_pos(uint64_t task, uint64_t tasks, uint64_t rows)
{
	uint64_t more = rows % tasks;

	return rows / tasks * task + (task < more ? task : more);
}

uint64_t coll_iter_local_row_count(uint64_t task, uint64_t tasks, uint64_t rows)
{
	return rows / tasks + (task < rows % tasks);
}

uint64_t coll_iter_where(uint64_t row, uint64_t tasks, uint64_t rows)
{
	uint64_t each = rows / tasks, more = rows % tasks;

	if (row < more * (each + 1))
		return row / (each + 1);
	return more + (row - more * (each + 1)) / each;
}

uint64_t coll_iter_pieces(uint64_t task, uint64_t tasks, uint64_t count, uint64_t piece,
			  uint64_t *start)
{
	uint64_t pieces = count / piece + !!(count % piece);
	uint64_t from = coll_iter_start_pos(task, tasks, pieces);
	uint64_t to = from + coll_iter_local_row_count(task, tasks, pieces);

	/* The last piece may be shorter. */
	from = from < pieces ? from * piece : count;
	to = to < pieces ? to * piece : count;
	*start = from;
	return to - from;
}
