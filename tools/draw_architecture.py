#!/usr/bin/env python3
"""Draws docs/pictures/architecture.svg from the table of folders in src/CMakeLists.txt.

    tools/draw_architecture.py [--check]

A row is a floor, the highest above; a box is a folder, dashed where it is a leaf of the program; a line leads to each
folder that DEPENDS names and that does not follow from the others. With --check nothing is written, and the exit status
is 1 unless the drawing in the tree is that of the table.
"""

import html
import pathlib
import sys

from check_floors import read_table

ROOT = pathlib.Path(__file__).resolve().parent.parent
DRAWING = ROOT / "docs" / "pictures" / "architecture.svg"

LIVES_THERE = {
    "base": ("errors, settings,", "threads, files"),
    "tensor": ("shapes, tensors,", "segments"),
    "ranks": ("messages between", "processes"),
    "text": ("tokenizers", "chat templates"),
    "tensor_files": ("tensors by name", "in files"),
    "command_line": ("options as data", ""),
    "eval": ("BLEU, chrF", ""),
    "kernels": ("the backend", "interface"),
    "kernels/reference": ("naive, in double:", "the oracle"),
    "kernels/counting": ("no numbers: counts", "what a model costs"),
    "kernels/cpu": ("fast, by", "instruction set"),
    "kernels/devices": ("the device that", "a user names"),
    "ops": ("differentiable ops,", "the tape"),
    "nn": ("layers", ""),
    "data": ("corpora, batches", ""),
    "models": ("an architecture", "a file"),
    "optim": ("Adam, Muon,", "schedules"),
    "decode": ("steppers, search,", "sampling"),
    "encode": ("texts through", "an encoder"),
    "checkpoint": ("model directories", ""),
    "parallel": ("copies, stages,", "parts of a model"),
    "train": ("recipes, tasks,", "runs, the learner"),
    "quant": ("calibration,", "rounding"),
    "interchange": ("other programs'", "formats"),
    "report": ("pages about runs", ""),
    "api": ("the handles of", "include/heed/"),
    "bench": ("heed bench", ""),
    "demo": ("heed demo", ""),
    "plan": ("heed plan", ""),
    "propose": ("heed recipe", ""),
    "tune": ("heed tune", ""),
    "serve": ("heed serve: HTTP,", "interfaces, models"),
    "cli": ("a file a command; the only place that prints", ""),
}

WIDTH, BOX, HEIGHT, GAP, ROW, MARGIN = 1000, 142, 58, 14, 96, 24
STYLE = """text{font-family:sans-serif;text-anchor:middle;fill:#222}.n{font-size:14px;font-weight:bold}.d{font-size:11px}
.f{font-size:12px;fill:#888;text-anchor:start}rect{fill:#eef3fb;stroke:#4a6fa5}.leaf{stroke-dasharray:4 3;fill:#fbf6ea}
path{fill:none;stroke:#9aa7b8;stroke-width:1}"""


def rows_of(folders):
    """The folders of each floor, in the order of the table, the highest floor first."""
    floors = {}
    for folder in folders.values():
        floors.setdefault(folder.floor, []).append(folder)
    return [floors[floor] for floor in sorted(floors, reverse=True)]


def places_of(rows):
    """The corner and the width of each folder's box, by name."""
    places = {}
    for number, row in enumerate(rows):
        width = 300 if len(row) == 1 else BOX
        left = (WIDTH - len(row) * width - (len(row) - 1) * GAP) / 2
        for place, folder in enumerate(row):
            places[folder.name] = (left + place * (width + GAP), MARGIN + number * ROW, width)
    return places


def lines_of(folders):
    """What each folder depends on, without what follows from the rest."""
    for folder in folders.values():
        for name in folder.depends:
            if not any(name in folders[other].reach for other in folder.depends):
                yield folder.name, name


def draw(folders):
    rows = rows_of(folders)
    places = places_of(rows)
    height = 2 * MARGIN + (len(rows) - 1) * ROW + HEIGHT
    drawn = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
             f'aria-label="The folders of src/ and what each depends on">', f"<style>{STYLE}</style>",
             f'<rect width="{WIDTH}" height="{height}" style="fill:#fff;stroke:none"/>']
    for upper, lower in lines_of(folders):
        (x, y, width), (to_x, to_y, to_width) = places[upper], places[lower]
        if y == to_y:  # a backend beside the interface that it implements
            drawn.append(f'<path d="M{x + width / 2:g} {y:g}C{x + width / 2:g} {y - 20:g} {to_x + to_width / 2:g} {y - 20:g} '
                         f'{to_x + to_width / 2:g} {y:g}"/>')
            continue
        from_y = y + HEIGHT
        drawn.append(f'<path d="M{x + width / 2:g} {from_y:g}C{x + width / 2:g} {from_y + 30:g} {to_x + to_width / 2:g} '
                     f'{to_y - 30:g} {to_x + to_width / 2:g} {to_y:g}"/>')
    for number, row in enumerate(rows):
        drawn.append(f'<text class="f" x="4" y="{MARGIN + number * ROW + HEIGHT / 2 + 4:g}">{row[0].floor}</text>')
        for folder in row:
            x, y, width = places[folder.name]
            drawn.append(f'<rect x="{x:g}" y="{y:g}" width="{width}" height="{HEIGHT}" rx="5"'
                         + (' class="leaf"' if folder.leaf else "") + "/>")
            lines = [line for line in LIVES_THERE.get(folder.name, ()) if line]
            for place, (kind, line) in enumerate([("n", folder.name), *(("d", line) for line in lines)]):
                down = (20, 36, 50)[place] + (0 if len(lines) == 2 else 6)
                drawn.append(f'<text class="{kind}" x="{x + width / 2:g}" y="{y + down:g}">{html.escape(line)}</text>')
    return "\n".join([*drawn, "</svg>"]) + "\n"


def main():
    drawing = draw(read_table(ROOT / "src" / "CMakeLists.txt"))
    if sys.argv[1:] == ["--check"]:
        if not DRAWING.exists() or DRAWING.read_text() != drawing:
            sys.exit(f"{DRAWING.relative_to(ROOT)}: not the drawing of src/CMakeLists.txt; run tools/draw_architecture.py")
        return
    DRAWING.write_text(drawing)


if __name__ == "__main__":
    main()
