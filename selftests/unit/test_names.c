// SPDX-License-Identifier: GPL-2.0
/*
 * Every number of the ABI that a user may see has a name, and no other has. Features are
 * macros, so that their list is read from the header itself.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include <linux/coll_nl.h>

#include "pure/names.h"
#include "tap.h"

#define BITS	64

/* COLL_FEAT_URING_FIXED -> "uring-fixed" */
static void lower(const char *macro, char *name)
{
	for (; *macro; macro++)
		*name++ = *macro == '_' ? '-' : (char)tolower((unsigned char)*macro);
	*name = '\0';
}

/* The names of the bits as the header has them. Return: how many; -1: not readable. */
static int read_features(char names[BITS][64])
{
	char line[256], macro[64];
	unsigned int bit;
	FILE *f = fopen(UAPI_HEADER, "r");
	int nr = 0;

	if (!f)
		return -1;
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "#define COLL_FEAT_%63s (1ULL << %u)", macro, &bit) != 2)
			continue;
		if (bit >= BITS || *names[bit]) {
			printf("# %s: bit %u is taken, or is none\n", macro, bit);
			nr = -1;
			break;
		}
		lower(macro, names[bit]);
		nr++;
	}
	fclose(f);
	return nr;
}

static void test_features(void)
{
	char names[BITS][64] = { };
	int nr = read_features(names);
	unsigned int bit, wrong = 0;

	tap_ok(nr > 0, "features: %d in the header", nr);
	for (bit = 0; bit < BITS; bit++) {
		const char *name = coll_feature_name(bit);

		if (strcmp(name ? name : "", names[bit])) {
			printf("# bit %u: '%s', the header says '%s'\n", bit, name ? name : "",
			       names[bit]);
			wrong++;
		}
	}
	tap_ok(!wrong, "features: each has the name of its macro");
	tap_ok(!coll_feature_name(BITS) && !coll_feature_name(UINT64_MAX),
	       "features: none beyond");
}

static void test_enum(const char *what, const char *(*name)(u64), u64 nr)
{
	u64 i, k, wrong = 0;

	for (i = 0; i < nr; i++) {
		wrong += !name(i) || !*name(i);
		for (k = 0; k < i && name(i) && name(k); k++)
			wrong += !strcmp(name(i), name(k));
	}
	tap_ok(!wrong, "%s: each has a name of its own", what);
	tap_ok(!name(nr) && !name(UINT32_MAX) && !name(UINT64_MAX), "%s: none beyond", what);
}

int main(void)
{
	test_features();
	test_enum("states of a communicator", coll_state_name, COLL_STATE_FAILED + 1);
	test_enum("sources of a table", coll_select_source_name, COLL_NR_SELECT_SOURCES);
	test_enum("states of a link", coll_link_state_name, COLL_NL_LINK_STATE_DOWN + 1);
	test_enum("ways to send", coll_send_mode_name, COLL_NL_SEND_MODE_UBUF + 1);
	test_enum("states of a rank", coll_rank_state_name, COLL_NL_STALL_STATE_ABSENT + 1);
	return tap_done();
}
