// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * Files of tables: what is written is what is read, every wrong line is found, by its
 * number, and whatever else a file has in it, reading it does no harm.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "select/select_save.h"
#include "tap.h"

#define ZEROES	"00000000000000000000000000000000"
#define HEAD	"coll-tables 1\n"
#define ANY	HEAD "hosts any nodes 2 ranks 4\n"

static int parse(struct select_file *f, const char *text, size_t len)
{
	/* Exactly as long: the sanitizer sees a byte too far. */
	char *copy = malloc(len ? len : 1);

	memcpy(copy, text, len);
	return select_file_parse(f, copy, len);
}

static int parse_text(struct select_file *f, const char *text)
{
	return parse(f, text, strlen(text));
}

static void test_good(void)
{
	static const char text[] =
		HEAD
		"# a comment\n"
		"\n"
		"hosts any nodes 2 ranks 4	# of any\n"
		"  costs 21000000000 1500000000 230000 90000 0 310000\n"
		"allreduce 4096 recursive_doubling\n"
		"allreduce 8192 auto\n"
		"\tallreduce max\tchain 65536 # the last\n"
		"barrier max tree\n"
		"hosts 0123456789abcdef0123456789abcdef nodes 2 ranks 4\n"
		"alltoallv max pairwise";
	struct select_key key = { .nodes = 2, .ranks = 4 };
	struct select_file f;
	const struct select_set *set;
	const struct select_table *t;
	int ret = parse_text(&f, text);

	ok(!ret && f.nr == 2 && f.sets[0].line == 4 && f.sets[1].line == 10, "two sets of hosts");
	set = select_file_find(&f, &key);
	t = set ? &set->tables.of[COLL_ALLREDUCE] : NULL;
	ok(set == &f.sets[0] && t->nr == 3 && t->source == COLL_SELECT_FILE &&
	   t->rows[0].bytes == 4096 && t->rows[0].algorithm == COLL_ALG_RECURSIVE_DOUBLING &&
	   t->rows[1].algorithm == COLL_ALG_AUTO && t->rows[2].bytes == UINT64_MAX &&
	   t->rows[2].algorithm == COLL_ALG_CHAIN && t->rows[2].segment == 65536 &&
	   set->tables.of[COLL_BARRIER].nr == 1 && !set->tables.of[COLL_BROADCAST].nr,
	   "rows as they are written");
	ok(set && set->tables.model.alpha > 2.09e-5 && set->tables.model.alpha < 2.11e-5 &&
	   set->tables.model.busy_message == 0, "costs, in femtoseconds");
	memcpy(key.digest, "\x01\x23\x45\x67\x89\xab\xcd\xef\x01\x23\x45\x67\x89\xab\xcd\xef", 16);
	ok(select_file_find(&f, &key) == &f.sets[1], "hosts of their own come before any");
	key.ranks = 5;
	ok(!select_file_find(&f, &key), "of other numbers there are none");
	select_file_free(&f);
}

/* One wrong line, and its number. */
static void test_wrong(void)
{
	static const struct {
		const char *text;
		uint32_t line;
	} bad[] = {
		{ "", 1 },
		{ "\n", 1 },
		{ "coll-tables 2\n", 1 },
		{ "coll-tables\n", 1 },
		{ "coll-tables 1 1\n", 1 },
		{ "hosts any nodes 2 ranks 4\n", 1 },
		{ HEAD "allreduce max ring\n", 2 },
		{ HEAD "hosts\n", 2 },
		{ HEAD "hosts some nodes 2 ranks 4\n", 2 },
		{ HEAD "hosts " ZEROES "0 nodes 2 ranks 4\n", 2 },
		{ HEAD "hosts 0123456789ABCDEF0123456789abcdef nodes 2 ranks 4\n", 2 },
		{ HEAD "hosts any nodes 0 ranks 4\n", 2 },
		{ HEAD "hosts any nodes 5 ranks 4\n", 2 },
		{ HEAD "hosts any nodes -1 ranks 4\n", 2 },
		{ HEAD "hosts any nodes 2 ranks 1025\n", 2 },
		{ HEAD "hosts any nodes 2 ranks 4294967298\n", 2 },
		{ HEAD "hosts any nodes 2 ranks 4 more\n", 2 },
		{ HEAD "\n\nhosts any nodes 2 ranks\n", 4 },
		{ ANY "hosts any nodes 2 ranks 4\n", 3 },
		{ ANY "nonsense max ring\n", 3 },
		{ ANY "allreduce max nonsense\n", 3 },
		{ ANY "allreduce max binomial\n", 3 },
		{ ANY "gatherv max binomial\n", 3 },
		{ ANY "alltoallv max bruck\n", 3 },
		{ ANY "send max ring\n", 3 },
		{ ANY "allreduce max\n", 3 },
		{ ANY "allreduce ring\n", 3 },
		{ ANY "allreduce max ring 64 64\n", 3 },
		{ ANY "allreduce max ring 63\n", 3 },
		{ ANY "allreduce max ring 1048640\n", 3 },
		{ ANY "allreduce max ring 18446744073709551680\n", 3 },
		{ ANY "allreduce max ring x\n", 3 },
		{ ANY "allreduce 1e6 ring\n", 3 },
		{ ANY "allreduce -1 ring\n", 3 },
		{ ANY "allreduce 18446744073709551615 ring\n", 3 },
		{ ANY "allreduce 99999999999999999999 ring\n", 3 },
		{ ANY "allreduce 10 ring\nallreduce 10 chain\nallreduce max ring\n", 4 },
		{ ANY "allreduce max ring\nallreduce max chain\n", 4 },
		{ ANY "allreduce 10 ring\n", 3 },
		{ ANY "allreduce 10 ring\nhosts any nodes 3 ranks 4\n", 4 },
		{ ANY "costs 1 2 3 4 5\n", 3 },
		{ ANY "costs 1 2 3 4 5 6 7\n", 3 },
		{ ANY "costs 1 2 3 4 5 x\n", 3 },
		{ ANY "costs 0 2 3 4 5 6\n", 3 },
		{ ANY "costs 1000000000000000001 2 3 4 5 6\n", 3 },
		{ ANY "costs 1 2 3 4 5 6\ncosts 1 2 3 4 5 6\n", 4 },
		{ ANY "allreduce max ring\r\n", 3 },
	};
	char name[160];
	struct select_file f;
	uint32_t i;
	int ret;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		ret = parse_text(&f, bad[i].text);
		/* If the last set has no row "max", the error is at the end of the file. */
		snprintf(name, sizeof(name), "line %u: %s", f.line, f.what);
		ok(ret == -EINVAL && f.what[0] &&
		   (f.line == bad[i].line || f.line == bad[i].line + 1), name);
		select_file_free(&f);
	}
}

static void test_bounds(void)
{
	char *text = malloc(1 << 20);
	struct select_file f;
	size_t len;
	int i;

	len = (size_t)sprintf(text, "%s", ANY);
	for (i = 0; i <= SELECT_MAX_ROWS; i++)
		len += (size_t)sprintf(text + len, "allreduce %d ring\n", i);
	ok(parse(&f, text, len) == -EINVAL && f.line == 3 + SELECT_MAX_ROWS, "too many rows");
	select_file_free(&f);
	len = (size_t)sprintf(text, "%s", HEAD);
	for (i = 0; i <= SELECT_FILE_SETS; i++)
		len += (size_t)sprintf(text + len, "hosts %032x nodes 1 ranks 1\n", i);
	ok(parse(&f, text, len) == -EINVAL && f.line == 2 + SELECT_FILE_SETS && f.nr == SELECT_FILE_SETS,
	   "too many sets");
	select_file_free(&f);
	free(text);
}

/* Each text takes up to 10 ms: with AddressSanitizer, memory for the tables is mapped anew. */
#define NOISE	2000

/* A good text with bytes changed, cut and repeated: never more than an error. */
static void test_noise(uint64_t seed)
{
	static const char good[] =
		ANY "costs 1 2 3 4 5 6\nallreduce 10 ring 64\nallreduce max chain\n"
		"hosts " ZEROES " nodes 1 ranks 2 # x\nscan max linear\n";
	char text[sizeof(good)];
	uint32_t i, k, fine = 0, refused = 0;
	struct select_file f;
	size_t len;

	for (i = 0; i < NOISE; i++) {
		memcpy(text, good, sizeof(good));
		len = sizeof(good) - 1;
		for (k = 0; k <= i % 3; k++) {
			uint32_t at = below(&seed, (uint32_t)len);

			text[at] = "\n\0 #0919amx\xff\t"[(seed >> 20) % 13];
		}
		if (i % 5 == 0)
			len = (size_t)(seed >> 40) % len;
		if (parse(&f, text, len) == 0)
			fine++;
		else
			refused++;
		select_file_free(&f);
	}
	ok(fine && refused > fine / 100, "texts with wrong bytes in them");
}

static void fill(struct select_tables *t, uint16_t algorithm)
{
	memset(t, 0, sizeof(*t));
	t->model = (struct select_model){ 21.5e-6, 1.25e-6, 0.23e-9, 0.09e-9, 1e-6, 0.31e-9 };
	t->of[COLL_ALLREDUCE].nr = 2;
	t->of[COLL_ALLREDUCE].rows[0] = (struct coll_select_row){ .bytes = 100, .algorithm = algorithm };
	t->of[COLL_ALLREDUCE].rows[1] = (struct coll_select_row){
		.bytes = UINT64_MAX, .algorithm = COLL_ALG_RING, .segment = 4096 };
	t->of[COLL_SCAN].nr = 1;
	t->of[COLL_SCAN].rows[0].bytes = UINT64_MAX;
}

static bool same_rows(const struct select_tables *a, const struct select_tables *b)
{
	uint32_t c;

	for (c = 0; c < COLL_NR_COLLECTIVES; c++)
		if (a->of[c].nr != b->of[c].nr ||
		    memcmp(a->of[c].rows, b->of[c].rows, sizeof(a->of[c].rows)))
			return false;
	return true;
}

/* Does the file have @want for @key? */
static bool has(const char *path, const struct select_key *key, const struct select_tables *want)
{
	const struct select_set *set;
	struct select_file f;
	bool good = false;

	if (!select_file_read(&f, path)) {
		set = select_file_find(&f, key);
		good = set && select_key_same(&set->key, key) && same_rows(&set->tables, want) &&
		       set->tables.model.alpha > 0.999 * want->model.alpha &&
		       set->tables.model.busy_byte < 1.001 * want->model.busy_byte;
	}
	select_file_free(&f);
	return good;
}

/* Nobody writes to it: the reader must not wait for a writer. */
static void test_fifo(const char *dir)
{
	struct select_key key = { .digest = { 1 }, .nodes = 2, .ranks = 4 };
	struct select_tables none = { 0 };
	struct select_file f;
	struct stat st;
	char path[256];

	snprintf(path, sizeof(path), "%s/fifo", dir);
	if (mkfifo(path, 0600))
		abort();
	alarm(20);
	ok(select_file_read(&f, path) == -EINVAL, "a FIFO");
	ok(select_file_save(path, &key, &none, NULL, 0) == -EINVAL && !stat(path, &st) &&
	   S_ISFIFO(st.st_mode), "a FIFO is not replaced");
	alarm(0);
	unlink(path);
}

static void test_save(const char *dir)
{
	struct select_key a = { .digest = { 1 }, .nodes = 2, .ranks = 4 };
	struct select_key b = { .digest = { 2 }, .nodes = 2, .ranks = 4 };
	const char *const notes[] = { "n0 n1" };
	struct select_tables ta, tb, tc;
	char path[256], line[64] = "";
	struct stat st;
	FILE *f;

	fill(&ta, COLL_ALG_MESH);
	fill(&tb, COLL_ALG_KNOMIAL | COLL_ALG_RADIX(8));
	fill(&tc, COLL_ALG_ROOT);
	snprintf(path, sizeof(path), "%s/tables", dir);
	ok(!select_file_save(path, &a, &ta, notes, 1) && has(path, &a, &ta), "a new file");
	ok(!stat(path, &st) && (st.st_mode & 0777) == 0644, "that others may read");
	ok(!select_file_save(path, &b, &tb, notes, 1) && has(path, &a, &ta) && has(path, &b, &tb),
	   "another set of hosts");
	f = fopen(path, "a");
	fputs("# mine", f);	/* and no newline */
	fclose(f);
	chmod(path, 0600);
	ok(!select_file_save(path, &a, &tc, NULL, 0) && has(path, &a, &tc) && has(path, &b, &tb),
	   "new tables in the place of old ones");
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f) && strcmp(line, "# mine\n"))
		;
	ok(f && !strcmp(line, "# mine\n") && !stat(path, &st) && (st.st_mode & 0777) == 0600,
	   "what else is there stays, and the mode");
	if (f)
		fclose(f);
	f = fopen(path, "a");
	fputs("nonsense\n", f);
	fclose(f);
	stat(path, &st);
	ok(select_file_save(path, &a, &ta, NULL, 0) == -EINVAL && !has(path, &a, &ta) &&
	   !truncate(path, st.st_size - 9) && has(path, &a, &tc), "a file that is wrong is left alone");
	unlink(path);
	ok(select_file_save("/nonexistent/tables", &a, &ta, NULL, 0) == -ENOENT &&
	   select_file_save(dir, &a, &ta, NULL, 0) == -EISDIR, "nowhere to write");
	f = fopen(path, "w");
	fclose(f);
	ok(!select_file_save(path, &a, &ta, NULL, 0) && has(path, &a, &ta), "an empty file");
	unlink(path);
	ok(!rmdir(dir), "nothing is left beside it");
}

/* A file is never written that cannot be read again. */
static void test_full(const char *dir)
{
	struct select_key key = { .nodes = 2, .ranks = 4 };
	struct select_tables t;
	const char *long_note;
	char path[256], *note;
	struct select_file f;
	int ret = 0;
	uint32_t i;

	fill(&t, COLL_ALG_MESH);
	snprintf(path, sizeof(path), "%s/full", dir);
	for (i = 0; i < SELECT_FILE_SETS && !ret; i++) {
		key.digest[0] = (uint8_t)i;
		key.digest[1] = (uint8_t)(i >> 8);
		ret = select_file_save(path, &key, &t, NULL, 0);
	}
	ok(!ret && has(path, &key, &t), "as many sets as a file may have");
	ok(!select_file_save(path, &key, &t, NULL, 0), "one of them again");
	key.digest[2] = 1;
	ok(select_file_save(path, &key, &t, NULL, 0) == -EFBIG, "one more");
	ret = select_file_read(&f, path);
	ok(!ret && f.nr == SELECT_FILE_SETS, "the file is as before");
	select_file_free(&f);
	unlink(path);
	note = calloc(1, SELECT_FILE_MAX + 1);
	memset(note, 'x', SELECT_FILE_MAX);
	long_note = note;
	ok(select_file_save(path, &key, &t, &long_note, 1) == -EFBIG && access(path, F_OK),
	   "too many bytes");
	free(note);
}

static void test_key(void)
{
	struct select_host hosts[3] = { { { 1 }, "a" }, { { 2 }, "b" }, { { 3 }, "c" } };
	struct select_host turned[3] = { hosts[2], hosts[0], hosts[1] };
	const uint32_t ranks[3] = { 1, 2, 3 }, ranks2[3] = { 3, 1, 2 };
	struct select_key a, b;

	ok(!select_key_of(hosts, ranks, 3, &a) && !select_key_of(turned, ranks2, 3, &b) &&
	   select_key_same(&a, &b) && a.nodes == 3 && a.ranks == 6, "the order of hosts is no matter");
	select_key_of(hosts, ranks2, 3, &b);
	ok(!select_key_same(&a, &b), "which has how many ranks is");
	hosts[0].id[15] = 1;
	select_key_of(hosts, ranks, 3, &b);
	ok(!select_key_same(&a, &b), "and which they are");
}

int main(int argc, char **argv)
{
	uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
	char dir[] = "/tmp/coll-tables-XXXXXX";

	test_good();
	test_wrong();
	test_bounds();
	test_noise(seed);
	test_key();
	if (!mkdtemp(dir))
		abort();
	test_fifo(dir);
	test_full(dir);
	test_save(dir);
	return ok_done();
}
