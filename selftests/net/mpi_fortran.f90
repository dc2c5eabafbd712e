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
	external :: sum_f08, isum_f08, waits, alltoallw
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
	if (me == 0) print '(a)', 'right'
	call MPI_Finalize(ierr)
end program
