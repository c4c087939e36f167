#!/usr/bin/env python3
"""Checks that code uses one word for one thing, as the glossary in docs/architecture.md has it.

    tools/check_words.py [ROOT]

A rule is a pattern, the folders in which it is right, and what to write elsewhere. Prints file:line for each breach and
exits 1.
"""

import pathlib
import re
import sys

# Everywhere.
DANGLING = (r"^\s*// Of ", (), "a comment that says what it describes: \"The rows of ...\"")
# A pattern, the folders of src/ in which it is right, what to write elsewhere.
RULES = [
    DANGLING,
    (r"\b[a-z_]*in_words\b|\btext_of\(", (), "name_of for the name of an enum's value, to_text for a value as text, describe "
     "for words to a reader"),
    (r"\b(Weight|Shared|Own|Coming)?Pieces?\b|\bpieces?_\b", ("text", "interchange"), "slice for a run of a weight's elements, range "
     "for neighbouring queries, operand for a part of a call: a piece is a tokenizer's"),
    (r"\b[Ll]anes?_?\b", ("kernels", "decode", "encode", "api", "train", "quant", "bench", "models", "base"), "ring for what two "
     "processes share, outbox for what waits for MPI: a lane is a backend of one thread, or in kernels a vector's"),
    (r"\bWeightParts?\b|\b(weight|planned|trained|frozen)_parts\b", (), "treatment for what training does with a weight: a part is "
     "a rank's share of matrices"),
    (r"\b(struct|class) (?!PartTypes|PartsObserver)\w*Parts?\b", ("ops", "plan", "kernels"), "what it is: a part is a "
     "rank's share of matrices"),
    (r"\b(find|starts_with|ends_with|contains)\(\"(\.?layers\.|encoder\.|decoder\.|source\.|target\.|embedding\.|output\.)",
     ("interchange",), "a question to the weight's identity: its role and place, not its name"),
]
TOP_FOLDERS = ("src", "include", "plugins", "bindings", "tests")
SUFFIXES = {".h", ".cpp", ".cu", ".cuh"}


def breaches_of(file, folder, rules):
    """(line number, what to write) for each line of the file that breaks a rule."""
    rules = [(re.compile(pattern), advice) for pattern, folders, advice in rules if folder not in folders]
    for number, line in enumerate(file.read_text(errors="replace").splitlines(), 1):
        for pattern, advice in rules:
            if pattern.search(line):
                yield number, advice


def check(root):
    breaches, files = [], 0
    for top in TOP_FOLDERS:
        for file in sorted((root / top).rglob("*")):
            if file.suffix not in SUFFIXES:
                continue
            files += 1
            folder = file.relative_to(root / top).parts[0]
            for number, advice in breaches_of(file, folder, RULES if top == "src" else [DANGLING]):
                breaches.append(f"{file.relative_to(root)}:{number}: write {advice}")
    return breaches, files


def main():
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent
    breaches, files = check(root.resolve())
    for line in breaches:
        print(line)
    if breaches:
        sys.exit(1)
    print(f"words: {files} files in order")


if __name__ == "__main__":
    main()
