"""Markdown to HTML: what heed's pages use of it, which is headings, paragraphs, lists, tables, code, pictures and links."""

import dataclasses
import html
import re

INLINE = re.compile(r"(?P<ticks>`+)(?P<code>.+?)(?P=ticks)"
                    r"|!\[(?P<alt>[^\]]*)\]\((?P<picture>[^()\s]+)\)"
                    r"|\[(?P<label>(?:[^\[\]`]|`[^`]*`)*)\]\((?P<link>[^()\s]+)\)"
                    r"|\*\*(?P<strong>.+?)\*\*"
                    r"|(?<![\w*])\*(?=\S)(?P<emphasis>.+?)(?<=\S)\*(?![\w*])"
                    r"|\\(?P<escaped>[\\`*_|<>\[\]])", re.DOTALL)
ITEM = re.compile(r"(?P<indent> *)(?P<mark>[-*]|\d+\.)(?P<space> +)")
RULE = re.compile(r"\|[ :|-]+\|$")


def slug(heading):
    """A heading's anchor, as GitHub makes it."""
    words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    return re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")


def plain(text):
    """Inline Markdown without its marks."""
    def shown(found):
        parts = found.groupdict()
        if parts["code"] is not None:
            return parts["code"]
        return plain(next(part for part in (parts["alt"], parts["label"], parts["strong"], parts["emphasis"],
                                            parts["escaped"]) if part is not None))
    return INLINE.sub(shown, text)


@dataclasses.dataclass
class Section:
    """A heading with what stands under it, for the table of contents and for the search."""
    level: int
    title: str
    anchor: str
    words: list = dataclasses.field(default_factory=list)


class Page:
    """A page's HTML and sections.

    `link` gives the address of a link's (label, target), `picture` a picture's HTML of (alternative text, target), and
    `colour` the HTML of (language, code)."""

    def __init__(self, text, link, picture, colour):
        self.link, self.picture, self.colour = link, picture, colour
        self.sections = []
        self.html = self.blocks(text.split("\n"))

    @property
    def title(self):
        return self.sections[0].title

    def inline(self, text):
        made, end = [], 0
        for found in INLINE.finditer(text):
            made += [html.escape(text[end:found.start()], quote=False), self.mark(found.groupdict())]
            end = found.end()
        return "".join([*made, html.escape(text[end:], quote=False)])

    def mark(self, parts):
        if parts["code"] is not None:
            return f"<code>{html.escape(parts['code'], quote=False)}</code>"
        if parts["picture"] is not None:
            return self.picture(parts["alt"], parts["picture"])
        if parts["link"] is not None:
            address = html.escape(self.link(parts["label"], parts["link"]))
            return f'<a href="{address}">{self.inline(parts["label"])}</a>'
        if parts["strong"] is not None:
            return f"<strong>{self.inline(parts['strong'])}</strong>"
        if parts["emphasis"] is not None:
            return f"<em>{self.inline(parts['emphasis'])}</em>"
        return html.escape(parts["escaped"])

    def note(self, text):
        """Text that the search finds."""
        if self.sections:
            self.sections[-1].words.append(plain(text))

    def blocks(self, lines):
        made, at = [], 0
        while at < len(lines):
            line = lines[at]
            readers = ((not line.strip(), lambda _, place: ("", place + 1)), (line.startswith("```"), self.fence),
                       (line.startswith("    "), self.indented), (re.match(r"#+ ", line), self.heading),
                       (line.startswith("|") and at + 1 < len(lines) and RULE.match(lines[at + 1]), self.table),
                       (ITEM.match(line), self.list), (True, self.paragraph))
            reader = next(read for fits, read in readers if fits)
            block, at = reader(lines, at)
            made.append(block)
        return "\n".join(block for block in made if block)

    def heading(self, lines, at):
        marks, text = lines[at].split(" ", 1)
        section = Section(len(marks), plain(text.strip()), slug(text.strip()))
        self.sections.append(section)
        made = self.inline(text.strip())
        sign = "" if section.level == 1 else f' <a class="anchor" href="#{section.anchor}" aria-label="Link to this section">#</a>'
        return f'<h{section.level} id="{section.anchor}">{made}{sign}</h{section.level}>', at + 1

    def code(self, language, lines):
        text = "\n".join(lines)
        if self.sections:
            self.sections[-1].words.append(text)
        return f'<pre tabindex="0"><code>{self.colour(language, text)}</code></pre>'

    def fence(self, lines, at):
        end = at + 1
        while end < len(lines) and not lines[end].startswith("```"):
            end += 1
        return self.code(lines[at][3:].strip(), lines[at + 1:end]), end + 1

    def indented(self, lines, at):
        end = at
        while end < len(lines) and (lines[end].startswith("    ") or not lines[end].strip()):
            end += 1
        while not lines[end - 1].strip():
            end -= 1
        return self.code("", [line[4:] for line in lines[at:end]]), end

    def table(self, lines, at):
        rows, end = [], at
        while end < len(lines) and lines[end].startswith("|"):
            rows.append([cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", lines[end].strip())[1:-1]])
            self.note(" ".join(rows[-1]) if end != at + 1 else "")
            end += 1

        def row(cells, tag):
            # A corner without words is not a heading of anything.
            return "<tr>" + "".join(f"<{tag}>{self.inline(cell)}</{tag}>" if cell or tag == "td" else "<td></td>"
                                    for cell in cells) + "</tr>"
        body = "\n".join(row(cells, "td") for cells in rows[2:])
        return (f'<div class="table" tabindex="0"><table>\n<thead>{row(rows[0], "th")}</thead>\n<tbody>\n{body}\n</tbody>'
                "</table></div>"), end

    def list(self, lines, at):
        tag = "ol" if lines[at].lstrip()[0].isdigit() else "ul"
        made, end = [], at
        while end < len(lines) and (found := ITEM.match(lines[end])) and not found["indent"]:
            width = len(found[0])
            item, end = [lines[end][width:]], end + 1
            while end < len(lines) and self.goes_on(lines, end):
                item.append(lines[end][min(width, len(lines[end]) - len(lines[end].lstrip())):])
                end += 1
            block = self.blocks(item)
            if block.startswith("<p>"):  # the paragraph that opens an item needs no space of its own
                block = re.sub(r"\A<p>(.*?)</p>", r"\1", block, count=1, flags=re.DOTALL)
            made.append(f"<li>{block}</li>")
            while end + 1 < len(lines) and not lines[end].strip() and ITEM.match(lines[end + 1]):
                end += 1
        return f"<{tag}>\n" + "\n".join(made) + f"\n</{tag}>", end

    @staticmethod
    def goes_on(lines, at):
        """Whether a line belongs to the item above it."""
        if lines[at].strip():
            return lines[at].startswith("  ")
        return at + 1 < len(lines) and lines[at + 1].startswith("  ")

    def paragraph(self, lines, at):
        end = at + 1
        while end < len(lines) and lines[end].strip() and not re.match(r"#+ |```|\||[-*] |\d+\. ", lines[end]):
            end += 1
        text = "\n".join(line.strip() for line in lines[at:end])
        self.note(text)
        made = self.inline(text)
        return made if made.startswith("<figure>") else f"<p>{made}</p>", end
