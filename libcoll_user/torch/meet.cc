// SPDX-License-Identifier: LGPL-2.1 OR MIT
/*
 * coll_init() calls the exchange once, an allgather. Each rank writes a blob into the store under
 * a key of its own, rank 0 collects them and writes all of them under one key: two requests of
 * each rank, and one answer that says the same to all. The first byte of what is written says
 * whether it is a blob or the text of an error. Rank 0 gives up first, so that the others hear
 * what it was waiting for.
 */
#include "meet.hh"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include <unistd.h>

#include "op.hh"

namespace coll_torch {

using Bytes = std::vector<uint8_t>;
using std::chrono::milliseconds;

/* Others than rank 0 wait so much longer. */
constexpr milliseconds LATER{5000};
constexpr uint8_t GOOD = 1;

namespace {

class Meeting {
public:
	Meeting(c10d::Store &store, int rank, int size) : store_(store), rank_(rank), size_(size) {}

	/* Has this rank told the others how it is? */
	bool over() const { return over_; }
	const std::string &error() const { return error_; }

	int exchange(const void *mine, void *all, size_t len, milliseconds timeout);
	/* This rank has failed before the exchange. The others wait for it. */
	void excuse(const std::string &text);

private:
	static std::string key(int rank) { return "coll/" + std::to_string(rank); }
	Bytes collect(const Bytes &mine, size_t len, milliseconds timeout);
	Bytes look_up(const Bytes &mine, milliseconds timeout);
	Bytes get(const std::string &key, milliseconds timeout);

	c10d::Store &store_;
	const int rank_, size_;
	bool over_ = false;
	std::string error_;
};

template <typename T>
Bytes blob_of(uint8_t first, const T *from, size_t len)
{
	Bytes blob(1 + len);

	blob[0] = first;
	std::copy_n(from, len, blob.begin() + 1);
	return blob;
}

Bytes text_of(const std::string &text)
{
	return blob_of(0, text.data(), text.size());
}

Bytes Meeting::get(const std::string &key, milliseconds timeout)
{
	store_.wait({key}, timeout);
	return store_.get(key);
}

/* On rank 0: the blobs of all, behind GOOD; or a text. */
Bytes Meeting::collect(const Bytes &mine, size_t len, milliseconds timeout)
{
	const auto until = std::chrono::steady_clock::now() + timeout;
	Bytes all(mine);

	for (int r = 1; r < size_; r++) {
		auto left = std::chrono::duration_cast<milliseconds>(
			until - std::chrono::steady_clock::now());
		Bytes blob;

		try {
			blob = get(key(r), std::max(left, milliseconds(1)));
		} catch (const std::exception &e) {
			return text_of("rank " + std::to_string(r) + " has not come: " + e.what());
		}
		if (blob.empty() || blob[0] != GOOD)
			return text_of("rank " + std::to_string(r) + ": " +
				       std::string(blob.begin() + !blob.empty(), blob.end()));
		if (blob.size() != 1 + len)
			return text_of("rank " + std::to_string(r) + " has another version of coll");
		all.insert(all.end(), blob.begin() + 1, blob.end());
	}
	return all;
}

/* On the others */
Bytes Meeting::look_up(const Bytes &mine, milliseconds timeout)
{
	store_.set(key(rank_), mine);
	return get("coll/all", timeout + LATER);
}

int Meeting::exchange(const void *mine, void *all, size_t len, milliseconds timeout)
{
	const Bytes blob = blob_of(GOOD, static_cast<const uint8_t *>(mine), len);
	Bytes blobs;

	over_ = true;
	if (rank_) {
		blobs = look_up(blob, timeout);
	} else {
		blobs = collect(blob, len, timeout);
		store_.set("coll/all", blobs);
	}
	if (blobs.size() != 1 + len * static_cast<size_t>(size_) || blobs[0] != GOOD) {
		error_.assign(blobs.begin() + !blobs.empty(), blobs.end());
		return -EIO;
	}
	std::copy(blobs.begin() + 1, blobs.end(), static_cast<uint8_t *>(all));
	return 0;
}

void Meeting::excuse(const std::string &text)
{
	over_ = true;
	store_.set(rank_ ? key(rank_) : "coll/all", text_of(rank_ ? text : "rank 0: " + text));
}

/* Called by C: nothing may be thrown. */
extern "C" int exchange_by_store(void *ctx, const void *mine, void *all, size_t len,
				 uint32_t timeout_ms)
{
	try {
		return static_cast<Meeting *>(ctx)->exchange(mine, all, len,
							     milliseconds(timeout_ms));
	} catch (const std::exception &e) {
		return -EIO;
	}
}

/* NULL where the variable is not set, or empty. */
const char *env_get(const char *name)
{
	const char *value = std::getenv(name);

	return value && *value ? value : nullptr;
}

/* @other where the variable is not set. */
uint32_t env_number(const char *name, uint32_t other)
{
	const char *value = env_get(name);
	char *end;
	unsigned long number;

	if (!value)
		return other;
	number = std::strtoul(value, &end, 10);
	if (*value < '0' || *value > '9' || *end || number > UINT32_MAX)
		throw std::invalid_argument(std::string("coll: ") + name + " is \"" + value +
					    "\", not a number");
	return static_cast<uint32_t>(number);
}

/* What coll_init() would find when the others wait for this rank already; empty: nothing. */
std::string look_at_device(const char *device)
{
	if (!device)
		device = "/dev/coll";
	if (!access(device, R_OK | W_OK))
		return "";
	return std::string(device) + ": " + std::strerror(errno) +
	       (errno == ENOENT ? "; is the module coll loaded?" : "");
}

std::string text_of_init(int err)
{
	std::string text = coll_strerror(err), more = coll_last_error();

	return more.empty() ? text : text + "; " + more;
}

} // namespace

coll_comm_t *meet(c10d::Store &store, int rank, int size, milliseconds timeout)
{
	Meeting meeting(store, rank, size);
	const char *no_uring = env_get("COLL_NO_URING");
	struct coll_config cfg;
	coll_comm_t *comm = nullptr;
	std::string text;
	int ret;

	coll_config_init(&cfg);
	cfg.rank = static_cast<uint32_t>(rank);
	cfg.size = static_cast<uint32_t>(size);
	cfg.node = env_get("COLL_NODE");
	cfg.device = env_get("COLL_DEVICE");
	cfg.timeout_ms = UINT32_MAX;
	if (!is_for_ever(timeout))
		cfg.timeout_ms = static_cast<uint32_t>(
			std::min<int64_t>(std::max<int64_t>(timeout.count(), 1), UINT32_MAX));
	cfg.exchange = exchange_by_store;
	cfg.exchange_ctx = &meeting;
	if (no_uring && std::strcmp(no_uring, "0"))
		cfg.flags |= COLL_CONFIG_NO_URING;
	/* What goes wrong here is told to the others: they wait for this rank. */
	try {
		cfg.timeout_ms = env_number("COLL_TIMEOUT_MS", cfg.timeout_ms);
		text = look_at_device(cfg.device);
	} catch (const std::invalid_argument &e) {
		text = e.what();
	}
	if (text.empty()) {
		ret = coll_init(&cfg, &comm);
		if (!ret)
			return comm;
		text = meeting.error().empty() ? text_of_init(ret) : meeting.error();
	}
	if (!meeting.over() && size > 1)
		meeting.excuse(text);
	throw std::runtime_error("coll: no communicator: " + text);
}

} // namespace coll_torch
