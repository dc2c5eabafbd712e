/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/* Rank 0's side of a rendezvous; see rendezvous.h for the calls. */
#ifndef LIBCOLL_RDV_SERVER_H
#define LIBCOLL_RDV_SERVER_H

#include "net/acceptor.h"
#include "rdv_wire.h"

enum member_state {
	MEMBER_ABSENT	= 0,	/* has not come yet */
	MEMBER_CLAIMED	= 1,	/* has proved the key; its welcome is being sent */
	MEMBER_HERE	= 2,	/* takes part */
	MEMBER_GONE	= 3,	/* closed after a failure */
	MEMBER_AWAY	= 4,	/* has left to make room for others, and comes back */
};

/**
 * struct member - one of the other ranks
 * @fd: its connection, in state HERE
 * @given: its message of this round is complete
 * @have: bytes of its message in @rx
 * @sending: a result is being sent: @sent bytes so far
 * @leaves: this result tells the rank to leave and come back
 * @owed: it is AWAY, and has not got the result of the round before this one
 * @back: it is coming back: it was AWAY, not ABSENT
 * @broke: it is AWAY because its connection broke, and not because it was told to leave
 * @token: identifies the process of the rank; 0: it cannot come back
 * @back_by: time at which a rank that is AWAY with @given or @owed counts as dead
 * @events: events that epoll reports
 * @refused: error with which the last process that claimed this rank was refused, or 0
 * @from: address of that process
 */
struct member {
	enum member_state state;
	int fd;
	bool given;
	size_t have;
	bool sending;
	bool leaves;
	bool owed;
	bool back;
	bool broke;
	size_t sent;
	uint32_t token;
	struct deadline back_by;
	uint32_t events;
	uint8_t session[AUTH_LEN];
	uint8_t tag[AUTH_LEN];
	uint8_t rx[RDV_GIVE_LEN];
	int refused;
	char from[SOCK_TEXT];
};

/**
 * struct rdv_server - state of rank 0
 * @nr_here: members in state HERE, without rank 0
 * @nr_given: members HERE or AWAY whose message of @round is in
 * @nr_sending: members HERE to which a result is being sent
 * @nr_away: members in state AWAY
 * @nr_owed: members AWAY that have not got the result of the round before
 * @seats: ranks up to this one keep their connection
 * @places: number of other ranks that may have a connection at a time
 * @nr_placed: number of other ranks that have a connection
 * @next_to_leave: rank at which the search for a rank that can leave begins
 * @round: the round whose messages members may send
 * @handing_out: results of a round are being sent; rank 0 does not wait for messages
 * @left: a rank that left while results were sent; 0: none
 * @failed: negative errno with which every round ends
 * @head: header of the present result; with @leaves of the member as index
 * @result: payload of the result
 * @result_len: bytes of @result
 * @digest: SHA-256 of @result
 * @gather: @size blobs of the present round
 * @why: text about @failed
 * @more_files: the soft limit of descriptors has been raised
 * @here: own address of a connection, by another interface than loopback if there is one; length 0:
 *	none yet
 * @stranger_err: error of the last refused process that is not one of the missing ranks
 * @stranger: text about that process; "": none
 */
struct rdv_server {
	struct acceptor acceptor;
	int epfd;
	uint32_t size;
	uint32_t nr_here, nr_given, nr_sending, nr_away, nr_owed;
	uint32_t seats, places, nr_placed, next_to_leave;
	uint16_t round;
	bool handing_out;
	uint32_t left;
	int failed;
	struct deadline deadline;
	uint8_t job[AUTH_LEN];
	uint8_t head[2][RDV_HDR];
	uint8_t digest[AUTH_LEN];
	uint8_t *result;
	size_t result_len;
	uint8_t *gather;
	char why[RDV_TEXT];
	bool more_files;
	struct sock_addr here;
	int stranger_err;
	char stranger[SOCK_TEXT + 48];
	struct member *members;
};

int rdv_server_open(struct rdv_server **s, const struct rdv_config *cfg);
int rdv_server_round(struct rdv_server *s, int status, const uint8_t *in, uint8_t *out);
int rdv_server_fd(const struct rdv_server *s);
int rdv_server_check(struct rdv_server *s);
const struct sock_addr *rdv_server_here(const struct rdv_server *s);
const uint8_t *rdv_server_job(const struct rdv_server *s);
void rdv_server_close(struct rdv_server *s);

#endif
