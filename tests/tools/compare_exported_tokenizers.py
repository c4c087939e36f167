#!/usr/bin/python3
"""Compares heed's own tokenizers with what Hugging Face's library makes of their exports: the same ids for every line.

    npm install --prefix /tmp/packages tokenizers
    tests/tools/compare_exported_tokenizers.py --packages /tmp/packages text.tokenizer directory/tokenizer.json \\
        --texts multi30k/train.en multi30k/train.de

Each tokenizer is followed by its export. Lines of the texts are compared, and texts of random characters of scripts that
need no dictionary. The library's frame around a text is left out. Without the library, the script says so and ends with 77.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
SKIPPED = 77
# Scripts without spaces and Hebrew are left out, what Unicode has had for less than five years, and halves of flags, which
# ICU joins with what follows.
BLOCKS = [(0x20, 0x7f), (0x20, 0x7f), (0x20, 0x7f), (0xa0, 0x250), (0x300, 0x370), (0x386, 0x530), (0x620, 0x6d4),
          (0x905, 0x950), (0x1e00, 0x1f00), (0x2010, 0x2027), (0x20a0, 0x20b0), (0x2190, 0x2200), (0x1f300, 0x1f5ff)]


def random_text(draw):
    characters = [" " if draw.random() < 0.15 else chr(draw.randrange(*draw.choice(BLOCKS)))
                  for _ in range(draw.randint(1, 24))]
    return "".join(characters)


def library_ids(packages, tokenizer, texts):
    with open(tokenizer, encoding="utf-8") as file:
        frame = json.load(file)
    frame["post_processor"] = None
    with tempfile.NamedTemporaryFile("w", suffix=".json") as bare, tempfile.NamedTemporaryFile("w", suffix=".json") as list_:
        json.dump(frame, bare)
        json.dump(texts, list_)
        bare.flush()
        list_.flush()
        done = subprocess.run(["node", os.path.join(HERE, "support", "huggingface_texts.mjs"), bare.name, list_.name],
                              cwd=packages, stdout=subprocess.PIPE, text=True, check=True)
    found = [json.loads(line) for line in done.stdout.split("\n") if line]
    return [one["ids"] for one in found], [one["text"] for one in found]


def heed_ids(heed, tokenizer, texts):
    lines = "".join(text + "\n" for text in texts)
    encoded = subprocess.run([heed, "tokenizer", "encode", "--model", tokenizer, "--ids"], input=lines,
                             stdout=subprocess.PIPE, text=True, check=True).stdout
    decoded = subprocess.run([heed, "tokenizer", "decode", "--model", tokenizer, "--ids"], input=encoded,
                             stdout=subprocess.PIPE, text=True, check=True).stdout
    return [[int(id) for id in line.split()] for line in encoded.split("\n")[:-1]], decoded.split("\n")[:-1]


def compare(arguments, own, exported, texts):
    (library, library_texts), (heed, heed_texts) = (library_ids(arguments.packages, exported, texts),
                                                    heed_ids(arguments.heed, own, texts))
    again, _ = heed_ids(arguments.heed, exported, texts)
    assert len(library) == len(heed) == len(again) == len(texts), (len(library), len(heed), len(again), len(texts))
    different = [text for text, a, b in zip(texts, heed, library) if a != b]
    for text in different[:arguments.show]:
        at = texts.index(text)
        print(f"  {json.dumps(text)}\n    heed    {heed[at]}\n    library {library[at]}")
    unread = sum(a != b for a, b in zip(library, again))
    decoded = sum(a != b for a, b in zip(library_texts, heed_texts))
    print(f"{own}: {len(texts)} texts, {len(different)} with other ids, {unread} where heed reads the export otherwise; "
          f"{decoded} decoded otherwise", flush=True)
    return not different and not unread


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tokenizers", nargs="+", metavar="TOKENIZER EXPORT")
    parser.add_argument("--packages", default=".", help="where npm installed the library")
    parser.add_argument("--heed", default=os.path.join(ROOT, "build", "heed"))
    parser.add_argument("--texts", nargs="*", default=[])
    parser.add_argument("--random", type=int, default=1000)
    parser.add_argument("--show", type=int, default=3)
    arguments = parser.parse_args()
    arguments.packages = os.path.abspath(arguments.packages)
    if not os.path.isdir(os.path.join(arguments.packages, "node_modules", "tokenizers")):
        print("skipped: the npm package 'tokenizers' is not installed in --packages")
        return SKIPPED
    draw = random.Random(1)
    texts = [random_text(draw) for _ in range(arguments.random)]
    for path in arguments.texts:
        with open(path, encoding="utf-8") as file:
            texts += [line for line in file.read().split("\n") if line]
    pairs = list(zip(arguments.tokenizers[::2], arguments.tokenizers[1::2]))
    return 0 if all([compare(arguments, own, os.path.abspath(exported), texts) for own, exported in pairs]) else 1


if __name__ == "__main__":
    sys.exit(main())
