"""heed's commands give the embeddings, texts and scores that the libraries of golden/original's models gave."""

import json
import os
import pathlib
import subprocess
import sys

ORIGINAL = pathlib.Path(__file__).parent / "golden" / "original"
HEED = os.environ["HEED_BINARY"]
# f32 against double.
TOLERANCE = 1e-4
failures = []


def heed(*arguments, text=""):
    done = subprocess.run([HEED, *map(str, arguments), "--precision", "f32", "--threads", "1"], input=text,
                          capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip())
    return done.stdout


def check_sentences(folder, golden):
    """A prompt goes before the text, as the file of prompts says."""
    prompts = json.loads((folder / "config_sentence_transformers.json").read_text())["prompts"]
    compared = 0
    for entry in golden["texts"]:
        if "\n" in entry["text"]:
            continue
        try:
            out = heed("embed", "--model", folder, text=prompts.get(entry.get("prompt"), "") + entry["text"] + "\n")
        except RuntimeError as error:
            # What the library cuts off, heed refuses.
            if "but the model takes at most" not in str(error):
                raise
            continue
        found, expected = json.loads(out), entry["embedding"]
        if len(found) != len(expected) or max(abs(a - b) for a, b in zip(found, expected)) > TOLERANCE:
            failures.append(f"{folder.name} {entry['text']!r}: {found} instead of {expected}")
        compared += 1
    if compared == 0:
        failures.append(f"{folder.name}: no text was compared")


def check_greedy(folder, golden):
    """The likeliest text. The library strips its first space, and has U+FFFD for letters in what is not UTF-8."""
    for entry in golden["greedy"]:
        out = heed("generate", "--model", folder, "--temperature", "0", "--max-tokens", entry["new_tokens"],
                   "--prompt", entry["text"], "--json")
        found, expected = json.loads(out)["text"], entry["decoded"]
        if found.lstrip() != expected.lstrip() and "\ufffd" not in expected:
            failures.append(f"{folder.name} {entry['text']!r}: {found!r} instead of {expected!r}")


for path in sorted(ORIGINAL.glob("*/*/golden.json")):
    golden = json.loads(path.read_text())
    try:
        if golden["kind"] == "sentence-transformer":
            check_sentences(path.parent, golden)
        elif golden["kind"] == "decoder":
            check_greedy(path.parent, golden)
    except RuntimeError as error:
        failures.append(f"{path.parent.name}: {error}")
for failure in failures:
    print(failure)
sys.exit(1 if failures else 0)
