#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""usage: files.py [root]: do the files of kmod/ and libcoll_user/ keep these rules?

- A function that a header declares is defined in the file of the same name, or in the header.
- No circle: a file that calls another one is not called by it, directly or by others. The
  same for the rooms of libcoll_user; layers.sh has the order of the rooms of kmod.
- A function that is documented to run under a lock asserts that (lockdep_assert_held), and so
  does one whose name ends in _locked.
- The name of a static function that asserts a lock ends in _locked, or in _unlock if it
  releases the lock.
- kmod/xport does not look into a group: it asks by kmod/core/group/transport.h.

Prints the rooms, from the top down, and one line for each offence; status 1 if there is any.
"""
import collections
import os
import re
import sys


def read(path):
    """The text of a file, without comments, strings and attributes."""
    with open(path, encoding="utf-8") as f:
        text = re.sub(r"/\*.*?\*/", " ", f.read(), flags=re.S)
    text = re.sub(r'"(\\.|[^"\\\n])*"', '""', text)
    return re.sub(r"\s*\b__attribute__\(\(.*?\)\)(?=[;\s])", "", text, flags=re.S)


def behind_bracket(text, at):
    """The place behind the bracket that closes the one before @at."""
    depth = 1
    while at < len(text) and depth:
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        at += 1
    return at


def functions(text):
    """(name, is a definition) of each function at the outermost level that is not static."""
    for m in re.finditer(r"^(?!static\b|typedef\b|#)[A-Za-z_][\w \t*\n]*?\b(\w+)\(", text, re.M):
        rest = text[behind_bracket(text, m.end()):]
        rest = re.match(r"(\s*__\w+(\([^()]*(\([^()]*\))?[^()]*\))?)*\s*([;{])", rest)
        if rest:
            yield m.group(1), rest.group(4) == "{"


def statics(text):
    """Names of functions that only this file knows."""
    return set(re.findall(r"^static\b[\w \t*\n]*?\b(\w+)\(", text, re.M))


COMMENT = r"/\*((?:(?!\*/).)*)\*/\n"
FUNCTION = r"(?=[A-Za-z_])(?!struct \w+ \{|enum|typedef)[^;{}#]*?\b(\w+)\([^;{}]*?\)[^;{}()]*"


def documented(text):
    """(name, comment) of each function that has a comment."""
    for m in re.finditer(COMMENT + FUNCTION + r"[;{]", text, re.S):
        yield m.group(2), re.sub(r"\s*\n\s*\*\s*", " ", m.group(1))


def locks(root, files):
    """Offences against the two rules of locks."""
    under = {}
    texts = {}
    for stem, parts in files.items():
        for ext in parts:
            with open(os.path.join(root, stem + ext), encoding="utf-8") as f:
                texts[stem + ext] = f.read()
            for name, comment in documented(texts[stem + ext]):
                if re.search(r"\b[Uu]nder \w+->\w*lock\b(?!,? or)", comment):
                    under[name] = True
    for path, text in sorted(texts.items()):
        if path.endswith(".h"):
            continue
        for m in re.finditer(r"^" + FUNCTION + r"\{\n(.*?)\n\}", text, re.M | re.S):
            name, asserts = m.group(1), "lockdep_assert" in m.group(2)
            static = m.group(0).startswith("static")
            if (name in under or name.endswith("_locked")) and not asserts:
                yield f"{path}: {name}() does not assert the lock that it runs under"
            if asserts and static and not name.endswith(("_locked", "_unlock")):
                yield f"{path}: {name}() runs under a lock: its name must end in _locked"


def peeks(files):
    """Places where a transport looks into struct coll_group."""
    for stem, parts in sorted(files.items()):
        for ext, text in sorted(parts.items()):
            if stem.startswith("kmod/xport/") and re.search(r"\bgroup\s*->", text):
                yield f"{stem}{ext} looks into a group: see kmod/core/group/transport.h"


def sources(root, top):
    """All files of @top by name: stem -> {".c": text, ".h": text}."""
    files = collections.defaultdict(dict)
    for where, dirs, names in os.walk(os.path.join(root, top)):
        if top == "libcoll_user":
            # what applications see, and programs of their own
            dirs[:] = [d for d in dirs if d not in ("include", "tests")]
        for name in names:
            stem, ext = os.path.splitext(os.path.join(where, name))
            if ext in (".c", ".h") and not name.endswith(".mod.c"):
                files[os.path.relpath(stem, root)][ext] = read(stem + ext)
    return files


def circles(calls):
    """Groups of files that call each other (Tarjan's strongly connected components)."""
    index, low, stack, found = {}, {}, [], []

    def visit(v):
        index[v] = low[v] = len(index)
        stack.append(v)
        for w in calls[v]:
            if w not in index:
                visit(w)
            if w in stack:
                low[v] = min(low[v], low[w])
        if low[v] == index[v]:
            at = stack.index(v)
            if len(stack) - at > 1:
                found.append(sorted(stack[at:]))
            del stack[at:]

    for v in sorted(calls):
        if v not in index:
            visit(v)
    return found


def offences(root, files):
    """One line for each."""
    defined = {}
    for stem, texts in files.items():
        for name, is_definition in functions(texts.get(".c", "")):
            if is_definition:
                defined.setdefault(name, stem)
    for stem, texts in sorted(files.items()):
        for name, is_definition in functions(texts.get(".h", "")):
            home = defined.get(name, stem)
            if not is_definition and home != stem:
                yield f"{stem}.h declares {name}(), which is in {home}.c"
    calls = {}
    for stem, texts in files.items():
        used = set(re.findall(r"(?<!struct )\b\w+", texts.get(".c", ""))) - statics(texts.get(".c", ""))
        calls[stem] = sorted({defined[n] for n in used if n in defined} - {stem})
    for group in circles(calls):
        yield "a circle: " + " ".join(group)
    rooms = collections.defaultdict(set)
    for stem in calls:
        if stem.startswith("libcoll_user/"):
            room = os.path.dirname(stem)
            rooms[room] |= {os.path.dirname(s) for s in calls[stem]} - {room}
    for group in circles(rooms):
        yield "a circle: " + " ".join(group)
    yield from locks(root, files)
    yield from peeks(files)


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else "."
    bad = 0
    for top in ("kmod", "libcoll_user"):
        files = sources(root, top)
        for line in offences(root, files):
            print(line, file=sys.stderr)
            bad = 1
        rooms = collections.Counter(os.path.dirname(f) for f in files)
        print(f"rooms of {top}: " + ", ".join(f"{os.path.relpath(r, top)} {n}" for r, n in sorted(rooms.items())))
    if not bad:
        print("no circles")
    return bad


sys.exit(main())
