#!/usr/bin/env python3
"""Checks that a line of code fails to compile for the reason that it names.

    tools/compile_fail.py FILE -- COMPILER FLAG...

FILE must compile as it stands, so that a missing header never counts as the expected failure. With HEED_BAD defined it
must not, and it says why in comments:

    // expect-error: <regular expression>

Every expectation must be met by an error, and there may be no other error. If all errors are in lines that only HEED_BAD
brings in, the rest compiles; otherwise the file is compiled again without it.
"""

import os
import pathlib
import re
import subprocess
import sys

EXPECT = re.compile(r"//\s*expect-error:\s*(.+?)\s*$", re.MULTILINE)
ERROR = re.compile(r"^.*?\b(?:fatal )?error: (.*)$", re.MULTILINE)
PLACE = re.compile(r"^(.*?):(\d+):\d+: error: ", re.MULTILINE)  # a fatal error says nothing about the lines after it


def compile_file(command, file, *extra):
    """(whether it compiled, what the compiler said)."""
    result = subprocess.run(
        [*command, "-fsyntax-only", *extra, str(file)],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, "LC_ALL": "C"})
    return result.returncode == 0, result.stdout


def bad_lines(text):
    """The numbers of the lines that only HEED_BAD brings in."""
    numbers = set()
    bad = False
    for number, line in enumerate(text.splitlines(), 1):
        if line == "#ifdef HEED_BAD":
            bad = True
        elif line == "#endif":
            bad = False
        elif bad:
            numbers.add(number)
    return numbers


def problem_of(command, file):
    """What is wrong with the file; None: nothing."""
    text = file.read_text()
    expected = EXPECT.findall(text)
    if not expected:
        return f"{file} has no '// expect-error: <regex>'"
    compiled, output = compile_file(command, file, "-DHEED_BAD")
    errors = ERROR.findall(output)
    bad = bad_lines(text)
    errors_of_bad_lines = [name == str(file) and int(line) in bad for name, line in PLACE.findall(output)]
    if compiled or errors_of_bad_lines != [True] * len(errors):
        compiles_unchanged, unchanged = compile_file(command, file)
        if not compiles_unchanged:
            return f"{file} does not compile as it stands:\n{unchanged}"
    if compiled:
        return f"{file} compiles with HEED_BAD, but must not"
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
