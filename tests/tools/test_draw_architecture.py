"""docs/pictures/architecture.svg is what tools/draw_architecture.py draws of the table of folders."""

import pathlib
import re
import subprocess
import sys
import unittest
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import draw_architecture
from check_floors import Folder, read_table


def folder(name, depends=(), folders=None, leaf=False):
    made = Folder(name, leaf, list(depends), 1)
    for dependency in depends:
        made.reach |= {dependency} | folders[dependency].reach
        made.floor = max(made.floor, folders[dependency].floor + 1)
    return made


class Drawing(unittest.TestCase):
    def test_the_drawing_in_the_tree_is_that_of_the_table(self):
        ran = subprocess.run([sys.executable, ROOT / "tools" / "draw_architecture.py", "--check"], capture_output=True, text=True)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))

    def test_each_folder_has_a_box_and_a_leaf_is_dashed(self):
        folders = {"base": folder("base")}
        folders["tensor"] = folder("tensor", ["base"], folders)
        folders["tool"] = folder("tool", ["base"], folders, leaf=True)
        drawing = draw_architecture.draw(folders)
        xml.etree.ElementTree.fromstring(drawing)
        self.assertEqual(re.findall(r'class="n"[^>]*>([^<]+)<', drawing), ["tensor", "tool", "base"])
        self.assertEqual(drawing.count('class="leaf"'), 1)

    def test_what_follows_from_another_folder_has_no_line(self):
        folders = {"base": folder("base")}
        folders["tensor"] = folder("tensor", ["base"], folders)
        folders["ops"] = folder("ops", ["base", "tensor"], folders)
        self.assertEqual(list(draw_architecture.lines_of(folders)), [("tensor", "base"), ("ops", "tensor")])

    def test_the_drawing_says_what_lives_in_each_folder(self):
        table = read_table(ROOT / "src" / "CMakeLists.txt")
        self.assertEqual([name for name in table if name not in draw_architecture.LIVES_THERE], [])


if __name__ == "__main__":
    unittest.main()
