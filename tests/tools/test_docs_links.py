"""Links of the documentation: files that exist, headings that exist, and names that are found where they lead."""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
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
            for name in re.findall(r"`(\w+)`", label):
                if not re.search(rf"\b{name}\b", target.read_text()):
                    found.append(f"{page.name}: {link}: {name} is not in it")
    return found


class Links(unittest.TestCase):
    def test_links_lead_to_files_headings_and_names(self):
        self.assertGreater(len(PAGES), 10)
        self.assertEqual([problem for page in PAGES for problem in problems(page, page.read_text())], [])

    def test_what_is_wrong_is_found(self):
        page = ROOT / "docs" / "report.md"
        for text, expected in (("[a](absent.md)", "no such file"), ("[a](report.md#absent)", "no such heading"),
                               ("[`absent_name`](../src/ops/loss.h)", "absent_name is not in it"),
                               ("| [`TokenLosses` and `absent_name`](../src/ops/loss.h) |", "absent_name is not in it")):
            self.assertEqual(len(problems(page, text)), 1, text)
            self.assertIn(expected, problems(page, text)[0])
        self.assertEqual(problems(page, "[`TokenLosses`](../src/ops/loss.h), [b](#what-it-shows)"), [])


if __name__ == "__main__":
    unittest.main()
