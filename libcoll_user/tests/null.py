#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""Every function of the headers with nothing but NULL and 0: no call ends by a signal.

usage: null.py LIBRARY INCLUDE-DIRECTORY...
"""
import ctypes
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


def functions(directories):
    """Names of the functions that the headers declare."""
    source = "".join(f"#include <coll/{h}.h>\n" for h in HEADERS)
    text = subprocess.run(["cc", "-E", "-P", *("-I" + d for d in directories), "-"], check=True,
                          input=source, capture_output=True, text=True).stdout
    # A declaration has no parentheses but its own and those of attributes.
    found = re.findall(r"\b(coll_\w+)\s*\(([^()]*)\)\s*(?:__attribute__[^;]*)?;", text)
    return sorted({n for n, args in found if not APART.match(n + " " + args)})


def call(library, name):
    """Call it in a child. Return: number of the signal that the child died by, or 0."""
    child = os.fork()
    if not child:
        function = getattr(library, name)
        function.argtypes = [ctypes.c_void_p] * PARAMETERS
        function(*[None] * PARAMETERS)
        os._exit(0)
    return os.waitpid(child, 0)[1] & 0x7f


def main():
    library = ctypes.CDLL(sys.argv[1])
    names = functions(sys.argv[2:])
    died = {n: s for n in names if (s := call(library, n))}
    for name, sig in died.items():
        print(f"# {name}: signal {sig}")
    print(f"{'not ' if died or len(names) < 150 else ''}ok 1 - {len(names)} functions take NULL")
    print("1..1")
    sys.exit(bool(died))


main()
