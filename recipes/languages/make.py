#!/usr/bin/env python3
"""The files of recipes/languages/classifier.toml, in the folder `made`.

    recipes/languages/make.py [FOLDER]

Each language's file beside this script has sentences, a line each, and last a line of common words. Every sixth
sentence is left out of training: made/languages-test.tsv, and runs of one to three of their words:
made/languages-short.tsv. The others come as they are and as runs of their words and letters, so that short texts are learned too.
The texts are lower-case letters and spaces, as LanguageDetector reads them. The same files give the same files.
"""

import pathlib
import random
import sys
import unicodedata

WITHOUT_SPACES = {"ja", "zh"}
SHORT, LONGER, CUT = 10, 5, 8  # runs of words of a sentence, and of its letters
TOGETHER = 250  # runs of the commonest words


def letters(text):
    """As src/api/languages/language_detector.cpp reads a text."""
    kept = "".join(c if unicodedata.category(c)[0] in "LM" or c in "'’" else " " for c in unicodedata.normalize("NFC", text))
    return " ".join(kept.replace("’", "'").lower().split())


def units(text, language):
    return list(text.replace(" ", "")) if language in WITHOUT_SPACES else text.split(" ")


def joined(words, language):
    return ("" if language in WITHOUT_SPACES else " ").join(words)


def run(words, least, most, draw):
    size = min(len(words), draw.randint(least, most))
    begin = draw.randint(0, len(words) - size)
    return words[begin:begin + size]


def write(path, lines):
    path.write_text("".join(f"{text}\t{language}\n" for text, language in lines if text), encoding="utf-8")


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "made")
    folder.mkdir(parents=True, exist_ok=True)
    train, test, short = [], [], []
    for file in sorted(pathlib.Path(__file__).parent.glob("*.txt")):
        language, draw = file.stem, random.Random(file.stem)
        wide = 2 if language in WITHOUT_SPACES else 1
        *sentences, common = map(letters, file.read_text(encoding="utf-8").splitlines())
        for number, sentence in enumerate(sentences, 1):
            words = units(sentence, language)
            if number % 6 == 0:
                test.append((sentence, language))
                short += [(joined(run(words, n * wide, n * wide, draw), language), language) for n in (1, 2, 3)]
                continue
            train += [(sentence, language)] * 2
            for least, most, count in [(1, 3, SHORT), (4, 7, LONGER)]:
                train += [(joined(run(words, least * wide, most * wide, draw), language), language) for _ in range(count)]
            train += [("".join(run(sentence, 6 // wide, 24 // wide, draw)).strip(), language) for _ in range(CUT)]
        words = common.split(" ")
        train += [(word, language) for word in words for _ in range(2)]
        train += [(joined(draw.sample(words, draw.randint(2, 5)), language), language) for _ in range(TOGETHER)]
    random.Random(1).shuffle(train)
    write(folder / "languages-train.tsv", train)
    write(folder / "languages-test.tsv", test)
    write(folder / "languages-short.tsv", short)


if __name__ == "__main__":
    main()
