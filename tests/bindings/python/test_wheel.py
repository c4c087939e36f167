"""The wheel: unpacked elsewhere it runs with the libraries that it carries. test_wheel.py MAKE_WHEEL PACKAGE VERSION"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

MAKE_WHEEL, PACKAGE, VERSION = sys.argv[1:4]
MOST_BYTES = 12_000_000


class Wheel(unittest.TestCase):
    def test_it_is_small_and_runs_elsewhere(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder)
            subprocess.run([sys.executable, MAKE_WHEEL, PACKAGE, VERSION, path], stdout=subprocess.DEVNULL, check=True)
            wheel, = path.glob("heed-*.whl")
            self.assertLess(wheel.stat().st_size, MOST_BYTES)
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(path / "site")
            names = {one.name for one in (path / "site" / "heed").iterdir()}
            self.assertLessEqual({"__init__.py", "__init__.pyi", "py.typed"}, names)
            record = next((path / "site").glob("*.dist-info/RECORD")).read_text().splitlines()
            self.assertEqual(len(record), sum(one.is_file() for one in (path / "site").rglob("*")))
            module, = (path / "site" / "heed").glob("_heed*.so")
            needed = subprocess.run(["ldd", module], stdout=subprocess.PIPE, text=True, check=True).stdout
            for line in needed.splitlines():
                if "sentencepiece" in line or "icuuc" in line or "fmt" in line:
                    self.assertIn(str(path / "site" / "heed"), line)
            program = "import heed; print(heed.__version__, heed.bleu(['a b c d'], ['a b c d'])['bleu'])"
            result = subprocess.run([sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": str(path / "site")},
                                    cwd=path, stdout=subprocess.PIPE, text=True, check=True)
            self.assertEqual(result.stdout, f"{VERSION} 100.0\n")


if __name__ == "__main__":
    if not all(map(shutil.which, ("patchelf", "strip", "ldd"))):
        print("skipped: patchelf, strip or ldd is missing")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
