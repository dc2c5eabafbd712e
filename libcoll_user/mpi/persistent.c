// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * A generalized request of MPI cannot be persistent. So the application has the request of a
 * persistent receive: of no bytes, from this process, on a communicator that only this file uses.
 * When coll has done a start, this library sends the message. So MPI has the right state of the
 * request at any time, and all of its functions can handle it.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "pending.h"
#include "persistent.h"
#include "types.h"

/* MPI allows at least this many tags: see MPI_TAG_UB. */
#define TAGS		32768

/**
 * struct persistent - one request
 * @again: fills in the call for each start
 * @saved: its arguments
 * @copies: of arrays of types in @saved; owned
 * @kept: duplicates of types in @saved; owned
 * @nr_kept: how many
 * @tag: tag of the message that tells MPI that a start is over
 * @lane: number of the lane whose communicator is @p.call.coll
 * @next: in @freed
 */
struct persistent {
	struct pending p;
	again_fn *again;
	struct arguments saved;
	MPI_Datatype *copies[2];
	MPI_Datatype *kept;
	int nr_kept;
	int tag;
	int lane;
	struct persistent *next;
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static MPI_Comm self = MPI_COMM_NULL;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t tags[TAGS / 64];
/* Requests that are under way and that the application has freed. */
static struct persistent *freed;
static _Atomic size_t nr_freed;

/* A duplicate would have the attributes that an application gave to MPI_COMM_SELF. */
static void make_self(void)
{
	if (PMPI_Comm_split(MPI_COMM_SELF, 0, 0, &self))
		self = MPI_COMM_NULL;
	else
		PMPI_Comm_set_errhandler(self, MPI_ERRORS_RETURN);
}

static struct persistent *of(struct pending *p)
{
	/* it is the first member */
	return (struct persistent *)p;
}

/* --- tags -------------------------------------------------------------------- */

/* Return: a free tag; -1: there is none. */
static int take_tag(void)
{
	int i, tag = -1;

	pthread_mutex_lock(&lock);
	for (i = 0; i < TAGS / 64 && tag < 0; i++) {
		if (!~tags[i])
			continue;
		tag = 64 * i + __builtin_ctzll(~tags[i]);
		tags[i] |= 1ULL << tag % 64;
	}
	pthread_mutex_unlock(&lock);
	return tag;
}

static void give_tag(int tag)
{
	if (tag < 0)
		return;
	pthread_mutex_lock(&lock);
	tags[tag / 64] &= ~(1ULL << tag % 64);
	pthread_mutex_unlock(&lock);
}

/* --- types ------------------------------------------------------------------- */

/* Copy a type if the application may free it after the init call: it cannot free named types. */
static int keep_type(struct persistent *s, MPI_Datatype *type)
{
	int combiner;

	if (*type == MPI_DATATYPE_NULL)
		return 0;
	combiner = types_combiner(*type);
	if (combiner == MPI_UNDEFINED)
		return -EINVAL;
	if (combiner == MPI_COMBINER_NAMED)
		return 0;
	if (!types_keep(*type, type))
		return -ENOMEM;
	s->kept[s->nr_kept++] = *type;
	return 0;
}

static int keep_array(struct persistent *s, int side, const MPI_Datatype **types)
{
	size_t n = (size_t)s->p.call.size, i;
	MPI_Datatype *copy = malloc(n * sizeof(*copy));
	int ret = 0;

	if (!copy)
		return -ENOMEM;
	s->copies[side] = copy;
	memcpy(copy, *types, n * sizeof(*copy));
	for (i = 0; i < n && !ret; i++)
		ret = keep_type(s, &copy[i]);
	*types = copy;
	return ret;
}

/* Is it a type of this rank's data? Other types, as those for another root, may be anything. */
static bool is_used(const struct call *c, MPI_Datatype type)
{
	return (c->from.n && type == c->from.type) || (c->to.n && type == c->to.type);
}

static int keep_types(struct persistent *s)
{
	const struct call *c = &s->p.call;
	struct arguments *a = &s->saved;
	MPI_Datatype *one[] = { &a->type, &a->stype, &a->rtype };
	size_t i, most = 2 * (size_t)c->size + sizeof(one) / sizeof(one[0]);
	int ret = 0;

	s->kept = malloc(most * sizeof(*s->kept));
	if (!s->kept)
		return -ENOMEM;
	if (c->from.types)
		ret = keep_array(s, 0, &a->stypes);
	if (c->to.types && !ret)
		ret = keep_array(s, 1, &a->rtypes);
	for (i = 0; i < sizeof(one) / sizeof(one[0]) && !ret; i++)
		if (!c->to.types && is_used(c, *one[i]))
			ret = keep_type(s, one[i]);
	return ret;
}

static void forget_types(struct persistent *s)
{
	while (s->nr_kept)
		PMPI_Type_free(&s->kept[--s->nr_kept]);
	free(s->kept);
	free(s->copies[0]);
	free(s->copies[1]);
}

/* --- making ------------------------------------------------------------------ */

/* A start is over. */
static void tell(struct pending *p)
{
	pending_set_due(p, call_end(&p->call));
	PMPI_Send(NULL, 0, MPI_BYTE, 0, of(p)->tag, self);
}

static void destroy(struct persistent *s)
{
	forget_types(s);
	give_tag(s->tag);
	free(s);
}

/* Return: NULL if this rank has no memory. */
static struct persistent *make(const struct call *c, again_fn *again,
			       const struct arguments *saved)
{
	struct persistent *s = calloc(1, sizeof(*s));

	pthread_once(&once, make_self);
	if (!s)
		return NULL;
	s->p.call = *c;
	s->p.tell = tell;
	s->p.told = true;
	s->p.persistent = true;
	s->p.due = MPI_SUCCESS;
	s->again = again;
	s->saved = *saved;
	s->tag = take_tag();
	if (c->err || s->tag < 0 || self == MPI_COMM_NULL || keep_types(s) ||
	    PMPI_Recv_init(NULL, 0, MPI_BYTE, 0, s->tag, self, &s->p.request)) {
		destroy(s);
		return NULL;
	}
	return s;
}

/* All ranks get the same answer: a rank that could not make its request says so. */
static enum reason agree(const struct call *c, struct persistent *s, MPI_Request *request,
			 int *ret)
{
	int lane, err = lanes_take(&c->mc->lanes, c->mc->coll, s, &lane);

	if (!err && lane >= 0) {
		s->lane = lane;
		s->p.call.coll = c->mc->lanes.colls[lane];
		comms_hold(c->mc);
		pending_insert(&s->p);
		*request = s->p.request;
		return TAKEN;
	}
	if (s) {
		PMPI_Request_free(&s->p.request);
		destroy(s);
	}
	if (!err)
		return MANY;
	*ret = error_code(err, count_name(c->fn), c->mc->coll);
	PMPI_Comm_call_errhandler(c->comm, *ret);
	return TAKEN;
}

enum reason persistent_init(struct call *c, enum function fn, again_fn *again,
			    const struct arguments *saved, MPI_Comm comm, MPI_Request *request,
			    int *ret)
{
	enum reason why = call_open(c, fn, PERSISTENT, comm);

	persistent_poll();
	if (why == TAKEN)
		why = again(c, saved);
	if (why == TAKEN)
		why = agree(c, make(c, again, saved), request, ret);
	call_end(c);
	count_call(fn, PERSISTENT, why);
	return why;
}

/* --- starts ------------------------------------------------------------------ */

/* MPI may give the request another handle. */
static int start_of_mpi(struct persistent *s)
{
	MPI_Request request = s->p.request;
	int ret = PMPI_Start(&request);

	if (request == s->p.request)
		return ret;
	pending_drop(&s->p);
	s->p.request = request;
	pending_insert(&s->p);
	return ret;
}

static int start(struct persistent *s)
{
	struct call *c = &s->p.call;
	/* In MPI_Finalize() coll ends before the MPI does, and its lanes have been freed. */
	bool ended = c->mc->why != TAKEN;
	int ret = s->p.told && !ended ? start_of_mpi(s) : MPI_ERR_REQUEST;

	if (ret) {
		pending_raise(&s->p, ret);
		return ret;
	}
	*c = (struct call){
		.fn = c->fn, .form = PERSISTENT, .comm = c->comm, .mc = c->mc, .rank = c->rank,
		.size = c->size, .coll = c->coll, .op = MPI_OP_NULL, .type = MPI_DATATYPE_NULL,
	};
	s->p.told = false;
	count_start();
	/* coll did the call at the init call, and arrays may not have changed since. */
	if (s->again(c, &s->saved) != TAKEN)
		c->err = -EINVAL;
	/* The request returns any error. */
	call_start(c);
	return MPI_SUCCESS;
}

int MPI_Start(MPI_Request *request)
{
	struct pending *p = pending_find(*request);
	int ret;

	if (!p || !p->persistent)
		return PMPI_Start(request);
	ret = start(of(p));
	*request = p->request;
	return ret;
}

int MPI_Startall(int n, MPI_Request requests[])
{
	int i, ret = MPI_SUCCESS;
	bool any = false;

	for (i = 0; i < n && !any; i++)
		any = pending_find(requests[i]);
	if (!any)
		return PMPI_Startall(n, requests);
	for (i = 0; i < n && !ret; i++)
		ret = MPI_Start(&requests[i]);
	return ret;
}

/* --- the end ----------------------------------------------------------------- */

/* Free a request that is not under way, and whose request of MPI has been freed. */
static void release(struct persistent *s)
{
	struct mpi_comm *mc = s->p.call.mc;

	pending_set_due(&s->p, MPI_SUCCESS);
	lanes_give(&mc->lanes, s->lane);
	comms_put(mc);
	destroy(s);
}

static void put_freed(struct persistent *s)
{
	pthread_mutex_lock(&lock);
	s->next = freed;
	freed = s;
	nr_freed++;
	pthread_mutex_unlock(&lock);
}

static struct persistent *take_freed(void)
{
	struct persistent *s;

	pthread_mutex_lock(&lock);
	s = freed;
	if (s) {
		freed = s->next;
		nr_freed--;
	}
	pthread_mutex_unlock(&lock);
	return s;
}

/* The application does not wait for freed requests: no call would return their errors. */
void persistent_poll(void)
{
	struct persistent *s, *left = NULL, *next;

	while (nr_freed && (s = take_freed())) {
		if (pending_look(&s->p, 0)) {
			release(s);
			continue;
		}
		s->next = left;
		left = s;
	}
	for (; left; left = next) {
		next = left->next;
		put_freed(left);
	}
}

int MPI_Request_free(MPI_Request *request)
{
	struct pending *p = pending_find(*request);
	int ret;

	if (!p || !p->persistent)
		return PMPI_Request_free(request);
	pending_drop(p);
	/* If the request is under way, MPI frees it when the message comes. */
	ret = PMPI_Request_free(request);
	if (p->told)
		release(of(p));
	else
		put_freed(of(p));
	return ret;
}

/* MPI does not allow to cancel collectives. The receive must not end before coll does. */
int MPI_Cancel(MPI_Request *request)
{
	struct pending *p = pending_find(*request);

	return p && p->persistent ? MPI_SUCCESS : PMPI_Cancel(request);
}

void persistent_finish(void)
{
	struct persistent *s;

	while ((s = take_freed())) {
		pending_wait(&s->p);
		release(s);
	}
}

void persistent_end(void)
{
	if (self != MPI_COMM_NULL)
		PMPI_Comm_free(&self);
}
