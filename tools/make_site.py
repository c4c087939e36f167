#!/usr/bin/env python3
"""Makes heed's pages a site that needs no server, from README.md, CONTRIBUTING.md, CHANGELOG.md and docs/.

    tools/make_site.py OUT [--program build/heed]

Each page of Markdown becomes one of HTML. The references of C++, C and Python come from the headers and the type hints;
--program adds that of the commands, which is what each --help prints. Files of the tree that pages link to become pages
too, and a link whose label names a function leads to its line. The search is site.js, with an index of all sections.
"""

import argparse
import html
import json
import pathlib
import re
import shutil
import subprocess
import sys

from website import code, layout, reference
from website.markdown import Page, Section

ROOT = pathlib.Path(__file__).resolve().parent.parent
OWN = ROOT / "tools" / "website"
ADDRESSES = {"README": "index.html", "docs/README": "pages.html", "docs/measurements/README": "measurements/index.html",
             "CONTRIBUTING": "contributing.html", "CHANGELOG": "changelog.html"}
TITLES = {"README": "heed", "docs/README": "Pages", "docs/measurements/README": "Measurements"}
CPP, C, PYTHON, PROGRAM = (f"reference/{name}.html" for name in ("cpp", "c", "python", "commands"))
TYPES = "reference/cpp-types.html"


def address_of(name):
    """The address of a page of Markdown, by its path without its ending."""
    return ADDRESSES.get(name, name.removeprefix("docs/") + ".html")


def line_of(text, label):
    """The line on which a file defines what a link's label names, or None."""
    found = re.search(r"`((?:\w+::)*(?:operator\(\)|\w+))`", label)
    if not found:
        return None
    full = re.escape(found[1])
    last = re.escape(found[1].split("::")[-1])
    lines = text.split("\n")
    for pattern in (rf"^\S.*(?<![\w:]){full}(\(|\b)[^;]*$", rf"^\s*(struct|class|enum class) {last}\b[^;]*$",
                    rf"^\S.*(?<!\w){last}\([^;]*$", rf"(?<!\w){last}(?!\w)"):
        if at := next((i for i, line in enumerate(lines) if re.search(pattern, line) and
                       not line.lstrip().startswith(("//", "#"))), None):
            return at + 1
    return None


class Site:
    def __init__(self, out, program):
        self.out, self.program = out, program
        self.pages = {}  # (title, HTML, sections) by address, in order
        self.sources = {}  # pages of files of the tree: path by address
        self.version = re.search(r"project\(heed VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
        files = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
        self.files = {str(file.relative_to(ROOT).with_suffix("")): file for file in files}

    def write(self, address, content):
        path = self.out / address
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")

    # ---- links ----

    def target(self, file, link, label):
        """The address from the root of the site of a link on a page of the tree."""
        path, _, anchor = link.partition("#")
        found = (file.parent / path).resolve() if path else file
        if not found.exists():
            sys.exit(f"{file.relative_to(ROOT)}: {link}: there is no such file")
        name = str(found.relative_to(ROOT))
        if found.suffix == ".md":
            return address_of(name.removesuffix(".md")) + (f"#{anchor}" if anchor else "")
        if name == "bindings/c/heed.h":
            return C
        if name.startswith("include/heed/"):
            return f"{TYPES if '/types/' in name else CPP}#{name.removeprefix('include/').replace('/', '-')}"
        address = self.source(found)
        line = None if found.is_dir() else line_of(found.read_text(errors="replace"), label)
        return address + (f"#L{line}" if line else "")

    def source(self, found):
        """The address of a file's or a folder's page."""
        name = str(found.relative_to(ROOT))
        self.sources[f"source/{name}{'/index' if found.is_dir() else ''}.html"] = found
        return f"source/{name}{'/index' if found.is_dir() else ''}.html"

    def picture(self, file, address, alt, link):
        found = (file.parent / link).resolve()
        copied = f"pictures/{found.name}"
        (self.out / "pictures").mkdir(exist_ok=True)
        shutil.copyfile(found, self.out / copied)
        return f'<figure><img src="{layout.relative(copied, address)}" alt="{html.escape(alt)}"></figure>'

    # ---- pages ----

    def add_markdown(self, name, file):
        address = address_of(name)

        def link(label, target):
            if re.match(r"[a-z]+:", target):
                return target
            return layout.relative(self.target(file, target, label), address)
        page = Page(file.read_text(encoding="utf-8"), link, lambda alt, target: self.picture(file, address, alt, target),
                    code.colour)
        self.pages[address] = (TITLES.get(name, page.title), page.html, page.sections)

    def add_reference(self):
        headers = sorted((ROOT / "include" / "heed").rglob("*.h"))
        texts = {str(file.relative_to(ROOT / "include")): file.read_text() for file in headers}
        promised = '<p><a href="../library/api.html#what-is-promised">What is promised</a> says on what programs may rely.</p>'
        handles = {name: text for name, text in texts.items() if "/types/" not in name}
        types = {name: text for name, text in texts.items() if "/types/" in name}
        about = f'{promised}<p>The values that these take and give are on <a href="cpp-types.html">a page of their own</a>.</p>'
        python = ROOT / "bindings" / "python"
        made = {CPP: reference.of_cpp("C++", about, handles), TYPES: reference.of_cpp("C++: values", promised, types),
                C: reference.of_c("C", '<p><a href="../library/c.html">How to use it</a>.</p>',
                                  (ROOT / "bindings" / "c" / "heed.h").read_text()),
                PYTHON: reference.of_python("Python", '<p><a href="../library/python.html">How to use it</a>.</p>',
                                            (python / "heed" / "__init__.pyi").read_text(),
                                            (python / "heed" / "__init__.py").read_text(),
                                            [file.read_text() for file in sorted((python / "src").glob("*.cpp"))])}
        if self.program:
            made[PROGRAM] = reference.of_program("Commands", "<p>What <code>heed COMMAND --help</code> prints.</p>",
                                                 helps_of(self.program))
        for address, page in made.items():
            other = {CPP: TYPES, TYPES: CPP}.get(address)
            elsewhere = {name: f"{layout.relative(other, address)}#{name}" for name in made[other].names()} if other else {}
            self.pages[address] = (page.sections[0].title, page.html(elsewhere), page.sections)

    def add_sources(self):
        """The files that pages link to; a folder's are linked from its page."""
        done = {}
        while left := [item for item in self.sources.items() if item[0] not in done]:
            for address, found in left:
                done[address] = found
                name = str(found.relative_to(ROOT))
                if found.is_dir():
                    inside = sorted(path for path in found.iterdir() if not path.name.startswith((".", "__")))
                    links = "".join(f'<li><a href="{layout.relative(self.source(path), address)}">'
                                    f'{path.name}{"/" if path.is_dir() else ""}</a></li>' for path in inside)
                    body = f"<ul>{links}</ul>"
                else:
                    coloured = code.colour(found.suffix.lstrip("."), found.read_text(errors="replace").rstrip("\n"))
                    lines = "\n".join(f'<span id="L{i + 1}">{line}</span>' for i, line in enumerate(closed_lines(coloured)))
                    body = f'<pre class="source" tabindex="0"><code>{lines}</code></pre>'
                self.pages[address] = (name, f'<h1 id="top">{html.escape(name)}</h1>\n{body}',
                                       [Section(1, name, "top")])

    def write_index(self):
        """For the search: addresses with titles, and sections as (page, anchor, title, text)."""
        pages, sections = [], []
        for address, (title, _, found) in self.pages.items():
            if address.startswith("source/"):
                continue
            pages.append([address, title])
            sections += [[len(pages) - 1, section.anchor if section.level > 1 else "", section.title,
                          re.sub(r"\s+", " ", " ".join(section.words)).strip()] for section in found]
        packed = json.dumps({"pages": pages, "sections": sections}, ensure_ascii=False, separators=(",", ":"))
        self.write("search-index.js", f"window.heedIndex = {packed};\n")

    def groups(self):
        named = {name: (self.pages[address_of(name)][0], address_of(name)) for name in self.files}
        references = [(self.pages[address][0], address) for address in (PROGRAM, CPP, TYPES, C, PYTHON)
                      if address in self.pages]
        return [*((group, [named[name] for name in names]) for group, names in layout.ordered(list(named))),
                (layout.REFERENCE, references)]

    def make(self):
        self.out.mkdir(parents=True, exist_ok=True)
        for name, file in self.files.items():
            self.add_markdown(name, file)
        self.add_reference()
        self.add_sources()
        groups = self.groups()
        for address, (title, body, sections) in self.pages.items():
            listed = [] if address.startswith("source/") else groups
            self.write(address, layout.page(address, title, body, sections, listed, self.version))
        self.write_index()
        shutil.copyfile(OWN / "site.js", self.out / "site.js")
        # One palette for all pages that heed writes.
        palette = re.match(r".*?(?=\* \{)", (ROOT / "web" / "report" / "report.css").read_text(), re.DOTALL)[0]
        self.write("site.css", palette + (OWN / "site.css").read_text())


def closed_lines(coloured):
    """Lines of which each closes and opens again the marks that go on in the next."""
    tag, made = "", []
    for line in coloured.split("\n"):
        opened = tag
        for found in re.finditer(r"<(/?)([ib])>", line):
            tag = "" if found[1] else found[2]
        made.append((f"<{opened}>" if opened else "") + line + (f"</{tag}>" if tag else ""))
    return made


def helps_of(program):
    """What --help prints for each command, those of commands within commands too."""
    found = {}

    def add(words):
        text = subprocess.run([program, *words, "--help"], capture_output=True, text=True, check=True).stdout
        inner = re.findall(r"(?m)^  ([a-z-]+)  ", text.split("\nCommands:\n")[1].split("\nOptions:\n")[0]) \
            if "\nCommands:\n" in text else []
        if words:
            found[" ".join(words)] = text
        for name in inner:
            add([*words, name])
    add([])
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--program", help="heed, whose commands get a page")
    options = parser.parse_args()
    site = Site(options.out, options.program)
    site.make()
    print(f"{options.out}: {len(site.pages)} pages")


if __name__ == "__main__":
    main()
