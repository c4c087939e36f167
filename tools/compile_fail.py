#!/usr/bin/env python3
"""Checks that a line of code compiles, or that it fails to compile for the reason that it names.

    tools/compile_fail.py good|bad FILE -- COMPILER FLAG...

FILE compiles as it stands. With HEED_BAD defined it must not, and it says why in comments:

    // expect-error: <regular expression>

`bad` passes when the file compiles without HEED_BAD (so a missing header never counts as the expected failure), fails
with it, meets every expectation by an error, and has no other error.
"""

import os
import pathlib
import re
import subprocess
import sys

EXPECT = re.compile(r"//\s*expect-error:\s*(.+?)\s*$", re.MULTILINE)
ERROR = re.compile(r"^.*?\b(?:fatal )?error: (.*)$", re.MULTILINE)


def compile_file(command, file, *extra):
    """(whether it compiled, what the compiler said)."""
    result = subprocess.run(
        [*command, "-fsyntax-only", *extra, str(file)],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, "LC_ALL": "C"})
    return result.returncode == 0, result.stdout


def check_good(command, file):
    compiled, output = compile_file(command, file)
    return None if compiled else f"{file} does not compile as it stands:\n{output}"


def check_bad(command, file):
    expected = EXPECT.findall(file.read_text())
    if not expected:
        return f"{file} has no '// expect-error: <regex>'"
    problem = check_good(command, file)
    if problem:
        return problem
    compiled, output = compile_file(command, file, "-DHEED_BAD")
    if compiled:
        return f"{file} compiles with HEED_BAD, but must not"
    errors = ERROR.findall(output)
    for pattern in expected:
        if not any(re.search(pattern, error) for error in errors):
            return f"{file}: no error matches '{pattern}':\n{output}"
    for error in errors:
        if not any(re.search(pattern, error) for pattern in expected):
            return f"{file}: unexpected error: {error}\n{output}"
    return None if errors else f"{file}: the compiler failed without an error:\n{output}"


def main():
    if len(sys.argv) < 5 or sys.argv[1] not in ("good", "bad") or sys.argv[3] != "--":
        sys.exit(__doc__)
    check = check_good if sys.argv[1] == "good" else check_bad
    problem = check(sys.argv[4:], pathlib.Path(sys.argv[2]))
    if problem:
        sys.exit(problem)


if __name__ == "__main__":
    main()
