"""The reference of the interfaces as pages: C++ of include/heed/, C of heed.h, and Python."""

import html
import re

from . import code, headers, type_hints
from .markdown import Section, slug


def prose(text):
    """A comment as paragraphs, where a line that stands deeper is code."""
    made = []
    for paragraph in re.split(r"\n\s*\n", text):
        if paragraph.startswith(("    ", ">>>")):
            made.append(f'<pre tabindex="0"><code>{html.escape(paragraph)}</code></pre>')
        elif paragraph.strip():
            escaped = html.escape(paragraph, quote=False)
            made.append("<p>" + re.sub(r"`([^`]+)`", r"<code>\1</code>", escaped) + "</p>")
    return "\n".join(made)


class Reference:
    """A page in the making: its HTML, its sections, and the anchor of each name."""

    def __init__(self, title, about, language):
        self.language = language
        self.made = [f'<h1 id="{slug(title)}">{html.escape(title)}</h1>', about]
        self.sections, self.anchors = [Section(1, title, slug(title))], {}

    def anchor(self, name):
        """A new one; the first of a name is the name itself."""
        number = sum(known == name or known.startswith(f"{name}-") for known in self.anchors)
        anchor = name if number == 0 else f"{name}-{number + 1}"
        self.anchors[anchor] = name
        return anchor

    def heading(self, title, about=""):
        anchor = self.anchor(re.sub(r"[^\w.-]", "-", title))
        self.sections.append(Section(2, title, anchor, [about]))
        self.made.append(f'<h2 id="{anchor}">{html.escape(title)}</h2>\n{prose(about)}')

    def declaration(self, name, comment, shown, members, notes=()):
        anchor = self.anchor(name)
        words = [comment, *members, *(f"{member}: {text}" for member, text in notes)]
        self.sections.append(Section(3, name, anchor, words))
        rows = "".join(f"<dt><code>{html.escape(member)}</code></dt><dd>{prose(text)}</dd>" for member, text in notes if text)
        self.made.append((anchor, f'<h3 id="{anchor}"><code>{html.escape(name)}</code></h3>\n{prose(comment)}', shown,
                          f"<dl>{rows}</dl>" if rows else ""))

    def names(self):
        """Those that are declared once, which are linked wherever code speaks of them."""
        return [name for name in self.anchors.values() if f"{name}-2" not in self.anchors]

    def html(self, elsewhere=None):
        """`elsewhere` has the addresses of names that another page declares."""
        names = (elsewhere or {}) | {name: f"#{name}" for name in self.names()}
        done = []
        for part in self.made:
            if isinstance(part, str):
                done.append(part)
                continue
            anchor, before, shown, after = part
            others = {name: link for name, link in names.items() if link != f"#{anchor}"}
            done.append(f'{before}\n<pre tabindex="0"><code>{code.colour(self.language, shown, others)}</code></pre>\n{after}')
        return "\n".join(done)


def of_cpp(title, about, texts):
    """`texts` are the headers by the name that programs include."""
    page = Reference(title, about, "cpp")
    for name, text in texts.items():
        header = headers.read(text)
        page.heading(name, header.about)
        for declared in header.declarations:
            page.declaration(declared.name, declared.comment, declared.code, declared.members)
    return page


def of_c(title, about, text):
    header = headers.read(text)
    page = Reference(title, about + prose(header.about), "c")
    section = None
    for declared in header.declarations:
        if declared.section != section:
            section = declared.section
            page.heading(section or "The library")
        if declared.name:
            page.declaration(declared.name, declared.comment, declared.code, declared.members)
        else:
            page.made.append(prose(declared.comment))
    return page


def of_python(title, about, hints, package, sources):
    described, names = type_hints.read(hints, package, sources)
    page = Reference(title, about + prose(described), "python")
    parts = (("Models and tokenizers", lambda name, shown: shown.startswith("class") and "Error" not in name),
             ("Functions", lambda name, shown: shown.startswith(("def", "@"))),
             ("Errors", lambda name, shown: shown.startswith("class") and "Error" in name),
             ("Types", lambda name, shown: not shown.startswith(("class", "def", "@"))))
    for heading, belongs in parts:
        page.heading(heading)
        for name, comment, shown, notes in names:
            if belongs(name, shown):
                page.declaration(name, comment, shown, [member for member, _ in notes], notes)
    return page


def of_program(title, about, helps):
    """`helps` are what each command's --help prints."""
    page = Reference(title, about, "console")
    for command, text in helps.items():
        anchor = page.anchor(command.replace(" ", "-"))
        page.sections.append(Section(2, f"heed {command}", anchor, [text]))
        page.made.append(f'<h2 id="{anchor}"><code>heed {command}</code></h2>\n'
                         f'<pre tabindex="0"><code>{html.escape(text)}</code></pre>')
    return page
