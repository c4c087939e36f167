"""tools/check_words.py notices a word that means another thing elsewhere."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


class CheckWords(unittest.TestCase):
    def run_on(self, file, text):
        with tempfile.TemporaryDirectory() as root:
            path = pathlib.Path(root) / file
            path.parent.mkdir(parents=True)
            path.write_text(text)
            ran = subprocess.run([sys.executable, ROOT / "tools" / "check_words.py", root], capture_output=True, text=True)
            return ran.returncode, ran.stdout

    def test_a_word_in_its_folder_passes(self):
        self.assertEqual(self.run_on("src/text/a.h", "struct Piece {};\n")[0], 0)

    def test_the_same_word_elsewhere_is_named_with_what_to_write(self):
        status, output = self.run_on("src/parallel/a.h", "\nstruct Piece {};\n")
        self.assertEqual(status, 1)
        self.assertIn("src/parallel/a.h:2: write slice", output)

    def test_a_comment_begins_with_a_sentence(self):
        self.assertEqual(self.run_on("src/text/a.h", "// Of the last call.\nint calls;\n")[0], 1)
        self.assertEqual(self.run_on("tests/a_test.cpp", "// Of the last call.\nint calls;\n")[0], 1)
        self.assertEqual(self.run_on("src/text/a.h", "// Calls so far.\nint calls;  // Of all: none\n")[0], 0)

    def test_a_weight_is_asked_for_its_place_and_not_for_its_name(self):
        status, output = self.run_on("src/plan/a.cpp", "return name.starts_with(\"decoder.\");\n")
        self.assertEqual(status, 1)
        self.assertIn("src/plan/a.cpp:1: write a question to the weight's identity", output)
        self.assertEqual(self.run_on("src/interchange/a.cpp", "return name.starts_with(\"decoder.\");\n")[0], 0)


if __name__ == "__main__":
    unittest.main()
