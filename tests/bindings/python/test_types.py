"""Type hints: mypy --strict accepts them and a program that uses them, and refuses wrong uses."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

from heed_cli import SOURCE

WRONG = """
import heed
translator = heed.Translator(3)
text: int = heed.Translator("m").translate("a").text
found = heed.Generator("m").forward(1.5)
offsets: list[int] = heed.Tokenizer("t").encode("a").offsets
heed.Recipe({}).save(3)
heed.plan(3)
heed.Translator("m").translate("a", beam_size="x")
heed.Generator("m").generate("a", nonsense=3)
"""


class Types(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def check(self, file):
        return subprocess.run([sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--cache-dir",
                               os.path.join(self.folder, "cache"), file],
                              env={**os.environ, "MYPYPATH": str(SOURCE / "bindings/python")}, cwd=self.folder,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)

    def test_the_hints_and_the_example_are_strict(self):
        for file in ("bindings/python/heed/__init__.pyi", "tests/bindings/python/typed_example.py"):
            self.assertEqual(self.check(SOURCE / file).stdout, "")

    def test_wrong_uses_are_refused(self):
        file = os.path.join(self.folder, "wrong.py")
        with open(file, "w", encoding="utf-8") as opened:
            opened.write(WRONG)
        shown = self.check(file).stdout
        for line in range(3, 11):
            self.assertIn(f"wrong.py:{line}: error", shown)


if __name__ == "__main__":
    if shutil.which("mypy") is None:
        print("skipped: mypy is missing")
        sys.exit(77)
    unittest.main()
