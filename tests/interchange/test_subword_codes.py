"""A CTranslate2 directory with subword-nmt's codes beside it: its texts are cut into the tokens that the codes, applied as
subword-nmt's paper says, make of them.
"""

import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

from heed_script import heed

WORDS = "low lower lowest new newer newest wide wider widest slow slower slowest Straße".split()
failures = []


def symbols_of(word, merges=()):
    """Pairs in the order of the codes, each wherever it stands; "</w>" ends a word."""
    symbols = [*word[:-1], word[-1] + "</w>"]
    for left, right in merges:
        k = 0
        while k + 1 < len(symbols):
            if (symbols[k], symbols[k + 1]) == (left, right):
                symbols[k:k + 2] = [left + right]
            k += 1
    return symbols


def token_of(symbol):
    return symbol.removesuffix("</w>") if symbol.endswith("</w>") else symbol + "@@"


def learn(words, count):
    """The most frequent pair of neighbours, again and again."""
    merges = []
    while len(merges) < count:
        pairs = {}
        for word in words:
            symbols = symbols_of(word, merges)
            for pair in zip(symbols, symbols[1:]):
                pairs[pair] = pairs.get(pair, 0) + 1
        merges.append(max(sorted(pairs), key=pairs.get))
    return merges


def check(folder, header, line):
    model, directory, imported = folder / "model", folder / "directory", folder / "imported"
    subprocess.run([os.environ["HEED_MAKE_MODEL"], model, "kind=word", "vocabulary=200", "model.tie=output"], check=True)
    heed("export", "--model", model, "--format", "ctranslate2", "--out", directory)
    merges = learn(WORDS, 20)
    # What the words are cut into are tokens; of the steps on the way only some.
    used = sorted({token_of(symbol) for word in WORDS for symbol in symbols_of(word, merges)})
    vocabularies = sorted(directory.glob("*vocabulary.json"))
    tokens = {}
    for path in vocabularies:
        tokens = json.loads(path.read_text())
        tokens[5:] = used + [f"never{n}" for n in range(len(tokens) - 5 - len(used))]
        path.write_text(json.dumps(tokens))
    for name in ("source.codes", "target.codes"):
        (directory / name).write_text(header + "".join(line.format(*merge) for merge in merges))
    heed("import", directory, "--out", imported)
    ids = {token: number for number, token in enumerate(tokens)}
    draw = random.Random(3)
    texts = [" ".join(draw.choice(WORDS) for _ in range(draw.randint(1, 5))) for _ in range(50)]
    texts += ["".join(draw.choice("lowernstidxß") for _ in range(draw.randint(1, 9))) for _ in range(200)]
    tokenizer = next(path for path in (imported / "source.tokenizer", imported / "shared.tokenizer") if path.exists())
    found = heed("tokenizer", "encode", "--model", tokenizer, "--ids", text="".join(text + "\n" for text in texts)).splitlines()
    unknown, unknowns = ids["<unk>"], 0
    for text, one in zip(texts, found, strict=True):
        cut = [token_of(symbol) for word in text.split() for symbol in symbols_of(word, merges)]
        expected = [ids.get(token, unknown) for token in cut]
        unknowns += unknown in expected
        if [int(id) for id in one.split()] != expected:
            failures.append(f"{text!r}: {one}, expected {expected} for {cut}")
    assert 20 < unknowns < 240, unknowns
    lines = "".join(text + "\n" for text in texts[:50])
    pieces = heed("tokenizer", "encode", "--model", tokenizer, text=lines)
    back = heed("tokenizer", "decode", "--model", tokenizer, text=pieces)
    if back != lines:
        failures.append(f"{back!r} came back of {lines!r}")
    if heed("translate", "--model", directory, text=lines) != heed("translate", "--model", imported, text=lines):
        failures.append("the directory and its import translate differently")
    for format in ("huggingface", "ctranslate2"):
        said = heed("export", "--model", imported, "--format", format, "--out", folder / "out", status=2)
        if "the codes of subword-nmt" not in said:
            failures.append(f"export to {format}: {said}")
    return directory


def check_refusals(directory):
    for content, mention in (("#version: 0.1\ne </w>\n", "version 0.1"), ("", "found none"), ("abc\n", "line 1"),
                             ("a b\n\xff".encode("latin-1"), "UTF-8")):
        (directory / "source.codes").write_bytes(content if isinstance(content, bytes) else content.encode())
        said = heed("translate", "--model", directory, text="low\n", status=2)
        if "source.codes:" not in said or mention not in said or said.count("\n") != 1:
            failures.append(f"{content!r}: {said}")
    (directory / "source.codes").write_text("#version: 0.2\nl o\n")
    for path in directory.glob("*vocabulary.json"):
        path.write_text(path.read_text().replace("@@", ""))
    said = heed("translate", "--model", directory, text="low\n", status=2)
    if "no token of the model ends with @@" not in said:
        failures.append(said)


with tempfile.TemporaryDirectory() as name:
    for number, (header, line) in enumerate((("#version: 0.2\n", "{} {}\n"), ("", "{} {} 17\n"))):
        folder = pathlib.Path(name) / str(number)
        folder.mkdir()
        directory = check(folder, header, line)
    check_refusals(directory)
print("\n".join(failures[:20]) or "codes cut as they should")
sys.exit(1 if failures else 0)
