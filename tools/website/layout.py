"""The frame around each page, and the list of pages."""

import html
import posixpath

GROUPS = (
    ("Begin", ("README", "docs/README", "docs/tutorial", "docs/packages", "docs/results")),
    ("Train", ("docs/recipes", "docs/data", "docs/models/tokenizers", "docs/models/positions", "docs/models/attention",
               "docs/models/encoders", "docs/fine-tuning", "docs/scaling", "docs/cluster", "docs/gpu")),
    ("Run", ("docs/decoding", "docs/chat", "docs/serving", "docs/serving-openai", "docs/models/quantization",
             "docs/models/import", "docs/models/export", "docs/evaluation", "docs/report", "docs/models/inspect")),
    ("Programs", ("docs/library/api", "docs/library/c", "docs/library/python", "docs/models/formats", "docs/portability")),
    ("Understand", ("docs/from-the-paper", "docs/numerics", "docs/performance")),
    ("Change heed", ("CONTRIBUTING", "docs/architecture", "docs/decisions", "CHANGELOG")),
)
MEASUREMENTS, REFERENCE, OTHERS = "Measurements", "Reference", "More"
PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<link rel="stylesheet" href="{root}site.css">
<script src="{root}site.js" data-root="{root}" defer></script>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header><a class="home" href="{root}index.html">heed</a><span class="version">{version}</span><div id="search"></div>{to_pages}</header>
<div class="{columns}">
<main id="content">
{body}
</main>
{contents}{pages}
</div>
</body>
</html>
"""


def group_of(name):
    """The group in which the list of pages has a page, whose name is its path without its ending."""
    if name.startswith("docs/measurements/"):
        return MEASUREMENTS
    return next((group for group, names in GROUPS if name in names), OTHERS)


def ordered(names):
    """[(group, its pages in order)] of all pages."""
    groups = {group: [name for name in order if name in names] for group, order in GROUPS}
    for name in names:
        if group_of(name) in (MEASUREMENTS, OTHERS):
            groups.setdefault(group_of(name), []).append(name)
    return list(groups.items())


def relative(target, page):
    """The address of `target` on `page`, both from the root of the site."""
    return posixpath.relpath(target, posixpath.dirname(page) or ".")


def list_of_pages(groups, page):
    """Links to all (title, address) of [(group, them)]."""
    made = []
    for group, entries in groups:
        links = "".join(f'<li><a href="{relative(address, page)}"{" aria-current=page" if address == page else ""}>'
                        f"{html.escape(title)}</a></li>" for title, address in entries)
        made.append(f"<h2>{html.escape(group)}</h2>\n<ul>{links}</ul>")
    return '<nav id="pages" aria-label="Pages">\n' + "\n".join(made) + "\n</nav>" if made else ""


def table_of_contents(sections, deepest=2):
    links = [f'<li><a href="#{section.anchor}">{html.escape(section.title)}</a></li>' for section in sections
             if 1 < section.level <= deepest]
    if len(links) < 2:
        return ""
    return f'<nav class="contents" aria-label="On this page"><h2>On this page</h2><ul>{"".join(links)}</ul></nav>'


def page(address, title, body, sections, groups, version):
    """A page without groups has no list of pages beside it."""
    return PAGE.format(title=html.escape(title if title == "heed" else f"{title} - heed"), version=html.escape(version),
                       root=relative("x", address)[:-1], body=body, contents=table_of_contents(sections),
                       columns="columns" if groups else "alone", pages=list_of_pages(groups, address),
                       to_pages='<a class="to-pages" href="#pages">Pages</a>' if groups else "")
