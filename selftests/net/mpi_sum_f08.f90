! SPDX-License-Identifier: GPL-2.0
! mpi_sum_f08 [threads]: the sum of all ranks, by the module mpi_f08 alone
program main
	use mpi_f08
	implicit none
	integer :: r, n, total, provided
	character(len=16) :: how

	call get_command_argument(1, how)
	if (how == 'threads') then
		call MPI_Init_thread(MPI_THREAD_FUNNELED, provided)
		if (provided < MPI_THREAD_SINGLE) call MPI_Abort(MPI_COMM_WORLD, 1)
	else
		call MPI_Init()
	end if
	call MPI_Comm_rank(MPI_COMM_WORLD, r)
	call MPI_Comm_size(MPI_COMM_WORLD, n)
	total = r + 1
	call MPI_Allreduce(MPI_IN_PLACE, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
	print '(a, i0, a, i0, a, i0)', 'rank ', r, ' of ', n, ': the sum is ', total
	call MPI_Finalize()
end program
