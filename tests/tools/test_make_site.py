"""tools/make_site.py: every page is there, links and anchors lead somewhere, the references have all public names, and
pages can be read without seeing them."""

import html.parser
import json
import os
import pathlib
import posixpath
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import urllib.parse

ROOT = pathlib.Path(os.environ.get("HEED_SOURCE_DIR", pathlib.Path(__file__).parents[2])).resolve()
sys.path.insert(0, str(ROOT / "tools"))

from website import headers, type_hints  # noqa: E402
from website.markdown import Page  # noqa: E402

EMPTY = {"meta", "link", "img", "input", "br", "hr"}
SEARCH = """
const fs = require("node:fs");
const element = () => ({dataset: {root: ""}, append() {}, setAttribute() {}, addEventListener() {}});
globalThis.window = globalThis;
globalThis.document = {currentScript: element(), createElement: element, getElementById: element, addEventListener() {}};
for (const name of ["search-index.js", "site.js"]) (0, eval)(fs.readFileSync(process.argv[1] + "/" + name, "utf8"));
console.log(JSON.stringify(JSON.parse(process.argv[2]).map((query) => heedSearch(query).map(({section}) =>
    heedIndex.pages[section[0]][0] + (section[1] ? "#" + section[1] : "")))));
"""


class Read(html.parser.HTMLParser):
    """What a test asks of a page: its anchors, links, headings, pictures, text, and what is wrong with its elements."""

    def __init__(self, text):
        super().__init__()
        self.anchors, self.links, self.headings, self.problems, self.text, self.open = [], [], [], [], [], []
        self.language = self.title = None
        self.feed(text)
        self.close()
        if self.open:
            self.problems.append(f"not closed: {self.open}")

    def handle_starttag(self, tag, given):
        given = dict(given)
        if tag not in EMPTY:
            self.open.append(tag)
        if "id" in given:
            self.anchors.append(given["id"])
        self.links += [given[key] for key in ("href", "src") if key in given]
        if tag == "html":
            self.language = given.get("lang")
        if re.fullmatch("h[1-6]", tag) and "main" in self.open:
            self.headings.append(int(tag[1]))
        if tag == "img" and not given.get("alt"):
            self.problems.append(f"a picture without words: {given.get('src')}")

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.problems.append(f"{tag} ends before what is inside")

    def handle_data(self, data):
        if self.open and self.open[-1] == "title":
            self.title = data
        self.text.append(data)


def problems_of(pages, files):
    """What is wrong with pages, by address, beside which there are the other files."""
    found = []
    for address, page in pages.items():
        found += [f"{address}: {problem}" for problem in page.problems]
        found += [f"{address}: two elements are #{name}" for name in set(page.anchors) if page.anchors.count(name) > 1]
        if page.language != "en" or not page.title:
            found.append(f"{address}: no language or no title")
        if page.headings[:1] != [1] or page.headings.count(1) != 1 or \
                any(after > before + 1 for before, after in zip(page.headings, page.headings[1:])):
            found.append(f"{address}: headings leave out a level: {page.headings}")
        for link in page.links:
            if re.match("https?:", link):
                continue
            path, _, anchor = urllib.parse.unquote(link).partition("#")
            target = posixpath.normpath(posixpath.join(posixpath.dirname(address), path)) if path else address
            if target not in files:
                found.append(f"{address}: {link}: there is no such file")
            elif anchor and anchor not in pages[target].anchors:
                found.append(f"{address}: {link}: there is no such anchor")
    return found


class Site(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.path = pathlib.Path(folder.name) / "site"
        program = ["--program", os.environ["HEED_BINARY"]] if "HEED_BINARY" in os.environ else []
        subprocess.run([sys.executable, ROOT / "tools" / "make_site.py", cls.path, *program], check=True,
                       stdout=subprocess.DEVNULL)
        cls.files = {str(file.relative_to(cls.path)) for file in cls.path.rglob("*") if file.is_file()}
        cls.pages = {name: Read((cls.path / name).read_text()) for name in cls.files if name.endswith(".html")}

    def text(self, address):
        return "".join(self.pages[address].text)

    def test_every_page_is_there_and_listed(self):
        home = {posixpath.normpath(link) for link in self.pages["index.html"].links}
        pages = [ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")]
        titles = {re.search(r"(?m)^# (.*)$", page.read_text())[1].replace("`", "") for page in pages}
        self.assertGreater(len(titles), 40)
        listed = [self.pages[link] for link in home if link in self.pages]
        shown = {"".join(page.text).split("Pages\n", 1)[-1].strip().split("\n")[0].rstrip(" #") for page in listed}
        self.assertEqual(titles - shown, set())

    def test_links_lead_somewhere_and_elements_are_in_order(self):
        self.assertEqual(problems_of(self.pages, self.files), [])

    def test_what_is_wrong_is_found(self):
        frame = '<html lang="en"><title>t</title><main><h1 id="a">a</h1>{}</main></html>'
        for body, expected in (('<a href="b.html">x</a>', "no such file"), ('<a href="#b">x</a>', "no such anchor"),
                               ("<h3>x</h3>", "leave out a level"), ("<h1>x</h1>", "leave out a level"),
                               ('<img src="p.svg">', "without words"), ('<p id="a">x</p>', "two elements"),
                               ("<p><b>x</p></b>", "ends before")):
            found = problems_of({"a.html": Read(frame.format(body))}, {"a.html", "p.svg"})
            self.assertTrue(found and expected in " ".join(found), (body, found))
        self.assertEqual(problems_of({"a.html": Read(frame.format('<a href="a.html#a">x</a>'))}, {"a.html"}), [])
        self.assertIn("no language", problems_of({"a.html": Read("<html><main><h1>x</h1></main></html>")}, set())[0])

    def test_nothing_is_asked_of_other_servers(self):
        for name in self.files:
            if name.endswith((".html", ".css", ".js")) and name != "search-index.js" and not name.startswith("source/"):
                text = (self.path / name).read_text()
                self.assertIsNone(re.search(r"""(src=|url\(|@import|fetch\(|<link[^>]*href=)["']?(https?:)?//""", text), name)

    def test_the_reference_of_cpp_has_every_public_name(self):
        names = 0
        for page, folder in (("cpp", "heed/*.h"), ("cpp-types", "heed/types/**/*.h")):
            text, anchors = self.text(f"reference/{page}.html"), set(self.pages[f"reference/{page}.html"].anchors)
            for file in (ROOT / "include").glob(folder):
                self.assertIn(str(file.relative_to(ROOT / "include")).replace("/", "-"), anchors)
                # All that begins at the margin is public; this is not how headers.py reads it.
                for name in re.findall(r"(?m)^(?:class|struct|enum class|using) (\w+)\b(?!;)|^(?:inline )?constexpr [^(]*?\b(k[A-Z]\w+)\b"
                                       r"|^(?!class|struct|enum|using|template|inline constexpr|//|#|namespace|\})\S.*?\b(\w+)\(",
                                       file.read_text()):
                    names += 1
                    self.assertIn(next(filter(None, name)), anchors, file)
                for member in re.findall(r"(?m)^  (?:virtual |explicit |static )*[\w:<>,& ]+ (\w+)\(.*;$",
                                         file.read_text().split("\n private:")[0]):
                    self.assertIn(member, text, file)
        self.assertGreater(names, 150)

    def test_the_reference_of_c_has_every_function_and_number(self):
        anchors, text = set(self.pages["reference/c.html"].anchors), self.text("reference/c.html")
        functions = re.findall(r"heed_\w+", (ROOT / "bindings" / "c" / "symbols.txt").read_text())
        self.assertGreater(len(functions), 80)
        self.assertEqual([name for name in functions if name not in anchors], [])
        numbers = [line.split()[0] for line in (ROOT / "bindings" / "c" / "numbers.txt").read_text().splitlines()]
        self.assertEqual([name for name in numbers if name not in text], [])

    def test_the_reference_of_python_has_every_name_with_what_help_says(self):
        package = (ROOT / "bindings" / "python" / "heed" / "__init__.py").read_text()
        anchors, text = set(self.pages["reference/python.html"].anchors), self.text("reference/python.html")
        names = re.findall(r'"(\w+)"', re.search(r"__all__ = \[(.*?)\]", package, re.DOTALL)[1])
        self.assertEqual([name for name in names if name not in anchors], [])
        for said in ("Translates a str, or each of a list.", "The best translation.",
                     "Trains a model and leaves a model directory behind.", "Writes a page about a training run",
                     "The settings of a training run", "What was given, as a dict of tables.",
                     "Yields the text that continues the prompt, piece by piece.", "The texts of lists of token numbers.",
                     "A text with more tokens than the model takes", "The loss of pairs (text, expected)"):
            self.assertIn(said, text)

    @unittest.skipUnless("HEED_BINARY" in os.environ, "HEED_BINARY names no program")
    def test_the_reference_of_commands_has_every_option(self):
        text = self.text("reference/commands.html")
        for command in ("translate", "bench decode", "serve"):
            printed = subprocess.run([os.environ["HEED_BINARY"], *command.split(), "--help"], capture_output=True, text=True,
                                     check=True).stdout
            self.assertIn(printed, text)

    def test_a_function_that_a_page_names_is_on_the_line_to_which_it_leads(self):
        checked = 0
        for link in self.pages["from-the-paper.html"].links:
            if found := re.fullmatch(r"(source/.*\.html)#(L\d+)", link):
                checked += 1
                self.assertIn(found[2], self.pages[found[1]].anchors)
        self.assertGreater(checked, 20)
        named = "src/api/writing/translator.cpp"
        line = next(i for i, line in enumerate((ROOT / named).read_text().split("\n"), 1) if "Translator::translate(" in line)
        self.assertIn(f"source/{named}.html#L{line}", self.pages["architecture.html"].links)

    def test_the_search_finds_sections_by_their_words(self):
        if not shutil.which("node"):
            self.skipTest("node is not installed (package nodejs)")
        queries = ["repetition penalty", "heed_texts_score", "shortlist learns", "no-such-word-anywhere", "", "(", "bleu"]
        done = subprocess.run(["node", "-e", SEARCH, str(self.path), json.dumps(queries)], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        penalty, function, shortlist, nothing, empty, sign, bleu = json.loads(done.stdout)
        self.assertIn("decoding.html", " ".join(penalty[:5]))
        self.assertEqual(function[0], "reference/c.html#heed_texts_score")
        self.assertIn("tutorial.html#faster", shortlist)
        self.assertEqual((nothing, empty), ([], []))
        self.assertGreater(len(sign), 10)
        self.assertIn("evaluation.html", " ".join(bleu[:5]))
        for address in {*penalty, *function, *bleu}:
            page, _, anchor = address.partition("#")
            self.assertTrue(page in self.pages and (not anchor or anchor in self.pages[page].anchors), address)


class Parts(unittest.TestCase):
    def html(self, text):
        return Page(text, lambda label, link: link, lambda alt, link: f"<figure>{alt}</figure>",
                    lambda language, code: code).html

    def test_markdown(self):
        for text, expected in (
                ("# A `b`\n", '<h1 id="a-b">A <code>b</code></h1>'),
                ("a *b* **c `d`** 2 * 3 * 4 <e>", "<p>a <em>b</em> <strong>c <code>d</code></strong> 2 * 3 * 4 &lt;e&gt;</p>"),
                ("- a\n  b\n- c\n\n      d\n", "<ul>\n<li>a\nb</li>\n<li>c\n<pre tabindex=\"0\"><code>d</code></pre></li>\n</ul>"),
                ("1. a\n2. b", "<ol>\n<li>a</li>\n<li>b</li>\n</ol>"),
                ("[a `]`](b#c)", '<p><a href="b#c">a <code>]</code></a></p>'),
                ("![p](q.svg)", "<figure>p</figure>"),
                ("    a\n\n    b\n", '<pre tabindex="0"><code>a\n\nb</code></pre>'),
                ("```x\n# a\n```\nb", '<pre tabindex="0"><code># a</code></pre>\n<p>b</p>'),
                ("| a | |\n|---|---|\n| `x\\|y` | 1 |\n", "<tr><td><code>x|y</code></td><td>1</td></tr>")):
            self.assertIn(expected, self.html(text), text)

    def test_headers(self):
        header = headers.read("// About it.\n#pragma once\n\n#include <a>\n\nnamespace heed {\n\n// A box.\nclass Box {\n public:\n"
                              "  Box();\n  // Its width; \"}\".\n  int width(int a, int b = 1) const;\n  std::map<int, int> all = {};\n"
                              " private:\n  int hidden_;\n};\n\nenum class Kind { one, two = 2 };\n\ntemplate <class T>\n"
                              "T twice(T value) {\n  return value;\n}\n\n}  // namespace heed\n")
        self.assertEqual(header.about, "About it.")
        self.assertEqual([(one.name, one.comment, one.members) for one in header.declarations],
                         [("Box", "A box.", ["Box", "width", "all"]), ("Kind", "", ["one", "two"]), ("twice", "", [])])
        self.assertNotIn("hidden_", header.declarations[0].code)

    def test_descriptions_of_the_native_module(self):
        code = ('constexpr const char* kDoc = R"(One, "two".)";\npy::class_<A>(module, "A", "An A.")\n'
                '.def("f", [](int a) { return g("x, y", a); }, kDoc, py::arg("a"))\n.def_readonly("b", &A::b, "It\'s "\n"b.")\n'
                '.def("__len__", [] { return 1; });\nmodule.def("h", &h, "An h.");')
        self.assertEqual(type_hints.native_descriptions(code), {("", "A"): "An A.", ("A", "f"): 'One, "two".', ("A", "b"): "It's b.",
                                                                ("", "h"): "An h."})


if __name__ == "__main__":
    unittest.main()
