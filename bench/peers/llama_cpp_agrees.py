#!/usr/bin/python3
"""Whether llama.cpp makes of an exported model what heed makes of the model itself.

    bench/peers/llama_cpp_agrees.py MODEL [--text FILE]

Exports the model in f32 and compares: the tokens of lines that are hard to cut and of all of a text, together and line by
line; the log-probability of each token of the text's beginning; and what both write greedily. Where the texts part, it
prints how likely both continuations are to both programs. Ends with 1 where something differs by more than rounding.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import llama_cpp

HEED = pathlib.Path(__file__).resolve().parents[2] / "build" / "heed"
ROUNDING = 1e-3  # nats
HARD_LINES = ["", " ", "  two spaces  inside and after  ", "\t", "a\tb", "é ü ß ñ", "日本語のテキスト", "🙂👩‍👩‍👧", "▁under score ▁",
              "<s>", "</s>", "<unk> <pad> <sep>", "<0x0A>", "\u00a0no break", "1234567890", "don't stop-it... now?!",
              "CamelCase snake_case", "\u200bzero width", "x" * 300, "a\rb", "Ω≈ç√∫˜µ", "नमस्ते", "\ufeffmark", "\x01\x7f"]
PROMPTS = ["ROMEO:", "What light", "The ", "A\nB", "First Citizen:\nBefore we"]


class Pair:
    """A model in heed and, exported, in llama.cpp."""

    def __init__(self, model, file, heed=HEED):
        self.model, self.file, self.heed = pathlib.Path(model), file, heed
        self.run("export", "--model", model, "--out", file, "--type", "f32")
        (about,) = llama_cpp.ask(file, "about", [None])
        ((self.line_break,),) = llama_cpp.ask(file, "tokens", ["\n"])
        self.begin, self.end, self.context = about["begin"], about["end"], about["context"]
        # heed never writes what is not text; it ends a text only where the model has seen the ends of documents.
        self.never = [token for token in about["special"] if not self.begin or token != self.end]

    def run(self, *arguments, text=""):
        done = subprocess.run([self.heed, *map(str, arguments)], input=text.encode(), capture_output=True)
        if done.returncode != 0:
            raise RuntimeError(f"heed {arguments[0]} ended with {done.returncode}: {done.stderr.decode().strip()}")
        return done.stdout.decode()

    def tokens_of_lines(self, lines):
        text = "".join(line + "\n" for line in lines)
        encoded = self.run("tokenizer", "encode", "--model", self.model / "text.tokenizer", "--ids", text=text)
        return [[int(token) for token in line.split()] for line in encoded.split("\n")[:-1]]

    def text_of(self, tokens):
        """What heed reads in tokens, line by line."""
        lines, line_break = [[]], self.line_break
        for token in tokens:
            lines[-1].append(token) if token != line_break else lines.append([])
        ids = "".join(" ".join(map(str, line)) + "\n" for line in lines)
        return self.run("tokenizer", "decode", "--model", self.model / "text.tokenizer", "--ids", text=ids)[:-1]

    def surprisals(self, text):
        """Of each token of a text but those that nothing precedes, by heed in f32."""
        found = self.run("perplexity", "--model", self.model, "--precision", "f32", "--json", "--tokens", text=text)
        return [token["nats"] for token in json.loads(found)["each"]]


def compare_tokens(pair, lines):
    """The lines that are cut differently, and whether the whole text is."""
    own = pair.tokens_of_lines(lines)
    *theirs, together = llama_cpp.ask(pair.file, "tokens", [*lines, "\n".join(lines)])
    joined = [token for line in own for token in [*line, pair.line_break]][:-1]
    return [line for line, a, b in zip(lines, own, theirs) if a != b], together == joined, len(joined)


def compare_scores(pair, text):
    """The largest difference of a token's log-probability."""
    (tokens,) = llama_cpp.ask(pair.file, "tokens", [text])
    (scores,) = llama_cpp.ask(pair.file, "score", [pair.begin + tokens], cache="f32")
    own = pair.surprisals(text)
    assert len(own) == len(scores), (len(own), len(scores))
    return max(abs(a + b) for a, b in zip(own, scores)), len(scores)


def compare_greedy(pair, prompts, count):
    """For each prompt None, or where the texts part: (text before, [(continuation, llama.cpp's log-probability, heed's)])."""
    prompt_tokens = llama_cpp.ask(pair.file, "tokens", prompts)
    requests = [{"tokens": pair.begin + tokens, "count": count, "never": pair.never} for tokens in prompt_tokens]
    partings = []
    for prompt, tokens, written in zip(prompts, prompt_tokens, llama_cpp.ask(pair.file, "greedy", requests, cache="f32")):
        found = pair.run("generate", "--model", pair.model, "--precision", "f32", "--temperature", 0, "--max-tokens", count,
                         "--prompt", prompt, "--json")
        partings.append(parting_of(pair, tokens, written, prompt + json.loads(found)["text"]))
    return partings


def parting_of(pair, tokens, written, own):
    ids = [step["token"] for step in written]
    if pair.end in ids:
        ids = ids[:ids.index(pair.end)]
    if pair.text_of(tokens + ids) == own:
        return None
    agreed = max(n for n in range(len(ids) + 1) if own.startswith(pair.text_of(tokens + ids[:n])))
    before, step, ways = pair.text_of(tokens + ids[:agreed]), written[agreed], []
    for name in ("", "second_"):
        text = pair.text_of(tokens + ids[:agreed] + [step["token" if name == "" else "second"]])
        ways.append((text[len(before):], step[name + "log_prob"], -pair.surprisals(text)[-1]))
    return before, ways


def is_tie(ways):
    (_, first, own_first), (_, second, own_second) = ways
    return abs(first - second) <= ROUNDING and abs(own_first - own_second) <= ROUNDING


def beginning(pair, text):
    """As many lines as the model reads at once."""
    lines, used = [], len(pair.begin)
    for line, tokens in zip(text, pair.tokens_of_lines(text)):
        used += len(tokens) + 1
        if used > pair.context:
            break
        lines.append(line)
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="the model directory")
    parser.add_argument("--text", help="a text that the model was not trained on")
    parser.add_argument("--tokens", type=int, default=64, help="of each text that is written; 64")
    parser.add_argument("--heed", default=HEED, help="the program; build/heed")
    arguments = parser.parse_args()
    if not llama_cpp.is_installed():
        sys.exit(f"llama_cpp_agrees: llama.cpp is not there; {llama_cpp.INSTALL}")
    good = True
    with tempfile.TemporaryDirectory() as folder:
        pair = Pair(arguments.model, os.path.join(folder, "model.gguf"), arguments.heed)
        texts = {"hard lines": HARD_LINES}
        if arguments.text:
            texts[arguments.text] = pathlib.Path(arguments.text).read_text().split("\n")
        for name, lines in texts.items():
            different, together, count = compare_tokens(pair, lines)
            good &= not different and together
            print(f"tokens of {name}: {len(lines)} lines, {count} tokens, {len(different)} lines differ {different[:3] or ''}, "
                  f"the whole text {'is the same' if together else 'differs'}")
        text = beginning(pair, texts[arguments.text] if arguments.text else ["The cat sat on the mat.", "", "And then?"])
        difference, count = compare_scores(pair, text)
        good &= difference <= ROUNDING
        print(f"log-probabilities of {count} tokens: at most {difference:.1e} apart")
        for prompt, parting in zip(PROMPTS, compare_greedy(pair, PROMPTS, arguments.tokens)):
            if parting is None:
                print(f"after {prompt!r}: the same {arguments.tokens} tokens")
                continue
            before, ways = parting
            good &= is_tie(ways)
            print(f"after {prompt!r}: {'a tie' if is_tie(ways) else 'another text'} behind {before[-20:]!r}: " + "; ".join(
                f"{way!r} llama.cpp {theirs:.6f}, heed {own:.6f}" for way, theirs, own in ways))
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
