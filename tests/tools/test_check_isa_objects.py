"""tools/check_isa_objects.py notices an object that shares code with the rest of the program."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(os.environ.get("HEED_SOURCE_DIR", pathlib.Path(__file__).parents[2]))
COMPILER = os.environ.get("CXX", "c++")


class CheckIsaObjects(unittest.TestCase):
    def run_on(self, name, text):
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder) / name
            source.write_text(text)
            subprocess.run([*COMPILER.split(), "-O0", "-c", str(source), "-o", f"{source}.o"], check=True)
            command = [sys.executable, str(ROOT / "tools" / "check_isa_objects.py"), f"other.cpp.o;{source}.o"]
            result = subprocess.run(command, capture_output=True, text=True)
            return result.returncode, result.stdout

    def test_internal_helpers_pass(self):
        text = "static inline int twice(int x) { return 2 * x; }\nint f(int x) { return twice(x); }\n"
        self.assertEqual(self.run_on("gemm_avx512.cpp", text), (0, ""))

    def test_a_shared_inline_function(self):
        text = "inline int twice(int x) { return 2 * x; }\nint f(int x) { return twice(x); }\n"
        status, output = self.run_on("gemm_avx512bf16.cpp", text)
        self.assertEqual(status, 1)
        self.assertIn("shares 'twice(int)'", output)
        self.assertEqual(self.run_on("gemm_neoni8mm.cpp", text), (status, output.replace("avx512bf16", "neoni8mm")))
        self.assertEqual(self.run_on("gemm.cpp", text), (0, ""))


if __name__ == "__main__":
    unittest.main()
