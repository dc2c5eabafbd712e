! SPDX-License-Identifier: GPL-2.0
! Collectives from Fortran, with results that are known. Both modules of MPI.
subroutine sum_f08(total)
	use mpi_f08
	implicit none
	integer, intent(inout) :: total
	call MPI_Allreduce(MPI_IN_PLACE, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
	call MPI_Barrier(MPI_COMM_WORLD)
end subroutine

! Nonblocking, and waited for by the same module
subroutine isum_f08(total, right)
	use mpi_f08
	implicit none
	integer, intent(in) :: total
	logical, intent(out) :: right
	integer, parameter :: count = 500000
	integer, asynchronous, allocatable :: from(:), into(:)
	type(MPI_Request) :: request(2)
	integer :: n
	call MPI_Comm_size(MPI_COMM_WORLD, n)
	allocate(from(count), into(count))
	from = total
	call MPI_Iallreduce(from, into, count, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request(1))
	call MPI_Wait(request(1), MPI_STATUS_IGNORE)
	right = all(into == n * total)
	call MPI_Iallreduce(from, into, count, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, request(1))
	call MPI_Ibarrier(MPI_COMM_WORLD, request(2))
	call MPI_Waitall(2, request, MPI_STATUSES_IGNORE)
	right = right .and. all(into == total)
end subroutine

! Persistent collectives are an extension of Open MPI.
#ifdef openmpi
#define MPI_Allreduce_init MPIX_Allreduce_init
#define MPI_Bcast_init MPIX_Bcast_init
#define MPI_Barrier_init MPIX_Barrier_init
#define MPI_Alltoallw_init MPIX_Alltoallw_init
#endif

! Started several times, in another order on each rank: 3 requests, 6 rounds
subroutine persistent_f08(right)
	use mpi_f08
#ifdef openmpi
	use mpi_f08_ext
#endif
	implicit none
	logical, intent(out) :: right
	integer, parameter :: count = 3000
	integer, asynchronous, save :: from(count), into(count), word
	type(MPI_Request) :: request(3), copy(3)
	type(MPI_Status) :: status
	integer :: me, n, round, i, k, nr, indices(3), first
	logical :: flag
	call MPI_Comm_rank(MPI_COMM_WORLD, me)
	call MPI_Comm_size(MPI_COMM_WORLD, n)
	right = .true.
	call MPI_Allreduce_init(from, into, count, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, request(1))
	call MPI_Bcast_init(word, 1, MPI_INTEGER, n - 1, MPI_COMM_WORLD, MPI_INFO_NULL, request(2))
	call MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, request(3))
	do round = 1, 6
		from = me + round
		into = 0
		word = me + round
		first = me + round
		if (round == 1) then
			call MPI_Startall(3, request)
		else
			do i = 0, 2
				call MPI_Start(request(mod(first + i, 3) + 1))
			end do
		end if
		copy = request
		select case (round)
		case (1)
			do i = 1, 3
				call MPI_Wait(copy(i), status)
			end do
		case (2)
			call MPI_Waitall(3, copy, MPI_STATUSES_IGNORE)
		case (3)
			do
				call MPI_Waitany(3, copy, i, status)
				if (i == MPI_UNDEFINED) exit
			end do
		case (4)
			do
				call MPI_Testsome(3, copy, nr, indices, MPI_STATUSES_IGNORE)
				if (nr == MPI_UNDEFINED) exit
			end do
		case (5)
			flag = .false.
			do while (.not. flag)
				call MPI_Testall(3, copy, flag, MPI_STATUSES_IGNORE)
			end do
		case (6)
			do i = 1, 3
				flag = .false.
				do while (.not. flag)
					call MPI_Test(copy(i), flag, MPI_STATUS_IGNORE)
				end do
			end do
		end select
		right = right .and. all(into == n * (n - 1) / 2 + n * round) .and. word == n - 1 + round
	end do
	do k = 1, 3
		call MPI_Request_free(request(k))
		right = right .and. request(k) == MPI_REQUEST_NULL
	end do
end subroutine

! The same module that most programs have. 2 rounds
subroutine persistent(right)
	use mpi
	implicit none
#ifdef openmpi
	external :: MPI_Allreduce_init, MPI_Alltoallw_init
#endif
	logical, intent(out) :: right
	integer, asynchronous, save :: total, into(64), from(64)
	integer :: ierr, me, n, r, round, request(2), counts(64), displs(64), types(64)
	call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
	call MPI_Comm_size(MPI_COMM_WORLD, n, ierr)
	right = .true.
	counts = 1
	types = MPI_INTEGER
	displs = [(4 * (r - 1), r = 1, 64)]
	call MPI_Allreduce_init(MPI_IN_PLACE, total, 1, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, MPI_INFO_NULL, &
		request(1), ierr)
	call MPI_Alltoallw_init(from, counts, displs, types, into, counts, displs, types, MPI_COMM_WORLD, &
		MPI_INFO_NULL, request(2), ierr)
	do round = 1, 2
		total = me + round
		from = [(100 * me + r + round, r = 1, 64)]
		if (mod(me, 2) == 0) then
			call MPI_Start(request(1), ierr)
			call MPI_Start(request(2), ierr)
		else
			call MPI_Start(request(2), ierr)
			call MPI_Start(request(1), ierr)
		end if
		call MPI_Waitall(2, request, MPI_STATUSES_IGNORE, ierr)
		right = right .and. total == n - 1 + round
		right = right .and. all(into(1:n) == [(100 * (r - 1) + me + 1 + round, r = 1, n)])
	end do
	call MPI_Request_free(request(1), ierr)
	call MPI_Request_free(request(2), ierr)
	right = right .and. all(request == MPI_REQUEST_NULL)
end subroutine

! Each way to wait or to test, on three requests of coll. 9 rounds.
subroutine waits(right)
	use mpi
	implicit none
	logical, intent(out) :: right
	integer, parameter :: count = 5000
	integer, asynchronous, save :: from(count), into(count), word
	integer :: request(3), indices(3), status(MPI_STATUS_SIZE), statuses(MPI_STATUS_SIZE, 3)
	integer :: ierr, me, n, round, i, nr, left
	logical :: flag
	call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
	call MPI_Comm_size(MPI_COMM_WORLD, n, ierr)
	right = .true.
	do round = 1, 9
		from = me + round
		into = 0
		word = me + round
		call MPI_Iallreduce(from, into, count, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request(1), ierr)
		call MPI_Ibcast(word, 1, MPI_INTEGER, n - 1, MPI_COMM_WORLD, request(2), ierr)
		call MPI_Ibarrier(MPI_COMM_WORLD, request(3), ierr)
		left = 3
		flag = .false.
		select case (round)
		case (1)
			do i = 1, 3
				call MPI_Wait(request(i), status, ierr)
			end do
		case (2)
			call MPI_Waitall(3, request, statuses, ierr)
		case (3)
			do i = 1, 3
				call MPI_Waitany(3, request, indices(i), status, ierr)
			end do
			right = right .and. sum(indices) == 6
		case (4)
			do while (left > 0)
				call MPI_Waitsome(3, request, nr, indices, statuses, ierr)
				left = left - nr
			end do
		case (5)
			do i = 1, 3
				flag = .false.
				do while (.not. flag)
					call MPI_Test(request(i), flag, status, ierr)
				end do
			end do
		case (6)
			do while (.not. flag)
				call MPI_Testall(3, request, flag, statuses, ierr)
			end do
		case (7)
			do while (left > 0)
				call MPI_Testany(3, request, i, flag, status, ierr)
				if (flag) left = left - 1
			end do
		case (8)
			do while (left > 0)
				call MPI_Testsome(3, request, nr, indices, statuses, ierr)
				left = left - nr
			end do
		case (9)
			do i = 1, 3
				flag = .false.
				do while (.not. flag)
					call MPI_Request_get_status(request(i), flag, status, ierr)
				end do
				call MPI_Wait(request(i), status, ierr)
			end do
		end select
		right = right .and. all(request == MPI_REQUEST_NULL)
		right = right .and. all(into == n * (n - 1) / 2 + n * round) .and. word == n - 1 + round
	end do
end subroutine

! Blocks whose types differ by rank
subroutine alltoallw(right)
	use mpi
	implicit none
	logical, intent(out) :: right
	integer :: ierr, me, n, r
	integer, allocatable :: from(:), into(:), counts(:), displs(:), types(:)
	call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
	call MPI_Comm_size(MPI_COMM_WORLD, n, ierr)
	allocate(from(n), into(n), counts(n), displs(n), types(n))
	counts = 1
	types = MPI_INTEGER
	do r = 1, n
		from(r) = 100 * me + r
		displs(r) = 4 * (r - 1)
		! a rank of another type, of the same size
		if (mod(r, 2) == 0) types(r) = MPI_INTEGER4
	end do
	call MPI_Alltoallw(from, counts, displs, types, into, counts, displs, types, MPI_COMM_WORLD, ierr)
	right = all(into == [(100 * (r - 1) + me + 1, r = 1, n)])
end subroutine

program main
	use mpi
	implicit none
	integer :: ierr, me, n, r, total
	external :: sum_f08, isum_f08, waits, alltoallw, persistent_f08, persistent
	logical :: right
	integer, allocatable :: from(:), into(:), counts(:), displs(:)

	call MPI_Init(ierr)
	call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
	call MPI_Comm_size(MPI_COMM_WORLD, n, ierr)
	allocate(from(n), into(n * n), counts(n), displs(n))
	total = me + 1
	call sum_f08(total)
	if (total /= n * (n + 1) / 2) call MPI_Abort(MPI_COMM_WORLD, 1, ierr)
	total = me + 1
	call MPI_Allreduce(MPI_IN_PLACE, total, 1, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, ierr)
	if (total /= n) call MPI_Abort(MPI_COMM_WORLD, 2, ierr)
	! rank r gives r + 1 numbers
	from = me
	do r = 1, n
		counts(r) = r
		displs(r) = n * (r - 1)
	end do
	call MPI_Allgatherv(from, me + 1, MPI_INTEGER, into, counts, displs, MPI_INTEGER, &
		MPI_COMM_WORLD, ierr)
	do r = 1, n
		if (any(into(displs(r) + 1:displs(r) + r) /= r - 1)) call MPI_Abort(MPI_COMM_WORLD, 3, ierr)
	end do
	total = me
	call MPI_Bcast(total, 1, MPI_INTEGER, n - 1, MPI_COMM_WORLD, ierr)
	if (total /= n - 1) call MPI_Abort(MPI_COMM_WORLD, 4, ierr)
	call isum_f08(n, right)
	if (.not. right) call MPI_Abort(MPI_COMM_WORLD, 5, ierr)
	call waits(right)
	if (.not. right) call MPI_Abort(MPI_COMM_WORLD, 6, ierr)
	call alltoallw(right)
	if (.not. right) call MPI_Abort(MPI_COMM_WORLD, 7, ierr)
	call persistent_f08(right)
	if (.not. right) call MPI_Abort(MPI_COMM_WORLD, 8, ierr)
	call persistent(right)
	if (.not. right) call MPI_Abort(MPI_COMM_WORLD, 9, ierr)
	if (me == 0) print '(a)', 'right'
	call MPI_Finalize(ierr)
end program
