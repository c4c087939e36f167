"""heed generate and heed perplexity: what they write, and what they refuse."""

import gzip
import json
import math
import os
import pathlib
import pty
import re
import select
import subprocess
import tempfile
import unittest

import heed_cli
from heed_cli import BINARY, run

MAKE_MODEL = os.environ["HEED_MAKE_MODEL"]
PROMPTS = ["A man is", "Two dogs play", "", "The house", "Children"]


class LanguageModelTest(heed_cli.CliTest):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.model = pathlib.Path(folder.name) / "model"
        cls.translator = pathlib.Path(folder.name) / "translator"
        for model, architecture in [(cls.model, "causal-lm"), (cls.translator, "seq2seq")]:
            subprocess.run([MAKE_MODEL, model, f"architecture={architecture}", "kind=char", "vocabulary=0"], check=True)

    def generate(self, *options, text="", model=None):
        result = run("generate", "--model", model or self.model, *options, text=text)
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        return result.stdout.decode()

    def objects(self, *options, **more):
        return [json.loads(line) for line in self.generate("--json", *options, **more).splitlines()]

    def perplexity(self, text, *options):
        result = run("perplexity", "--model", self.model, *options, text=text)
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        return result.stdout.decode()


class LongerContext(LanguageModelTest):
    TEXT = "Two dogs play in front of a house while many children look at them and a man is reading. " * 2

    def made(self, positions):
        folder = self.path / positions
        subprocess.run([MAKE_MODEL, folder, "architecture=causal-lm", "kind=char", "vocabulary=0",
                        f"positions={positions}"], check=True)
        return folder

    def nats(self, model, *options):
        result = run("perplexity", "--model", model, "--json", *options, text=self.TEXT)
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        return json.loads(result.stdout)["nats_per_token"]

    def test_positions_without_a_table_go_beyond_the_trained_length(self):
        for positions in ("none", "sinusoidal", "rotary", "alibi", "relative-bias"):
            model = self.made(positions)
            long = self.nats(model, "--context", 200)
            self.assertNotEqual(long, self.nats(model))
            # What comes after is the same, read at once or window by window.
            self.assertEqual(self.nats(model, "--context", 200, "--window", 64), self.nats(model))
            self.generate("--prompt", self.TEXT, "--context", 400, "--max-tokens", 5, model=model)

    def test_rotary_positions_can_be_scaled(self):
        model = self.made("rotary")
        found = {kind: self.nats(model, "--context", 256, "--rotary-scaling", kind)
                 for kind in ("none", "linear", "ntk", "yarn")}
        self.assertEqual(len(set(found.values())), 4)

    def test_what_makes_no_sense_is_refused(self):
        learned, rotary = self.made("learned"), self.made("rotary")
        for command in ("perplexity", "generate"):
            self.assert_refused(command, "--model", learned, "--context", 65, text=self.TEXT,
                                mentions=["a table of 64 positions", "65 tokens"])
            self.assert_refused(command, "--model", rotary, "--context", -1, text=self.TEXT, mentions=["-1"])
            self.assert_refused(command, "--model", rotary, "--rotary-scaling", "yarn", text=self.TEXT,
                                mentions=["above the model's 64"])
            self.assert_refused(command, "--model", self.model, "--context", 65, "--rotary-scaling", "yarn",
                                text=self.TEXT, mentions=["not rotary"])
        self.assertEqual(self.nats(learned, "--context", 64), self.nats(learned))


class Generate(LanguageModelTest):
    def test_a_prompt_gives_the_same_object_whatever_is_beside_it(self):
        prompts = self.file("prompts.txt", "\n".join(PROMPTS) + "\n")
        together = self.objects("--prompts", prompts, "--max-tokens", 15, "--top-p", 0.9, "--seed", 3)
        self.assertEqual([found["prompt"] for found in together], PROMPTS)
        for threads in (1, 2):
            for prompt, found in zip(PROMPTS, together):
                self.assertEqual(self.objects("--prompt", prompt, "--max-tokens", 15, "--top-p", 0.9, "--seed", 3,
                                              "--threads", threads), [found])
        self.assertEqual(self.objects("--max-tokens", 15, "--top-p", 0.9, "--seed", 3, text="\n".join(PROMPTS)), together)
        compressed = gzip.compress("\n".join(PROMPTS).encode())
        self.assertEqual(self.objects("--max-tokens", 15, "--top-p", 0.9, "--seed", 3, text=compressed), together)
        for found in together:
            self.assertEqual(list(found), ["prompt", "text", "tokens", "log_probability", "reason"])
            self.assertIn(found["reason"], ["end", "length"])
            self.assertLess(found["log_probability"], 0.0)

    def test_keys_and_values_can_be_kept_in_fewer_bytes(self):
        options = ("--max-tokens", 20, "--temperature", 0, "--precision", "f32")
        whole = self.objects(*options, text="A man\n")[0]
        for kind in ("bf16", "int8"):
            found = self.objects(*options, "--cache", kind, text="A man\n")[0]
            self.assertNotEqual(found["log_probability"], whole["log_probability"])
            self.assertAlmostEqual(found["log_probability"] / found["tokens"],
                                   whole["log_probability"] / whole["tokens"], delta=0.3)
        linear = self.path / "linear"
        subprocess.run([MAKE_MODEL, linear, "architecture=causal-lm", "kind=char", "vocabulary=0",
                        'model.attention=["linear"]'], check=True)
        for command in ("generate", "perplexity"):
            self.assert_refused(command, "--model", linear, "--cache", "int8", mentions=["linear attention"], text="A man\n")

    def test_perplexity_says_what_a_smaller_cache_costs(self):
        """Exactly the probabilities that the text has when it is written."""
        found = {}
        for kind in ("auto", "bf16", "int8"):
            options = ("--precision", "f32", "--cache", kind)
            written = self.objects("--max-tokens", 20, "--temperature", 0, "--token-scores", *options, text="A man\n")[0]
            measured = json.loads(self.perplexity("A man" + written["text"], "--tokens", "--json", *options))["each"]
            self.assertEqual("".join(token["token"] for token in measured[-len(written["each"]):]),
                             "".join(token["token"] for token in written["each"]))
            for ours, theirs in zip(measured[-len(written["each"]):], written["each"]):
                self.assertAlmostEqual(ours["nats"], -theirs["log_probability"], delta=2e-5)
            found[kind] = json.loads(self.perplexity("A man is walking.", "--json", *options))["nats_per_token"]
        self.assertEqual(len(set(found.values())), 3)
        for kind in ("bf16", "int8"):
            self.assertAlmostEqual(found[kind], found["auto"], delta=0.1)

    def test_a_timeout_ends_texts_where_they_are(self):
        # The prompts are more than a thousandth of a second allows for.
        found = self.objects("--max-tokens", 100000, "--timeout", 0.001, text="A man\n" * 200)
        self.assertEqual(len(found), 200)
        self.assertIn("deadline", {text["reason"] for text in found})
        self.assert_refused("generate", "--model", self.model, "--timeout", -1, mentions=["--timeout is -1"])

    def test_plain_text_is_the_text_of_the_objects(self):
        options = ["--prompt", "A man", "--max-tokens", 20]
        self.assertEqual(self.generate(*options), self.objects(*options)[0]["text"] + "\n")

    def test_rules_hold_and_scores_by_token_add_up(self):
        for beam in ([], ["--beam", 2]):
            for found in self.objects("--max-tokens", 25, "--min-tokens", 20, "--no-repeat-ngram", 2, "--token-scores",
                                      *beam, text="\n".join(PROMPTS)):
                self.assertGreaterEqual(found["tokens"], 20)
                pieces = [token["token"] for token in found["each"]]
                pairs = list(zip(pieces, pieces[1:]))
                self.assertEqual(len(set(pairs)), len(pairs))
                self.assertEqual(len(pieces), found["tokens"])
                self.assertAlmostEqual(sum(token["log_probability"] for token in found["each"]),
                                       found["log_probability"], 4)
        listed = self.objects("--max-tokens", 8, "--temperature", 0, "--token-scores", "--likeliest", 3, text="A man\n")[0]
        for token in listed["each"]:
            likeliest = [other["log_probability"] for other in token["likeliest"]]
            self.assertEqual(len(likeliest), 3)
            self.assertEqual(likeliest, sorted(likeliest, reverse=True))
            self.assertLessEqual(token["log_probability"], likeliest[0])
        for options, mentions in [(["--min-tokens", 300], ["300", "200"]), (["--no-repeat-ngram", -1], ["-1"]),
                                  (["--json", "--likeliest", 3], ["--token-scores"]),
                                  (["--json", "--token-scores", "--likeliest", 21], ["21", "0 to 20"]),
                                  (["--token-scores"], ["--json"])]:
            self.assert_refused("generate", "--model", self.model, *options, text="", mentions=mentions)

    def test_texts_match_an_expression_or_are_one_of_the_choices(self):
        expression = r"[a-z ]{3,12}[.!]"
        texts = self.objects("--regex", expression, "--n", 3, "--max-tokens", 30, text="\n".join(PROMPTS))
        self.assertEqual(len(texts), 3 * len(PROMPTS))
        for found in texts:
            self.assertRegex(found["text"], re.compile(f"^(?:{expression})$"))
            self.assertEqual(found["reason"], "end")
        lines = ["red", "green", "a house"]
        choices = self.file("choices.txt", "\n".join(lines) + "\n\n")
        self.assertLess({found["text"] for found in self.objects("--choices", choices, "--n", 9, "--prompt", "A ")},
                        {*lines, "none of them"})
        usual = self.objects("--prompt", "A man", "--temperature", 0, "--max-tokens", 12)[0]["text"]
        other = self.objects("--prompt", "A man", "--temperature", 0, "--max-tokens", 12, "--suppress", usual[2:4])
        self.assertNotIn(usual[2:4], other[0]["text"])

    def test_texts_are_json_that_is_valid_by_a_schema(self):
        model = self.path / "bytes"
        subprocess.run([MAKE_MODEL, model, "architecture=causal-lm", "kind=byte", "vocabulary=0"], check=True)
        schema = self.file("form.json", json.dumps({
            "type": "object", "required": ["kind", "size"], "properties": {
                "kind": {"enum": ["cat", "dog"]}, "size": {"type": "integer", "minimum": 1, "maximum": 12},
                "tags": {"type": "array", "items": {"type": "boolean"}, "maxItems": 2}}}, indent=2))
        for found in self.objects("--json-schema", schema, "--n", 4, "--max-tokens", 60, text="A man\n", model=model):
            value = json.loads(found["text"])
            self.assertIn(value["kind"], ("cat", "dog"))
            self.assertIn(value["size"], range(1, 13))
            self.assertLessEqual(set(value), {"kind", "size", "tags"})
        refused = self.file("refused.json", '{"type": "object",\n "properties": {"a": {"not": {}}}}')
        self.assert_refused("generate", "--model", model, "--json-schema", refused,
                            mentions=["refused.json", "#/properties/a", "'not' is not supported"])
        self.assert_refused("generate", "--model", model, "--json-schema", schema, "--regex", "a",
                            mentions=["--regex and --json-schema"])

    def test_forced_texts_are_in_all_texts(self):
        options = ["--force", "two", "--force", "ab", "--beam", 8, "--n", 2, "--max-tokens", 12]
        texts = self.objects(*options, text="\n".join(PROMPTS))
        self.assertEqual(len(texts), 2 * len(PROMPTS))
        for found in texts:
            self.assertTrue("two" in found["text"] and "ab" in found["text"], found)
        for number, prompt in enumerate(PROMPTS):
            self.assertEqual(self.objects(*options, "--prompt", prompt), texts[2 * number:2 * number + 2])
        self.assertIn("two", self.objects("--force", "two", "--beam", 8, "--max-tokens", 4, "--prompt", "A ")[0]["text"])
        for refused, mentions in [
                (["--force", "abc", "--beam", 3], ["3 tokens", "beam of at least 4"]),
                (["--force", "abc"], ["beam search", "at least 4", "regular expression"]),
                (["--force", "", "--beam", 4], ["''", "no tokens"]),
                (["--force", "\u2603", "--beam", 4], ["\u2603", "no tokens for it"]),
                (["--force", "ab", "--suppress", "b", "--beam", 4], ["'ab'", "'b'", "suppressed"]),
                (["--force", "ab", "--beam", 4, "--stop", "a"], ["forced texts", "stop text"]),
                (["--force", "ab", "--beam", 4, "--max-tokens", 2], ["--prompt", "2 tokens", "at most 2"])]:
            self.assert_refused("generate", "--model", self.model, "--prompt", "A man", *refused, mentions=mentions)

    def test_what_no_text_can_keep_is_refused(self):
        for options, mentions in [
                (["--regex", "a("], ["regular expression", "character 3"]),
                (["--regex", ""], ["--regex is empty"]),
                (["--regex", r"a[^\x00-\x{10FFFF}]"], ["regular expression", "no text"]),
                (["--regex", "\u4e2d+"], ["tokenizer cannot write"]),
                (["--regex", "a+", "--suppress", "a"], ["no text"]),
                (["--suppress", ""], ["suppressed texts", "empty"]),
                (["--choices", self.file("none.txt", "\n\n")], ["none.txt", "no choices"]),
                (["--choices", self.file("foreign.txt", "\u4e2d\n")], ["choices", "cannot write"]),
                (["--choices", self.path / "missing"], ["missing"])]:
            self.assert_refused("generate", "--model", self.model, *options, text="", mentions=mentions)

    def test_samples_and_seeds_differ(self):
        texts = [found["text"] for seed in (0, 1)
                 for found in self.objects("--prompt", "A man", "--n", 4, "--max-tokens", 25, "--seed", seed)]
        self.assertEqual(len(set(texts)), 8)

    def test_greedy_needs_no_seed(self):
        greedy = ["--prompt", "A man", "--temperature", 0, "--max-tokens", 12]
        self.assertEqual(self.objects(*greedy), self.objects(*greedy, "--seed", 5))
        self.assertEqual(self.objects(*greedy)[0]["text"],
                         self.objects("--prompt", "A man", "--top-k", 1, "--max-tokens", 12)[0]["text"])

    def test_stop_texts_end_a_text(self):
        whole = self.objects("--prompt", "A man", "--max-tokens", 40)[0]["text"]
        stop = whole[4:6]
        found = self.objects("--prompt", "A man", "--max-tokens", 40, "--stop", "\u00df\u00df\u00df", "--stop", stop)[0] \
            if "\u00df" in whole else self.objects("--prompt", "A man", "--max-tokens", 40, "--stop", stop)[0]
        self.assertEqual((found["text"], found["reason"]), (whole[:whole.index(stop)], "stop"))

    def test_beam_search_lists_the_best_first(self):
        found = self.objects("--prompt", "A man", "--beam", 4, "--n", 3, "--max-tokens", 6)
        self.assertEqual(len(found), 3)
        scores = [one["log_probability"] / one["tokens"] for one in found]
        self.assertEqual(scores, sorted(scores, reverse=True))

    def test_a_terminal_is_asked_for_prompts(self):
        ours, theirs = pty.openpty()
        process = subprocess.Popen([BINARY, "generate", "--model", self.model, "--max-tokens", "8", "--temperature", "0"],
                                   stdin=theirs, stdout=theirs, stderr=theirs)
        os.close(theirs)
        shown = b""

        def read_until(words):
            nonlocal shown
            while shown.count(b"> ") < words:
                self.assertTrue(select.select([ours], [], [], 60)[0], shown)
                shown += os.read(ours, 65536)
        read_until(1)
        os.write(ours, b"A man\n")
        read_until(2)
        os.write(ours, b"\x04")
        self.assertEqual(process.wait(60), 0)
        os.close(ours)
        expected = self.generate("--prompt", "A man", "--max-tokens", 8, "--temperature", 0)
        self.assertIn(expected.strip().encode(), shown.replace(b"\r\n", b"\n"))


class Drafts(LanguageModelTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.smaller, cls.stranger = cls.model.parent / "smaller", cls.model.parent / "stranger"
        subprocess.run([MAKE_MODEL, cls.smaller, "architecture=causal-lm", "kind=char", "vocabulary=0", "layers=1",
                        "width=16", "max_length=32"], check=True)
        subprocess.run([MAKE_MODEL, cls.stranger, "architecture=causal-lm", "kind=byte", "vocabulary=0"], check=True)

    def with_drafts(self, *options):
        result = run("generate", "--model", self.model, "--json", *options, text="\n".join(PROMPTS))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stderr.decode(), r"^drafts: (\d+ of \d+ tokens right \([\d.]+%\), [\d.]+ tokens a step, "
                                                 r"([\d.]+ times as fast as without|too few steps to compare)|"
                                                 r"no tokens were drafted)\n$")
        return [json.loads(line) for line in result.stdout.decode().splitlines()]

    def test_a_short_text_says_nothing_about_the_gain(self):
        short = ("generate", "--model", self.model, "--prompt", "A", "--max-tokens", 3, "--draft")
        self.assertIn(b"too few steps to compare", run(*short, self.smaller, "--draft-tokens", 2).stderr)
        self.assertEqual(run(*short, "prompt").stderr, b"drafts: no tokens were drafted\n")

    def test_drafts_change_no_text(self):
        for sampling in (["--temperature", 0], ["--top-p", 0.9, "--repetition-penalty", 1.2, "--seed", 4]):
            options = [*sampling, "--max-tokens", 90]
            plain = self.objects(*options, text="\n".join(PROMPTS))
            for draft in (self.smaller, self.model, "prompt", "layers:1"):
                for tokens in ("auto", 6):
                    found = self.with_drafts(*options, "--draft", draft, "--draft-tokens", tokens)
                    for one in found:
                        self.assertGreaterEqual(one["drafted"], one.pop("accepted"))
                        one.pop("drafted")
                    self.assertEqual(found, plain)

    def test_a_model_drafts_rightly_for_itself(self):
        found = self.with_drafts("--draft", self.model, "--draft-tokens", 3, "--max-tokens", 40)
        self.assertGreater(sum(one["accepted"] for one in found), 0.8 * sum(one["drafted"] for one in found))

    def test_what_makes_no_sense_is_refused(self):
        def refused(*options, mentions):
            self.assert_refused("generate", "--model", self.model, "--prompt", "A", *options, mentions=mentions)
        refused("--draft", self.stranger, mentions=[self.stranger, self.model, "another text vocabulary"])
        refused("--draft", self.translator, mentions=[self.translator, "encoder-decoder"])
        refused("--draft", self.path / "nothing", mentions=["nothing"])
        refused("--draft", "", mentions=["--draft"])
        refused("--draft", "layers:2", mentions=["draft layers is 2", "1 to 1"])
        refused("--draft", "layers:", mentions=["not an integer"])
        refused("--draft", "prompt", "--beam", 2, mentions=["beam"])
        refused("--draft", "prompt", "--draft-tokens", 0, mentions=["--draft-tokens: '0' is neither 1 to 32 nor auto"])
        refused("--draft", "prompt", "--draft-tokens", 33, mentions=["--draft-tokens: '33' is neither 1 to 32 nor auto"])
        refused("--draft-tokens", 3, mentions=["--draft"])


class Ensemble(LanguageModelTest):
    TEXT = "Two dogs play."

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.other = cls.model.parent / "other"
        subprocess.run([MAKE_MODEL, cls.other, "architecture=causal-lm", "kind=char", "vocabulary=0", "layers=1", "width=16",
                        "seed=7"], check=True)

    def nats(self, model, *options):
        result = run("perplexity", "--model", model, "--tokens", "--json", *options, text=self.TEXT)
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        return [token["nats"] for token in json.loads(result.stdout)["each"]]

    def test_the_probability_of_a_token_is_the_mean(self):
        together = self.nats(self.model, "--ensemble", self.other)
        self.assertEqual(len(together), len(self.TEXT) - 1)
        for found, one, other in zip(together, self.nats(self.model), self.nats(self.other)):
            self.assertAlmostEqual(math.exp(-found), (math.exp(-one) + math.exp(-other)) / 2, places=5)

    def test_texts_do_not_depend_on_each_other_nor_on_drafts(self):
        options = ("--ensemble", self.other, "--max-tokens", 40, "--temperature", 0.8, "--seed", 3)
        texts = [one["text"] for one in self.objects(*options, text="\n".join(PROMPTS))]
        self.assertNotEqual(texts, [one["text"] for one in self.objects(*options[2:], text="\n".join(PROMPTS))])
        for prompt, text in zip(PROMPTS, texts):
            self.assertEqual(self.objects(*options, text=prompt + "\n")[0]["text"], text)
        result = run("generate", "--model", self.model, "--json", *options, "--draft", self.other, "--draft-tokens", 3,
                     text="\n".join(PROMPTS))
        drafted = [json.loads(line) for line in result.stdout.splitlines()]
        self.assertEqual([one["text"] for one in drafted], texts)
        self.assertGreater(sum(one["drafted"] for one in drafted), 0)

    def test_a_repetition_is_penalized_as_with_one_model(self):
        options = ("--temperature", 0, "--repetition-penalty", 1.5, "--max-tokens", 40)
        self.assertEqual(self.generate(*options, "--ensemble", self.model, text="\n".join(PROMPTS)),
                         self.generate(*options, text="\n".join(PROMPTS)))

    def test_a_text_goes_on_beyond_the_shortest_model(self):
        shorter = self.path / "shorter"
        subprocess.run([MAKE_MODEL, shorter, "architecture=causal-lm", "kind=char", "vocabulary=0", "max_length=24"],
                       check=True)
        self.generate("--ensemble", shorter, "--max-tokens", 70, "--prompt", "A man")
        self.assert_refused("perplexity", "--model", self.model, "--ensemble", shorter, "--window", 25, text=self.TEXT,
                            mentions=["at most 24"])

    def test_a_longer_context_is_one_of_all_models(self):
        folders = {}
        for name, positions, length in (("rotary", "rotary", 64), ("long", "alibi", 300), ("learned", "learned", 64)):
            folders[name] = self.path / name
            subprocess.run([MAKE_MODEL, folders[name], "architecture=causal-lm", "kind=char", "vocabulary=0",
                            f"positions={positions}", f"max_length={length}"], check=True)
        long = ("--context", 200, "--rotary-scaling", "yarn", "--window", 150)
        run_text = LongerContext.TEXT
        for other in ("rotary", "long"):
            result = run("perplexity", "--model", folders["rotary"], "--ensemble", folders[other], *long, text=run_text)
            self.assertEqual((result.returncode, result.stderr), (0, b""))
        self.assert_refused("perplexity", "--model", folders["rotary"], "--ensemble", folders["learned"], *long,
                            text=run_text, mentions=[folders["learned"], "a table of 64 positions"])

    def test_documents_and_a_stream_do_not_go_together(self):
        documents = self.path / "documents"
        subprocess.run([MAKE_MODEL, documents, "architecture=causal-lm", "kind=char", "vocabulary=0", "documents=line"],
                       check=True)
        self.assert_refused("generate", "--model", self.model, "--ensemble", documents, "--prompt", "A",
                            mentions=[documents, self.model, "documents"])

    def test_a_stranger_is_refused(self):
        self.assert_refused("generate", "--model", self.model, "--ensemble", self.translator, "--prompt", "A",
                            mentions=[self.translator, "encoder-decoder"])


class Refused(LanguageModelTest):
    def refused(self, *options, mentions, text=""):
        self.assert_refused("generate", "--model", self.model, *options, mentions=mentions, text=text)

    def test_options_that_make_no_sense_are_refused(self):
        for option, value, mention in [
                ("--temperature", "-1", "temperature is -1"), ("--top-p", "0", "top-p is 0"),
                ("--top-p", "1.5", "top-p is 1.5"), ("--top-k", "-2", "top-k is -2"), ("--min-p", "2", "min-p is 2"),
                ("--repetition-penalty", "0", "repetition penalty is 0"), ("--max-tokens", "0", "max tokens is 0"),
                ("--n", "0", "n is 0"), ("--beam", "0", "beam is 0"), ("--stop", "", "stop text: is empty"),
                ("--stop", "\u4e2d", "cannot write")]:
            with self.subTest(option=option, value=value):
                self.refused("--prompt", "A man", f"{option}={value}", mentions=[mention])
        self.refused("--prompt", "A", "--prompts", "file", mentions=["--prompt", "--prompts"])
        self.refused("--prompt", "A", "--beam", "3", "--top-k", "4", mentions=["beam"])
        self.refused("--prompt", "A", "--beam", "4", "--seed", "3", mentions=["beam"])
        self.refused("--temp", "1", mentions=["'--temp', did you mean '--temperature'?"])
        self.assert_refused("evaluate", "--n-best", "2", mentions=["there is no option '--n-best' (options: "])

    def test_prompts_that_are_not_text_or_too_long_are_refused(self):
        self.refused("--prompt", "a" * 65, mentions=["--prompt", "65 tokens", "at most 64", "--cut-prompt"])
        lines = self.file("prompts.txt", b"good\n" + b"a" * 65 + b"\n")
        self.refused("--prompts", lines, mentions=[f"{lines}:2", "65 tokens"])
        self.refused("--prompts", self.file("bytes.txt", b"good\nb\xff\n"), mentions=["bytes.txt:2", "UTF-8"])
        self.refused("--prompts", self.path / "nothing", mentions=["nothing"])
        self.assertEqual(self.objects("--prompt", "b" * 9 + "a" * 64, "--cut-prompt", "--max-tokens", 3)[0]["text"],
                         self.objects("--prompt", "a" * 64, "--max-tokens", 3)[0]["text"])

    def test_models_of_another_kind_are_refused(self):
        for command in ("generate", "perplexity"):
            self.assert_refused(command, "--model", self.translator, text="A man",
                                mentions=["encoder-decoder", "heed translate"])
        self.assert_refused("translate", "--model", self.model, text="A man\n",
                            mentions=["language model", "heed generate"])

    def test_texts_without_a_token_to_predict_are_refused(self):
        for text, mention in [("", "stdin: 0 tokens"), ("a", "stdin: 1 token, "),
                              (b"good\ncaf\xe9\n", "stdin:2: byte 4 of the line is not UTF-8"),
                              (b"good\n\nb\0\n", "stdin:3: byte 2 of the line is NUL")]:
            self.assert_refused("perplexity", "--model", self.model, text=text, mentions=[mention])
        self.assert_refused("perplexity", "--model", self.model, "--window", "65", text="a man",
                            mentions=["window is 65", "at most 64"])
        self.assert_refused("perplexity", "--model", self.model, "--window", "8", "--stride", "9", text="a man",
                            mentions=["stride is 9"])


class PerplexityOfText(LanguageModelTest):
    TEXT = "A man is walking in the park.\nTwo dogs play.\n" * 6

    def test_the_figures_follow_from_each_other(self):
        found = json.loads(self.perplexity(self.TEXT, "--json"))
        self.assertEqual(list(found), ["tokens", "bytes", "nats_per_token", "bits_per_byte", "perplexity"])
        self.assertEqual(found["bytes"], len(self.TEXT))
        self.assertAlmostEqual(found["perplexity"], math.exp(found["nats_per_token"]),
                               delta=1e-5 * found["perplexity"])
        self.assertAlmostEqual(found["bits_per_byte"],
                               found["nats_per_token"] / math.log(2) * found["tokens"] / found["bytes"], places=5)
        self.assertIn(f"perplexity {found['perplexity']:.4f}", self.perplexity(self.TEXT))

    def test_each_token_has_a_figure_of_its_own(self):
        found = json.loads(self.perplexity(self.TEXT, "--json", "--tokens"))
        nats = [token["nats"] for token in found["each"]]
        self.assertEqual(len(nats), found["tokens"] - 1)
        self.assertAlmostEqual(sum(nats) / len(nats), found["nats_per_token"], places=4)
        lines = self.perplexity(self.TEXT, "--tokens").splitlines()
        self.assertEqual([line.split("\t")[0] for line in lines[:5]], [token["token"] for token in found["each"][:5]])

    def test_a_smaller_stride_shows_the_model_more_before_each_token(self):
        exact = json.loads(self.perplexity(self.TEXT, "--json", "--window", 16, "--stride", 1))
        coarse = json.loads(self.perplexity(self.TEXT, "--json", "--window", 16, "--stride", 16))
        self.assertEqual(exact["tokens"], coarse["tokens"])
        self.assertNotEqual(exact["nats_per_token"], coarse["nats_per_token"])


if __name__ == "__main__":
    unittest.main()
