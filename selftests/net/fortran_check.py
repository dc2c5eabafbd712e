#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""usage: fortran_check.py ROOT constants|functions

Compares the Fortran module with the headers of C: values of constants, arguments of functions, and
whether a function of C is missing. Prints what differs; status 0, or 1.
"""
import os
import re
import subprocess
import sys

# Functions of coll.h that take a struct of the kernel, or memory of io_uring; and those that the
# module has as a procedure of its own, whose interface to C is checked.
LEFT_OUT = re.compile("coll_(cmd_|prep_).*|coll_(i?submit|persist|comm_fd|comm_set_idle|comm_select"
                      "|comm_choice|config_init|init_error|device_version|type_of"
                      "|type_opaque)$")
KINDS_C = {
    "coll_comm_t *": "comm", "coll_comm_t **": "comm *",
    "coll_request_t *": "request", "coll_request_t **": "request *",
    "void *": "memory", "struct coll_config *": "memory", "char *": "text",
    "uint64_t": "64 bits", "coll_op_t": "64 bits", "uint64_t *": "64 bits *",
    "coll_op_t *": "64 bits *", "uint32_t": "32 bits", "int32_t": "32 bits",
    "uint32_t *": "32 bits *", "int": "int", "int *": "int *", "enum coll_dtype": "int",
    "enum coll_op_code": "int", "enum coll_collective": "int", "size_t": "size",
    "_Bool": "bool", "struct coll_message *": "message *", "struct coll_cause *": "cause *",
    "struct coll_status *": "status *", "struct coll_user_type": "user type",
    "coll_user_fn *": "function",
}
KINDS_FORTRAN = {
    "type(coll_comm)": "comm", "type(coll_request)": "request", "type(*)": "memory",
    "type(c_ptr)": "memory", "integer(c_int64_t)": "64 bits", "integer(c_int32_t)": "32 bits",
    "integer(c_int)": "int", "integer(c_size_t)": "size", "logical(c_bool)": "bool",
    "type(coll_message)": "message", "type(cause)": "cause", "type(status)": "status",
    "type(coll_user_type)": "user type", "type(c_funptr)": "function",
    "character(kind=c_char)": "text",
}
# their addresses are what C has
ADDRESSES = ("memory", "text")


def sources(root):
    """The module's text, without comments, and each statement in one line."""
    where = os.path.join(root, "libcoll_user", "fortran")
    text = ""
    for name in sorted(os.listdir(where)):
        if name.endswith(".f90"):
            with open(os.path.join(where, name), encoding="utf-8") as f:
                text += f.read()
    text = re.sub(r"^\s*!.*\n", "", text, flags=re.M)
    return re.sub(r"\s*&\n\s*", " ", text)


def compiler(root, *args, code):
    include = [f"-I{root}/{d}" for d in ("libcoll_user/include", "uapi")]
    code = "#include <coll/coll.h>\n" + code
    return subprocess.run(["gcc", *args, *include, "-x", "c", "-"], input=code, text=True,
                          capture_output=True, check=False)


def constants(root):
    """Names and values that the compiler is to compare, and enumerators that are missing."""
    code, names = "", set()
    for kind, rest in re.findall(r"integer\((c_\w+)\), parameter :: (.*)", sources(root)):
        ctype = {"c_int": "int", "c_int32_t": "int32_t", "c_int64_t": "int64_t"}[kind]
        for name, value in re.findall(r"(COLL_\w+) = ([-0-9 ]+)", rest):
            name = name.replace("COLL_FN_", "COLL_")
            names.add(name)
            code += f'_Static_assert(({ctype}){name} == {value}, "{name}");\n'
    done = compiler(root, "-fsyntax-only", code=code)
    bad = re.findall(r"error: .*", done.stderr)
    with open(f"{root}/uapi/linux/coll.h", encoding="utf-8") as f:
        header = f.read()
    for enum in ("coll_collective", "coll_op_code", "coll_dtype"):
        body = re.search(rf"^enum {enum} {{(.*?)^}};", header, re.S | re.M).group(1)
        for name in re.findall(r"^\s*(COLL_\w+)", body, re.M):
            if name not in names and "COLL_NR_" not in name:
                bad.append(f"{name} is missing")
    return bad, len(names)


def kind_c(text):
    """The kind of "const void *send" or "uint64_t"."""
    text = re.sub(r"\bconst\b", "", text).strip()
    found = re.match(r"((?:struct |enum )?\w+)\s*(\**)", text)
    return KINDS_C.get(f"{found[1]} {found[2]}".strip(), text)


def functions_c(root):
    text = compiler(root, "-E", "-P", code="").stdout
    result = {}
    for kind, name, args in re.findall(r"([\w ]+[ *]+)(coll_\w+)\s*\(([^()]*)\)\s*;", text):
        args = [] if args.strip() == "void" else args.split(",")
        if not LEFT_OUT.match(name) and "typedef" not in kind:
            result[name] = [kind_c(kind)] + [kind_c(a) for a in args]
    return result


def kind_fortran(attributes, is_array):
    kind = KINDS_FORTRAN.get(attributes[0], attributes[0])
    by_value = "value" in attributes or kind in ADDRESSES and is_array
    return kind if by_value else kind + " *"


def functions_fortran(root):
    result = {}
    for name, args, other, given, body in re.findall(
            r"^ +(?:pure )?function (\w+)\(([^)]*)\) bind\(c(?:, name=\"(\w+)\")?\) result\((\w+)\)\n(.*?)"
            r"^ +end function", sources(root), re.S | re.M):
        kinds = {}
        for what, names in re.findall(r"^ +(\S.*?) :: (.*)$", body, re.M):
            attributes = re.split(r", (?![^(]*\))", what)
            for one in re.findall(r"(\w+)(\(\*\))?", names):
                kinds[one[0]] = kind_fortran(attributes, one[1])
        # results are values
        first = kinds[given].replace(" *", "")
        if first == "memory" and other in TEXTS:
            first = "text"
        result[other or name] = [first] + [kinds[a] for a in args.split(", ") if a]
    return result


# functions with text as result
TEXTS = ("coll_last_error", "coll_strerror", "coll_version", "coll_comm_algorithm")


def functions(root):
    bad, theirs, ours = [], functions_c(root), functions_fortran(root)
    for name, kinds in sorted(theirs.items()):
        if name not in ours:
            bad.append(f"{name} is missing")
        elif ours[name] != kinds:
            bad.append(f"{name}: C has {kinds}, Fortran has {ours[name]}")
    bad += [f"{name} is no function of C" for name in ours if name not in theirs and name != "strlen"]
    return bad, len(theirs)


def main():
    bad, number = {"constants": constants, "functions": functions}[sys.argv[2]](sys.argv[1])
    for line in bad:
        print(line)
    print(f"{number} {sys.argv[2]} compared")
    return bool(bad) or number < 50


sys.exit(main())
