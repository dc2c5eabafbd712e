/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Texts of coll_last_error() about named tensors. */
#ifndef LIBCOLL_TENSOR_TEXT_H
#define LIBCOLL_TENSOR_TEXT_H

#include "tensors.h"

void tensor_explain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Set the text that the next tensor_refused() of this thread uses instead of that of the errno. */
void tensor_because(const char *why);
/* About a tensor that could not be posted; returns @err. */
int tensor_refused(const char *name, int err);
/*
 * For calls that take the lock: in a forked child, a thread of the parent may hold it. Return: 0;
 * -EPERM: this is such a child.
 */
int tensors_refuse_child(const coll_tensors_t *ts, const char *name);
/* Make the text about a tensor that has ended with an error. */
void tensor_explain_end(const coll_tensor_t *t);

#endif
