! SPDX-License-Identifier: GPL-2.0
! Collectives from Fortran, with results that are known. Both modules of MPI.
subroutine sum_f08(total)
	use mpi_f08
	implicit none
	integer, intent(inout) :: total
	call MPI_Allreduce(MPI_IN_PLACE, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
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

program main
	use mpi
	implicit none
	integer :: ierr, me, n, r, total
	external :: sum_f08, isum_f08
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
	if (me == 0) print '(a)', 'right'
	call MPI_Finalize(ierr)
end program
