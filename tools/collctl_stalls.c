// SPDX-License-Identifier: GPL-2.0
/* Tensors that wait for ranks. */
#include <stdio.h>
#include <stdlib.h>

#include <netlink/socket.h>

#include "collctl.h"
#include "names.h"

/* Names come from other users and other machines. */
static void print_name(const char *s, size_t bytes)
{
	const char *end = s + bytes;

	putchar('"');
	for (; s < end; s++) {
		unsigned char c = (unsigned char)*s;

		if (c < 0x20 || c >= 0x7f || c == '"' || c == '\\')
			printf("\\x%02x", c);
		else
			putchar(c);
	}
	putchar('"');
}

static void print_one(const struct object *o)
{
	unsigned long long rank = o->value[COLL_NL_STALL_RANK];

	switch (o->value[COLL_NL_STALL_STATE]) {
	case COLL_NL_STALL_STATE_REMOTE:
		printf("  rank %llu or others on node %llu: run collctl stalls there\n", rank,
		       (unsigned long long)o->value[COLL_NL_STALL_NODE]);
		return;
	case COLL_NL_STALL_STATE_POSTED:
		printf("  no rank is missing here: run collctl stalls on node %llu\n",
		       (unsigned long long)o->value[COLL_NL_STALL_NODE]);
		return;
	case COLL_NL_STALL_STATE_GROUP:
		puts("  other tensors of its group");
		return;
	}
	printf("  rank %llu", rank);
	if (o->value[COLL_NL_STALL_PID])
		printf(", pid %llu", (unsigned long long)o->value[COLL_NL_STALL_PID]);
	printf(": %s%s\n", known(coll_rank_state_name(o->value[COLL_NL_STALL_STATE])),
	       o->value[COLL_NL_STALL_KNOWN] ? "" : ", has never posted it");
}

/* The ranks that one tensor waits for come in one piece. */
static void print_all(const struct objects *stalls)
{
	const struct object *o, *last = NULL;
	size_t i;

	for (i = 0; i < stalls->nr; i++, last = o) {
		o = &stalls->at[i];
		if (!last || o->value[COLL_NL_STALL_GROUP] != last->value[COLL_NL_STALL_GROUP] ||
		    o->value[COLL_NL_STALL_SERIAL] != last->value[COLL_NL_STALL_SERIAL]) {
			printf("group %llu: ", (unsigned long long)o->value[COLL_NL_STALL_GROUP]);
			print_name(o->text, o->text_len);
			printf(" has waited %.1f s for\n",
			       1e-9 * (double)o->value[COLL_NL_STALL_AGE_NS]);
		}
		print_one(o);
	}
}

/* Drop what is of other groups, or younger. */
static void choose(struct objects *stalls, int64_t group, double seconds)
{
	size_t i, n = 0;

	for (i = 0; i < stalls->nr; i++) {
		const struct object *o = &stalls->at[i];

		if (1e-9 * (double)o->value[COLL_NL_STALL_AGE_NS] < seconds ||
		    (group >= 0 && o->value[COLL_NL_STALL_GROUP] != (uint64_t)group))
			continue;
		stalls->at[n++] = *o;
	}
	stalls->nr = n;
}

int collctl_stalls(bool json, int64_t group, double seconds)
{
	struct objects stalls, groups;
	struct nl_sock *sk;
	int family, ret;

	if (collctl_open(&sk, &family) || collctl_dump(sk, family, &kind_group, &groups) ||
	    collctl_dump(sk, family, &kind_stall, &stalls))
		return 1;
	ret = !collctl_has(&groups, group);
	choose(&stalls, group, seconds);
	if (json) {
		puts("{");
		json_objects(&kind_stall, &stalls, COLL_NL_STALL_GROUP, -1, "  ");
		puts("\n}");
	} else {
		print_all(&stalls);
	}
	nl_socket_free(sk);
	free(groups.at);
	free(stalls.at);
	return ret;
}
