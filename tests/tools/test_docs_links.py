"""Links of the documentation: files that exist, headings that exist, and names that are found where they lead."""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
LINK = re.compile(r"\[([^\[\]]*)\]\(([^()\s]+)\)")


def without_code(text):
    return re.sub(r"(?ms)^```.*?^```|^    .*?$", "", text)


def anchors(page):
    """As GitHub makes them of headings."""
    found = set()
    for heading in re.findall(r"(?m)^#+ +(.*)$", page.read_text()):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        found.add(re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-"))
    return found


def names(label):
    """`score`, `Residual::operator()`."""
    return re.findall(r"`((?:\w+::)*(?:operator\(\)|\w+))`", label)


def equations(text):
    """(equation, what follows until the next one or a heading) of a page: indented blocks that are not commands."""
    blocks = re.split(r"(?m)((?:^    .*\n)+)|^#.*$", text)
    # A block or None, and the text behind it, in turns.
    return [(block, after) for block, after in zip(blocks[1::2], blocks[2::2])
            if block and not block.lstrip().startswith("heed ")]


def has_function(text):
    """Whether a link names a function of a source file."""
    return any(names(label) and re.search(r"^\.\./(src|tests)/.*\.cpp$", link) for label, link in LINK.findall(text))


def problems(page, text):
    """What is wrong with the links of a page with this text."""
    found = []
    for label, link in LINK.findall(without_code(text)):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists():
            found.append(f"{page.name}: {link}: there is no such file")
            continue
        if anchor and target.suffix == ".md" and anchor not in (anchors(target) if path else anchors(page)):
            found.append(f"{page.name}: {link}: there is no such heading")
        if target.is_file() and target.suffix not in (".md", ".svg"):
            for name in names(label):
                if not re.search(rf"(?<!\w){re.escape(name)}(?!\w)", target.read_text()):
                    found.append(f"{page.name}: {link}: {name} is not in it")
    return found


class Links(unittest.TestCase):
    def test_links_lead_to_files_headings_and_names(self):
        self.assertGreater(len(PAGES), 10)
        self.assertEqual([problem for page in PAGES for problem in problems(page, page.read_text())], [])

    def test_each_equation_of_the_paper_names_its_function(self):
        found = equations((ROOT / "docs" / "from-the-paper.md").read_text())
        self.assertGreaterEqual(len(found), 9)
        self.assertEqual([equation for equation, after in found if not has_function(after)], [])

    def test_an_equation_without_a_function_is_found(self):
        for after, expected in (("[`f`](../src/a.cpp)\n", True), ("[`f`](../src/a.h)\n", False),
                                ("[f](../src/a.cpp)\n", False), ("# Next\n[`f`](../src/a.cpp)\n", False),
                                ("    b = c\n\n[`f`](../src/a.cpp)\n", False)):
            equation, text = equations("Text\n\n    a = b\n\n" + after)[0]
            self.assertEqual((equation, has_function(text)), ("    a = b\n", expected), after)

    def test_what_is_wrong_is_found(self):
        page = ROOT / "docs" / "report.md"
        for text, expected in (("[a](absent.md)", "no such file"), ("[a](report.md#absent)", "no such heading"),
                               ("[`absent_name`](../src/ops/loss/loss.h)", "absent_name is not in it"),
                               ("| [`TokenLosses` and `absent_name`](../src/ops/loss/loss.h) |", "absent_name is not in it"),
                               ("[`Seq2Seq::absent`](../src/models/seq2seq.cpp)", "Seq2Seq::absent is not in it"),
                               ("[`Absent::operator()`](../src/nn/norm.cpp)", "Absent::operator() is not in it")):
            self.assertEqual(len(problems(page, text)), 1, text)
            self.assertIn(expected, problems(page, text)[0])
        self.assertEqual(problems(page, "[`TokenLosses`](../src/ops/loss/loss.h), [b](#what-it-shows)"), [])


if __name__ == "__main__":
    unittest.main()
