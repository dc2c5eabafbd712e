/* SPDX-License-Identifier: GPL-2.0 */
/* collctl: shows the communicators of this kernel, and makes tables for them. */
#ifndef COLLCTL_H
#define COLLCTL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/coll_nl.h>

#define MAX_FIELDS	48	/* above every attribute number we know */

enum field_type { FIELD_U32, FIELD_U64, FIELD_STRING, FIELD_BYTES };

/**
 * struct kind - one sort of object, as its dump describes it
 * @command: that dumps them
 * @name: plural, for JSON
 * @fields: by attribute number; without a name: no field
 */
struct kind {
	uint8_t command;
	const char *name;
	struct {
		const char *name;
		enum field_type type;
	} fields[MAX_FIELDS];
};

extern const struct kind kind_group, kind_member, kind_link, kind_select, kind_stall;

/* One object: values by attribute number. */
struct object {
	bool has[MAX_FIELDS];
	uint64_t value[MAX_FIELDS];
	char text[256];		/* of the one string an object has, with a NUL behind it */
	size_t text_len;	/* the name of a tensor may have NULs itself */
};

struct objects {
	struct object *at;
	size_t nr;
};

/* collctl_nl.c: everything of one kind; 0, or 1 after saying what went wrong. */
struct nl_sock;
int collctl_open(struct nl_sock **sk, int *family);
int collctl_dump(struct nl_sock *sk, int family, const struct kind *kind, struct objects *out);

/* collctl_nl.c: is group @id there (-1: always true)? If not, prints an error. */
bool collctl_has(const struct objects *groups, int64_t id);

/* collctl_stalls.c: tensors that have waited for @seconds, of @group (of all: -1); exit status. */
int collctl_stalls(bool json, int64_t group, double seconds);

/* collctl_timeline.c: exit status; -1: wrong arguments. */
int collctl_timeline(int argc, char **argv);

/* collctl_tune.c: exit status; of tune, -1: wrong arguments. */
int collctl_tune(int argc, char **argv);
int collctl_tables(const char *path);

/* collctl_json.c: the objects of @group (of all: -1) as a JSON array. */
void json_objects(const struct kind *kind, const struct objects *o, int id_attr, int64_t group,
		  const char *indent);

/* A newer module may have numbers that we have no name for. */
static inline const char *known(const char *name)
{
	return name ? name : "?";
}

#endif
