#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""Functions of the headers with NULL.

Every function with nothing but NULL and 0: no call ends by a signal. Every function that takes a
communicator, with NULL for it and memory for all other pointers: -EINVAL. Functions that give a
result, with NULL for that.

usage: null.py LIBRARY INCLUDE-DIRECTORY...
"""
import ctypes
import errno
import os
import re
import subprocess
import sys

# More parameters than any function has: a surplus one does no harm.
PARAMETERS = 16
# Not tested: those that fill in memory of the caller; those that get what a step of a session has
# been given; those that divide by a number that the header says is not 0; types of functions.
APART = re.compile(r"coll_(cmd|prep)_|.*coll_iter_ctx_t |coll_iter_(start_pos|local_row_count|where|"
                   r"pieces)|\w+_fn\b")
HEADERS = ("coll", "tensor", "iterate", "op", "adasum")
# What they return for a communicator that is NULL, if it is not -EINVAL
OTHERWISE = {"coll_finalize": 0}
# A communicator, and a result that is NULL
RESULTS = ("coll_comm_status", "coll_device_version")
MEMORY = ctypes.create_string_buffer(1 << 16)


def declarations(directories):
    """(type, name, parameters) of the functions that the headers declare."""
    source = "".join(f"#include <coll/{h}.h>\n" for h in HEADERS)
    text = subprocess.run(["cc", "-E", "-P", *("-I" + d for d in directories), "-"], check=True,
                          input=source, capture_output=True, text=True).stdout
    # A declaration has no parentheses but its own and those of attributes.
    found = re.findall(r"(\w+)[\s*]+(coll_\w+)\s*\(([^()]*)\)\s*(?:__attribute__[^;]*)?;", text)
    return sorted({d for d in found if not APART.match(d[1] + " " + d[2])})


def call(library, name, args):
    """Call it in a child. Return: the signal that the child died by, or None; what it returned."""
    there, here = os.pipe()
    child = os.fork()
    if not child:
        function = getattr(library, name)
        function.argtypes = [ctypes.c_void_p] * PARAMETERS
        os.write(here, b"%d" % function(*args, *[None] * (PARAMETERS - len(args))))
        os._exit(0)
    os.close(here)
    with open(there, "rb") as f:
        said = f.read()
    sig = os.waitpid(child, 0)[1] & 0x7f
    return (sig, None) if sig else (None, int(said))


def ends(library, name, args, wanted=None):
    """Does the call return @wanted, or anything if that is None?"""
    sig, got = call(library, name, args)
    if sig or wanted not in (None, got):
        print(f"# {name}: " + (f"signal {sig}" if sig else f"{got}, not {wanted}"))
        return False
    return True


def without_communicator(library, functions):
    """Calls with NULL for the communicator, and memory for all other pointers."""
    memory = ctypes.addressof(MEMORY)
    good = 0
    for _type, name, parameters in functions:
        _first, *others = parameters.split(",")
        args = [None] + [memory if "*" in p else None for p in others]
        good += ends(library, name, args, OTHERWISE.get(name, -errno.EINVAL))
    return good


def main():
    library = ctypes.CDLL(sys.argv[1])
    functions = declarations(sys.argv[2:])
    names = {name for _type, name, _parameters in functions}
    takers = [f for f in functions if f[0] == "int" and re.match(r"(const )?coll_comm_t \*", f[2])]
    memory = ctypes.addressof(MEMORY)
    tests = (
        ("functions take NULL", sum(ends(library, n, ()) for n in names), len(names), 150),
        ("functions refuse no communicator", without_communicator(library, takers), len(takers),
         80),
        ("functions refuse no result",
         sum(ends(library, n, (memory, None), -errno.EINVAL) for n in RESULTS), len(RESULTS), 2),
    )
    for i, (what, good, of, least) in enumerate(tests, 1):
        print(f"{'ok' if good == of >= least else 'not ok'} {i} - {good} of {of} {what}")
    print(f"1..{len(tests)}")
    sys.exit(any(good < of for _what, good, of, _least in tests))


main()
