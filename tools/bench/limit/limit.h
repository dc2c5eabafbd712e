/* SPDX-License-Identifier: GPL-2.0 */
#ifndef LIMIT_H
#define LIMIT_H

#include <linux/types.h>

#define LIMIT_RANKS	16
#define LIMIT_TEXT	1024

/*
 * A loop that reads @n vectors and writes their sum to @n others, @bytes each, a
 * multiple of 256; all lie together and are aligned to 64. @next: what will be read next.
 */
typedef void limit_sum_fn(void *const *out, const void *const *in, const void *const *next,
			  unsigned int n, size_t bytes);

/**
 * struct limit_loops - of one instruction set
 * @plain: stores as usual
 * @past: stores past the caches
 * @ahead: the same, and fetches what comes next
 * @add: adds @bytes of floats, of any alignment, to others
 */
struct limit_loops {
	const char *name;
	limit_sum_fn *plain, *past, *ahead;
	void (*add)(void *out, const void *in, size_t bytes);
};

extern const struct limit_loops limit_sse2, limit_avx2, limit_avx512;

/* main.c: may this CPU run it? */
bool limit_usable(const struct limit_loops *loops);

/*
 * local.c: the loop over single pages, by a worker on each CPU. Writes a line "name
 * microseconds" for each kind of loop to @text.
 */
int limit_local(unsigned int ranks, size_t bytes, unsigned int iters, char *text);

/*
 * tcp.c: @bytes over a connected socket, into or out of @window bytes of single pages
 * again and again; what comes is added to what is there. @splice: send the pages
 * themselves. Both end when all is through; the receiver writes to @text how many
 * nanoseconds it took from the first byte on.
 */
int limit_tcp_send(int fd, u64 bytes, size_t window, bool splice);
int limit_tcp_recv(int fd, u64 bytes, size_t window, char *text);

/* Single pages, as pinned memory of a process comes. NULL: no memory. */
struct page **limit_pages(unsigned long nr);
void limit_pages_free(struct page **pages, unsigned long nr);

#endif /* LIMIT_H */
