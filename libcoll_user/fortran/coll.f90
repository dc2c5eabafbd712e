! SPDX-License-Identifier: LGPL-2.1 OR MIT
! libcoll for Fortran 2008 with its technical specification 29113: use coll. The functions are those
! of C, with the same arguments and results: 0 or a negative errno. See Documentation/fortran.rst.
!
! Here are those functions that take or give text.
module coll
    use coll_types
    use coll_comms
    use coll_collectives
    use coll_messages
    use coll_requests
    use coll_ops
    implicit none

    ! As send buffer: the input is in the receive buffer. It is set by coll_init().
    integer(c_int8_t), pointer, contiguous, protected :: COLL_IN_PLACE(:) => null()

    ! struct coll_config, struct coll_cause and struct coll_status
    type, bind(c), private :: config
        integer(c_size_t) :: struct_size
        integer(c_int32_t) :: rank = 0, size = 1
        type(c_ptr) :: rendezvous = c_null_ptr, node = c_null_ptr, key = c_null_ptr
        type(c_ptr) :: device = c_null_ptr
        integer(c_int32_t) :: timeout_ms = 0, flags = 0
        type(c_funptr) :: exchange = c_null_funptr
        type(c_ptr) :: exchange_ctx = c_null_ptr
    end type
    type, bind(c), private :: cause
        integer(c_int32_t) :: kind, error, rank, node, pid, signal, code, reserved
        integer(c_int64_t) :: seq
        integer(c_int8_t) :: host(32)
    end type
    type, bind(c), private :: status
        integer(c_int32_t) :: state, rank, size, node, nr_nodes, nr_local, nr_joined, &
            nr_links
        integer(c_int64_t) :: posted, completed, pinned, memlock_wanted
        integer(c_int32_t) :: late_rank, nr_late
        integer(c_int64_t) :: messages, match_steps, shm_ops, reserved
        type(cause) :: cause
    end type

    ! Those of C, where they differ from what this module has
    interface
        function c_init(cfg, comm) bind(c, name="coll_init") result(err)
            import
            type(c_ptr), value :: cfg
            type(coll_comm), intent(out) :: comm
            integer(c_int) :: err
        end function
        function c_config_env(cfg) bind(c, name="coll_config_env") result(err)
            import
            type(c_ptr), value :: cfg
            integer(c_int) :: err
        end function
        function c_last_error() bind(c, name="coll_last_error") result(text)
            import
            type(c_ptr) :: text
        end function
        function c_strerror(err) bind(c, name="coll_strerror") result(text)
            import
            integer(c_int), value :: err
            type(c_ptr) :: text
        end function
        function c_version() bind(c, name="coll_version") result(text)
            import
            type(c_ptr) :: text
        end function
        function c_status(comm, st) bind(c, name="coll_comm_status") result(err)
            import
            type(coll_comm), value :: comm
            type(status), intent(out) :: st
            integer(c_int) :: err
        end function
        function c_cause_str(why, buf, len) bind(c, name="coll_cause_str") result(length)
            import
            type(cause), intent(in) :: why
            character(kind=c_char) :: buf(*)
            integer(c_size_t), value :: len
            integer(c_int) :: length
        end function
        function c_set_algorithm(comm, what, name) bind(c, name="coll_comm_set_algorithm") &
                result(err)
            import
            type(coll_comm), value :: comm
            integer(c_int), value :: what
            character(kind=c_char), intent(in), optional :: name(*)
            integer(c_int) :: err
        end function
        function c_algorithm(comm, what, bytes) bind(c, name="coll_comm_algorithm") &
                result(name)
            import
            type(coll_comm), value :: comm
            integer(c_int), value :: what
            integer(c_int64_t), value :: bytes
            type(c_ptr) :: name
        end function
        function c_save_tables(comm, path) bind(c, name="coll_comm_save_tables") result(err)
            import
            type(coll_comm), value :: comm
            character(kind=c_char), intent(in) :: path(*)
            integer(c_int) :: err
        end function
        function c_load_tables(comm, path) bind(c, name="coll_comm_load_tables") result(err)
            import
            type(coll_comm), value :: comm
            character(kind=c_char), intent(in) :: path(*)
            integer(c_int) :: err
        end function
        function c_strlen(text) bind(c, name="strlen") result(length)
            import
            type(c_ptr), value :: text
            integer(c_size_t) :: length
        end function
    end interface
    private :: c_init, c_config_env, c_last_error, c_strerror, c_version, c_status, c_cause_str, &
        c_set_algorithm, c_algorithm, c_save_tables, c_load_tables, c_strlen, text_of, of_text, keep

contains
    ! join a communicator; without rank and size as the environment says. exchange: c_funloc() of
    ! what C calls a coll_exchange_t
    function coll_init(comm, rank, size, rendezvous, node, key, device, timeout_ms, flags, &
            exchange, exchange_ctx) result(err)
        type(coll_comm), intent(out) :: comm
        integer(c_int32_t), intent(in), optional :: rank, size, timeout_ms, flags
        character(*), intent(in), optional :: rendezvous, node, key, device
        type(c_funptr), intent(in), optional :: exchange
        type(c_ptr), intent(in), optional :: exchange_ctx
        integer(c_int) :: err
        type(config), target :: cfg
        character(kind=c_char), dimension(:), allocatable, target :: t1, t2, t3, t4

        call c_f_pointer(transfer(-1_c_intptr_t, c_null_ptr), COLL_IN_PLACE, [1])
        cfg%struct_size = c_sizeof(cfg)
        if (.not. present(rank) .and. .not. present(size)) then
            ! how to meet follows from rank and size
            err = -22
            if (present(rendezvous) .or. present(exchange)) return
            err = c_config_env(c_loc(cfg))
            if (err /= 0) return
        end if
        if (present(rank)) cfg%rank = rank
        if (present(size)) cfg%size = size
        if (present(timeout_ms)) cfg%timeout_ms = timeout_ms
        if (present(flags)) cfg%flags = flags
        if (present(exchange)) cfg%exchange = exchange
        if (present(exchange_ctx)) cfg%exchange_ctx = exchange_ctx
        call keep(rendezvous, t1, cfg%rendezvous)
        call keep(node, t2, cfg%node)
        call keep(key, t3, cfg%key)
        call keep(device, t4, cfg%device)
        err = c_init(c_loc(cfg), comm)
    end function

    ! why the last coll_init() or coll_comm_split() of this thread failed
    function coll_last_error() result(text)
        character(:), allocatable :: text

        text = text_of(c_last_error())
    end function

    ! what an error means here
    function coll_strerror(err) result(text)
        integer(c_int), intent(in) :: err
        character(:), allocatable :: text

        text = text_of(c_strerror(err))
    end function

    function coll_version() result(text)
        character(:), allocatable :: text

        text = text_of(c_version())
    end function

    ! what ended a communicator
    function coll_comm_cause(comm) result(text)
        type(coll_comm), intent(in) :: comm
        character(:), allocatable :: text
        character(kind=c_char), target :: line(256)
        type(status) :: st
        integer :: length

        text = ""
        if (c_status(comm, st) /= 0) return
        length = c_cause_str(st%cause, line, size(line, kind=c_size_t))
        if (length > 0) text = text_of(c_loc(line))
    end function

    ! one algorithm for all sizes; what is a COLL_FN_X; without name: as without any table
    function coll_comm_set_algorithm(comm, what, name) result(err)
        type(coll_comm), intent(in) :: comm
        integer(c_int), intent(in) :: what
        character(*), intent(in), optional :: name
        integer(c_int) :: err

        if (present(name)) then
            err = c_set_algorithm(comm, what, of_text(name))
        else
            err = c_set_algorithm(comm, what)
        end if
    end function

    ! the algorithm that is taken now; "" if there is none
    function coll_comm_algorithm(comm, what, bytes) result(name)
        type(coll_comm), intent(in) :: comm
        integer(c_int), intent(in) :: what
        integer(c_int64_t), intent(in) :: bytes
        character(:), allocatable :: name

        name = text_of(c_algorithm(comm, what, bytes))
    end function

    function coll_comm_save_tables(comm, path) result(err)
        type(coll_comm), intent(in) :: comm
        character(*), intent(in) :: path
        integer(c_int) :: err

        err = c_save_tables(comm, of_text(path))
    end function

    function coll_comm_load_tables(comm, path) result(err)
        type(coll_comm), intent(in) :: comm
        character(*), intent(in) :: path
        integer(c_int) :: err

        err = c_load_tables(comm, of_text(path))
    end function

    ! a text of C
    function text_of(at) result(text)
        type(c_ptr), intent(in) :: at
        character(:), allocatable :: text
        character(kind=c_char), pointer :: letters(:)
        integer :: i, length

        text = ""
        if (.not. c_associated(at)) return
        length = int(c_strlen(at))
        call c_f_pointer(at, letters, [length])
        text = repeat(" ", length)
        do i = 1, length
            text(i:i) = letters(i)
        end do
    end function

    ! a text for C, without blanks at its end
    function of_text(text) result(letters)
        character(*), intent(in) :: text
        character(kind=c_char), allocatable :: letters(:)
        integer :: i

        allocate(letters(len_trim(text) + 1))
        do i = 1, len_trim(text)
            letters(i) = text(i:i)
        end do
        letters(size(letters)) = c_null_char
    end function

    ! a text that C uses for some time
    subroutine keep(text, kept, at)
        character(*), intent(in), optional :: text
        character(kind=c_char), allocatable, target, intent(out) :: kept(:)
        type(c_ptr), intent(inout) :: at

        if (.not. present(text)) return
        kept = of_text(text)
        at = c_loc(kept)
    end subroutine
end module
