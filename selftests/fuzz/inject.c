// SPDX-License-Identifier: GPL-2.0
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <unistd.h>

#include "inject.h"
#include "util.h"

#define DEBUG	"/sys/kernel/debug/"
#define TIMES	1000000000L

static bool put(const char *what, const char *file, long value)
{
	char path[128], text[32];

	snprintf(path, sizeof(path), DEBUG "%s/%s", what, file);
	snprintf(text, sizeof(text), "%ld", value);
	return test_put(path, text);
}

static bool put_hex(const char *what, const char *file, unsigned long value)
{
	char path[128], text[32];

	snprintf(path, sizeof(path), DEBUG "%s/%s", what, file);
	snprintf(text, sizeof(text), "0x%lx", value);
	return test_put(path, text);
}

static long get(const char *what, const char *file)
{
	char path[128];
	long value = -1;
	FILE *f;

	snprintf(path, sizeof(path), DEBUG "%s/%s", what, file);
	f = fopen(path, "r");
	if (!f || fscanf(f, "%ld", &value) != 1)
		value = -1;
	if (f)
		fclose(f);
	return value;
}

bool inject_start(void)
{
	static const char *const kinds[] = { "failslab", "fail_page_alloc", "fail_usercopy" };
	unsigned int i;

	for (i = 0; i < 3; i++) {
		/* Dumps of the stack would look like complaints. */
		if (!put(kinds[i], "verbose", 0) || !put(kinds[i], "probability", 0))
			return false;
		put(kinds[i], "interval", 1);
		put(kinds[i], "task-filter", 0);
		put(kinds[i], "ignore-gfp-wait", 0);
		/* Pages of users are theirs. */
		put(kinds[i], "ignore-gfp-highmem", 1);
		put(kinds[i], "min-order", 0);
	}
	return access("/proc/thread-self/fail-nth", W_OK) == 0;
}

void inject_nth(unsigned int n)
{
	char text[16];
	int fd = open("/proc/thread-self/fail-nth", O_WRONLY | O_CLOEXEC);

	snprintf(text, sizeof(text), "%u", n);
	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		perror("fail-nth");
	close(fd);
}

bool inject_hit(void)
{
	char text[16] = "";
	int fd = open("/proc/thread-self/fail-nth", O_RDONLY | O_CLOEXEC);
	bool hit;

	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		return false;
	close(fd);
	hit = atoi(text) == 0;
	inject_nth(0);
	tally.injections += hit;
	return hit;
}

/* Where the text of coll begins and ends, by its symbols. */
static bool text_of_coll(unsigned long *from, unsigned long *to)
{
	FILE *f = fopen("/proc/kallsyms", "r");
	char line[512], type, mod[64];
	unsigned long at;

	*from = ~0UL;
	*to = 0;
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx %c %*s [%63[^]]]", &at, &type, mod) != 3 ||
		    strcmp(mod, "coll") || (type != 't' && type != 'T'))
			continue;
		if (at < *from)
			*from = at;
		if (at > *to)
			*to = at;
	}
	if (f)
		fclose(f);
	*to += 4096;	/* the last function */
	return *from < *to;
}

/* Where the text of a function of the kernel itself begins and ends. */
static bool text_of(const char *function, unsigned long *from, unsigned long *to)
{
	FILE *f = fopen("/proc/kallsyms", "r");
	unsigned long at, last = 0;
	char line[512], type, name[256];

	*from = 0;
	*to = 0;
	/* These symbols come in the order of their addresses. */
	while (f && !*to && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx %c %255s", &at, &type, name) != 3 || at < last)
			continue;
		last = at;
		if (*from && at > *from)
			*to = at;
		else if (!strcmp(name, function))
			*from = at;
	}
	if (f)
		fclose(f);
	return *from && *to;
}

/*
 * vmalloc() warns (WARN_ON_ONCE) if it has no memory to note an address. That is no fault of coll:
 * fail no allocation there.
 */
static void spare_vmalloc(const char *what)
{
	unsigned long from, to;

	if (text_of("alloc_vmap_area", &from, &to)) {
		put_hex(what, "reject-start", from);
		put_hex(what, "reject-end", to);
	}
}

bool inject_coll(const char *what, unsigned int percent)
{
	unsigned long from, to;

	if (!percent) {
		put(what, "probability", 0);
		return true;
	}
	if (!text_of_coll(&from, &to))
		return false;
	spare_vmalloc(what);
	return put_hex(what, "require-start", from) && put_hex(what, "require-end", to) &&
		put(what, "stacktrace-depth", 32) && put(what, "times", TIMES) &&
		put(what, "probability", percent);
}

unsigned long inject_count(const char *what)
{
	long left = get(what, "times");

	return left < 0 ? 0 : TIMES - left;
}
