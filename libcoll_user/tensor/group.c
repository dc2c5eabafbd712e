// SPDX-License-Identifier: LGPL-2.1 OR MIT
/* Named tensors: groups, which start together or not at all. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "handle.h"
#include "name.h"
#include "post.h"
#include "tensors.h"
#include "text.h"

static int compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/*
 * The names are sorted, so that each rank may have an order of its own. Return: 0; -EINVAL: two
 * members have one name.
 */
static int make_group(struct tensor_group *group, const char **names, size_t n)
{
	uint64_t digest = n;
	size_t k;

	qsort(names, n, sizeof(*names), compare);
	for (k = 0; k < n; k++) {
		if (k && !strcmp(names[k - 1], names[k])) {
			tensor_explain("tensor '%s' is in its group twice", names[k]);
			return -EINVAL;
		}
		digest = tensor_digest_name(digest, names[k]);
	}
	group->digest = digest ? digest : 1;
	group->members = (uint32_t)n;
	return 0;
}

/* Room for the names of a group. Return: NULL, and @ret says why. */
static const char **room_for(size_t n, int *ret)
{
	const char **names = NULL;

	*ret = -EINVAL;
	if (n && n <= COLL_TENSOR_CALL_MAX) {
		names = calloc(n, sizeof(*names));
		*ret = names ? 0 : -ENOMEM;
	}
	if (!names)
		tensor_explain("no group of %zu tensors: %s", n, coll_strerror(*ret));
	return names;
}

int coll_tensor_postgroup(coll_tensor_t *const *tensors, size_t n, size_t *posted)
{
	struct tensor_group group;
	const char **names;
	size_t done = 0, k;
	int ret;

	if (posted)
		*posted = 0;
	if (n && !tensors)
		return tensor_refused("", -EINVAL);
	for (k = 0; k < n; k++)
		if (!tensors[k] || !tensors[k]->made)
			return tensor_refused(tensors[k] ? tensors[k]->name : "", -EINVAL);
	names = room_for(n, &ret);
	if (!names)
		return ret;
	for (k = 0; k < n; k++)
		names[k] = tensors[k]->name;
	ret = make_group(&group, names, n);
	free(names);
	if (!ret)
		ret = tensor_post_many(tensors[0]->ts, tensors, n, &group, &done);
	if (posted)
		*posted = done;
	return ret;
}

int coll_tensor_submitgroup(coll_tensors_t *ts, const struct coll_tensor_spec *specs, size_t n,
			    coll_tensor_t **tensors, size_t *posted)
{
	struct tensor_group group;
	const char **names;
	size_t k;
	int ret;

	if (posted)
		*posted = 0;
	if (!ts || (n && !specs) || tensor_check_sizes(specs, n))
		return tensor_refused("", -EINVAL);
	names = room_for(n, &ret);
	if (!names)
		return ret;
	if (tensors)
		memset(tensors, 0, n * sizeof(*tensors));
	for (k = 0; k < n && !ret; k++) {
		names[k] = tensor_spec_at(specs, k)->name;
		if (!names[k])
			ret = tensor_refused("", -EINVAL);
	}
	if (!ret)
		ret = make_group(&group, names, n);
	if (!ret)
		ret = tensor_submit_many(ts, specs, n, &group, tensors, posted);
	free(names);
	return ret;
}
