"""The golden models are what their program makes, and a family's particulars show in what they give.

Weights may differ in their last bit between versions of PyTorch, numbers a little; all else is the same to the byte.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

try:
    import torch
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

GROUPS = ("decoders", "encoder_decoders", "encoders", "gguf")
HERE = pathlib.Path(__file__).parent / "golden"
sys.path.insert(0, str(HERE))

import files  # noqa: E402


def run(*arguments):
    done = subprocess.run([sys.executable, str(HERE / "make.py"), *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"make.py {' '.join(map(str, arguments))} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def close(a, b, relative=1e-6):
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(close(a[key], b[key], relative) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(close(x, y, relative) for x, y in zip(a, b))
    if isinstance(a, float) and isinstance(b, float):
        return abs(a - b) <= relative * max(1.0, abs(a))
    return a == b


def same(name, made, kept):
    if name.endswith((".safetensors", ".bin")):
        load = files.read_safetensors if name.endswith(".safetensors") else lambda path: torch.load(path)
        a, b = load(made), load(kept)
        return a.keys() == b.keys() and all(a[k].dtype == b[k].dtype and a[k].shape == b[k].shape
                                            and torch.allclose(a[k].double(), b[k].double()) for k in a)
    if name == "golden.json":
        a, b = json.loads(made.read_text()), json.loads(kept.read_text())
        # How much a mistake changes is told with two digits.
        return close(a.pop("particulars"), b.pop("particulars"), 0.2) and close(a, b)
    return made.read_bytes() == kept.read_bytes()


def files_of(folder):
    return {str(path.relative_to(folder)) for group in GROUPS for path in (folder / group).rglob("*") if path.is_file()}


print(run("--check-particulars"))
with tempfile.TemporaryDirectory() as folder:
    made = pathlib.Path(folder)
    run("--out", made)
    names, kept = files_of(made), files_of(HERE)
    failures = [f"{name} is not kept" for name in sorted(names - kept)]
    failures += [f"{name} is not made" for name in sorted(kept - names)
                 # Those of a tokenizer.json are the original library's, by texts.mjs.
                 if os.path.basename(name) != "texts.json"]
    failures += [f"{name} differs" for name in sorted(names & kept)
                 if not same(os.path.basename(name), made / name, HERE / name)]
for failure in failures:
    print(failure)
sys.exit(1 if failures else 0)
