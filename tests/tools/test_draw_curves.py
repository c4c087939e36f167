"""The pictures in docs/measurements/ are what tools/draw_curves.py draws of the tables there."""

import pathlib
import subprocess
import sys
import unittest
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import draw_curves

PAGE = """# Page

## Losses

| epoch | loss | accuracy |
|---|---|---|
| 1 | 2.5 | 80.0, 90.0 |
| 1,000 | 1.5 | |
"""


class Curves(unittest.TestCase):
    def test_the_pictures_in_the_tree_are_those_of_their_tables(self):
        ran = subprocess.run([sys.executable, ROOT / "tools" / "draw_curves.py", "--check"], capture_output=True, text=True)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))

    def test_a_cell_may_have_several_values_or_none(self):
        table = draw_curves.table_of(PAGE, "Losses")
        self.assertEqual(draw_curves.points_of(table, "loss"), [(1.0, [2.5]), (1000.0, [1.5])])
        self.assertEqual(draw_curves.points_of(table, "accuracy"), [(1.0, [80.0, 90.0])])

    def test_a_picture_has_a_line_for_each_column_and_a_point_for_each_value(self):
        panels = [("loss", "epoch", "linear", [("training", "page.md", "Losses", "loss")])]
        drawing = draw_curves.draw("Losses", panels, {"page.md": PAGE})
        xml.etree.ElementTree.fromstring(drawing)
        self.assertEqual(drawing.count("<circle"), 2)
        self.assertIn('aria-label="Losses"', drawing)

    def test_steps_are_round_and_enclose_the_values(self):
        self.assertEqual(draw_curves.steps_of(1.6, 5.8), [1, 2, 3, 4, 5, 6])
        self.assertEqual(draw_curves.steps_of(87.5, 100.0), [85, 90, 95, 100])


if __name__ == "__main__":
    unittest.main()
