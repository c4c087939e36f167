"""heed choose, and heed score for language models: what they print, and what they refuse."""

import json
import math
import os
import pathlib
import random
import subprocess
import tempfile
import unittest

import heed_cli
from heed_cli import run

MAKE_MODEL = os.environ["HEED_MAKE_MODEL"]


class LanguageModelTest(heed_cli.CliTest):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.model = pathlib.Path(folder.name) / "model"
        cls.translator = pathlib.Path(folder.name) / "translator"
        for model, architecture in [(cls.model, "causal-lm"), (cls.translator, "seq2seq")]:
            subprocess.run([MAKE_MODEL, model, f"architecture={architecture}", "kind=char", "vocabulary=0"], check=True)

    def output(self, *arguments):
        result = run(*arguments)
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        return result.stdout.decode()

    def scores(self, *options):
        lines = self.output("score", "--model", self.model, *options).splitlines()
        return [(float(score), int(tokens)) for score, tokens in (line.split("\t") for line in lines)]

    def questions(self, name, items):
        return self.file(name, "".join(json.dumps(dict(zip(("prompt", "choices", "answer"), item))) + "\n" for item in items))


class Score(LanguageModelTest):
    def test_a_text_scores_what_perplexity_says(self):
        texts = ["A man is here.", "Two dogs play", "x"]
        found = self.scores("--texts", self.file("texts.txt", "\n".join(texts) + "\n"))
        for text, (score, tokens) in zip(texts, found):
            if len(text) == 1 and tokens == 0:
                self.assertEqual(score, 0.0)
                continue
            measured = json.loads(heed_cli.heed("perplexity", "--model", self.model, "--json", text=text).stdout)
            self.assertAlmostEqual(-score / tokens, measured["nats_per_token"], delta=2e-5)

    def test_a_continuation_is_the_rest_of_its_text(self):
        prompts, texts = ["A man", "Two"], [" is here", " dogs"]
        after = self.scores("--prompts", self.file("prompts.txt", "\n".join(prompts)),
                            "--texts", self.file("texts.txt", "\n".join(texts)))
        alone = self.scores("--texts", self.file("prompts.txt", "\n".join(prompts)))
        whole = self.scores("--texts", self.file("whole.txt", "\n".join(map("".join, zip(prompts, texts)))))
        for (rest, rest_tokens), (start, start_tokens), (both, tokens) in zip(after, alone, whole):
            self.assertAlmostEqual(rest + start, both, delta=1e-4)
            self.assertEqual(rest_tokens + start_tokens, tokens)

    def test_what_makes_no_sense_is_refused(self):
        one, two = self.file("one.txt", "a\n"), self.file("two.txt", "a\nb\n")
        self.assert_refused("score", "--model", self.model, "--texts", one, "--prompts", two, mentions=["two.txt"])
        self.assert_refused("score", "--model", self.model, mentions=["--texts"])
        self.assert_refused("score", "--model", self.model, "--source", one, mentions=["--target"])
        self.assert_refused("score", "--model", self.model, "--texts", one, "--source", one, mentions=["--texts"])
        self.assert_refused("score", "--model", self.model, "--texts", one, "--target-language", "de", mentions=["--source"])
        self.assert_refused("score", "--model", self.translator, "--texts", one, mentions=["translator"])


class Choose(LanguageModelTest):
    ITEMS = [("A man", [" is here", " walks", " x"], 0), ("Two dogs", [" play", " in front of a house"], 1),
             ("The ", ["house", "children look"], 0), ("A m", ["an", "en and women", "outh"], 2)]

    def choose(self, file, *options):
        return json.loads(self.output("choose", "--model", self.model, "--questions", file, "--json", *options))

    def test_the_likeliest_is_that_of_the_scores(self):
        pairs = [(prompt, choice) for prompt, choices, _ in self.ITEMS for choice in choices]
        scores = iter(self.scores("--prompts", self.file("p.txt", "\n".join(p for p, _ in pairs)),
                                  "--texts", self.file("t.txt", "\n".join(t for _, t in pairs))))
        report = self.choose(self.questions("q.jsonl", self.ITEMS), "--out", self.path / "out.jsonl")
        right = right_by_length = 0
        for line, (_, choices, answer) in zip((self.path / "out.jsonl").read_text().splitlines(), self.ITEMS):
            found, ours = json.loads(line), [next(scores) for _ in choices]
            self.assertEqual([(one["log_probability"], one["tokens"]) for one in found["choices"]], ours)
            best = max(range(len(ours)), key=lambda i: ours[i][0])
            by_length = max(range(len(ours)), key=lambda i: ours[i][0] / len(choices[i]))
            self.assertEqual((found["likeliest"], found["likeliest_by_length"], found["answer"]), (best, by_length, answer))
            right += best == answer
            right_by_length += by_length == answer
        for suffix, count in (("", right), ("_by_length", right_by_length)):
            share = count / len(self.ITEMS)
            self.assertAlmostEqual(report["accuracy" + suffix], share)
            self.assertAlmostEqual(report["standard_error" + suffix], math.sqrt(share * (1 - share) / 3), delta=1e-6)
        self.assertEqual(report["questions"], 4)

    def test_examples_go_before_each_prompt(self):
        examples = self.questions("examples.jsonl", [("a", ["b", "c"], 1), ("d", ["e"], 0), ("f", ["g"], 0)])
        by_hand = self.questions("hand.jsonl", [("ac\n\nde\n\n" + p, c, a) for p, c, a in self.ITEMS])
        file = self.questions("q.jsonl", self.ITEMS)
        self.choose(file, "--examples", examples, "--shots", 2, "--out", self.path / "shots.jsonl")
        self.choose(by_hand, "--out", self.path / "hand_out.jsonl")
        self.assertEqual((self.path / "shots.jsonl").read_text(), (self.path / "hand_out.jsonl").read_text())
        self.assert_refused("choose", "--model", self.model, "--questions", file, "--examples", examples, "--shots", 4,
                            mentions=["examples.jsonl", "3 questions"])
        self.assert_refused("choose", "--model", self.model, "--questions", file, "--examples", examples,
                            mentions=["number"])

    def test_no_line_depends_on_the_others(self):
        items = self.ITEMS * 5
        random.Random(3).shuffle(items)
        found = {}
        for name, threads, some in (("one", 1, items), ("two", 2, items[::-1])):
            self.choose(self.questions(name + ".jsonl", some), "--threads", threads, "--out", self.path / name)
            found[name] = sorted((self.path / name).read_text().splitlines())
        self.assertEqual(found["one"], found["two"])

    def test_text_is_for_people(self):
        file = self.questions("q.jsonl", self.ITEMS)
        lines = self.output("choose", "--model", self.model, "--questions", file).splitlines()
        self.assertRegex(lines[0], r"^accuracy  .*% \+- \d+\.\d\d$")
        self.assertRegex(lines[1], r"^accuracy by length .*%")
        self.assertRegex(lines[2], r"^4 questions in .* s$")

    def test_files_without_sense_are_refused_with_their_line(self):
        good = '{"prompt": "a", "choices": ["b", "c"], "answer": 1}\n'
        for line, mention in [('{"prompt": "a", "choices": ["b"]}', 'no "answer"'),
                              ('{"prompt": "a", "choices": ["b"], "answer": 1}', '"answer" is 1'),
                              ('{"prompt": "a", "choices": ["b"], "answer": -1}', '"answer" is -1'),
                              ('{"prompt": "a", "choices": ["b"], "answer": null}', '"answer" is not'),
                              ('{"prompt": "a", "choices": [], "answer": 0}', '"choices"'),
                              ('{"prompt": "a", "choices": [""], "answer": 0}', "choice 0"),
                              ('{"prompt": 3, "choices": ["b"], "answer": 0}', '"prompt"'),
                              ('{"prompt": "a", "choices": ["b"], "answer": 0, "label": 0}', "label"),
                              ('["a"]', "an object"), ("{", "JSON")]:
            file = self.file("q.jsonl", good + line + "\n")
            self.assert_refused("choose", "--model", self.model, "--questions", file, "--out", self.path / "out",
                                mentions=["q.jsonl:2", mention])
            self.assertFalse((self.path / "out").exists())
        self.assert_refused("choose", "--model", self.model, "--questions", self.file("q.jsonl", "\n"),
                            mentions=["no question"])
        long = self.questions("long.jsonl", [("a" * 100, ["b"], 0)])
        self.assert_refused("choose", "--model", self.model, "--questions", long, mentions=["--cut-prompt", "long.jsonl:1"])
        self.choose(long, "--cut-prompt")
        choice = self.questions("choice.jsonl", [("a", ["b" * 100], 0)])
        self.assert_refused("choose", "--model", self.model, "--questions", choice, "--cut-prompt",
                            mentions=["choice.jsonl:1", "continuation alone is too long\n"])
        self.assert_refused("choose", "--model", self.translator, "--questions", long, mentions=["translator"])


if __name__ == "__main__":
    unittest.main()
