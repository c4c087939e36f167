#!/usr/bin/env python3
"""Measures the tree: files and lines by folder, files at one level, the walks' hops, words of the pages.

    tools/measure_house.py [REVISION]

Measures the working tree, or a revision. A walk's hops are the functions that docs/architecture.md names on the way of a
sentence through `heed translate` and of a batch through `heed train`; tests/tools/test_docs_links.py checks that each
stands in the file that the page links to.
"""

import collections
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
CODE = ("src", "include", "plugins")
WALK = re.compile(r"^#+ .*`heed (translate|train)`", re.IGNORECASE)
HOP = re.compile(r"\[`[^`]+`\]\(([^)#]+)(?:#[^)]*)?\)")


class Tree:
    """The tracked files of the working tree, or of a revision."""

    def __init__(self, revision=None):
        self.revision = revision
        names = self.git("ls-tree", "-r", "--name-only", revision) if revision else self.git("ls-files")
        self.names = [name for name in names.splitlines() if revision or (ROOT / name).is_file()]

    @staticmethod
    def git(*arguments):
        return subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, check=True).stdout.decode(
            errors="replace")

    def read(self, name):
        if self.revision:
            return self.git("show", f"{self.revision}:{name}")
        return (ROOT / name).read_text(errors="replace")


def is_code(name):
    return name.split("/")[0] in CODE and name.endswith((".h", ".cpp", ".inc"))


def folder_of(name):
    """src/<folder>, with the backends apart; otherwise the top folder."""
    parts = name.split("/")
    if parts[0] != "src":
        return parts[0]
    return "/".join(parts[:3] if parts[1] == "kernels" and parts[2] in ("cpu", "reference", "counting") else parts[:2])


def print_folders(tree):
    files, lines = collections.Counter(), collections.Counter()
    for name in filter(is_code, tree.names):
        files[folder_of(name)] += 1
        lines[folder_of(name)] += tree.read(name).count("\n")
    print(f"{'folder':<24}{'files':>7}{'lines':>8}")
    for folder in sorted(files, key=lambda f: (-lines[f], f)):
        print(f"{folder:<24}{files[folder]:>7}{lines[folder]:>8}")
    print(f"{'all':<24}{sum(files.values()):>7}{sum(lines.values()):>8}")


def print_levels(tree):
    levels = collections.Counter(str(pathlib.PurePosixPath(name).parent) for name in tree.names)
    print("\nmost files at one level:")
    for folder, count in levels.most_common(5):
        print(f"  {count:>4}  {folder}")


def walks(page):
    """The linked functions of each walk: {"translate": [file, ...], "train": [...]}."""
    found, walk = {}, None
    for line in page.splitlines():
        if line.startswith("#"):
            heading = WALK.match(line)
            walk = heading.group(1) if heading else None
        elif walk:
            found.setdefault(walk, []).extend(HOP.findall(line))
    return found


def print_walks(tree):
    if "docs/architecture.md" not in tree.names:
        return
    print()
    for walk, files in walks(tree.read("docs/architecture.md")).items():
        print(f"heed {walk}: {len(files)} hops over {len(set(files))} files")


def words_of(page):
    """Words, without the bars of tables and other signs that stand alone."""
    return sum(1 for word in page.split() if any(character.isalnum() for character in word))


def print_words(tree):
    pages = [name for name in tree.names if re.fullmatch(r"(README|CONTRIBUTING)\.md|docs/(?!measurements/).*\.md", name)]
    words = {name: words_of(tree.read(name)) for name in pages}
    measurements = [name for name in tree.names if re.fullmatch(r"docs/measurements/.*\.md", name)]
    print(f"\nwords of the pages: {sum(words.values())} in {len(pages)}", end="")
    print(f", and {sum(words_of(tree.read(name)) for name in measurements)} of measurements")
    for name in sorted(words, key=words.get, reverse=True)[:5]:
        print(f"  {words[name]:>6}  {name}")


def main():
    tree = Tree(sys.argv[1] if len(sys.argv) > 1 else None)
    print_folders(tree)
    print_levels(tree)
    print_walks(tree)
    print_words(tree)


if __name__ == "__main__":
    main()
