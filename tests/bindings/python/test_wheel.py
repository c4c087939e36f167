"""The wheel: unpacked elsewhere it runs with the libraries that it carries, as the built module does. test_wheel.py MAKE_WHEEL PACKAGE VERSION"""

import json
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

# What ICU's tables decide: words of scripts without spaces, normal forms, lower case.
TEXTS = ["ein Hund läuft über die Straße.", "ภาษาไทยไม่มีช่องว่าง", "日本語の文章です。中文也是", "ភាសាខ្មែរ", "မြန်မာဘာသာ", "ລາວ",
         "ﬁ ① Ω Å ǅ İ", "a\u0308 e\u0301", "Привет, мир!", "emoji 👩‍👩‍👧 🇩🇪"]
PROGRAM = """
import heed, json, pathlib, sys
tokenizers = [heed.Tokenizer(path) for path in sys.argv[2:]]
texts = json.loads(sys.argv[1])
print(heed.__version__, round(heed.bleu(['A b c d'], ['a b c d'], lowercase=True)['bleu'], 6))
print(json.dumps([(one.ids, one.offsets) for tokenizer in tokenizers for one in tokenizer.encode(texts)]))
"""

TRANSLATE = """
import heed, sys
print(heed.__file__)
print(heed.Translator(sys.argv[1]).translate("ein Hund"))
"""


def make_tokenizers(folder):
    text = folder / "text"
    text.write_text("".join(line + "\n" for line in TEXTS * 3))
    kinds = ("word", "wordpiece")
    for kind in kinds:
        subprocess.run([os.environ["HEED_BINARY"], "tokenizer", "train", "--input", text, "--out", folder / kind,
                        "--kind", kind, "--vocabulary", "0" if kind == "word" else "400", "--normalization",
                        "nfkc", "--lowercase"], stdout=subprocess.DEVNULL, check=True)
    return [str(folder / kind) for kind in kinds]


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
                if "sentencepiece" in line or "icu" in line or "fmt" in line:
                    self.assertIn(str(path / "site" / "heed"), line)
            self.assertFalse([name for name in names if name.startswith("libicu")])  # no program takes them for its own
            tokenizers = make_tokenizers(path)
            found = [subprocess.run([sys.executable, "-c", PROGRAM, json.dumps(TEXTS), *tokenizers],
                                    env={**os.environ, "PYTHONPATH": str(package)}, cwd=path, stdout=subprocess.PIPE,
                                    text=True, check=True).stdout
                     for package in (path / "site", pathlib.Path(PACKAGE).parent)]
            self.assertEqual(found[0].splitlines()[0], f"{VERSION} 100.0")
            self.assertEqual(*found)

    def test_pip_installs_it_in_a_new_environment_where_it_opens_a_model(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder)
            subprocess.run([sys.executable, MAKE_WHEEL, PACKAGE, VERSION, path], stdout=subprocess.DEVNULL, check=True)
            wheel, = path.glob("heed-*.whl")
            # numpy is the system's.
            subprocess.run([sys.executable, "-m", "venv", "--system-site-packages", path / "venv"], check=True)
            python = path / "venv/bin/python"
            subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", wheel], check=True)
            subprocess.run([os.environ["HEED_MAKE_MODEL"], path / "model"], check=True)
            environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
            shown = subprocess.run([python, "-c", TRANSLATE, path / "model"], env=environment, cwd=path, text=True,
                                   stdout=subprocess.PIPE, check=True).stdout
            file, text = shown.split("\n")[:2]
            self.assertTrue(file.startswith(str(path / "venv")), file)
            expected = subprocess.run([os.environ["HEED_BINARY"], "translate", "--model", path / "model"], input="ein Hund\n",
                                      text=True, stdout=subprocess.PIPE, check=True).stdout
            self.assertEqual(text + "\n", expected)


if __name__ == "__main__":
    if not all(map(shutil.which, ("patchelf", "strip", "ldd"))):
        print("skipped: patchelf, strip or ldd is missing")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
