// SPDX-License-Identifier: GPL-2.0
/*
 * usage: gloo_allreduce RANKS TASK...; starts its ranks itself. They meet through
 * files and talk by TCP, the only way Gloo has: over loopback, or where each rank is a
 * node, over the nodes' eth0.
 */
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <exception>
#include <memory>

#include <gloo/allreduce.h>
#include <gloo/barrier.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

#include "peer.h"

static std::shared_ptr<gloo::rendezvous::Context> comm;

template <typename T>
static void reduce(T *in, T *out, size_t count,
		   void (*fn)(void *, const void *, const void *, size_t))
{
	gloo::AllreduceOptions opts(comm);

	if (in)
		opts.setInput(in, count);
	opts.setOutput(out, count);
	opts.setReduceFunction(fn);
	gloo::allreduce(opts);
}

static void allreduce(float *in, float *out, size_t count)
{
	reduce(in, out, count, &gloo::sum<float>);
}

static void barrier(void)
{
	gloo::BarrierOptions opts(comm);

	gloo::barrier(opts);
}

static void collect(double *v, int n, int largest)
{
	void (*fn)(void *, const void *, const void *, size_t) = &gloo::sum<double>;

	if (largest)
		fn = &gloo::max<double>;
	reduce<double>(nullptr, v, static_cast<size_t>(n), fn);
}

static int rank_main(const char *dir, int rank, int ranks, int n, char **tasks)
{
	const char *nodes = getenv("BENCH_NODES");
	gloo::transport::tcp::attr attr;
	peer p = {};

	if (nodes && *nodes)
		attr.iface = "eth0";
	else
		attr.hostname = "127.0.0.1";
	peer_enter_node(rank);
	auto device = gloo::transport::tcp::CreateDevice(attr);
	gloo::rendezvous::FileStore store(dir);
	comm = std::make_shared<gloo::rendezvous::Context>(rank, ranks);
	comm->connectFullMesh(store, device);
	p.rank = rank;
	p.ranks = ranks;
	p.barrier = barrier;
	p.allreduce = allreduce;
	p.collect = collect;
	peer_run(&p, n, tasks);
	/* Who leaves first must not be taken for a failure by the others. */
	barrier();
	return 0;
}

int main(int argc, char **argv)
{
	char dir[] = "/tmp/bench-gloo.XXXXXX";
	int ranks = argc > 2 ? atoi(argv[1]) : 0;
	int status, ret = 0;

	if (ranks < 1 || !mkdtemp(dir)) {
		fprintf(stderr, "usage: gloo_allreduce RANKS TASK...\n");
		return 2;
	}
	for (int r = 0; r < ranks; r++) {
		pid_t pid = fork();

		if (pid < 0) {
			perror("fork");
			return 2;
		}
		if (pid)
			continue;
		try {
			ret = rank_main(dir, r, ranks, argc - 2, argv + 2);
		} catch (const std::exception &e) {
			fprintf(stderr, "gloo, rank %d: %s\n", r, e.what());
			ret = 1;
		}
		fflush(nullptr);
		_exit(ret);
	}
	while (wait(&status) > 0)
		ret = ret || status;

	char cmd[64];

	snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
	if (system(cmd))
		ret = 1;
	return ret;
}
