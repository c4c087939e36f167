"""bench/inner_loops counts a loop's instructions, and bench/loop_table makes a table of that."""

import importlib.machinery
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(os.environ.get("HEED_SOURCE_DIR", pathlib.Path(__file__).parents[2]))
LOADER = importlib.machinery.SourceFileLoader("loop_table", str(ROOT / "bench" / "loop_table"))
LOOP_TABLE = importlib.util.module_from_spec(importlib.util.spec_from_loader("loop_table", LOADER))
LOADER.exec_module(LOOP_TABLE)
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

    def test_the_table_names_files_that_are_there(self):
        files = {file for _, cells in LOOP_TABLE.ROWS for cell in cells for _, file, _ in cell}
        kernels = ROOT / "src" / "kernels" / "cpu"
        self.assertEqual([file for file in files if not (kernels / f"{file}.cpp").is_file()], [])

    @unittest.skipUnless(shutil.which("aarch64-linux-gnu-g++"), "g++-aarch64-linux-gnu is not installed")
    def test_the_table_is_of_compiled_kernels(self):
        table = [sys.executable, str(ROOT / "bench" / "loop_table")]
        printed = subprocess.run([*table, "pairs"], capture_output=True, text=True, check=True).stdout
        self.assertRegex(printed, r"(?m)^\| pairs of bf16 \| 24 of \d+ \| – \| BF16: 24 of \d+ \| – \|$")
        page = (ROOT / "docs" / "performance.md").read_text()
        rows = re.findall(r'(?m)^    \("([^"]+)", (?:everywhere|\[\[)', (ROOT / "bench" / "loop_table").read_text())
        self.assertGreater(len(rows), 6)
        self.assertEqual([row for row in rows if f"| {row} |" not in page], [])


if __name__ == "__main__":
    unittest.main()
