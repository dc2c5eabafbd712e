! SPDX-License-Identifier: GPL-2.0
! Errors of persistent collectives, by mpi_f08: of each request in its status. Of three requests the
! ranks disagree about the first and the third one.
program main
	use mpi_f08
#ifdef openmpi
	use mpi_f08_ext
#define MPI_Allreduce_init MPIX_Allreduce_init
#endif
	implicit none
	integer, parameter :: ways = 5
	integer, asynchronous, save :: from(8, 3), into(8, 3)
	type(MPI_Comm) :: comm
	type(MPI_Request) :: requests(3), copies(3)
	type(MPI_Status) :: statuses(3)
	integer :: me, n, way, i, nr, left, ierr, indices(3)
	logical :: flag

	call MPI_Init()
	call MPI_Comm_dup(MPI_COMM_WORLD, comm)
	call MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN)
	call MPI_Comm_rank(comm, me)
	call MPI_Comm_size(comm, n)
	do i = 1, 3
		nr = 4
		if (i /= 2) nr = 4 + mod(me, 2)
		call MPI_Allreduce_init(from(:, i), into(:, i), nr, MPI_INTEGER, MPI_SUM, comm, MPI_INFO_NULL, requests(i))
	end do
	do way = 1, ways
		from = way
		into = 0
		call MPI_Startall(3, requests)
		copies = requests
		statuses%MPI_ERROR = -1
		left = 3
		flag = .false.
		do while (left > 0)
			indices = [1, 2, 3]
			nr = 3
			select case (way)
			case (1)
				call MPI_Waitall(3, copies, statuses, ierr)
			case (2)
				do while (.not. flag)
					call MPI_Testall(3, copies, flag, statuses, ierr)
				end do
			case (3)
				call MPI_Waitsome(3, copies, nr, indices, statuses, ierr)
			case (4)
				call MPI_Testsome(3, copies, nr, indices, statuses, ierr)
			case (5)
				! nothing is written to statuses
				call MPI_Waitall(3, copies, MPI_STATUSES_IGNORE, ierr)
			end select
			if (nr == MPI_UNDEFINED) call wrong(1)
			if (nr > 0) call check(nr)
			left = left - nr
		end do
		if (any(into(1:4, 2) /= n * way)) call wrong(2)
	end do
	do i = 1, 3
		call MPI_Request_free(requests(i))
	end do
	call MPI_Barrier(MPI_COMM_WORLD)
	if (me == 0) print '(a)', 'right'
	call MPI_Finalize()
contains
	subroutine wrong(what)
		integer, intent(in) :: what
		print '(a, i0, a, i0, a, i0)', 'rank ', me, ', way ', way, ': error ', what
		call MPI_Abort(MPI_COMM_WORLD, 1)
	end subroutine

	! The first @nr of @indices are over.
	subroutine check(nr)
		integer, intent(in) :: nr
		character(len=MPI_MAX_ERROR_STRING) :: text
		logical :: bad
		integer :: i, length
		bad = any(indices(1:nr) /= 2)
		if (bad .neqv. ierr == MPI_ERR_IN_STATUS) call wrong(3)
		if (.not. bad .and. ierr /= MPI_SUCCESS) call wrong(4)
		if (way == 5) then
			if (any(statuses%MPI_ERROR /= -1)) call wrong(5)
			return
		end if
		! statuses have errors only if one of the requests has one
		if (.not. bad) return
		do i = 1, nr
			if (indices(i) == 2) then
				if (statuses(i)%MPI_ERROR /= MPI_SUCCESS) call wrong(6)
			else
				call MPI_Error_string(statuses(i)%MPI_ERROR, text, length)
				if (index(text(1:length), 'Allreduce through coll') == 0) call wrong(7)
			end if
		end do
	end subroutine
end program
