"""bench/inner_loops counts a loop's instructions."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(os.environ.get("HEED_SOURCE_DIR", pathlib.Path(__file__).parents[2]))
# In assembly, so that no compiler changes what is to be counted.
X86 = """
.globl sum
sum:
  xor %eax, %eax
1: add $1, %eax
2: imul %ecx, %edx
  mov %edx, -8(%rsp)
  dec %ecx
  jne 2b
  cmp $9, %eax
  jne 1b
  ret
other:
  imul %ecx, %edx
  ret
"""


@unittest.skipUnless(os.uname().machine == "x86_64", "the assembly is for x86-64")
class InnerLoops(unittest.TestCase):
    def count(self, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder) / "sum.s"
            source.write_text(X86)
            subprocess.run(["cc", "-c", str(source), "-o", f"{source}.o"], check=True)
            command = [sys.executable, str(ROOT / "bench" / "inner_loops"), f"{source}.o", *arguments]
            return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    def test_only_the_innermost_loop_counts(self):
        self.assertEqual(self.count("imul"), "1 of 4, 1 to the stack: sum\n")

    def test_loops_without_products_and_other_functions_are_left_out(self):
        self.assertEqual(self.count("vfmadd"), "")
        self.assertEqual(self.count("imul", "other"), "")


if __name__ == "__main__":
    unittest.main()
