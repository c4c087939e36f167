"""tools/compile_fail.py passes a sound pair and refuses every other."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(os.environ.get("HEED_SOURCE_DIR", pathlib.Path(__file__).parents[2]))
COMPILER = os.environ.get("CXX", "c++")

PAIR = """
struct Logits {{}};
struct LogProbs {{}};
void loss(Logits);
void f() {{
  loss(Logits{{}});
#ifdef HEED_BAD
{bad}
#endif
}}
"""
EXPECT = "  // expect-error: could not convert.*LogProbs|no (matching function|known conversion)\n"


class CompileFail(unittest.TestCase):
    def run_on(self, text):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "pair.cpp"
            file.write_text(text)
            command = [sys.executable, str(ROOT / "tools" / "compile_fail.py"), str(file), "--"]
            result = subprocess.run([*command, *COMPILER.split(), "-std=c++20"], capture_output=True, text=True)
            return result.returncode, result.stdout + result.stderr

    def test_a_sound_pair_passes(self):
        text = PAIR.format(bad=EXPECT + "  loss(LogProbs{});")
        self.assertEqual(self.run_on(text), (0, ""))

    def expect_failure(self, text, reason):
        status, output = self.run_on(text)
        self.assertNotEqual(status, 0)
        self.assertIn(reason, output)

    def test_a_good_line_that_does_not_compile(self):
        self.expect_failure("// expect-error: x\nint f() { return x; }\n", "does not compile as it stands")

    def test_a_good_line_with_the_expected_error(self):
        text = PAIR.format(bad=EXPECT + "  loss(LogProbs{});").replace("  loss(Logits{});", "  loss(LogProbs{});", 1)
        self.expect_failure(text, "does not compile as it stands")

    def test_a_fatal_error_in_a_bad_line_hides_no_good_line(self):
        text = '#ifdef HEED_BAD\n#include "missing.h"\n#endif\n// expect-error: missing.h\nint f() { return x; }\n'
        self.expect_failure(text, "does not compile as it stands")

    def test_a_bad_line_that_compiles(self):
        self.expect_failure(PAIR.format(bad=EXPECT + "  loss(Logits{});"), "compiles with HEED_BAD")

    def test_another_error_than_the_expected(self):
        self.expect_failure(PAIR.format(bad=EXPECT + "  loss(Lojits{});"), "no error matches")

    def test_another_error_besides_the_expected(self):
        bad = EXPECT + "  loss(LogProbs{});\n  int x = undeclared;"
        self.expect_failure(PAIR.format(bad=bad), "unexpected error")

    def test_a_missing_header_is_no_expected_failure(self):
        text = '#include "missing.h"\n// expect-error: missing.h\n'
        self.expect_failure(text, "does not compile as it stands")
        text = '#ifdef HEED_BAD\n#include "missing.h"\n#endif\n// expect-error: could not convert\n'
        self.expect_failure(text, "no error matches")

    def test_no_expectation(self):
        self.expect_failure(PAIR.format(bad="  loss(LogProbs{});"), "has no")


if __name__ == "__main__":
    unittest.main()
