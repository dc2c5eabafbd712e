// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * Functions of libraries that may be loaded later than this one, with objects that need them.
 *
 * Such a library may be local to the object that it was loaded with. The address that a call
 * returns to is no certain sign of that object: the object may have ended its own function by a
 * jump to ours, or be code that was generated at run time. So all objects are searched in the end.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <mpi.h>
#include <stdatomic.h>
#include <stdio.h>

#include "late.h"

/**
 * struct nth_object - one of the loaded objects
 * @before: number of objects before it in the list
 * @path: result: its file
 */
struct nth_object {
	size_t before;
	char path[PATH_MAX];
};

static int name_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct nth_object *nth = arg;

	(void)size;
	if (nth->before--)
		return 0;
	snprintf(nth->path, sizeof(nth->path), "%s", info->dlpi_name);
	return 1;
}

/* Look in an object and in the libraries that it depends on. */
static void *find_in(const char *path, const char *name)
{
	void *object = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
	void *fn = NULL;

	if (object) {
		fn = dlsym(object, name);
		dlclose(object);
	}
	return fn;
}

static void *find_in_caller(const char *name, const void *caller)
{
	Dl_info info;

	return dladdr(caller, &info) && info.dli_fname ? find_in(info.dli_fname, name) : NULL;
}

/*
 * Look in all objects. dl_iterate_phdr() holds a lock that a dlopen() of another thread may wait
 * for, so no object is opened inside of it.
 */
static void *find_in_any(const char *name)
{
	struct nth_object nth;
	void *fn = NULL;
	size_t i;

	for (i = 0; !fn; i++) {
		nth.before = i;
		if (!dl_iterate_phdr(name_object, &nth))
			break;
		/* The program has no name: RTLD_DEFAULT includes it. */
		if (nth.path[0])
			fn = find_in(nth.path, name);
	}
	return fn;
}

/* The library of a function is never unloaded from now on. */
static void keep_library(const void *fn)
{
	Dl_info info;
	void *library;

	if (!dladdr(fn, &info) || !info.dli_fname)
		return;
	library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
	if (library)
		dlclose(library);
}

void *late_find(_Atomic(void *) *kept, const char *name, const void *caller)
{
	void *fn = atomic_load_explicit(kept, memory_order_acquire);

	if (fn)
		return fn;
	fn = dlsym(RTLD_DEFAULT, name);
	if (!fn)
		fn = find_in_caller(name, caller);
	if (!fn)
		fn = find_in_any(name);
	if (!fn) {
		fprintf(stderr, "coll_mpi: no loaded library has %s\n", name);
		PMPI_Abort(MPI_COMM_WORLD, 1);
		return NULL;
	}
	keep_library(fn);
	atomic_store_explicit(kept, fn, memory_order_release);
	return fn;
}
