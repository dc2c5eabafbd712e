// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* Writing files of tables. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "optable.h"
#include "select_env.h"
#include "select_save.h"

#define FEMTO		1e15

static const char head[] =
	"coll-tables 1\n"
	"# Which algorithm, up to which size, for which hosts: written by collctl tune, read\n"
	"# where COLL_SELECT names this file. Documentation/library.rst has the format.\n";

static unsigned long long femto(double seconds)
{
	return seconds > 0 ? (unsigned long long)(seconds * FEMTO + 0.5) : 0;
}

static void put_row(FILE *f, uint32_t collective, const struct coll_select_row *row)
{
	char name[SELECT_NAME];

	fprintf(f, "%s ", coll_collective_name(collective));
	if (row->bytes == UINT64_MAX)
		fputs("max", f);
	else
		fprintf(f, "%llu", (unsigned long long)row->bytes);
	fprintf(f, " %s", select_name(collective, row->algorithm, name));
	if (row->segment)
		fprintf(f, " %u", row->segment);
	fputc('\n', f);
}

static void put_set(FILE *f, const struct select_key *key, const struct select_tables *tables,
		    const char *const *notes, uint32_t nr_notes)
{
	const struct select_model *m = &tables->model;
	uint32_t i, c;

	fputs("hosts ", f);
	for (i = 0; !key->any && i < SELECT_HOST_LEN; i++)
		fprintf(f, "%02x", key->digest[i]);
	fprintf(f, "%s nodes %u ranks %u\n", key->any ? "any" : "", key->nodes, key->ranks);
	for (i = 0; i < nr_notes; i++)
		fprintf(f, "# %s\n", notes[i]);
	/* Reading refuses numbers that round to zero. */
	if (femto(m->alpha) && femto(m->beta))
		fprintf(f, "costs %llu %llu %llu %llu %llu %llu\n", femto(m->alpha),
			femto(m->overhead), femto(m->beta), femto(m->gamma),
			femto(m->busy_message), femto(m->busy_byte));
	for (c = 1; c < COLL_NR_COLLECTIVES; c++)
		for (i = 0; i < tables->of[c].nr; i++)
			put_row(f, c, &tables->of[c].rows[i]);
}

/* Write the new text of the file: the old text, with the lines of this set replaced. */
static int compose(FILE *f, const struct select_file *old, const struct select_key *key,
		   const struct select_tables *tables, const char *const *notes,
		   uint32_t nr_notes)
{
	const char *end = NULL;
	bool done = false;
	uint32_t i;

	if (old->text) {
		end = old->nr ? old->sets[0].begin : old->text + old->len;
		fwrite(old->text, 1, (size_t)(end - old->text), f);
		if (end > old->text && end[-1] != '\n')
			fputc('\n', f);
	} else {
		fputs(head, f);
	}
	for (i = 0; i < old->nr; i++) {
		const struct select_set *set = &old->sets[i];

		if (select_key_same(&set->key, key)) {
			put_set(f, key, tables, notes, nr_notes);
			done = true;
			continue;
		}
		fwrite(set->begin, 1, set->len, f);
		if (set->len && set->begin[set->len - 1] != '\n')
			fputc('\n', f);
	}
	if (!done)
		put_set(f, key, tables, notes, nr_notes);
	return ferror(f) ? -ENOMEM : 0;
}

static int write_all(int fd, const char *text, size_t len)
{
	ssize_t n;

	while (len) {
		n = write(fd, text, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		text += n;
		len -= (size_t)n;
	}
	return fsync(fd) ? -errno : 0;
}

/* Write a file beside the old one, and rename it, so that it is replaced at once. */
static int replace(const char *path, const char *text, size_t len)
{
	size_t room = strlen(path) + 8;
	char *beside = malloc(room);
	struct stat st;
	int fd, ret;

	if (!beside)
		return -ENOMEM;
	snprintf(beside, room, "%s.XXXXXX", path);
	fd = mkostemp(beside, O_CLOEXEC);
	if (fd < 0) {
		ret = -errno;
		free(beside);
		return ret;
	}
	ret = write_all(fd, text, len);
	/* Usual permissions: mkostemp() makes a file that only its owner can read. */
	if (!ret && fchmod(fd, stat(path, &st) ? 0644 : st.st_mode & 07777))
		ret = -errno;
	if (close(fd) && !ret)
		ret = -errno;
	if (!ret && rename(beside, path))
		ret = -errno;
	if (ret)
		unlink(beside);
	free(beside);
	return ret;
}

/* Reading refuses a file with more sets, and then every job that is told to read it fails. */
static bool has_room(const struct select_file *old, const struct select_key *key)
{
	uint32_t i;

	for (i = 0; i < old->nr; i++)
		if (select_key_same(&old->sets[i].key, key))
			return true;
	return old->nr < SELECT_FILE_SETS;
}

int select_file_save(const char *path, const struct select_key *key,
		     const struct select_tables *tables, const char *const *notes,
		     uint32_t nr_notes)
{
	struct select_file old;
	char *text = NULL;
	size_t len = 0;
	FILE *f;
	int ret;

	ret = select_file_read(&old, path);
	/* An empty file is allowed: programs make a temporary file before they write to it. */
	if (ret == -ENOENT || (ret == -EINVAL && old.text && !old.len)) {
		select_file_free(&old);
		ret = 0;
	}
	if (!ret && !has_room(&old, key))
		ret = -EFBIG;
	if (!ret) {
		f = open_memstream(&text, &len);
		ret = f ? compose(f, &old, key, tables, notes, nr_notes) : -ENOMEM;
		if (f && fclose(f))
			ret = -ENOMEM;
	}
	if (!ret && len > SELECT_FILE_MAX)
		ret = -EFBIG;
	if (!ret)
		ret = replace(path, text, len);
	free(text);
	select_file_free(&old);
	return ret;
}
