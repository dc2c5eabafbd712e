// SPDX-License-Identifier: GPL-2.0
/*
 * Prints the table of Documentation/reductions.rst: which operator is defined on
 * which type, as kmod/pure/optable.c has it. selftests/doc.sh holds the page against
 * it; `selftests/doc.sh --write` puts it there.
 */
#include <stdio.h>
#include <string.h>

#include "optable.h"

static int used(u32 op)
{
	u32 dtype;

	for (dtype = 1; dtype < COLL_NR_DTYPES; dtype++)
		if (coll_op_defined(op, dtype))
			return 1;
	return 0;
}

/* One column of each operator that is defined on anything; @dtype 0: their names. */
static void row(u32 dtype, const char *name, const char *bytes)
{
	int gap = 2;
	u32 op;

	printf("%-11s  %5s", name, bytes);
	for (op = 1; op < COLL_NR_OPS; op++) {
		const char *title = coll_op_name(op);

		if (!used(op))
			continue;
		if (dtype)
			title = coll_op_defined(op, dtype) ? "x" : "..";
		/* The space behind a column belongs to the next one: none at the end. */
		printf("%*s%s", gap, "", title);
		gap = 2 + (int)(strlen(coll_op_name(op)) - strlen(title));
	}
	putchar('\n');
}

static void rule(void)
{
	static const char line[] = "================";
	u32 op;

	fputs("===========  =====", stdout);
	for (op = 1; op < COLL_NR_OPS; op++)
		if (used(op))
			printf("  %.*s", (int)strlen(coll_op_name(op)), line);
	putchar('\n');
}

int main(void)
{
	char bytes[16];
	u32 dtype;

	rule();
	row(0, "type", "bytes");
	rule();
	for (dtype = 1; dtype < COLL_NR_DTYPES; dtype++) {
		if (!coll_dtype_size(dtype))
			continue;
		snprintf(bytes, sizeof(bytes), "%u", coll_dtype_size(dtype));
		row(dtype, coll_dtype_name(dtype), bytes);
	}
	rule();
	return 0;
}
