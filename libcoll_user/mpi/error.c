// SPDX-License-Identifier: LGPL-2.1 OR MIT
#include <pthread.h>
#include <stdio.h>

#include <mpi.h>

#include "error.h"

/* Codes are never freed by MPI: there is one for each errno. */
#define NR_CODES	256

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int class = MPI_ERR_INTERN;
static int codes[NR_CODES];

static int code_of(int err)
{
	int *code = &codes[err < NR_CODES ? err : 0];

	if (class == MPI_ERR_INTERN && PMPI_Add_error_class(&class))
		class = MPI_ERR_INTERN;
	if (!*code && PMPI_Add_error_code(class, code))
		*code = MPI_ERR_INTERN;
	return *code;
}

int error_code(int err, const char *name, coll_comm_t *coll)
{
	char text[MPI_MAX_ERROR_STRING], cause[160] = "";
	struct coll_status st;
	int code;

	if (coll && !coll_comm_status(coll, &st) && st.state == COLL_STATE_FAILED)
		coll_cause_str(&st.cause, cause, sizeof(cause));
	snprintf(text, sizeof(text), "MPI_%s through coll: %s%s%s", name, coll_strerror(err),
		 *cause ? "; " : "", cause);
	pthread_mutex_lock(&lock);
	code = code_of(err < 0 ? -err : err);
	if (code != MPI_ERR_INTERN)
		PMPI_Add_error_string(code, text);
	pthread_mutex_unlock(&lock);
	return code;
}
