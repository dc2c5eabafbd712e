// SPDX-License-Identifier: GPL-2.0
/*
 * A small neural network, trained by several ranks on their own rows each. The gradients of a
 * layer are named tensors. They are posted as soon as the backward pass has left the layer,
 * from the last layer to the first, by several threads, in a random order that differs from
 * rank to rank. They are added up over all ranks while the pass goes on.
 *
 * The weights do not depend on how many ranks there are, not in the last bit: all sums are
 * exact, see learn.h.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <coll/tensor.h>

#include "learn.h"

#define LAYERS	3
#define PARTS	4	/* tensors of a layer, at most */
#define THREADS	3

/**
 * struct part - some weights of a layer: one tensor
 * @grad: for each weight a sum of a grid, two doubles
 * @first: number of its first weight in the layer
 * @n: number of its weights
 */
struct part {
	coll_tensor_t *t;
	struct layer *layer;
	double *grad;
	uint32_t first, n;
};

/**
 * struct layer - out = f(weights (in, 1))
 * @w: @out x (@in + 1), the last column for the constant
 * @a: of each local row its outputs
 * @delta: of each local row the derivatives of the loss by the sums of the units
 * @bound: of each unit, how large its @delta can be
 */
struct layer {
	uint32_t in, out, nr_parts;
	double *w, *a, *delta, *bound;
	struct part part[PARTS];
};

/**
 * struct net - the job as one rank sees it
 * @queue: parts that the backward pass has finished, @ready of them
 * @posted: parts of this step that have been posted
 * @end: no more parts will come
 */
struct net {
	coll_tensors_t *ts;
	struct learn data;
	struct layer layer[LAYERS];
	struct part loss;
	double rate;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct part *queue[LAYERS * PARTS];
	uint32_t ready, posted;
	uint64_t lots;
	bool end;
};

/* The end of this process: collrun, or the kernel, tells the others. */
static void die(const char *what)
{
	fprintf(stderr, "mlp: %s: %s\n", what, coll_tensor_error());
	exit(1);
}

/* --- threads that post ----------------------------------------------------------- */

/* Take any part that is ready. NULL: the end. */
static struct part *take(struct net *net)
{
	struct part *p = NULL;
	uint32_t k;

	pthread_mutex_lock(&net->lock);
	while (!net->ready && !net->end)
		pthread_cond_wait(&net->changed, &net->lock);
	if (net->ready) {
		k = (uint32_t)(learn_random(net->lots++, 0, 0) * net->ready);
		p = net->queue[k];
		net->queue[k] = net->queue[--net->ready];
	}
	pthread_mutex_unlock(&net->lock);
	return p;
}

static void *poster(void *arg)
{
	struct net *net = arg;
	struct part *p;

	while ((p = take(net))) {
		if (coll_tensor_post(p->t))
			die("post");
		pthread_mutex_lock(&net->lock);
		net->posted++;
		pthread_cond_broadcast(&net->changed);
		pthread_mutex_unlock(&net->lock);
	}
	return NULL;
}

static void give(struct net *net, struct layer *l)
{
	uint32_t k;

	pthread_mutex_lock(&net->lock);
	for (k = 0; k < l->nr_parts; k++)
		net->queue[net->ready++] = &l->part[k];
	pthread_cond_broadcast(&net->changed);
	pthread_mutex_unlock(&net->lock);
}

/* --- the network ------------------------------------------------------------------ */

static const double *input(const struct net *net, uint32_t k, uint64_t row)
{
	if (!k)
		return net->data.z + row * net->data.dims;
	return net->layer[k - 1].a + row * net->layer[k - 1].out;
}

static void forward_row(struct net *net, uint32_t k, uint64_t row)
{
	struct layer *l = &net->layer[k];
	const double *in = input(net, k, row), *w;
	uint32_t u, i;
	double sum;

	for (u = 0; u < l->out; u++) {
		w = l->w + u * (l->in + 1);
		sum = w[l->in];
		for (i = 0; i < l->in; i++)
			sum += w[i] * in[i];
		l->a[row * l->out + u] = k == LAYERS - 1 ? 1 / (1 + exp(-sum)) : tanh(sum);
	}
}

static void forward(struct net *net)
{
	uint64_t row;
	uint32_t k;

	for (k = 0; k < LAYERS; k++)
		for (row = 0; row < net->data.local; row++)
			forward_row(net, k, row);
}

/* How large derivatives can be: by weights, which all ranks have. */
static double bound_units(struct net *net, uint32_t k)
{
	struct layer *l = &net->layer[k], *next = l + 1;
	double most = 0;
	uint32_t u, v;

	for (u = 0; u < l->out; u++) {
		l->bound[u] = k == LAYERS - 1;
		for (v = 0; k < LAYERS - 1 && v < next->out; v++)
			l->bound[u] += fabs(next->w[v * (next->in + 1) + u]) * next->bound[v];
		most = fmax(most, l->bound[u]);
	}
	return most;
}

static double bound_inputs(const struct net *net, uint32_t k)
{
	double most = 1;
	uint32_t i;

	for (i = 0; !k && i < net->layer[0].in; i++)
		most = fmax(most, net->data.bound[i]);
	return most;
}

static void backward_row(struct net *net, uint32_t k, uint64_t row)
{
	struct layer *l = &net->layer[k], *next = l + 1;
	const double *a = l->a + row * l->out;
	double *delta = l->delta + row * l->out, sum;
	uint32_t u, v;

	for (u = 0; u < l->out; u++) {
		if (k == LAYERS - 1) {
			delta[u] = a[u] - net->data.y[row];
			continue;
		}
		sum = 0;
		for (v = 0; v < next->out; v++)
			sum += next->w[v * (next->in + 1) + u] * next->delta[row * next->out + v];
		delta[u] = sum * (1 - a[u] * a[u]);
	}
}

/* Add up one row in one tensor. */
static void add_row(struct net *net, uint32_t k, struct part *p, uint64_t row,
		    const struct learn_grid *g)
{
	struct layer *l = &net->layer[k];
	const double *in = input(net, k, row);
	const double *delta = l->delta + row * l->out;
	uint32_t i, at, unit;

	for (i = 0; i < p->n; i++) {
		unit = (p->first + i) / (l->in + 1);
		at = (p->first + i) % (l->in + 1);
		learn_add(p->grad + 2 * i, delta[unit] * (at < l->in ? in[at] : 1), g);
	}
}

/* One layer; its gradients are posted while the one below goes on. */
static void backward(struct net *net, uint32_t k)
{
	double most = bound_units(net, k) * bound_inputs(net, k);
	struct learn_grid g = learn_grid((double)net->data.rows, most);
	struct layer *l = &net->layer[k];
	uint64_t row;
	uint32_t p;

	for (p = 0; p < l->nr_parts; p++)
		memset(l->part[p].grad, 0, 2 * l->part[p].n * sizeof(double));
	for (row = 0; row < net->data.local; row++) {
		backward_row(net, k, row);
		for (p = 0; p < l->nr_parts; p++)
			add_row(net, k, &l->part[p], row, &g);
	}
	give(net, l);
}

static void post_loss(struct net *net)
{
	/* 1000 is more than -log(1e-300). */
	struct learn_grid g = learn_grid((double)net->data.rows, 1000);
	const double *a = net->layer[LAYERS - 1].a;
	uint64_t row;
	double p;

	memset(net->loss.grad, 0, 4 * sizeof(double));
	for (row = 0; row < net->data.local; row++) {
		p = net->data.y[row] > 0.5 ? a[row] : 1 - a[row];
		learn_add(net->loss.grad, -log(fmax(p, 1e-300)), &g);
		net->loss.grad[2] += p > 0.5;
	}
	if (coll_tensor_post(net->loss.t))
		die("post");
}

static void update(const struct net *net, const struct part *p)
{
	uint32_t i;

	for (i = 0; i < p->n; i++)
		p->layer->w[p->first + i] -= net->rate * learn_value(p->grad + 2 * i) /
					     (double)net->data.rows;
}

/* Wait for all sums, and change the weights. The order of the parts makes no difference. */
static void wait_for_all(struct net *net)
{
	struct part *parts[LAYERS * PARTS];
	uint32_t k, p, n = 0, left;

	for (k = 0; k < LAYERS; k++)
		for (p = 0; p < net->layer[k].nr_parts; p++)
			parts[n++] = &net->layer[k].part[p];
	/* A part has to be posted before coll_tensor_wait() can wait for it. */
	pthread_mutex_lock(&net->lock);
	while (net->posted < n)
		pthread_cond_wait(&net->changed, &net->lock);
	net->posted = 0;
	pthread_mutex_unlock(&net->lock);
	for (left = 0; left < n; left++) {
		if (coll_tensor_wait(parts[left]->t))
			die("wait");
		update(net, parts[left]);
	}
	if (coll_tensor_wait(net->loss.t))
		die("wait");
}

/* --- setting up -------------------------------------------------------------------- */

static void make_tensor(struct net *net, struct part *p, const char *name, uint32_t n)
{
	struct coll_tensor_spec spec;

	p->n = n;
	p->grad = learn_array(n, 2, sizeof(double));
	coll_tensor_spec_init(&spec, name);
	coll_cmd_allreduce(coll_tensors_comm(net->ts), &spec.cmd, COLL_IN_PLACE, p->grad, 2 * n,
			   COLL_F64, COLL_OP_SUM);
	if (coll_tensor_create(net->ts, &spec, &p->t))
		die("create");
}

static void make_layer(struct net *net, uint32_t k, uint32_t in, uint32_t out)
{
	struct layer *l = &net->layer[k];
	uint32_t i, from, to, all = out * (in + 1);
	char name[32];

	*l = (struct layer){ .in = in, .out = out, .nr_parts = out < PARTS ? out : PARTS };
	l->w = learn_array(out, in + 1, sizeof(double));
	l->a = learn_array(net->data.local, out, sizeof(double));
	l->delta = learn_array(net->data.local, out, sizeof(double));
	l->bound = learn_array(out, 1, sizeof(double));
	for (i = 0; i < all; i++)
		l->w[i] = (2 * learn_random(7, k, i) - 1) / sqrt(in + 1);
	for (i = 0; i < l->nr_parts; i++) {
		from = i * all / l->nr_parts;
		to = (i + 1) * all / l->nr_parts;
		l->part[i].layer = l;
		l->part[i].first = from;
		snprintf(name, sizeof(name), "layer%u.gradient%u", k, i);
		make_tensor(net, &l->part[i], name, to - from);
	}
}

static void free_net(struct net *net)
{
	uint32_t k, p;

	for (k = 0; k < LAYERS; k++) {
		struct layer *l = &net->layer[k];

		for (p = 0; p < l->nr_parts; p++)
			free(l->part[p].grad);
		free(l->w);
		free(l->a);
		free(l->delta);
		free(l->bound);
	}
	free(net->loss.grad);
	learn_free(&net->data);
}

/* All bits of all weights. */
static uint64_t digest(const struct net *net)
{
	uint64_t hash = 0xcbf29ce484222325ULL, bits;
	uint32_t k, i;

	for (k = 0; k < LAYERS; k++)
		for (i = 0; i < net->layer[k].out * (net->layer[k].in + 1); i++) {
			memcpy(&bits, &net->layer[k].w[i], sizeof(bits));
			hash = (hash ^ bits) * 0x100000001b3ULL;
			hash ^= hash >> 29;
		}
	return hash;
}

static void train(struct net *net, uint32_t steps)
{
	bool first = !coll_comm_rank(coll_tensors_comm(net->ts));
	uint32_t step, k;

	for (step = 1; step <= steps; step++) {
		forward(net);
		post_loss(net);
		for (k = LAYERS; k-- > 0; )
			backward(net, k);
		wait_for_all(net);
		if (first && (step % 10 == 0 || step == steps))
			printf("step %u: loss %.17g, right %.0f of %llu\n", step,
			       learn_value(net->loss.grad) / (double)net->data.rows,
			       net->loss.grad[2], (unsigned long long)net->data.rows);
	}
	if (first)
		printf("weights %016llx\n", (unsigned long long)digest(net));
}

int main(int argc, char **argv)
{
	struct net net = { .rate = 0.5 };
	uint32_t steps = 50, k;
	pthread_t threads[THREADS];
	int c, bad = 0;

	while ((c = getopt(argc, argv, "i:r:")) != -1) {
		switch (c) {
		case 'i': bad |= learn_u32(optarg, &steps); break;
		case 'r': bad |= learn_real(optarg, &net.rate); break;
		default: bad = 1;
		}
	}
	if (bad || optind != argc - 1) {
		fprintf(stderr, "usage: mlp [-i STEPS] [-r RATE] FILE.csv\n");
		return 2;
	}
	if (coll_tensors_init(NULL, 0, &net.ts))
		die("init");
	if (learn_load("mlp", coll_tensors_base(net.ts), argv[optind], &net.data))
		return 1;
	pthread_mutex_init(&net.lock, NULL);
	pthread_cond_init(&net.changed, NULL);
	net.lots = (uint64_t)getpid() * 1000003 + (uint64_t)time(NULL);
	make_layer(&net, 0, net.data.dims - 1, 16);
	make_layer(&net, 1, 16, 8);
	make_layer(&net, 2, 8, 1);
	make_tensor(&net, &net.loss, "loss", 2);
	for (k = 0; k < THREADS; k++)
		if (pthread_create(&threads[k], NULL, poster, &net))
			return 1;
	train(&net, steps);
	pthread_mutex_lock(&net.lock);
	net.end = true;
	pthread_cond_broadcast(&net.changed);
	pthread_mutex_unlock(&net.lock);
	for (k = 0; k < THREADS; k++)
		pthread_join(threads[k], NULL);
	coll_tensors_finalize(net.ts);
	free_net(&net);
	return 0;
}
