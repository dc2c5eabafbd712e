// SPDX-License-Identifier: GPL-2.0
#include <stdio.h>

#include "collctl.h"
#include "utf8.h"

/*
 * Host names come from other machines: nothing of them may end the string. A NUL stands behind the
 * @bytes.
 */
static void json_string(const char *s, size_t bytes)
{
	const char *end = s + bytes;

	putchar('"');
	for (; s < end; s++) {
		unsigned char c = (unsigned char)*s;
		size_t len = utf8_len(s);

		if (len) {
			fwrite(s, 1, len, stdout);
			s += len - 1;
		} else if (c == '"' || c == '\\')
			printf("\\%c", c);
		else if (c < 0x20 || c >= 0x7f)
			printf("\\u%04x", c);
		else
			putchar(c);
	}
	putchar('"');
}

static void json_object(const struct kind *kind, const struct object *o)
{
	const char *comma = "";
	int i;

	putchar('{');
	for (i = 0; i < MAX_FIELDS; i++) {
		if (!o->has[i])
			continue;
		printf("%s\"%s\": ", comma, kind->fields[i].name);
		if (kind->fields[i].type == FIELD_STRING || kind->fields[i].type == FIELD_BYTES)
			json_string(o->text, o->text_len);
		else
			printf("%llu", (unsigned long long)o->value[i]);
		comma = ", ";
	}
	putchar('}');
}

void json_objects(const struct kind *kind, const struct objects *o, int id_attr, int64_t group,
		  const char *indent)
{
	const char *comma = "";
	size_t i;

	printf("%s\"%s\": [", indent, kind->name);
	for (i = 0; i < o->nr; i++) {
		if (group >= 0 && o->at[i].value[id_attr] != (uint64_t)group)
			continue;
		printf("%s\n%s  ", comma, indent);
		json_object(kind, &o->at[i]);
		comma = ",";
	}
	printf("%s%s]", *comma ? "\n" : "", *comma ? indent : "");
}
