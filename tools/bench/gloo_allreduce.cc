// SPDX-License-Identifier: GPL-2.0
/*
 * usage: gloo_allreduce RANKS PLAN...; starts its ranks itself. They meet through
 * files and talk by TCP over loopback, the only way Gloo has within a host.
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

#include "bench.h"

template <typename T>
static void allreduce(const std::shared_ptr<gloo::Context> &comm, T *in, T *out, size_t count,
		      void (*fn)(void *, const void *, const void *, size_t))
{
	gloo::AllreduceOptions opts(comm);

	if (in)
		opts.setInput(in, count);
	opts.setOutput(out, count);
	opts.setReduceFunction(fn);
	gloo::allreduce(opts);
}

static void run(const std::shared_ptr<gloo::Context> &comm, const bench_size &z, float *in,
		float *out, double *times)
{
	size_t count = z.bytes / sizeof(*in);

	for (int i = -z.warmup; i < z.iters; i++) {
		gloo::BarrierOptions opts(comm);

		gloo::barrier(opts);
		double begin = bench_now_us();
		allreduce(comm, in, out, count, &gloo::sum<float>);
		if (i >= 0)
			times[i] = bench_now_us() - begin;
	}
	allreduce<double>(comm, nullptr, times, static_cast<size_t>(z.iters), &gloo::max<double>);
	size_t wrong = bench_wrong(out, count, comm->size);
	if (wrong) {
		fprintf(stderr, "rank %d: %zu wrong of %zu\n", comm->rank, wrong, count);
		_exit(1);
	}
	if (!comm->rank)
		bench_row("ROW", comm->size, z.bytes, bench_median(times, z.iters));
}

static int rank_main(const char *dir, int rank, int ranks, int n, char **plan)
{
	gloo::transport::tcp::attr attr("127.0.0.1");
	auto device = gloo::transport::tcp::CreateDevice(attr);
	gloo::rendezvous::FileStore store(dir);
	auto comm = std::make_shared<gloo::rendezvous::Context>(rank, ranks);
	bench_size most = bench_largest(n, plan);
	float *in = bench_buffer(most.bytes);
	float *out = bench_buffer(most.bytes);
	auto *times = static_cast<double *>(bench_alloc(static_cast<size_t>(most.iters),
							sizeof(double)));

	comm->connectFullMesh(store, device);
	bench_fill(in, most.bytes / sizeof(*in), rank);
	for (int i = 0; i < n; i++) {
		bench_size z;

		bench_parse(plan[i], &z);
		run(comm, z, in, out, times);
	}
	/* Who leaves first must not be taken for a failure by the others. */
	gloo::BarrierOptions last(comm);
	gloo::barrier(last);
	free(times);
	return 0;
}

int main(int argc, char **argv)
{
	char dir[] = "/tmp/bench-gloo.XXXXXX";
	int ranks = argc > 2 ? atoi(argv[1]) : 0;
	int status, ret = 0;

	if (ranks < 1 || !mkdtemp(dir)) {
		fprintf(stderr, "usage: gloo_allreduce RANKS BYTES:ITERATIONS:WARMUP...\n");
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
