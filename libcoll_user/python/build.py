#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1 OR MIT
"""usage: build.py HEADERS UAPI LIBRARY OUT WAY

Builds coll/_coll.abi3.so in OUT, by cffi in API mode. The declarations are those of the C
headers below HEADERS and UAPI, so none is written twice. LIBRARY has libcoll.so. WAY is the
relative path from the directory of the package to that of libcoll.so.0.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

import cffi

# The types that the headers take from others. Nothing else of those is declared.
STUBS = {
    "linux/types.h": "".join(f"typedef {sign} {c} __{sign[0]}{bits};\n" for c, bits in (
        ("char", 8), ("short", 16), ("int", 32), ("long long", 64))
        for sign in ("unsigned", "signed")),
    "linux/ioctl.h": "", "stdbool.h": "", "stddef.h": "", "stdint.h": "", "string.h": "",
}

# Macros are no declarations: these are used.
MACROS = "".join(f"#define {name} ...\n" for name in (
    "COLL_RANK_ANY", "COLL_RANK_NULL", "COLL_TAG_ANY", "COLL_UNDEFINED", "COLL_CONFIG_NO_URING",
    "COLL_TENSOR_AVG_PRESENT", "COLL_TENSOR_DIMS"))

PYTHON = """
extern "Python" int coll_py_exchange(void *ctx, const void *mine, void *all, size_t len,
                                     uint32_t timeout_ms);
"""


def declarations(headers, uapi):
    """The text of <coll/tensor.h>, which includes <coll/coll.h>, without directives, bodies and attributes."""
    with tempfile.TemporaryDirectory() as stubs:
        for name, text in STUBS.items():
            path = os.path.join(stubs, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="ascii") as f:
                f.write(text)
        text = subprocess.run(
            [*os.environ.get("CC", "cc").split(), "-E", "-P", "-nostdinc", f"-I{stubs}", f"-I{headers}", f"-I{uapi}", "-"],
            input="#include <coll/tensor.h>\n", check=True, capture_output=True, text=True).stdout
    text = re.sub(r"__attribute__\s*\(\(.*?\)\)", "", text)
    # functions that are defined in the headers
    text = re.sub(r"static inline [^;{}]*\{.*?^\}\n", "", text, flags=re.S | re.M)
    return text


def main():
    headers, uapi, library, out = map(os.path.abspath, sys.argv[1:5])
    ffi = cffi.FFI()
    ffi.cdef(declarations(headers, uapi) + MACROS + PYTHON)
    ffi.set_source(
        "coll._coll", "#include <coll/tensor.h>\n", libraries=["coll"],
        include_dirs=[headers, uapi], library_dirs=[library],
        extra_link_args=[f"-Wl,-rpath,$ORIGIN/{sys.argv[5]}"], py_limited_api=True)
    with tempfile.TemporaryDirectory() as work:
        built = ffi.compile(tmpdir=work)
        os.makedirs(out, exist_ok=True)
        target = os.path.join(out, "_coll.abi3.so")
        shutil.copy(built, target + ".new")
        os.rename(target + ".new", target)


main()
