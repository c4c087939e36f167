#!/usr/bin/env python3
"""Checks that objects compiled for one instruction set share no code with the rest of the program.

    tools/check_isa_objects.py OBJECT...

An inline function or a template that such an object emits is a weak symbol, and the linker keeps one copy for the whole
program: if it keeps this one, a processor without the instruction set stops on it. So objects named *_avx*.cpp.o or
*_neon*.cpp.o may define no weak symbols. Give helpers in those files internal linkage.
"""

import pathlib
import re
import subprocess
import sys

# CMake passes a list of objects as one argument with semicolons.
OBJECTS = [pathlib.Path(o) for argument in sys.argv[1:] for o in argument.split(";")]
WEAK = re.compile(r"^[0-9a-f]* +[WVu] (.*)$", re.MULTILINE)
LIMITED = re.compile(r"_(avx|neon)[0-9a-z]*\.cpp\.o$")


def main():
    failed = False
    for path in OBJECTS:
        if not LIMITED.search(path.name):
            continue
        symbols = subprocess.run(["nm", "-C", "--defined-only", str(path)], check=True, capture_output=True, text=True)
        for name in WEAK.findall(symbols.stdout):
            print(f"{path.name}: shares '{name}' with the rest of the program")
            failed = True
    sys.exit(failed)


if __name__ == "__main__":
    main()
