#!/usr/bin/env python3
"""Checks every #include: a folder may include only what follows from its DEPENDS.

    tools/check_floors.py [ROOT]

Reads the table in src/CMakeLists.txt (heed_folder calls), then each .h and .cpp file under src/, include/ and bindings/.
Each folder that DEPENDS names must also be included, unless it implements handles. A subfolder that the table does not
name is part of its folder. Floors follow from the table: a folder stands one above the highest that it depends on, and a
backend (kernels/x) on that of kernels.

Every folder may use public headers of value types. A header of handles belongs to the folder that implements it: where
src/<folder>/<name>.cpp begins with its own header <heed/<name>.h>. Public headers include nothing internal, src/cli
includes only them and the leaves, and bindings/ only them.

Prints file:line for each breach and exits 1.
"""

import pathlib
import re
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
CALL = re.compile(r"^heed_folder\(([^)]*)\)", re.MULTILINE)
KEYWORDS = {"LEAF", "DEPENDS", "LINK", "LINK_PUBLIC"}
PUBLIC = "include/heed"
BINDINGS = "bindings"
SUFFIXES = {".h", ".cpp", ".inc"}


class Folder:
    def __init__(self, name, leaf, depends, line):
        self.name = name
        self.leaf = leaf
        self.depends = depends
        self.line = line  # of the table
        self.reach = set()  # every folder that follows from DEPENDS
        self.floor = 0


def read_table(path):
    """The folders of src/CMakeLists.txt, by name."""
    folders = {}
    text = re.sub(r"#.*", "", path.read_text())  # line by line, so that lines keep their numbers
    for call in CALL.finditer(text):
        words = call.group(1).split()
        values, key = {}, None
        for word in words[1:]:
            if word in KEYWORDS:
                key = word
                values[key] = []
            else:
                values[key].append(word)
        line = text.count("\n", 0, call.start()) + 1
        folder = Folder(words[0], "LEAF" in values, values.get("DEPENDS", []), line)
        for dependency in folder.depends:
            folder.reach |= {dependency} | folders[dependency].reach
            is_parent = folder.name.startswith(dependency + "/")
            folder.floor = max(folder.floor, folders[dependency].floor + (0 if is_parent else 1))
        folders[folder.name] = folder
    return folders


def folder_of(parts, folders):
    """The longest folder of the table that the path lies in, or None."""
    for length in range(len(parts) - 1, 0, -1):
        name = "/".join(parts[:length])
        if name in folders:
            return name
    return None


def first_include(file):
    for line in file.read_text(errors="replace").splitlines():
        match = INCLUDE.match(line)
        if match:
            return match.group(2)
    return None


def read_handles(root, folders):
    """The public headers that a folder implements, by name ("heed/translator.h"): each with the folder's name."""
    handles = {}
    for file in sorted((root / "src").rglob("*.cpp")):
        own = folder_of(file.relative_to(root / "src").parts, folders)
        header = f"heed/{file.stem}.h"
        if own in folders and own != "cli" and not folders[own].leaf and (root / "include" / header).is_file() and first_include(file) == header:
            handles[header] = own
    return handles


class House:
    def __init__(self, root):
        self.root = root.resolve()
        self.folders = read_table(self.root / "src" / "CMakeLists.txt")
        self.handles = read_handles(self.root, self.folders)


def target_of(quote, name, file, root, folders):
    """The folder that an include names: one of the table, PUBLIC, or None for a third party's header."""
    path = pathlib.PurePosixPath(name)
    if path.parts[0] == "heed":
        return PUBLIC
    if quote == '"' and (file.parent / name).is_file():
        resolved = (file.parent / name).resolve()
        for base, prefix in ((root / "src", ""), (root / "include", "include/")):
            if resolved.is_relative_to(base):
                parts = resolved.relative_to(base).parts
                return PUBLIC if prefix else folder_of(parts, folders)
    return folder_of(path.parts, folders)


def public_breach(house, own, header, handle_of_own):
    """Why `own` may not include the public header, or None."""
    if header not in house.handles or own in ("cli", BINDINGS):
        return None
    implementer = house.handles[header]
    if own == PUBLIC:
        return None if handle_of_own in house.handles else f"a value type may not include {header}, a handle of {implementer}/"
    if own == implementer or implementer in house.folders[own].reach:
        return None
    return f"{own}/ may not include {header}: it is a handle of {implementer}/"


def breach(house, own, target):
    """Why `own` may not include what lies in `target`, or None."""
    folders = house.folders
    if target is None or target == own:
        return None
    if own == PUBLIC:
        return f"a public header may not include {target}/"
    if own == BINDINGS:
        return f"bindings stand on <heed/...> alone and may not include {target}/"
    if own == "cli":
        reachable = folders[target].leaf and target in folders[own].depends
        return None if reachable else f"cli stands on <heed/...> and leaves alone and may not include {target}/"
    if target in folders[own].reach:
        return None
    if own in folders[target].reach:
        return f"{own}/ may not include {target}/, which depends on it: that goes up"
    return f"{own}/ includes {target}/, which does not follow from its DEPENDS in src/CMakeLists.txt"


def check_file(house, file, own, used):
    """The breaches of one file; notes in `used` which folders it includes."""
    shown = file.relative_to(house.root)
    for number, line in enumerate(file.read_text(errors="replace").splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        target = target_of(*match.groups(), file, house.root, house.folders)
        if target == PUBLIC:
            header = match.group(2)
            used.add(house.handles.get(header))
            reason = public_breach(house, own, header, f"heed/{file.name}")
        else:
            used.add(target)
            reason = breach(house, own, target)
        if reason:
            yield f"{shown}:{number}: {reason}"


def check(root):
    """All breaches under `root`, as lines of text, and the number of files."""
    house = House(root)
    root = house.root
    breaches = []
    used = {}
    files = [f for top in ("src", "include", BINDINGS) for f in sorted((root / top).rglob("*")) if f.suffix in SUFFIXES]
    for file in files:
        shown = file.relative_to(root)
        if shown.parts[0] in ("include", BINDINGS):
            own = PUBLIC if shown.parts[0] == "include" else BINDINGS
        else:
            own = folder_of(file.relative_to(root / "src").parts, house.folders)
            if own is None:
                breaches.append(f"{shown}:1: this folder is not in src/CMakeLists.txt")
                continue
        breaches += check_file(house, file, own, used.setdefault(own, set()))
    for name, folder in house.folders.items():
        if name in used:  # a folder without code yet may say what it is going to need
            for dependency in folder.depends:
                if dependency not in used[name] and dependency not in house.handles.values():
                    place = f"src/CMakeLists.txt:{folder.line}"
                    breaches.append(f"{place}: {name} DEPENDS {dependency}, but includes nothing of it")
    return breaches, len(files)


def main():
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent
    breaches, count = check(root)
    for line in breaches:
        print(line)
    if breaches:
        sys.exit(1)
    print(f"floors: {count} files in order")


if __name__ == "__main__":
    main()
