! SPDX-License-Identifier: GPL-2.0
! What mpi_loaded.c loads: waits and tests, for messages and for collectives. Result: what is wrong.
function calls_of_fortran() bind(c, name='calls_of_fortran') result(wrong)
	use, intrinsic :: iso_c_binding
	implicit none
	include 'mpif.h'
	integer(c_int) :: wrong
	integer :: me, n, got, total, right, left, ierr, requests(3)
	integer :: statuses(MPI_STATUS_SIZE, 3)
	logical :: over

	call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
	call MPI_Comm_size(MPI_COMM_WORLD, n, ierr)
	right = mod(me + 1, n)
	left = mod(me + n - 1, n)
	call MPI_Irecv(got, 1, MPI_INTEGER, left, 5, MPI_COMM_WORLD, requests(1), ierr)
	call MPI_Isend(me, 1, MPI_INTEGER, right, 5, MPI_COMM_WORLD, requests(2), ierr)
	call MPI_Iallreduce(me, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, requests(3), ierr)
	call MPI_Waitall(3, requests, statuses, ierr)
	wrong = merge(0, 1, got == left .and. total == n * (n - 1) / 2)
	call MPI_Ibarrier(MPI_COMM_WORLD, requests(1), ierr)
	over = .false.
	do while (.not. over)
		call MPI_Test(requests(1), over, MPI_STATUS_IGNORE, ierr)
	end do
end function

! With optimisation the last call is a jump: MPI_Wait returns to the caller, which is no Fortran.
subroutine wait_by_jump(request, statuses, ierr) bind(c, name='wait_by_jump')
	use, intrinsic :: iso_c_binding
	implicit none
	include 'mpif.h'
	integer(c_int) :: request, statuses(MPI_STATUS_SIZE), ierr

	call MPI_Wait(request, statuses, ierr)
end subroutine
