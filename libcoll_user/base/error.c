// SPDX-License-Identifier: LGPL-2.1 OR MIT
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>

#include <coll/coll.h>

#define LIBCOLL_VERSION	"0.1.0"

static const struct {
	int err;
	const char *text;
} texts[] = {
	{ 0, "success" },
	{ EHOSTDOWN, "a rank or its host is dead" },
	{ ESHUTDOWN, "the communicator was aborted, or a rank has left it" },
	{ ETIMEDOUT, "a deadline passed" },
	{ ECANCELED, "the operation was cancelled" },
	{ EPROTO, "a peer sent something malformed or unexpected" },
	{ EPROTONOSUPPORT, "a peer speaks another version of the protocol" },
	{ EMSGSIZE, "a message is longer than the receive" },
	{ EBADMSG, "data was damaged on its way" },
	{ EBADE, "the ranks disagree about the operation" },
	{ EKEYREJECTED, "the job keys differ" },
	{ EINVAL, "invalid argument or configuration" },
	{ EFAULT, "a buffer is not mapped, or not writable" },
	{ EOPNOTSUPP, "not supported, or not for this type" },
	{ ENOMEM, "out of memory, or over the limit of locked memory" },
	{ EAGAIN, "too many operations under way" },
	{ EEXIST, "that rank or stream exists already" },
	{ ENOENT, "no such device, communicator, registered buffer or message" },
	{ ENOTCONN, "not joined to a communicator, or not connected" },
	{ EPERM, "not permitted: another user's, or opened by another process" },
	{ EMFILE, "too many files or communicators" },
	{ EADDRINUSE, "the rendezvous port is in use" },
	{ ECONNREFUSED, "nobody listens at the rendezvous" },
	{ EHOSTUNREACH, "no such host, or no way to it" },
	{ EXDEV, "ranks with the same boot id run on different kernels: set COLL_NODE on each" },
	{ ENOSPC, "too many registered buffers or operators: free some" },
};

const char *coll_strerror(int err)
{
	const char *text;
	size_t i;

	if (err < 0)
		err = -err;
	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (texts[i].err == err)
			return texts[i].text;
	text = strerrordesc_np(err);
	return text ? text : "unknown error";
}

const char *coll_version(void)
{
	return LIBCOLL_VERSION;
}
