// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include "base/relax.h"
#include "drive.h"
#include "pending.h"
#include "persistent.h"
#include "waits.h"

static void wait_for_each(int n, const MPI_Request *requests)
{
	struct pending *p;
	int i;

	persistent_poll();
	for (i = 0; i < n; i++) {
		p = pending_find(requests[i]);
		if (p)
			pending_wait(p);
	}
}

/* Look at all requests of this library. Return: one that is under way, or NULL. */
static struct pending *look_at_each(int n, const MPI_Request *requests)
{
	struct pending *p, *live = NULL;
	int i;

	persistent_poll();
	for (i = 0; i < n; i++) {
		p = pending_find(requests[i]);
		if (p && !pending_look(p, 0))
			live = p;
	}
	return live;
}

/* For waits for any request: sleep a little, or until this request is over. */
static void nap(struct pending *p, uint64_t start)
{
	pending_look(p, drive_pause_ns(relax_now_ns() - start));
}

bool waits_look(MPI_Request request)
{
	return look_at_each(1, &request);
}

void waits_wait(MPI_Request request)
{
	wait_for_each(1, &request);
}

void waits_nap(MPI_Request request, uint64_t start)
{
	struct pending *p = pending_find(request);

	if (p)
		nap(p, start);
}

/* The error of a request; it is returned once. */
static int take_due(MPI_Request request, struct pending **p)
{
	int code;

	*p = pending_find(request);
	if (!*p)
		return MPI_SUCCESS;
	code = (*p)->due;
	pending_set_due(*p, MPI_SUCCESS);
	return code;
}

int waits_raise(MPI_Request request)
{
	struct pending *p;
	int code;

	if (!pending_any_due())
		return MPI_SUCCESS;
	code = take_due(request, &p);
	if (code != MPI_SUCCESS)
		pending_raise(p, code);
	return code;
}

static void set_error(const struct waits_over *over, int i, int code)
{
	if (over->statuses)
		over->set_error(over, i, code);
}

int waits_raise_all(int ret, const struct waits_over *over)
{
	struct pending *p, *first = NULL;
	int i, k, code, of_first = MPI_SUCCESS;

	if (!pending_any_due() || (ret && ret != MPI_ERR_IN_STATUS))
		return ret;
	for (i = 0; i < over->n; i++) {
		code = take_due(over->request(over, i), &p);
		if (code == MPI_SUCCESS)
			continue;
		for (k = 0; k < over->n && !first && !ret; k++)
			set_error(over, k, MPI_SUCCESS);
		set_error(over, i, code);
		if (!first)
			of_first = code;
		first = first ? first : p;
	}
	if (!first)
		return ret;
	/* A handler that ends the application prints its code: give it the first error itself. */
	pending_raise(first, of_first);
	return MPI_ERR_IN_STATUS;
}

static MPI_Request request_of(const struct waits_over *over, int i)
{
	return ((const MPI_Request *)over->requests)[over->indices ? over->indices[i] : i];
}

static void set_status(const struct waits_over *over, int i, int code)
{
	((MPI_Status *)over->statuses)[i].MPI_ERROR = code;
}

static int raise_all(int ret, int n, const int *indices, const MPI_Request *requests,
		     MPI_Status *statuses)
{
	const struct waits_over over = {
		.n = n, .requests = requests, .indices = indices,
		.statuses = statuses == MPI_STATUSES_IGNORE ? NULL : statuses,
		.request = request_of, .set_error = set_status,
	};

	return waits_raise_all(ret, &over);
}

int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
	int ret;

	wait_for_each(1, request);
	ret = PMPI_Wait(request, status);
	return ret ? ret : waits_raise(*request);
}

int MPI_Waitall(int n, MPI_Request requests[], MPI_Status statuses[])
{
	wait_for_each(n, requests);
	return raise_all(PMPI_Waitall(n, requests, statuses), n, NULL, requests, statuses);
}

/* The request at @index is over, unless @index is MPI_UNDEFINED. */
static int raise_any(int ret, int index, const MPI_Request *requests)
{
	return ret || index < 0 ? ret : waits_raise(requests[index]);
}

int MPI_Waitany(int n, MPI_Request requests[], int *index, MPI_Status *status)
{
	uint64_t start = relax_now_ns();
	struct pending *live;
	int ret, flag = 0;

	for (;;) {
		live = look_at_each(n, requests);
		if (!live)
			break;
		ret = PMPI_Testany(n, requests, index, &flag, status);
		if (ret || flag)
			return raise_any(ret, *index, requests);
		nap(live, start);
	}
	ret = PMPI_Waitany(n, requests, index, status);
	return raise_any(ret, *index, requests);
}

int MPI_Waitsome(int n, MPI_Request requests[], int *nr, int indices[], MPI_Status statuses[])
{
	uint64_t start = relax_now_ns();
	struct pending *live;
	int ret;

	for (;;) {
		live = look_at_each(n, requests);
		if (!live)
			break;
		ret = PMPI_Testsome(n, requests, nr, indices, statuses);
		if (ret || *nr)
			return raise_all(ret, *nr, indices, requests, statuses);
		nap(live, start);
	}
	ret = PMPI_Waitsome(n, requests, nr, indices, statuses);
	return raise_all(ret, *nr, indices, requests, statuses);
}

int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
	int ret;

	look_at_each(1, request);
	ret = PMPI_Test(request, flag, status);
	return ret || !*flag ? ret : waits_raise(*request);
}

int MPI_Testall(int n, MPI_Request requests[], int *flag, MPI_Status statuses[])
{
	int ret;

	look_at_each(n, requests);
	ret = PMPI_Testall(n, requests, flag, statuses);
	return raise_all(ret, *flag ? n : 0, NULL, requests, statuses);
}

int MPI_Testany(int n, MPI_Request requests[], int *index, int *flag, MPI_Status *status)
{
	int ret;

	look_at_each(n, requests);
	ret = PMPI_Testany(n, requests, index, flag, status);
	return raise_any(ret, *flag ? *index : MPI_UNDEFINED, requests);
}

int MPI_Testsome(int n, MPI_Request requests[], int *nr, int indices[], MPI_Status statuses[])
{
	int ret;

	look_at_each(n, requests);
	ret = PMPI_Testsome(n, requests, nr, indices, statuses);
	return raise_all(ret, *nr, indices, requests, statuses);
}

int MPI_Request_get_status(MPI_Request request, int *flag, MPI_Status *status)
{
	look_at_each(1, &request);
	return PMPI_Request_get_status(request, flag, status);
}
