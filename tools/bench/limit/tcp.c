// SPDX-License-Identifier: GPL-2.0
/* A plain stream between two sockets, as bare as it can be. */
#include <linux/bvec.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/net.h>
#include <linux/sched/signal.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <linux/uio.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "compat.h"
#include "limit.h"

#define ONCE	64		/* pages of one message */
#define BUDGET	(256U << 10)	/* bytes taken between two looks at the socket's backlog */

/**
 * struct limit_rx - one receiver
 * @pages: what comes is added to these, again and again
 * @window: bytes of them
 * @loops: of the widest instruction set
 * @left: bytes to come
 * @at: bytes that have come
 * @begin: when the first ones came
 */
struct limit_rx {
	struct page **pages;
	size_t window;
	const struct limit_loops *loops;
	u64 left, at, begin;
};

static const struct limit_loops *limit_widest(void)
{
	if (limit_usable(&limit_avx512))
		return &limit_avx512;
	return limit_usable(&limit_avx2) ? &limit_avx2 : &limit_sse2;
}

static struct socket *limit_socket(int fd)
{
	struct socket *sock;
	int err;

	sock = sockfd_lookup(fd, &err);
	if (!sock)
		return ERR_PTR(err);
	if (sock->sk->sk_protocol == IPPROTO_TCP && sock->sk->sk_state == TCP_ESTABLISHED)
		return sock;
	sockfd_put(sock);
	return ERR_PTR(-EINVAL);
}

int limit_tcp_send(int fd, u64 bytes, size_t window, bool splice)
{
	struct socket *sock = limit_socket(fd);
	unsigned long nr = window / PAGE_SIZE, at = 0;
	struct page **pages = limit_pages(nr);
	struct bio_vec *bv = kcalloc(ONCE, sizeof(*bv), GFP_KERNEL);
	int ret = pages && bv ? 0 : -ENOMEM;

	if (IS_ERR(sock))
		ret = PTR_ERR(sock);
	while (!ret && bytes) {
		size_t len = min_t(u64, bytes, ONCE * PAGE_SIZE);
		unsigned int i, n = DIV_ROUND_UP(len, PAGE_SIZE);

		for (i = 0; i < n; i++)
			bv[i] = (struct bio_vec) {
				.bv_page = pages[(at + i) % nr],
				.bv_len = min(len - i * PAGE_SIZE, PAGE_SIZE),
			};
		at += n;
		bytes -= len;
		ret = coll_send_bvec(sock, bv, n, len, splice, bytes ? MSG_MORE : 0);
		ret = ret < 0 ? ret : ret == len ? 0 : -EPIPE;
	}
	/*
	 * Pages that were sent themselves may be on their way still: the socket holds
	 * references, and what we let go of here is freed by it.
	 */
	kfree(bv);
	limit_pages_free(pages, nr);
	if (!IS_ERR(sock))
		sockfd_put(sock);
	return ret;
}

/* Elements that straddle two pieces are left out: few, and nobody looks at the sum. */
static void limit_rx_add(struct limit_rx *rx, const u8 *p, size_t len)
{
	while (len) {
		unsigned long page = rx->at % rx->window / PAGE_SIZE, off = rx->at % PAGE_SIZE;
		size_t n = min(len, PAGE_SIZE - off);

		coll_fpu_begin(false);
		rx->loops->add(page_address(rx->pages[page]) + off, p, n);
		coll_fpu_end();
		rx->at += n;
		rx->left -= n;
		p += n;
		len -= n;
	}
}

static int limit_rx_skb(read_descriptor_t *desc, struct sk_buff *skb, unsigned int off,
			size_t len)
{
	struct limit_rx *rx = desc->arg.data;
	size_t take = min3(len, desc->count, (size_t)min_t(u64, rx->left, SIZE_MAX));
	struct skb_seq_state st;
	unsigned int done = 0, n;
	const u8 *p;

	if (!rx->begin)
		rx->begin = ktime_get_ns();
	skb_prepare_seq_read(skb, off, off + take, &st);
	while (done < take && (n = skb_seq_read(done, &p, &st))) {
		/* skb_seq_read() stops at the end of a fragment, not at @take */
		n = min_t(size_t, n, take - done);
		limit_rx_add(rx, p, n);
		done += n;
	}
	skb_abort_seq_read(&st);
	desc->count -= take;
	return take;
}

static int limit_rx_all(struct sock *sk, struct limit_rx *rx)
{
	int ret = 0;

	lock_sock(sk);
	while (!ret && rx->left) {
		read_descriptor_t desc = { .arg.data = rx, .count = BUDGET };
		long timeo = 10 * HZ;

		ret = tcp_read_sock(sk, &desc, limit_rx_skb);
		if (ret > 0) {
			ret = 0;
			/* whatever came meanwhile waits in the backlog */
			release_sock(sk);
			cond_resched();
			lock_sock(sk);
		} else if (!ret) {
			if (sk->sk_shutdown & RCV_SHUTDOWN)
				ret = -EPIPE;
			else if (signal_pending(current))
				ret = -EINTR;
			else
				sk_wait_data(sk, &timeo, NULL);
			if (!ret && !timeo)
				ret = -ETIMEDOUT;
		}
	}
	release_sock(sk);
	return ret;
}

int limit_tcp_recv(int fd, u64 bytes, size_t window, char *text)
{
	struct socket *sock = limit_socket(fd);
	unsigned long nr = window / PAGE_SIZE;
	struct limit_rx rx = { .window = window, .loops = limit_widest(), .left = bytes };
	int ret = -ENOMEM;

	if (IS_ERR(sock))
		return PTR_ERR(sock);
	rx.pages = limit_pages(nr);
	if (rx.pages)
		ret = limit_rx_all(sock->sk, &rx);
	if (!ret)
		scnprintf(text, LIMIT_TEXT, "%llu\n", ktime_get_ns() - rx.begin);
	limit_pages_free(rx.pages, nr);
	sockfd_put(sock);
	return ret;
}
