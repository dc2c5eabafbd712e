// SPDX-License-Identifier: GPL-2.0
/* The ranks as processes: start, watch, signal, end. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collrun.h"

#define KEY_BYTES	32
#define CANNOT_START	125

/*
 * A signal within this time of the first one is the same request: GNU timeout sends one to collrun,
 * and one to its process group.
 */
#define SAME_REQUEST_MS	300

/* What ranks leave running, for instance a shell's tee, gets this much time to end by itself. */
#define LINGER_MS	300

/**
 * struct job - the ranks under way
 * @pid: of each rank, also the id of its process group; 0: it is over
 * @running: number of ranks that still run
 * @status: exit status of the first that failed, 0 so far
 * @settled: @status stays: a signal not ours ended that one, or collrun itself ends the job
 * @sent: signals that collrun has sent to end the ranks, bit number - 1
 * @ending: SIGTERM has been sent to all
 * @hurry: a signal has asked twice for the end
 * @asked_at: when a signal has asked for the first time (ms, monotonic)
 * @kill_at: when SIGKILL follows (ms, monotonic); 0: never
 * @end_at: when the job is too late; 0: never
 * @interrupted: SIGINT has ended it
 * @files: limit of descriptors of the ranks
 * @orphans: processes that ranks have left running
 */
struct job {
	const struct options *opt;
	struct output *out;
	pid_t *pid;
	int running;
	int status;
	bool settled;
	uint64_t sent;
	bool ending;
	bool hurry;
	int64_t asked_at;
	int64_t kill_at;
	int64_t end_at;
	bool interrupted;
	struct rlimit files;
	struct orphans orphans;
	int sigfd;
	sigset_t old_mask;
	char key[2 * KEY_BYTES + 1];
};

static int make_key(char *hex)
{
	unsigned char raw[KEY_BYTES];
	int i;

	if (getrandom(raw, sizeof(raw), 0) != sizeof(raw))
		return -1;
	for (i = 0; i < KEY_BYTES; i++)
		sprintf(hex + 2 * i, "%02x", raw[i]);
	return 0;
}

static void set_number(const char *name, int value)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", value);
	setenv(name, text, 1);
}

static void set_environment(const struct job *job, const struct network *net, int rank, int node)
{
	int i;

	set_number("COLL_RANK", rank);
	set_number("COLL_SIZE", job->opt->ranks);
	set_number("COLL_NODE", node);
	setenv("COLL_RENDEZVOUS", net->rendezvous, 1);
	setenv("COLL_KEY", job->key, 1);
	for (i = 0; i < job->opt->nr_env; i++)
		putenv(job->opt->env[i]);
}

/* Only one process group may read from a terminal: none of ours would be it. */
static void set_stdin(int rank)
{
	int fd;

	if (!rank && !isatty(0))
		return;
	fd = open("/dev/null", O_RDONLY);
	if (fd >= 0) {
		dup2(fd, 0);
		close(fd);
	}
}

static void __attribute__((noreturn))
child(const struct job *job, const struct network *net, int rank, const int *fds, pid_t parent)
{
	int node = (int)((long)rank * job->opt->nodes / job->opt->ranks);

	setpgid(0, 0);
	/* If collrun is killed, the ranks are killed, too. What a rank has started is not. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(CANNOT_START);
	sigprocmask(SIG_SETMASK, &job->old_mask, NULL);
	setrlimit(RLIMIT_NOFILE, &job->files);
	if (network_enter(net, node)) {
		fprintf(stderr, "collrun: node %d: %s\n", node, strerror(errno));
		_exit(CANNOT_START);
	}
	if (job->opt->bind && bind_rank(rank)) {
		fprintf(stderr, "collrun: rank %d cannot be bound: %s\n", rank, strerror(errno));
		_exit(CANNOT_START);
	}
	set_environment(job, net, rank, node);
	set_stdin(rank);
	if (fds) {
		dup2(fds[0], 1);
		dup2(fds[1], 2);
	}
	execvp(job->opt->argv[0], job->opt->argv);
	fprintf(stderr, "collrun: %s: %s\n", job->opt->argv[0], strerror(errno));
	_exit(errno == ENOENT ? 127 : 126);
}

static int start_rank(struct job *job, const struct network *net, int rank)
{
	pid_t parent = getpid();
	int fds[2];
	pid_t pid;

	if (job->out && output_pipes(job->out, rank, fds)) {
		say("pipe: %s", strerror(errno));
		return -1;
	}
	pid = fork();
	if (!pid)
		child(job, net, rank, job->out ? fds : NULL, parent);
	if (job->out) {
		close(fds[0]);
		close(fds[1]);
	}
	if (pid < 0) {
		say("fork: %s", strerror(errno));
		return -1;
	}
	setpgid(pid, pid);	/* parent and child both do it, as either may be first */
	job->pid[rank] = pid;
	job->running++;
	return 0;
}

static void signal_all(const struct job *job, int sig)
{
	int i;

	for (i = 0; i < job->opt->ranks; i++)
		if (job->pid[i])
			kill(-job->pid[i], sig);
}

static uint64_t bit_of(int sig)
{
	return 1ULL << (sig - 1);	/* there is a signal 64 */
}

static void end_by(struct job *job, int sig)
{
	job->sent |= bit_of(sig);
	signal_all(job, sig);
}

/* SIGTERM now (unless the user sent something), SIGKILL after the grace. */
static void end_all(struct job *job, int sig)
{
	if (job->ending)
		return;
	job->ending = true;
	job->kill_at = now_ms() + job->opt->grace_ms;
	end_by(job, sig);
	signal_all(job, SIGCONT);	/* a stopped rank cannot end */
}

/* collrun ends the job: the exit status says why, and not how the ranks end. */
static void settle(struct job *job, int status)
{
	if (!job->status)
		job->status = status;
	job->settled = true;
}

static int report(const struct job *job)
{
	FILE *f;
	int i;

	if (!job->opt->report)
		return 0;
	f = fopen(job->opt->report, "we");
	for (i = 0; f && i < job->opt->ranks; i++)
		fprintf(f, "%d %d\n", i, (int)job->pid[i]);
	if (!f || fclose(f)) {
		say("%s: %s", job->opt->report, strerror(errno));
		return -1;
	}
	return 0;
}

/* Was the rank ended by a signal that collrun has not sent? */
static bool killed_by_others(const struct job *job, int status)
{
	return WIFSIGNALED(status) && !(job->sent & bit_of(WTERMSIG(status)));
}

/*
 * The first failure counts. But the others hear of a death from the kernel, and
 * may be over before the dead process is: then the death counts, not its news.
 * Ranks may also abort because of such news, so SIGABRT counts only if it is first.
 */
static bool is_cause(const struct job *job, int status)
{
	return killed_by_others(job, status) && !job->settled &&
	       (!job->status || WTERMSIG(status) != SIGABRT);
}

static void rank_over(struct job *job, int rank, int status)
{
	int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);

	job->pid[rank] = 0;
	job->running--;
	if (!code)
		return;
	if (is_cause(job, status)) {
		job->settled = true;
		job->status = code;
		say("rank %d was ended by signal %d (%s)", rank, WTERMSIG(status),
		    strsignal(WTERMSIG(status)));
	} else if (!job->status) {
		job->status = code;
		say("rank %d ended with status %d", rank, code);
	}
	if (!job->opt->keep_going)
		end_all(job, SIGTERM);
}

static void reap(struct job *job)
{
	siginfo_t si;
	int status, i;

	for (;;) {
		si.si_pid = 0;
		if (waitid(P_ALL, 0, &si, WEXITED | WNOHANG | WNOWAIT) || !si.si_pid)
			return;
		/* While it is a zombie, its id and its group's are nobody else's. */
		for (i = 0; i < job->opt->ranks && job->pid[i] != si.si_pid; i++)
			;
		/* What a rank has left running when it fails goes with it. */
		if (i < job->opt->ranks && (si.si_code != CLD_EXITED || si.si_status))
			kill(-si.si_pid, SIGKILL);
		if (waitpid(si.si_pid, &status, 0) > 0 && i < job->opt->ranks)
			rank_over(job, i, status);
	}
}

/* A signal asks for the end of the job. */
static void asked_to_end(struct job *job, int sig)
{
	int64_t now = now_ms();

	settle(job, 128 + sig);
	job->interrupted |= sig == SIGINT;
	if (job->ending && now >= job->asked_at + SAME_REQUEST_MS) {	/* twice: at once */
		job->hurry = true;
		end_by(job, SIGKILL);
	}
	if (!job->asked_at)
		job->asked_at = now;
	end_all(job, sig);
}

/* The user has stopped collrun at a terminal: the ranks stop, too, and so do the clocks. */
static void stop_for_a_while(struct job *job)
{
	int64_t begin = now_ms(), took;

	signal_all(job, SIGSTOP);
	raise(SIGSTOP);
	signal_all(job, SIGCONT);
	took = now_ms() - begin;
	job->end_at += job->end_at ? took : 0;
	job->kill_at += job->kill_at ? took : 0;
}

static void take_signals(struct job *job)
{
	struct signalfd_siginfo si;

	while (read(job->sigfd, &si, sizeof(si)) == sizeof(si)) {
		int sig = (int)si.ssi_signo;

		switch (sig) {
		case SIGCHLD:
			break;		/* reap() is called anyway */
		case SIGINT: case SIGTERM: case SIGHUP: case SIGQUIT:
			asked_to_end(job, sig);
			break;
		case SIGTSTP:
			stop_for_a_while(job);
			break;
		default:
			signal_all(job, sig);
		}
	}
}

static int ms_until(int64_t at)
{
	int64_t left = at - now_ms();

	return left < 0 ? 0 : left > 1000000 ? 1000000 : (int)left;
}

/* Milliseconds until a clock of the job runs out, -1: none does. */
static int next_clock(const struct job *job)
{
	int64_t at = job->kill_at ? job->kill_at : job->end_at;

	return at ? ms_until(at) : -1;
}

static void serve_clocks(struct job *job)
{
	int64_t now = now_ms();

	if (!job->ending && job->end_at && now >= job->end_at) {
		say("timeout after %g s", job->opt->timeout_s);
		settle(job, 124);
		end_all(job, SIGTERM);
	}
	if (job->kill_at && now >= job->kill_at) {
		end_by(job, SIGKILL);
		job->kill_at = now + 100;	/* a fork may have slipped through */
	}
}

/*
 * Pass on what the ranks have written. End the job if nobody reads it. Lines of collrun itself may go
 * to the same file: without output of ranks that is no reason to end the job.
 */
static void pass_on(struct job *job)
{
	if (job->out)
		output_pump(job->out);
	sinks_flush();
	if (!job->out || !sink_failed(1) || job->ending)
		return;
	say("the output cannot be written");
	settle(job, 128 + SIGPIPE);
	end_all(job, SIGTERM);
}

/* Room for a signalfd, our own output, and that of all ranks */
static struct pollfd *room_to_poll(const struct job *job)
{
	return calloc((size_t)job->opt->ranks * 2 + 3, sizeof(struct pollfd));
}

/* Wait until something happens, @ms at most (-1: as long as it takes), and see to it. */
static void turn(struct job *job, struct pollfd *p, int ms)
{
	size_t n = 1;

	p[0] = (struct pollfd){ .fd = job->sigfd, .events = POLLIN };
	n += sinks_polled(p + n);
	if (job->out)
		n += output_polled(job->out, p + n);
	poll(p, n, ms);
	pass_on(job);
	take_signals(job);
	reap(job);
	serve_clocks(job);
}

static void watch(struct job *job, struct pollfd *p)
{
	while (job->running)
		turn(job, p, next_clock(job));
}

/* The ranks are over, without an error. The time of the job may end meanwhile. */
static void linger(struct job *job, struct pollfd *p)
{
	int64_t until = now_ms() + LINGER_MS, end_at = job->end_at;

	job->end_at = 0;
	while (!job->status && now_ms() < until && orphans_left(&job->orphans))
		turn(job, p, 5);
	job->end_at = end_at;
}

/* When collrun ends the job: how long the reader of our output may pause */
static int patience_ms(const struct job *job)
{
	return job->hurry ? 100 : job->opt->grace_ms;
}

/*
 * The ranks are over: write what is left of their output. Wait for the reader until the time of the
 * job is over. When collrun ends the job, give up as soon as the reader pauses for too long.
 */
static void write_rest(struct job *job, struct pollfd *p)
{
	uint64_t written = sinks_written();
	int64_t read_at = now_ms();

	if (job->out)
		output_end(job->out);
	pass_on(job);
	while ((job->out && !output_over(job->out)) || !sinks_empty()) {
		bool bounded = job->ending;

		turn(job, p, bounded ? ms_until(read_at + patience_ms(job)) : next_clock(job));
		if (!bounded || sinks_written() != written)
			read_at = now_ms();
		written = sinks_written();
		if (now_ms() >= read_at + patience_ms(job))
			break;
	}
}

/* nohup or a shell has made us ignore it. A blocked signal would arrive all the same. */
static bool is_ignored(int sig)
{
	struct sigaction now;

	return !sigaction(sig, NULL, &now) && now.sa_handler == SIG_IGN;
}

static void block_signals(struct job *job)
{
	static const int sigs[] = {
		SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGUSR1, SIGUSR2, SIGWINCH,
	};
	sigset_t set;
	size_t i;

	sigemptyset(&set);
	for (i = 0; i < sizeof(sigs) / sizeof(sigs[0]); i++)
		if (!is_ignored(sigs[i]))
			sigaddset(&set, sigs[i]);
	sigprocmask(SIG_BLOCK, &set, &job->old_mask);
	job->sigfd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* collrun has two pipes for each rank, which may be more files than a shell allows. */
static void raise_files(struct job *job)
{
	struct rlimit most;

	getrlimit(RLIMIT_NOFILE, &job->files);
	most = job->files;
	most.rlim_cur = most.rlim_max;
	if (job->out)
		setrlimit(RLIMIT_NOFILE, &most);
}

int ranks_run(const struct options *opt, const struct network *net, bool *interrupted)
{
	struct job job = { .opt = opt };
	struct pollfd *polled = room_to_poll(&job);
	int i;

	job.pid = calloc((size_t)opt->ranks, sizeof(*job.pid));
	if (opt->prefix)
		job.out = output_create(opt->ranks);
	*interrupted = false;
	if (!polled || !job.pid || (opt->prefix && !job.out) || make_key(job.key)) {
		fprintf(stderr, "collrun: out of memory\n");
		return CANNOT_START;
	}
	orphans_begin(&job.orphans);
	raise_files(&job);
	sinks_open();
	block_signals(&job);
	if (opt->timeout_s > 0)
		job.end_at = now_ms() + (int64_t)(opt->timeout_s * 1000);
	for (i = 0; i < opt->ranks; i++)
		if (start_rank(&job, net, i))
			break;
	/* The ranks do not inherit this: they have been started. */
	signal(SIGPIPE, SIG_IGN);
	if (i < opt->ranks || report(&job)) {
		settle(&job, CANNOT_START);
		end_all(&job, SIGTERM);
	}
	watch(&job, polled);
	linger(&job, polled);
	orphans_end(&job.orphans);
	write_rest(&job, polled);
	close(job.sigfd);
	free(polled);
	free(job.pid);
	*interrupted = job.interrupted;
	return job.status;
}
