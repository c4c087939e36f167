#!/usr/bin/env python3
"""Checks that a line of code fails to compile for the reason that it names.

    tools/compile_fail.py FILE -- COMPILER FLAG...

FILE must compile as it stands, so that a missing header never counts as the expected failure. With HEED_BAD defined it
must not, and it says why in comments:

    // expect-error: <regular expression>

Every expectation must be met by an error, and there may be no other error.
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


def problem_of(command, file):
    """What is wrong with the file; None: nothing."""
    expected = EXPECT.findall(file.read_text())
    if not expected:
        return f"{file} has no '// expect-error: <regex>'"
    compiled, output = compile_file(command, file)
    if not compiled:
        return f"{file} does not compile as it stands:\n{output}"
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
    if len(sys.argv) < 4 or sys.argv[2] != "--":
        sys.exit(__doc__)
    problem = problem_of(sys.argv[3:], pathlib.Path(sys.argv[1]))
    if problem:
        sys.exit(problem)


if __name__ == "__main__":
    main()
