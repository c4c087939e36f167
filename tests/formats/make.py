#!/usr/bin/env python3
"""tests/formats/make.py HEED FOLDER: makes a folder of files that heed writes, and of what it makes of them.

test_formats.py checks that later versions read them alike. A folder is made once, when its formats are new, and stays.
"""

import json
import pathlib
import subprocess
import sys

SUBJECTS = {"der Mann": "the man", "die Frau": "the woman", "das Kind": "the child", "der Hund": "the dog"}
VERBS = {"sieht": "sees", "kennt": "knows", "sucht": "looks for", "malt": "paints"}
OBJECTS = {"die Stadt": "the city", "das Haus": "the house", "die Tür": "the door", "das Buch": "the book"}
PAIRS = [(f"{a} {b} {c}.", f"{x} {y} {z}.")
         for a, x in SUBJECTS.items() for b, y in VERBS.items() for c, z in OBJECTS.items()]

# With a word that was never seen, a character outside the text, an emoji, and white space that is kept or not.
LINES = ["der Mann sucht die Tür.", "Das Kind malt den Fluss, 12 Häuser und 1 Straße!", "x  y\u3000z \u00e9 e\u0301 \U0001f600", ""]

TOKENIZERS = {
    "bpe": ("--vocabulary", 320, "--user-symbol", "<2en>"),
    "unigram": ("--vocabulary", 320, "--normalization", "nfkc"),
    "wordpiece": ("--vocabulary", 80, "--lowercase"),
    "word": ("--min-count", 1, "--pad", "[PAD]", "--unk", "[UNK]"),
    "char": ("--normalization", "none"),
    "byte": (),
}

RECIPE = """\
[model]
model = 16
inner = 16
heads = 2
encoder_layers = 1
decoder_layers = 1
max_length = 64
tie = "all"

[data]
train_source = ["text.de"]
train_target = ["text.en"]
validation_source = ["text.de"]
validation_target = ["text.en"]
max_length = 60
batch_target_tokens = 300

[tokenizer]
kind = "char"
vocabulary = 0

[training]
precision = "f32"
updates = 20

[validation]
every = 10

[checkpoints]
every = 10
keep = 1
moving_average = 0.9
"""


def heed(binary, folder, *arguments, text=None):
    """What the program prints, called in a folder."""
    return subprocess.run([binary, *map(str, arguments)], cwd=folder, input=text, check=True, stdout=subprocess.PIPE,
                          encoding="utf-8").stdout


def encoded(binary, folder, kind):
    lines = heed(binary, folder, "tokenizer", "encode", "--ids", "--model", f"tokenizers/{kind}",
                 text="".join(line + "\n" for line in LINES)).splitlines()
    return [[int(token) for token in line.split()] for line in lines]


def decoded(binary, folder, kind, tokens):
    return heed(binary, folder, "tokenizer", "decode", "--ids", "--model", f"tokenizers/{kind}",
                text="".join(" ".join(map(str, line)) + "\n" for line in tokens)).splitlines()


def scores(binary, folder):
    """Of the first pairs, by the model."""
    lines = heed(binary, folder, "score", "--model", "run", "--precision", "f32", "--source", "few.de", "--target",
                 "few.en").splitlines()
    return [float(line.split()[0]) for line in lines]


def main(binary, folder):
    folder.mkdir(parents=True)
    (folder / "tokenizers").mkdir()
    for side, language in enumerate(("de", "en")):
        (folder / f"text.{language}").write_text("".join(pair[side] + "\n" for pair in PAIRS))
        (folder / f"few.{language}").write_text("".join(pair[side] + "\n" for pair in PAIRS[::9]))
    (folder / "recipe.toml").write_text(RECIPE)
    answers = {"tokenizers": {}}
    for kind, options in TOKENIZERS.items():
        heed(binary, folder, "tokenizer", "train", "--kind", kind, "--input", "text.de", "text.en", "--out",
             f"tokenizers/{kind}", *options)
        tokens = encoded(binary, folder, kind)
        answers["tokenizers"][kind] = {"tokens": tokens, "text": decoded(binary, folder, kind, tokens)}
    heed(binary, folder, "train", "recipe.toml", "--out", "run")
    answers["scores"] = scores(binary, folder)
    (folder / "answers.json").write_text(json.dumps(answers, ensure_ascii=False, indent=1) + "\n")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]))
