// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * PMIx: mpirun of Open MPI, prterun, srun --mpi=pmix. libpmix is loaded when a process has
 * been started that way, so that other programs do not need it.
 *
 * PMIx counts its initializations, so MPI may use it, too. The server takes a process that has
 * finalized PMIx for one that has ended, so it is finalized at the end only.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/deadline.h"
#include "base/debug.h"
#include "base/env.h"
#include "base/forks.h"
#include "launch.h"

static bool pmix_present(void)
{
	return env_get("PMIX_RANK") && env_get("PMIX_NAMESPACE");
}

#if __has_include(<pmix.h>)
#include <pmix.h>

#define SONAME	"libpmix.so.2"

/**
 * struct pmix - the library, loaded once
 * @lock: held for a whole exchange
 * @me: this process
 * @serial: exchanges so far; each has a key of its own
 * @forks: forks_count() in the process that has loaded it
 */
static struct pmix {
	pthread_mutex_t lock;
	void *library;
	pmix_proc_t me;
	unsigned int serial;
	uint32_t forks;
	__typeof__(&PMIx_Init) init;
	__typeof__(&PMIx_Finalize) finalize;
	__typeof__(&PMIx_Put) put;
	__typeof__(&PMIx_Commit) commit;
	__typeof__(&PMIx_Fence) fence;
	__typeof__(&PMIx_Get) get;
	__typeof__(&PMIx_Error_string) error_string;
	__typeof__(&PMIx_Value_destruct) value_destruct;
} pmix = { .lock = PTHREAD_MUTEX_INITIALIZER };

static bool find(void *function, const char *name)
{
	*(void **)function = dlsym(pmix.library, name);
	return *(void **)function;
}

static int load(void)
{
	pmix.library = dlopen(SONAME, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	if (!pmix.library) {
		coll_explain("PMIX_RANK is set, but %s cannot be loaded: %s", SONAME, dlerror());
		return -ELIBACC;
	}
	if (find(&pmix.init, "PMIx_Init") && find(&pmix.finalize, "PMIx_Finalize") &&
	    find(&pmix.put, "PMIx_Put") && find(&pmix.commit, "PMIx_Commit") &&
	    find(&pmix.fence, "PMIx_Fence") && find(&pmix.get, "PMIx_Get") &&
	    find(&pmix.error_string, "PMIx_Error_string") &&
	    find(&pmix.value_destruct, "PMIx_Value_destruct"))
		return 0;
	coll_explain("PMIX_RANK is set, but %s lacks functions of PMIx 4", SONAME);
	dlclose(pmix.library);
	pmix.library = NULL;
	return -ELIBBAD;
}

static int error_of(const char *what, pmix_status_t status)
{
	if (status == PMIX_SUCCESS)
		return 0;
	coll_explain("%s: %s", what, pmix.error_string(status));
	return status == PMIX_ERR_TIMEOUT ? -ETIMEDOUT : -EPROTO;
}

/* Milliseconds for a value that the server of this node has. */
#define JOB_SIZE_MS	10000

static void limit_time(pmix_info_t *info, uint32_t timeout_ms)
{
	strcpy(info->key, PMIX_TIMEOUT);
	info->value.type = PMIX_INT;
	info->value.data.integer = (int)(timeout_ms / 1000) + 1;
}

/* A value of the whole job, or of one rank. The caller frees what is in *@value. */
static int get(pmix_proc_t who, const char *key, uint32_t timeout_ms, pmix_value_t **value)
{
	pmix_info_t info = { 0 };
	int ret;

	limit_time(&info, timeout_ms);
	ret = error_of(key, pmix.get(&who, key, &info, 1, value));

	return !ret && !*value ? -EPROTO : ret;
}

static void release(pmix_value_t *value)
{
	pmix.value_destruct(value);
	free(value);
}

static int give(const char *key, const void *blob, size_t len)
{
	pmix_value_t v = {
		.type = PMIX_BYTE_OBJECT,
		.data.bo = { .bytes = (char *)(uintptr_t)blob, .size = len },
	};
	int ret = error_of("PMIx_Put", pmix.put(PMIX_GLOBAL, key, &v));

	return ret ? ret : error_of("PMIx_Commit", pmix.commit());
}

static int fence(uint32_t timeout_ms)
{
	pmix_info_t info[2];

	memset(info, 0, sizeof(info));
	strcpy(info[0].key, PMIX_COLLECT_DATA);
	info[0].value.type = PMIX_BOOL;
	info[0].value.data.flag = true;
	limit_time(&info[1], timeout_ms);
	return error_of("PMIx_Fence", pmix.fence(NULL, 0, info, 2));
}

static int take(pmix_proc_t root, const char *key, void *blob, size_t len, uint32_t timeout_ms)
{
	pmix_value_t *v;
	int ret;

	root.rank = 0;
	ret = get(root, key, timeout_ms, &v);
	if (ret)
		return ret;
	if (v->type == PMIX_BYTE_OBJECT && v->data.bo.size == len)
		memcpy(blob, v->data.bo.bytes, len);
	else
		ret = -EPROTO;
	release(v);
	return ret;
}

/*
 * If a process ends without this, its job counts as failed. A forked child does not have the thread
 * that PMIx waits for here, and its end is no end of the rank.
 */
static void finalize(void)
{
	if (pmix.forks != forks_count())
		return;
	pmix.finalize(NULL, 0);
}

/* Once in a process. */
static int start(void)
{
	int ret;

	if (pmix.library && pmix.forks == forks_count())
		return 0;
	if (pmix.library) {
		coll_explain("PMIx is used by the parent of this process");
		return -EBUSY;
	}
	ret = forks_watch();
	if (ret)
		return ret;
	pmix.forks = forks_count();
	ret = load();
	if (ret)
		return ret;
	ret = error_of("PMIx_Init", pmix.init(&pmix.me, NULL, 0));
	if (!ret) {
		atexit(finalize);
		return 0;
	}
	dlclose(pmix.library);
	pmix.library = NULL;
	return ret;
}

static int share(const void *mine, void *all, size_t len, uint32_t timeout_ms)
{
	struct deadline d = deadline_in(timeout_ms);
	int ret = 0, met;
	char key[32];

	/* Only fences that succeed are counted, so ranks that try again have the same key. */
	snprintf(key, sizeof(key), "coll-%u", pmix.serial + 1);
	if (pmix.me.rank == 0) {
		memcpy(all, mine, len);
		ret = give(key, mine, len);
	}
	/* Also after an error: the others wait there. */
	met = fence(timeout_ms);
	if (met)
		return ret ? ret : met;
	pmix.serial++;
	if (!ret && pmix.me.rank)
		ret = take(pmix.me, key, all, len, (uint32_t)deadline_left(d));
	return ret;
}

/* Only the data of rank 0 is passed on: coll_init() looks at no other. */
static int pmix_exchange(void *ctx, const void *mine, void *all, size_t len, uint32_t timeout_ms)
{
	int ret;

	(void)ctx;
	pthread_mutex_lock(&pmix.lock);
	/* A forked child of the process that was configured does not have the thread of PMIx. */
	ret = start();
	if (!ret)
		ret = share(mine, all, len, timeout_ms);
	pthread_mutex_unlock(&pmix.lock);
	return ret;
}

/* Not all launchers have a variable for this. */
static int job_size(struct coll_config *cfg)
{
	pmix_proc_t job = pmix.me;
	pmix_value_t *v;
	int ret;

	cfg->rank = pmix.me.rank;
	job.rank = PMIX_RANK_WILDCARD;
	ret = get(job, PMIX_JOB_SIZE, JOB_SIZE_MS, &v);
	if (ret)
		return ret;
	cfg->size = v->type == PMIX_UINT32 ? v->data.uint32 : 0;
	release(v);
	if (cfg->size && cfg->size <= COLL_MAX_SIZE && cfg->rank < cfg->size)
		return 0;
	coll_explain("PMIx has rank %u of %u, which is out of range", cfg->rank, cfg->size);
	return -EINVAL;
}

static int pmix_configure(struct coll_config *cfg)
{
	int ret;

	pthread_mutex_lock(&pmix.lock);
	ret = start();
	if (!ret)
		ret = job_size(cfg);
	pthread_mutex_unlock(&pmix.lock);
	if (!ret)
		cfg->exchange = pmix_exchange;
	return ret;
}
#else
static int pmix_configure(struct coll_config *cfg)
{
	(void)cfg;
	coll_explain("PMIX_RANK is set, but this libcoll was built without pmix.h");
	return -EOPNOTSUPP;
}
#endif

const struct launcher launch_pmix = {
	.name = "PMIx (PMIX_RANK)",
	.present = pmix_present,
	.configure = pmix_configure,
};
