// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* The CSV loader: parts of every size, and lines that are wrong. */
#define _GNU_SOURCE
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <coll/iterate.h>

#include "threads.h"

static struct world world;
static char path[] = "/tmp/coll-csv-XXXXXX";

struct job {
	const struct coll_csv_options *opt;
	const char *path;
	int ret[WORLD_MAX];
	struct coll_csv csv[WORLD_MAX];
	char why[WORLD_MAX][256];
};

static struct job job;
static __thread uint64_t bytes_read;
static uint64_t read_by[WORLD_MAX];

/* In the place of the C library's pread(): counts the bytes that a rank reads. */
ssize_t pread(int fd, void *buf, size_t len, off_t at)
{
	ssize_t n = syscall(SYS_pread64, fd, buf, len, at);

	bytes_read += n > 0 ? (uint64_t)n : 0;
	return n;
}

static void load(coll_comm_t *comm, void *arg)
{
	uint32_t r = comm->rank;

	bytes_read = 0;
	job.ret[r] = coll_csv_load(comm, job.path, job.opt, &job.csv[r], job.why[r], 256);
	read_by[r] = bytes_read;
}

static void run(uint32_t n, const char *text, size_t len, const struct coll_csv_options *opt)
{
	FILE *f = fopen(path, "w");

	if (!f || fwrite(text, 1, len, f) != len || fclose(f))
		abort();
	memset(&job, 0, sizeof(job));
	job.opt = opt;
	job.path = path;
	world_init(&world, n);
	world_run(&world, load, NULL);
}

static void end(void)
{
	uint32_t r;

	for (r = 0; r < WORLD_MAX; r++)
		coll_csv_free(&job.csv[r]);
}

/* Row i has i, i / 8, and lines of many lengths; "digits" makes them longer. */
static bool right(uint32_t n, uint64_t rows)
{
	uint64_t next = 0, i;
	uint32_t r;

	for (r = 0; r < n; r++) {
		const struct coll_csv *c = &job.csv[r];

		if (job.ret[r] || c->rows != rows || c->columns != 2 || c->first != next ||
		    c->local != coll_iter_local_row_count(r, n, rows))
			return false;
		for (i = 0; i < c->local; i++, next++)
			if (c->x[2 * i] != (double)next || c->x[2 * i + 1] != -(double)next / 8)
				return false;
	}
	return next == rows;
}

static void test_parts(void)
{
	static char text[65536];
	struct coll_csv_options opt = { .struct_size = sizeof(opt) };
	uint64_t rows, i, header;
	bool good = true;
	size_t len;
	uint32_t n;

	for (n = 1; n <= 13; n++)
		for (rows = 1; rows <= 40; rows += rows < 9 ? 1 : 7)
			for (header = 0; header < 3; header++) {
				for (len = 0, i = 0; i < header; i++)
					len += (size_t)sprintf(text + len, "a header,%*s\n",
							       (int)rows, "");
				for (i = 0; i < rows; i++)
					len += (size_t)sprintf(text + len, "%llu, %.*f%s",
							       (unsigned long long)i,
							       3 + (int)(i * 7 % 30),
							       -(double)i / 8,
							       n % 2 ? "\n" : "\r\n");
				opt.header_lines = header;
				len -= n % 3 == 0;	/* no end of the last line */
				run(n, text, len, &opt);
				good &= right(n, rows) && !world.mixed_up;
				end();
			}
	ok(good, "1 to 13 ranks, 1 to 40 rows, 0 to 2 header lines: everybody's own rows");
}

static void test_own_part(void)
{
	static char text[400000];
	uint64_t i, most = 0;
	size_t len = 0;
	uint32_t r;

	for (i = 0; i < 20000; i++)
		len += (size_t)sprintf(text + len, "%llu,%.3f\n", (unsigned long long)i,
				       -(double)i / 8);
	run(10, text, len, NULL);
	for (r = 0; r < 10; r++)
		most = read_by[r] > most ? read_by[r] : most;
	ok(right(10, 20000) && most < len * 4 / 10,
	   "10 ranks, %zu bytes: none reads more than three tenths and a little", len);
	end();
}

static void bad(const char *text, int ret, const char *why)
{
	const struct coll_csv_options opt = { .struct_size = sizeof(opt), .header_lines = 1 };
	char want[256];
	uint32_t n, r;
	bool good = true;

	snprintf(want, sizeof(want), "%s: %s", path, why);
	for (n = 1; n <= 7; n++) {
		run(n, text, strlen(text), &opt);
		for (r = 0; r < n; r++) {
			good &= job.ret[r] == ret && !strcmp(job.why[r], want) && !job.csv[r].x;
			if (!good)
				printf("# %d '%s'\n", job.ret[r], job.why[r]);
		}
		end();
	}
	ok(good && !world.mixed_up, "%s", why);
}

static void test_bad(void)
{
	bad("h\n1,2\n3,4\n5\n6,7\n", -EINVAL, "line 4, column 1: the line ends, but there should be 2 columns");
	bad("h\n1,2\n3,4\n5,6,7\n6,7\n", -EINVAL, "line 4, column 3: more than 2 columns");
	bad("h\n1,2\n3,x4\n5,6\n6,\n", -EINVAL, "line 3, column 2: 'x4' is no number");
	bad("h\n1,2\n3,4\n5,6\n6,\n", -EINVAL, "line 5, column 2: nothing there");
	bad("h\n1,2\n\n5,6\n", -EINVAL, "line 3, column 1: an empty line");
	bad("h\n1,2\n3,4\n\n", -EINVAL, "line 4, column 1: an empty line");
	bad("h\n1,2\n3,nan\n", -EINVAL, "line 3, column 2: 'nan' is no number");
	bad("h\n1,2\n3,0x10\n", -EINVAL, "line 3, column 2: '0x10' is no number");
	bad("h\n1,2\n1 1,0\n", -EINVAL, "line 3, column 1: '1 1' is no number");
	bad("h\n1,2\n1e999,0\n", -EINVAL, "line 3, column 1: '1e999' is too large");
	bad("h\n1,2\n1e,0\n", -EINVAL, "line 3, column 1: '1e' is no number");
	bad("h\n", -ENODATA, "no rows");
	bad("", -ENODATA, "no rows");
}

static void load_other(coll_comm_t *comm, void *arg)
{
	uint32_t r = comm->rank;

	job.ret[r] = coll_csv_load(comm, r == 1 ? arg : path, NULL, &job.csv[r], job.why[r], 256);
}

static void load_options(coll_comm_t *comm, void *arg)
{
	uint32_t r = comm->rank;

	job.ret[r] = coll_csv_load(comm, path, r == 1 ? arg : NULL, &job.csv[r], job.why[r], 256);
}

/* Rank 1 has other options: without a comparison rows would be missing, without an error. */
static void test_options(const struct coll_csv_options *opt, int ret, const char *name)
{
	bool good = true;
	uint32_t r;

	run(3, "1,2\n3,4\n5,6\n", 12, NULL);
	end();
	alarm(20);
	world_init(&world, 3);
	world_run(&world, load_options, (void *)opt);
	alarm(0);
	for (r = 0; r < 3; r++) {
		good &= job.ret[r] == ret && (!ret || strstr(job.why[r], "different options"));
		if (!good)
			printf("# %d '%s'\n", job.ret[r], job.why[r]);
	}
	ok(good && !world.mixed_up, "rank 1 has other options: %s", name);
	end();
}

static void test_all_options(void)
{
	struct coll_csv_options opt = { .struct_size = sizeof(opt), .separator = ',' };

	test_options(&opt, 0, "none is different in effect");
	opt.header_lines = 1;
	test_options(&opt, -EBADE, "header lines");
	opt.header_lines = 0;
	opt.columns = 2;
	test_options(&opt, -EBADE, "columns");
	opt.columns = 0;
	opt.separator = ';';
	test_options(&opt, -EBADE, "separator");
}

/* Nobody writes to it: a rank that waited for a writer would wait forever. */
static void test_fifo(void)
{
	bool good = true;
	char fifo[64];
	uint32_t r;

	snprintf(fifo, sizeof(fifo), "%s.fifo", path);
	if (mkfifo(fifo, 0600))
		abort();
	alarm(20);
	world_init(&world, 3);
	world_run(&world, load_other, fifo);
	alarm(0);
	for (r = 0; r < 3; r++)
		good &= job.ret[r] == -EINVAL && strstr(job.why[r], fifo);
	ok(good, "a file that is a FIFO on one rank: %s", job.why[2]);
	end();
	unlink(fifo);
}

/* The error has the end of it, which says which file it is. */
static void test_long_path(void)
{
	char dirs[600];
	size_t i;

	for (i = 0; i < 500; i += 5)
		memcpy(dirs + i, "/none", 5);
	strcpy(dirs + i, "/the-file.csv");
	world_init(&world, 2);
	world_run(&world, load_other, dirs);
	ok(job.ret[1] == -ENOENT && strstr(job.why[1], "/the-file.csv: "), "a long path: %s",
	   job.why[1]);
	end();
}

static void test_files(void)
{
	struct coll_csv_options opt = { .struct_size = sizeof(opt), .separator = '\t',
					.columns = 3 };
	char want[300];
	uint32_t r;
	bool good = true;

	run(2, "1\t\t3\n", 6, &opt);
	snprintf(want, sizeof(want), "%s: line 1, column 2: nothing there", path);
	ok(job.ret[1] == -EINVAL && !strcmp(job.why[1], want), "tabs between");
	end();
	run(3, "1\t2\n", 4, &opt);
	ok(job.ret[0] == -EINVAL, "the number of columns can be asked for");
	end();
	opt.separator = 'e';
	run(3, "1\t2\n", 4, &opt);
	ok(job.ret[0] == -EINVAL && job.ret[2] == -EINVAL, "a separator that is part of numbers");
	end();
	run(3, "1,2\n", 4, NULL);
	end();
	world_init(&world, 3);
	world_run(&world, load_other, "/nonexistent");
	for (r = 0; r < 3; r++)
		good &= job.ret[r] == -ENOENT && strstr(job.why[r], "/nonexistent: ");
	ok(good, "a file that one rank has not: %s", job.why[2]);
	end();
	world_init(&world, 3);
	world_run(&world, load_other, "/etc/passwd");
	for (r = 0, good = true; r < 3; r++)
		good &= job.ret[r] == -EBADE && strstr(job.why[r], "different sizes");
	ok(good, "a file of another size on one rank");
	end();
	world_init(&world, 3);
	world_run(&world, load_other, "/tmp");
	ok(job.ret[0] == -EISDIR && strstr(job.why[0], "/tmp: "), "a directory: %s", job.why[0]);
	end();
	test_long_path();
	run(3, "\xef\xbb\xbf" "0,0\n1,-0.125\n", 15, NULL);
	ok(right(3, 2), "a byte order mark: %s", job.why[0]);
	end();
	run(3, "0,0\n\xef\xbb\xbf" "1,-0.125\n", 15, NULL);
	ok(job.ret[0] == -EINVAL && strstr(job.why[0], "line 2"), "the same in line 2: %s",
	   job.why[0]);
	end();
	test_fifo();
}

int main(void)
{
	int fd = mkstemp(path);

	if (fd < 0)
		abort();
	close(fd);
	test_parts();
	test_own_part();
	test_bad();
	test_files();
	test_all_options();
	unlink(path);
	return ok_done();
}
