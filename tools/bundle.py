#!/usr/bin/env python3
"""tools/bundle.py PROGRAM TREE ARCHIVE: an archive of an installed TREE in which PROGRAM brings all its libraries.

Debian has no static archives of several of heed's libraries, and a program that is linked on one Debian asks for its C
library or a later one. So the C library and its loader come along: bin/NAME is a script that starts them, and the archive
runs on any Linux of the same processor family, whatever its C library.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile

SCRIPT = """#!/bin/sh
# Starts {name} with the libraries beside it, the C library among them, wherever this folder lies.
self=$0
while [ -h "$self" ]; do
  target=$(readlink "$self")
  case $target in
    /*) self=$target ;;
    *) self=$(dirname "$self")/$target ;;
  esac
done
libraries=$(cd "$(dirname "$self")/../lib/heed" && pwd)
exec "$libraries/{loader}" --argv0 "$0" --library-path "$libraries" "$libraries/{name}" "$@"
"""


def libraries_of(program):
    """The shared libraries that the program loads, and the loader, as ldd finds them."""
    listing = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    missing = re.findall(r"(\S+) => not found", listing)
    if missing:
        sys.exit(f"tools/bundle.py: {program}: not found: {' '.join(missing)}")
    paths = re.findall(r"(?m)^\t(?:\S+ => )?(/\S+) \(", listing)
    loader = next(path for path in paths if pathlib.Path(path).name.startswith("ld-linux"))
    return paths, loader


def notices(paths):
    """The copyright files of the packages that the libraries come from, by package."""
    found = {}
    for path in paths:
        real = pathlib.Path(path).resolve()
        for name in (path, str(real), str(real).removeprefix("/usr")):
            owner = subprocess.run(["dpkg", "-S", name], capture_output=True, text=True)
            if owner.returncode == 0:
                package = owner.stdout.split(":")[0]
                found[package] = pathlib.Path("/usr/share/doc") / package / "copyright"
                break
    return found


def main():
    program, tree, archive = map(pathlib.Path, sys.argv[1:])
    folder = tree / "lib" / "heed"
    folder.mkdir(parents=True, exist_ok=True)
    paths, loader = libraries_of(program)
    for path in paths:
        shutil.copy(pathlib.Path(path).resolve(), folder / pathlib.Path(path).name)
    shutil.copy(program, folder / program.name)
    subprocess.run(["strip", folder / program.name], check=True)
    script = tree / "bin" / program.name
    script.parent.mkdir(parents=True, exist_ok=True)
    script.unlink(missing_ok=True)
    script.write_text(SCRIPT.format(name=program.name, loader=pathlib.Path(loader).name))
    script.chmod(0o755)
    (folder / pathlib.Path(loader).name).chmod(0o755)
    for package, notice in notices(paths).items():
        if notice.is_file():
            place = tree / "share" / "doc" / program.name / "libraries" / package
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(notice, place)
    epoch = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))

    def plain(member):
        member.uid = member.gid = 0
        member.uname = member.gname = "root"
        member.mtime = epoch or member.mtime
        return member

    with tarfile.open(archive, "w:gz", compresslevel=6) as out:
        out.add(tree, arcname=tree.name, filter=plain)


if __name__ == "__main__":
    main()
