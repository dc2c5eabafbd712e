// SPDX-License-Identifier: GPL-2.0
/*
 * usage: wire_types_rank TYPE OPS COLLCTL
 *
 * Allreduces of f32, by number and by name, with elements of TYPE (f32, f16, bf16) between nodes:
 * all ranks get the same numbers, near the right ones, which are of that type. Then ranks that
 * disagree, and at last rank 0 shows the links. Prints what is wrong; exit status 0, 1, or 2 if
 * a call fails.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <coll/tensor.h>

#define COUNT	200003

static coll_comm_t *comm;
static uint32_t me, size;
static float in[COUNT], out[COUNT];
static uint32_t low[COUNT], high[COUNT];
static int wrong;

static void die(const char *what, int err)
{
	fprintf(stderr, "wire_types_rank: rank %u: %s: %s\n", me, what, coll_strerror(err));
	exit(2);
}

/* What rank @r gives: some numbers that f16 and bf16 round. */
static float number(uint32_t r, uint32_t i)
{
	return (float)((r * 7919 + i * 104729) % 20011) / 10007 - 1;
}

/* Check the numbers, within the error of @type. Print the first one that is wrong. */
static void check_values(const char *what, enum coll_dtype type, bool average)
{
	double unit = type == COLL_F32 ? 0 : ldexp(1, type == COLL_F16 ? -11 : -8);
	uint32_t r, i, gone = type == COLL_F16 ? 13 : 16, bits;
	double want, sum, bound;

	for (i = 0; i < COUNT && !wrong; i++) {
		want = 0;
		sum = ldexp(1, -14);
		for (r = 0; r < size; r++) {
			want += number(r, i);
			sum += fabsf(number(r, i));
		}
		if (average)
			want /= size;
		bound = (pow(1 + unit, size) - 1 + size * ldexp(1, -23)) * sum;
		memcpy(&bits, &out[i], sizeof(bits));
		/* Normal numbers of the type do not use these digits. */
		if (fabs(out[i] - want) > bound ||
		    (unit && fabsf(out[i]) > 1e-4 && bits & ((1U << gone) - 1))) {
			printf("rank %u: %s: [%u] is %.9g (0x%08x), not %.9g\n", me, what, i,
			       out[i], bits, want);
			wrong++;
		}
	}
}

/* Have all ranks the same ones? This needs two more ops, whose bytes count. */
static void check(const char *what, enum coll_dtype type, bool average)
{
	int ret;

	check_values(what, type, average);
	coll_comm_set_wire(comm, COLL_DTYPE_NONE);
	ret = coll_allreduce(comm, out, low, COUNT, COLL_U32, COLL_OP_MIN);
	ret = ret ? ret : coll_allreduce(comm, out, high, COUNT, COLL_U32, COLL_OP_MAX);
	if (ret)
		die("compare", ret);
	if (memcmp(low, high, sizeof(low))) {
		printf("rank %u: %s: the ranks have different numbers\n", me, what);
		wrong++;
	}
}

static void by_number(enum coll_dtype type, uint32_t ops)
{
	uint32_t k;
	int ret;

	for (k = 0; k < ops; k++) {
		if (type != COLL_F32) {
			ret = coll_comm_set_wire(comm, type);
			if (ret)
				die("coll_comm_set_wire", ret);
		}
		memset(out, 0xee, sizeof(out));
		ret = coll_allreduce(comm, in, out, COUNT, COLL_F32, k & 1 ? COLL_OP_AVG : COLL_OP_SUM);
		if (ret)
			die("allreduce", ret);
		check_values(k & 1 ? "average by number" : "sum by number", type, k & 1);
	}
	check("by number", type, !(ops & 1));
}

static void by_name(coll_tensors_t *ts, enum coll_dtype type)
{
	struct coll_tensor_spec spec;
	coll_tensor_t *t;
	const char *text;
	int ret;

	coll_tensor_spec_init(&spec, "named");
	coll_cmd_allreduce(coll_tensors_comm(ts), &spec.cmd, in, out, COUNT, COLL_F32, COLL_OP_SUM);
	spec.wire = type == COLL_F32 ? 0 : type;
	ret = coll_tensor_submit(ts, &spec, &t);
	ret = ret ? ret : coll_tensor_wait(t);
	if (ret)
		die(coll_tensor_error(), ret);
	check("by name", type, false);
	if (size == 1)
		return;
	spec.name = "disagree";
	spec.wire = me ? COLL_BF16 : COLL_F16;
	ret = coll_tensor_submit(ts, &spec, &t);
	ret = ret ? ret : coll_tensor_wait(t);
	text = coll_tensor_error();
	if (ret != -EBADE || !strstr(text, "the type between nodes") || !strstr(text, "f16 on rank 0")) {
		printf("rank %u: ranks that disagree: %d, %s\n", me, ret, text);
		wrong++;
	}
}

int main(int argc, char **argv)
{
	enum coll_dtype type = COLL_F32;
	coll_tensors_t *ts;
	char show[512];
	uint32_t i;
	int ret;

	if (argc != 4)
		return 2;
	if (strcmp(argv[1], "f32"))
		type = strcmp(argv[1], "f16") ? COLL_BF16 : COLL_F16;
	ret = coll_init(NULL, &comm);
	if (ret)
		die("coll_init", ret);
	me = coll_comm_rank(comm);
	size = coll_comm_size(comm);
	for (i = 0; i < COUNT; i++)
		in[i] = number(me, i);
	ret = coll_tensors_create(comm, 0, &ts);
	if (ret)
		die("coll_tensors_create", ret);
	by_number(type, (uint32_t)atoi(argv[2]));
	by_name(ts, type);
	coll_barrier(comm);
	snprintf(show, sizeof(show), "%s --json show", argv[3]);
	if (!me && system(show))
		wrong++;
	coll_barrier(comm);
	coll_tensors_finalize(ts);
	coll_finalize(comm);
	return !!wrong;
}
