#!/usr/bin/env python3
"""Draws curves of the tables in docs/measurements/.

    tools/draw_curves.py [--check]

A picture is some panels, a panel some columns of tables. A cell with several values, as of several seeds, is a point for
each; the line goes through their means. With --check nothing is written, and the exit status is 1 unless each picture in
the tree is that of its tables.
"""

import html
import math
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "measurements"

PRE, POST = "Words, pre-norm, 512/2048", "The same in post-norm"
FEW = "Few labels, with and without a pretrained encoder"
# Picture: its title, and panels of (title, what x is, scale of x, [(label, page, section, column)]).
PICTURES = {
    "words-curves.svg": ("Training the models of 512 columns", [
        ("loss in nats a token", "epoch", "linear", [
            ("pre-norm, training", "translation.md", PRE, "training loss"),
            ("pre-norm, validation", "translation.md", PRE, "validation loss"),
            ("post-norm, training", "translation.md", POST, "training loss"),
            ("post-norm, validation", "translation.md", POST, "validation loss")]),
        ("BLEU of the validation text, greedy", "epoch", "linear", [
            ("pre-norm", "translation.md", PRE, "validation BLEU, greedy"),
            ("post-norm", "translation.md", POST, "validation BLEU, greedy")]),
    ]),
    "few-labels-curves.svg": ("Accuracy by the number of labelled sentences", [
        ("accuracy in percent", "labelled sentences", "logarithmic", [
            ("from the pretrained encoder", "encoders.md", FEW, "from the pretrained encoder"),
            ("from scratch", "encoders.md", FEW, "from scratch")]),
    ]),
}

PANEL, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 470, 300, 50, 20, 46, 44
COLOURS = ("#2f6db5", "#d1622b", "#3a8f5c", "#8a5aa8")
STYLE = """text{font-family:sans-serif;font-size:11px;fill:#222}.t{font-size:13px;font-weight:bold}.m{text-anchor:middle}
.e{text-anchor:end}path{fill:none;stroke-width:1.8}.g{stroke:#ddd;stroke-width:1}"""


def table_of(page, section):
    """The first table under a heading of the page: its columns' names, and its rows."""
    after = page.split(f"\n## {section}\n", 1)[1].split("\n## ", 1)[0]
    lines = re.findall(r"^\|(.*)\|$", after, re.MULTILINE)
    rows = [[cell.strip() for cell in line.split("|")] for line in lines]
    return rows[0], rows[2:]


def numbers_of(cell):
    """"87.5, 89.2" is two numbers, "1,814" one."""
    return [float(number.replace(",", "")) for number in re.findall(r"-?\d+(?:,\d{3})*(?:\.\d+)?", cell)]


def points_of(section, column):
    """(x, [values]) of each row, x from the first column."""
    names, rows = section
    index = names.index(column)
    return [(numbers_of(row[0])[0], numbers_of(row[index])) for row in rows if numbers_of(row[index])]


def steps_of(low, high):
    """Round numbers from below `low` to above `high`, about five of them."""
    step = 10 ** math.floor(math.log10((high - low) / 4))
    step *= next(factor for factor in (1, 2, 5, 10) if (high - low) / (step * factor) <= 5)
    first, last = math.floor(low / step), math.ceil(high / step)
    return [number * step for number in range(first, last + 1)]


class Panel:
    def __init__(self, left, title, x_name, scale, series):
        self.left, self.title, self.x_name, self.series = left, title, x_name, series
        self.x_of = math.log if scale == "logarithmic" else float
        self.xs = sorted({x for _, points in series for x, _ in points})
        values = [value for _, points in series for _, found in points for value in found]
        self.steps = steps_of(min(values), max(values))

    def x(self, value):
        low, high = self.x_of(self.xs[0]), self.x_of(self.xs[-1])
        return self.left + LEFT + (PANEL - LEFT - RIGHT) * (self.x_of(value) - low) / (high - low)

    def y(self, value):
        share = (value - self.steps[0]) / (self.steps[-1] - self.steps[0])
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * share

    def draw(self):
        yield f'<text class="t" x="{self.left + LEFT}" y="20">{html.escape(self.title)}</text>'
        right = self.left + PANEL - RIGHT
        for step in self.steps:
            yield f'<path class="g" d="M{self.left + LEFT} {self.y(step):.1f}H{right}"/>'
            yield f'<text class="e" x="{self.left + LEFT - 6}" y="{self.y(step) + 4:.1f}">{step:g}</text>'
        for x in self.xs:
            yield f'<text class="m" x="{self.x(x):.1f}" y="{HEIGHT - BOTTOM + 16}">{x:g}</text>'
        yield f'<text class="e" x="{right}" y="{HEIGHT - 10}">{html.escape(self.x_name)}</text>'
        for number, (label, points) in enumerate(self.series):
            yield from self.draw_series(label, points, COLOURS[number], number)

    def draw_series(self, label, points, colour, number):
        line = " ".join(f"{self.x(x):.1f} {self.y(sum(found) / len(found)):.1f}" for x, found in points)
        yield f'<path stroke="{colour}" d="M{line}"/>'
        for x, found in points:
            for value in found:
                yield f'<circle cx="{self.x(x):.1f}" cy="{self.y(value):.1f}" r="2.5" fill="{colour}"/>'
        left = self.left + LEFT + number % 2 * 190
        down = 34 if len(self.series) <= 2 else 31 + number // 2 * 12
        yield f'<path stroke="{colour}" d="M{left} {down - 4}h16"/><text x="{left + 20}" y="{down}">{html.escape(label)}</text>'


def draw(title, panels, pages):
    """The picture, with the tables of `pages`: texts by their names."""
    width = PANEL * len(panels)
    drawn = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {HEIGHT}" role="img" '
             f'aria-label="{html.escape(title)}">', f"<style>{STYLE}</style>",
             f'<rect width="{width}" height="{HEIGHT}" fill="#fff"/>']
    for number, (panel, x_name, scale, columns) in enumerate(panels):
        series = [(label, points_of(table_of(pages[page], section), column)) for label, page, section, column in columns]
        drawn += Panel(number * PANEL, panel, x_name, scale, series).draw()
    return "\n".join([*drawn, "</svg>"]) + "\n"


def main():
    pages = {page.name: page.read_text() for page in FOLDER.glob("*.md")}
    for name, (title, panels) in PICTURES.items():
        drawing, file = draw(title, panels, pages), FOLDER / name
        if sys.argv[1:] != ["--check"]:
            file.write_text(drawing)
        elif not file.exists() or file.read_text() != drawing:
            sys.exit(f"docs/measurements/{name}: not the drawing of its tables; run tools/draw_curves.py")


if __name__ == "__main__":
    main()
