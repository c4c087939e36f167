"""Code as HTML: comments and strings coloured, known names linked."""

import html
import re

COMMENTS = {"c": r"//[^\n]*|/\*.*?\*/", "hash": r"(?<![\w$])#[^\n]*", "none": r"(?!)"}
STRINGS = r'"""(?:.|\n)*?"""|"(?:\\.|[^"\\\n])*"'
KINDS = {"c": "c", "cpp": "c", "h": "c", "cu": "c", "cuh": "c", "go": "c", "rs": "c", "js": "c",
         "python": "hash", "py": "hash", "pyi": "hash", "toml": "hash", "txt": "none", "console": "none"}


def colour(language, text, names=None):
    """`names` gives the address of a name that is explained elsewhere."""
    kind = KINDS.get(language, "hash")
    pattern = re.compile(rf"(?P<comment>{COMMENTS[kind]})|(?P<string>{STRINGS})|(?P<name>\b[A-Za-z_]\w*\b)", re.DOTALL)
    made, end = [], 0
    for found in pattern.finditer(text):
        made.append(html.escape(text[end:found.start()], quote=False))
        word, end = found[0], found.end()
        shown = html.escape(word, quote=False)
        if found["comment"]:
            made.append(f"<i>{shown}</i>")
        elif found["string"]:
            made.append(f"<b>{shown}</b>")
        elif names and word in names:
            made.append(f'<a href="{names[word]}">{shown}</a>')
        else:
            made.append(shown)
    return "".join([*made, html.escape(text[end:], quote=False)])
