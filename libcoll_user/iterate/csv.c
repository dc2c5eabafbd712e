// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * A table of numbers, of which each rank reads its own rows.
 *
 * Each of n ranks counts the lines that begin in its 1/n of the bytes. The counts of all ranks
 * give the number of rows, and so the rows of each rank. If the first row of a part begins in the
 * bytes of a rank, this rank tells all ranks where. Then each rank reads its part and nothing else.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "csv.h"
#include "csv_parse.h"
#include "vote.h"
#include "wire.h"

#define CHUNK		65536
#define PATH_SHOWN	200	/* bytes of a path in an error; with it, ITER_TEXT is enough */

/* read() all of it; a file that ends early was changed meanwhile. */
static int read_at(int fd, char *buf, size_t len, uint64_t at)
{
	ssize_t n;

	while (len) {
		n = pread(fd, buf, len, (off_t)at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		buf += n;
		len -= (size_t)n;
		at += (uint64_t)n;
	}
	return 0;
}

/* Call @line for each line that begins in [@from, @to): its number, from 0, and its offset. */
static int each_line(struct csv_file *f, uint64_t from, uint64_t to,
		     void (*line)(struct csv_file *f, uint64_t nr, uint64_t at))
{
	uint64_t at = from, nr = 0;
	bool begins = !from;
	char c;
	size_t i, len;
	int ret;

	if (from && from < to) {
		ret = read_at(f->fd, &c, 1, from - 1);
		if (ret)
			return ret;
		begins = c == '\n';
	}
	while (at < to) {
		len = to - at < CHUNK ? to - at : CHUNK;
		ret = read_at(f->fd, f->buf, len, at);
		if (ret)
			return ret;
		for (i = 0; i < len; i++) {
			if (begins)
				line(f, nr++, at + i);
			begins = f->buf[i] == '\n';
		}
		at += len;
	}
	return 0;
}

static void count_line(struct csv_file *f, uint64_t nr, uint64_t at)
{
	(void)at;
	f->mine = nr + 1;
}

/* Which parts begin at line @f->before + @nr of the file? */
static void note_offset(struct csv_file *f, uint64_t nr, uint64_t at)
{
	uint64_t line = f->before + nr, row;
	uint32_t task;

	if (line < f->header || line - f->header >= f->rows)
		return;
	row = line - f->header;
	task = (uint32_t)coll_iter_where(row, f->size, f->rows);
	if (coll_iter_start_pos(task, f->size, f->rows) == row)
		f->offset[task] = at;
}

/* Of a long path, the end says which file it is. */
static int say(struct csv_file *f, int err, const char *what)
{
	size_t len = strlen(f->path);
	bool cut = len > PATH_SHOWN;

	if (err)
		snprintf(f->text, sizeof(f->text), "%s%s: %.128s", cut ? "..." : "",
			 f->path + (cut ? len - PATH_SHOWN : 0), what ? what : strerror(-err));
	return err;
}

static int open_file(struct csv_file *f)
{
	struct stat st;

	/* O_NONBLOCK: open() of a FIFO would wait for a writer. */
	f->fd = open(f->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (f->fd < 0 || fstat(f->fd, &st))
		return say(f, -errno, NULL);
	if (S_ISDIR(st.st_mode))
		return say(f, -EISDIR, NULL);
	if (!S_ISREG(st.st_mode))
		return say(f, -EINVAL, "not a regular file");
	f->length = (uint64_t)st.st_size;
	return 0;
}

/* Agree on errors before the ranks go on: the error of the lowest rank counts. */
static int settle(struct csv_file *f, struct iter_vote *v, int err)
{
	v->error = err;
	return iter_vote(f->comm, v, f->text);
}

/* Count the lines in the bytes of each rank. Sets @before, @rows, @offset. */
static int count(struct csv_file *f)
{
	uint64_t lines = 0, from, to;
	struct iter_vote v = { 0 };
	uint32_t r;
	int ret;

	from = coll_iter_start_pos(f->rank, f->size, f->length);
	to = from + coll_iter_local_row_count(f->rank, f->size, f->length);
	ret = settle(f, &v, say(f, each_line(f, from, to, count_line), NULL));
	if (ret)
		return ret;
	ret = coll_allgather(f->comm, &f->mine, f->counts, 1, COLL_U64);
	if (ret)
		return iter_broken(f->comm, ret, "allgather of lines", f->text);
	for (r = 0; r < f->size; r++) {
		if (r == f->rank)
			f->before = lines;
		lines += f->counts[r];
	}
	f->rows = lines > f->header ? lines - f->header : 0;
	if (!f->rows)
		return say(f, -ENODATA, "no rows");
	ret = settle(f, &v, say(f, each_line(f, from, to, note_offset), NULL));
	if (ret)
		return ret;
	ret = coll_allreduce(f->comm, COLL_IN_PLACE, f->offset, f->size, COLL_U64, COLL_OP_MAX);
	if (ret)
		return iter_broken(f->comm, ret, "allreduce of offsets", f->text);
	return 0;
}

/* Read the rows of this rank, with a NUL behind them. */
static int read_part(struct csv_file *f, struct csv_part *p)
{
	uint64_t from = f->offset[f->rank], to = f->length;
	uint32_t next;

	p->rows = coll_iter_local_row_count(f->rank, f->size, f->rows);
	if (!p->rows)
		return 0;
	next = f->rank + 1;
	if (next < f->size && coll_iter_local_row_count(next, f->size, f->rows))
		to = f->offset[next];
	if (to < from || to - from >= SIZE_MAX / 2)
		return -EIO;
	p->text = malloc(to - from + 1);
	if (!p->text)
		return -ENOMEM;
	p->text[to - from] = '\0';
	p->len = to - from;
	return read_at(f->fd, p->text, to - from, from);
}

static int take_rows(struct csv_file *f, struct csv_part *p, struct coll_csv *csv)
{
	struct iter_vote v = { 0 };
	int ret;

	ret = say(f, read_part(f, p), NULL);
	/* Rank 0 has the first row, whose columns all others must have. */
	if (!ret && !f->columns && !f->rank)
		v.flag = csv_columns(p, f->separator);
	if (!ret && f->columns)
		v.flag = f->columns;
	ret = settle(f, &v, ret);
	if (ret)
		return ret;
	f->columns = (uint32_t)v.flag;
	csv->columns = f->columns;
	csv->rows = f->rows;
	csv->first = coll_iter_start_pos(f->rank, f->size, f->rows);
	csv->local = p->rows;
	p->first_line = f->header + csv->first + 1;
	if (csv->columns > SIZE_MAX / 2 / sizeof(double) / (p->rows ? p->rows : 1))
		ret = -ENOMEM;
	else
		csv->x = calloc(p->rows ? p->rows * csv->columns : 1, sizeof(double));
	if (!csv->x)
		ret = -ENOMEM;
	ret = settle(f, &v, say(f, ret, NULL));
	if (ret)
		return ret;
	csv_parse(p, f->separator, csv->columns, csv->x);
	/* The lowest rank that failed has the first line that is wrong. */
	return settle(f, &v, say(f, p->error, p->why));
}

/* A digest of what must be the same on all ranks: they count and cut lines by it. */
static uint64_t digest(const struct csv_file *f)
{
	uint64_t d = coll_digest(0, f->length);

	d = coll_digest(d, f->header);
	return coll_digest(d, (uint64_t)f->columns << 32 | (uint8_t)f->separator);
}

/* The digests differ: all ranks come here. */
static int differ(struct csv_file *f)
{
	struct iter_vote v = { .mine = f->length };
	int ret = settle(f, &v, 0);

	if (ret)
		return ret;
	return say(f, -EBADE, v.min != v.max ? "the ranks' files have different sizes" :
					       "the ranks have different options");
}

static int load(struct csv_file *f, struct coll_csv *csv, bool good)
{
	struct csv_part part = { 0 };
	struct iter_vote v = { 0 };
	int ret = 0;

	if (!good)
		ret = say(f, -EINVAL, "options that do not make sense");
	else if (!f->counts || !f->offset || !f->buf)
		ret = say(f, -ENOMEM, NULL);
	else
		ret = open_file(f);
	v.mine = digest(f);
	ret = settle(f, &v, ret);
	if (!ret && v.min != v.max)
		ret = differ(f);
	if (!ret)
		ret = count(f);
	if (!ret)
		ret = take_rows(f, &part, csv);
	free(part.text);
	return ret;
}

int coll_csv_load(coll_comm_t *comm, const char *path, const struct coll_csv_options *opt,
		  struct coll_csv *csv, char *why, size_t len)
{
	struct csv_file f = { .comm = comm, .fd = -1, .separator = ',' };
	bool good = path && *path;
	int ret;

	if (!comm || !csv)
		return -EINVAL;
	memset(csv, 0, sizeof(*csv));
	f.path = good ? path : "no path";
	f.rank = coll_comm_rank(comm);
	f.size = coll_comm_size(comm);
	if (opt && opt->struct_size != sizeof(*opt))
		good = false;
	if (good && opt) {
		f.header = opt->header_lines;
		f.columns = opt->columns;
		if (opt->separator)
			f.separator = (char)opt->separator;
		good = opt->separator < 128 && !isdigit(opt->separator) &&
		       !strchr("+-.eE\r\n \"", f.separator);
	}
	f.counts = calloc(f.size, sizeof(*f.counts));
	f.offset = calloc(f.size, sizeof(*f.offset));
	f.buf = malloc(CHUNK);
	ret = load(&f, csv, good);
	if (ret) {
		coll_csv_free(csv);
		if (why && len)
			snprintf(why, len, "%s", f.text);
	}
	if (f.fd >= 0)
		close(f.fd);
	free(f.counts);
	free(f.offset);
	free(f.buf);
	return ret;
}

void coll_csv_free(struct coll_csv *csv)
{
	if (!csv)
		return;
	free(csv->x);
	memset(csv, 0, sizeof(*csv));
}
