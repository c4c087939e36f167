"""heed translate, score and evaluate: what they write, and what they refuse."""

import gzip
import json
import math
import os
import pathlib
import re
import select
import shutil
import struct
import subprocess
import tempfile
import unittest

import heed_cli
from heed_cli import BINARY, run

MAKE_MODEL = os.environ["HEED_MAKE_MODEL"]
LINES = ["Ein Hund läuft.", "Zwei Frauen lesen ein altes Buch im Park.", "", "Das Haus ist rot.", "   ",
         "Kinder spielen.", "Der Mann sieht, dass die Katze schläft."]


class ModelTest(heed_cli.CliTest):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.model = pathlib.Path(folder.name) / "model"
        # With characters the model is quick to make, and its output is readable UTF-8.
        subprocess.run([MAKE_MODEL, cls.model, "kind=char", "vocabulary=0"], check=True)

    def translate(self, *options, text="\n".join(LINES) + "\n", model=None, max_length=12):
        result = run("translate", "--model", model or self.model, "--max-tokens", max_length, *options, text=text)
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        return result.stdout.decode()

    def copy_of_model(self):
        copy = self.path / "model"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(self.model, copy)
        return copy

    def refused_model(self, model, *mentions, report=True):
        """Every command that loads a model refuses this one alike; `report` says whether heed report does too."""
        lines = self.file("lines.txt", "Ein Hund.\n")
        self.assert_refused("translate", "--model", model, text="Ein Hund.\n", mentions=mentions)
        self.assert_refused("score", "--model", model, "--source", lines, "--target", lines, mentions=mentions)
        self.assert_refused("evaluate", "--model", model, "--source", lines, "--reference", lines, mentions=mentions)
        if report:
            self.assert_refused("report", model, "--source", lines, mentions=mentions)
            self.assertFalse((model / "report.html").exists())


class Translate(ModelTest):
    def test_a_line_in_is_a_line_out_in_order(self):
        out = self.translate().split("\n")
        self.assertEqual(len(out), len(LINES) + 1)
        for line, translated in zip(LINES, out):
            self.assertEqual(self.translate(text=line + "\n"), translated + "\n")
            self.assertEqual(translated == "", line.strip() == "")

    def test_a_line_gives_the_same_translation_alone_and_among_many(self):
        many = [LINES[i % len(LINES)] + str(i) for i in range(1203)]
        out = self.translate(text="\n".join(many) + "\n", max_length=4).splitlines()
        self.assertEqual(len(out), len(many))
        for i in (0, 999, 1000, 1202):
            self.assertEqual(out[i], self.translate(text=many[i], max_length=4).rstrip("\n"))

    def test_threads_and_a_beam_of_one_change_nothing(self):
        self.assertEqual(self.translate("--threads", 1), self.translate("--threads", 2))
        self.assertEqual(self.translate("--beam", 1), self.translate())

    def test_ends_of_lines_and_a_byte_order_mark_are_dropped(self):
        plain = self.translate(text="Ein Hund.\nEin Haus.\n")
        self.assertEqual(self.translate(text=b"\xef\xbb\xbfEin Hund.\r\nEin Haus."), plain)
        self.assertEqual(self.translate(text=""), "")
        self.assertEqual(self.translate(text="\n"), "\n")

    def test_scores_are_a_second_column(self):
        for line, scored in zip(self.translate().splitlines(), self.translate("--scores").splitlines()):
            text, score = scored.split("\t")
            self.assertEqual(text, line)
            self.assertLessEqual(float(score), 0.0)

    def test_scores_agree_with_heed_score(self):
        """score = log-probability / length^A; heed score gives both parts."""
        lines = [line for line in LINES if line.strip()]
        source = self.file("source.txt", "\n".join(lines) + "\n")
        checked = 0
        for penalty, precision, cache in ((0, "f32", "auto"), (0.6, "f32", "auto"), (1, "f32", "auto"), (0, "bf16", "auto"),
                                          (1, "bf16", "auto"), (0, "f32", "bf16"), (1, "f32", "int8")):
            out = self.translate("--scores", "--alignments", "--beam", 3, "--length-penalty", penalty,
                                 "--precision", precision, "--cache", cache, text="\n".join(lines) + "\n")
            found = [line.rsplit("\t", 2) for line in out.splitlines()]
            target = self.file("target.txt", "".join(text + "\n" for text, _, _ in found))
            result = run("score", "--model", self.model, "--source", source, "--target", target,
                         "--precision", precision, "--cache", cache)
            self.assertEqual((result.returncode, result.stderr), (0, b""))
            scored = [line.split("\t") for line in result.stdout.decode().splitlines()]
            self.assertEqual(len(scored), len(lines))
            for (text, score, alignment), (log_probability, tokens) in zip(found, scored):
                # The model may have spelled the text differently from the tokenizer, or with tokens that are unknown or
                # that no text shows. Then the score is another one.
                if "\u2047" not in text and int(tokens) == len(alignment.split()) + 1:
                    expected = float(log_probability) / int(tokens) ** penalty
                    self.assertTrue(math.isclose(float(score), expected, rel_tol=1e-3, abs_tol=1e-3),
                                    f"{text!r}: {score}, but {log_probability} of {tokens} tokens, penalty {penalty}, "
                                    f"{precision}, {cache}")
                    checked += 1
        self.assertGreaterEqual(checked, len(lines))

    def test_n_best_lists_have_the_usual_form(self):
        out = self.translate("--beam", 4, "--n-best", 3).splitlines()
        best = self.translate("--beam", 4).splitlines()
        groups = {}
        for line in out:
            match = re.fullmatch(r"(\d+) \|\|\| (.*) \|\|\| (-?\d+\.\d+)", line)
            self.assertIsNotNone(match, line)
            groups.setdefault(int(match[1]), []).append((match[2], float(match[3])))
        self.assertEqual(list(groups), list(range(len(LINES))))
        for i, line in enumerate(LINES):
            scores = [score for _, score in groups[i]]
            self.assertEqual(len(scores), 3 if line.strip() else 1)
            self.assertEqual(scores, sorted(scores, reverse=True))
            self.assertEqual(groups[i][0][0], best[i])

    def test_alignments_name_a_source_token_for_each_target_token(self):
        text = "Ein Hund läuft.\n"
        line = self.translate("--alignments", text=text).rstrip("\n")
        _, pairs = line.split("\t")
        found = [tuple(map(int, pair.split("-"))) for pair in pairs.split(" ")]
        self.assertEqual([target for _, target in found], list(range(len(found))))
        self.assertGreater(len(found), 0)
        self.assertLess(max(source for source, _ in found), len(text.strip()))
        many = self.translate("--alignments", "--scores", text=text + "Ein Haus.\n\n").split("\n")
        self.assertEqual(many[0].split("\t")[2], pairs)
        self.assertEqual(many[2].split("\t")[2], "")
        n_best = self.translate("--alignments", "--beam", 2, "--n-best", 2, text=text).splitlines()
        self.assertTrue(all(len(line.split(" ||| ")) == 4 for line in n_best), n_best)

    def test_scores_by_token_add_up(self):
        for line in self.translate("--scores", "--token-scores", "--length-penalty", 0).splitlines():
            text, score, tokens = line.split("\t")
            self.assertAlmostEqual(float(score), sum(float(token.rpartition(":")[2]) for token in tokens.split()), 3)
            self.assertEqual(tokens == "", text == "")
        n_best = self.translate("--token-scores", "--beam", 2, "--n-best", 2, text="Ein Haus.\n").splitlines()
        self.assertTrue(all(len(line.split(" ||| ")) == 4 for line in n_best), n_best)

    def test_rules_for_what_is_written_hold(self):
        for line in self.translate("--min-tokens", 60, "--token-scores", max_length=0).splitlines():
            text, tokens = line.split("\t")
            self.assertTrue(not text or len(tokens.split()) >= 60, line)
        for line in self.translate("--min-tokens", 10, "--no-repeat-ngram", 1, "--token-scores").splitlines():
            text, tokens = line.split("\t")
            if text:
                pieces = [token.rpartition(":")[0] for token in tokens.split()]
                self.assertGreaterEqual(len(pieces), 10)
                self.assertEqual(len(set(pieces)), len(pieces))

    def test_prefixes_begin_translations(self):
        for line, source in zip(self.translate("--prefix", "the").splitlines(), LINES):
            self.assertTrue(line.startswith("the") if source.strip() else line == "", line)
        prefixes = ["a", "", "two", "", "x", "the", "a"]
        file = self.file("prefixes.txt", "\n".join(prefixes) + "\n")
        for line, source, prefix in zip(self.translate("--prefixes", file).splitlines(), LINES, prefixes):
            self.assertTrue(line.startswith(prefix if source.strip() else ""), line)
        self.assertEqual(self.translate("--prefixes", self.file("none.txt", "\n" * len(LINES))), self.translate())

    def test_forced_texts_are_in_all_translations(self):
        options = ["--force", "two", "--force", "ab", "--beam", 6]
        forced = self.translate(*options).splitlines()
        for line, source in zip(forced, LINES):
            self.assertTrue(("two" in line and "ab" in line) if source.strip() else line == "", line)
        for line, source in zip(forced, LINES):
            self.assertEqual(self.translate(*options, text=source + "\n"), line + "\n")
        text = "Ein Haus.\n"
        for refused, mentions in [
                (["--force", "abc", "--beam", 3], ["3 tokens", "beam of at least 4"]),
                (["--force", "abc"], ["beam of at least 4"]),
                (["--force", "", "--beam", 4], ["''", "no tokens"]),
                (["--force", "\u2603", "--beam", 4], ["\u2603", "no tokens for it"]),
                (["--force", "ab", "--suppress", "b", "--beam", 4], ["'ab'", "'b'", "suppressed"]),
                (["--force", "ab", "--beam", 6, "--groups", 2], ["groups"]),
                (["--force", "ab", "--beam", 4, "--max-tokens", 2], ["stdin:1", "3 tokens", "at most 2"])]:
            self.assert_refused("translate", "--model", self.model, *refused, text=text, mentions=mentions)

    def test_rules_and_prefixes_that_make_no_sense_are_refused(self):
        text = "Ein Haus.\n"
        for options, mentions in [
                (["--min-tokens", -1], ["-1"]),
                (["--min-tokens", 9, "--max-tokens", 8], ["9", "8"]),
                (["--min-tokens", 65], ["min tokens is 65", "64"]),
                (["--suppress", "b", "--prefix", "abc"], ["the prefix of stdin:1", "suppressed"]),
                (["--diversity", 2], ["--diversity", "--groups"]),
                (["--coverage-penalty", 1], ["coverage penalty", "beam above 1"]),
                (["--beam", 2, "--n-best", 2, "--patience", 0.5], ["n-best is 2", "patience"]),
                (["--beam", 2, "--alternatives", 2**63 - 1], ["alternatives", "0 to 512"]),
                (["--no-repeat-ngram", -2], ["-2"]),
                (["--prefix", "a", "--prefixes", "b"], ["give one of them"]),
                (["--prefix", "a" * 70], ["prefix", "stdin:1", "64"]),
                (["--prefixes", self.path / "missing"], ["missing"]),
                (["--prefixes", self.file("empty.txt", "")], ["empty.txt", "0 lines"])]:
            self.assert_refused("translate", "--model", self.model, *options, text=text, mentions=mentions)
        self.assert_refused("translate", "--model", self.model, "--prefixes", self.file("long.txt", "a\nb\n"), text=text,
                            mentions=["long.txt", "2 lines"], stdout=None)

    def test_groups_alternatives_and_penalties_give_lists_of_translations(self):
        line = LINES[1] + "\n"
        for options, most in ((["--beam", 4, "--groups", 2, "--diversity", 2, "--n-best", 4], 4),
                              (["--alternatives", 3], 3), (["--beam", 2, "--alternatives", 3, "--prefix", "a "], 3),
                              (["--beam", 3, "--coverage-penalty", 0.3, "--n-best", 3, "--patience", 2], 3)):
            found = self.translate(*options, text=line).splitlines()
            self.assertGreaterEqual(most, len(found))
            self.assertGreater(len(found), 1)
            self.assertTrue(all(re.fullmatch(r"0 \|\|\| .* \|\|\| -\d+\.\d+", entry) for entry in found), found)
        for name in ("keep", "avoid", "copy"):
            self.assertEqual(self.translate("--unknown", name).count("\n"), len(LINES))
        self.assertNotIn("<unk>", self.translate("--unknown", "avoid"))
        for options, mentions in [
                (["--beam", 4, "--groups", 3], ["groups", "3", "4"]), (["--coverage-penalty", -1], ["coverage", "-1"]),
                (["--patience", 0], ["patience"]), (["--alternatives", -1], ["alternatives", "-1"]),
                (["--alternatives", 2, "--draft", "prompt"], ["drafts"]), (["--unknown", "what"], ["--unknown", "what"])]:
            self.assert_refused("translate", "--model", self.model, *options, text=line, mentions=mentions)

    def test_every_precision_translates(self):
        self.assertEqual(self.translate("--precision", "bf16").count("\n"), len(LINES))
        self.assertIn(self.translate("--precision", "auto"),
                      (self.translate("--precision", "f32"), self.translate("--precision", "bf16")))

    def test_a_person_who_types_gets_each_answer_at_once(self):
        process = subprocess.Popen([BINARY, "translate", "--model", self.model, "--max-tokens", "12"],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            for line in ("Ein Hund.", "Ein Haus.", ""):
                process.stdin.write((line + "\n").encode())
                process.stdin.flush()
                ready, _, _ = select.select([process.stdout], [], [], 30)
                self.assertTrue(ready, "no answer while the input is open")
                answer = process.stdout.readline().decode()
                self.assertEqual(answer, self.translate(text=line + "\n"))
            process.stdin.close()
            self.assertEqual((process.stdout.read(), process.wait(30)), (b"", 0))
        finally:
            process.kill()
            process.wait()
            process.stdout.close()


class LongSentences(ModelTest):
    LINE = "Ein Hund läuft durch den Park. " * 3 + "\n"  # more than the model's 64 tokens

    def test_positions_without_a_table_go_beyond_the_trained_length(self):
        self.assert_refused("translate", "--model", self.model, text=self.LINE, mentions=("at most 64",))
        self.translate("--context", 200, "--min-tokens", 150, text=self.LINE, max_length=200)
        self.assertEqual(self.translate("--context", 200), self.translate(), "what fits is translated alike")
        lines = self.file("lines.txt", self.LINE)
        for command, option in (("score", "--target"), ("evaluate", "--reference")):
            self.assert_refused(command, "--model", self.model, "--source", lines, option, lines, mentions=("64",))
            result = run(command, "--model", self.model, "--source", lines, option, lines, "--context", 200)
            self.assertEqual((result.returncode, result.stderr), (0, b""))

    def test_a_learned_table_ends_where_training_ended(self):
        learned = self.path / "learned"
        subprocess.run([MAKE_MODEL, learned, "kind=char", "vocabulary=0", "positions=learned"], check=True)
        self.assert_refused("translate", "--model", learned, "--context", 65, text=self.LINE,
                            mentions=("a table of 64 positions", "65 tokens"))
        self.assert_refused("translate", "--model", self.model, "--context", 65, "--rotary-scaling", "yarn",
                            text=self.LINE, mentions=("not rotary",))


class Drafts(ModelTest):
    def test_drafts_change_no_translation(self):
        smaller = self.path / "smaller"
        subprocess.run([MAKE_MODEL, smaller, "kind=char", "vocabulary=0", "layers=1", "width=16"], check=True)
        plain = self.translate("--scores", max_length=30)
        for draft in (smaller, self.model, "prompt", "layers:1"):
            for tokens in ("auto", 5):
                result = run("translate", "--model", self.model, "--max-tokens", 30, "--scores", "--draft", draft,
                             "--draft-tokens", tokens, text="\n".join(LINES) + "\n")
                self.assertEqual((result.returncode, result.stdout.decode()), (0, plain))
                self.assertRegex(result.stderr.decode(), r"^drafts: (\d+ of \d+ tokens right .*|no tokens were drafted)\n$")

    def test_what_makes_no_sense_is_refused(self):
        stranger, language_model = self.path / "stranger", self.path / "language-model"
        subprocess.run([MAKE_MODEL, stranger, "vocabulary=350"], check=True)
        subprocess.run([MAKE_MODEL, language_model, "architecture=causal-lm", "kind=char", "vocabulary=0"], check=True)
        for options, mentions in [(["--draft", stranger], [stranger, self.model, "another source vocabulary"]),
                                  (["--draft", language_model], [language_model, "language model"]),
                                  (["--draft", "prompt", "--beam", 2], ["drafts", "beam"]),
                                  (["--draft-tokens", 2], ["--draft"])]:
            self.assert_refused("translate", "--model", self.model, *options, text="Ein Hund.\n", mentions=mentions)


class Ensemble(ModelTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.other = cls.model.parent / "other"
        subprocess.run([MAKE_MODEL, cls.other, "kind=char", "vocabulary=0", "layers=1", "width=16", "seed=7"], check=True)

    def scores(self, translated, *options):
        source, target = self.file("source.txt", "\n".join(LINES) + "\n"), self.file("target.txt", translated)
        result = run("score", "--model", self.model, "--source", source, "--target", target, *options)
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        return [float(line.split("\t")[0]) for line in result.stdout.decode().splitlines()]

    def test_scores_are_those_of_both_models_together(self):
        together = ("--ensemble", self.other)
        for search in (["--beam", 3], ["--draft", "layers:1", "--draft-tokens", 3]):
            result = run("translate", "--model", self.model, *together, *search, "--max-tokens", 12, "--length-penalty", 0,
                         "--scores", text="\n".join(LINES) + "\n")
            self.assertEqual(result.returncode, 0, result.stderr)
            columns = [line.split("\t") for line in result.stdout.decode().splitlines()]
            texts = "".join(f"{text}\n" for text, _ in columns)
            for line, (_, score), of_pair, alone in zip(LINES, columns, self.scores(texts, *together), self.scores(texts)):
                if line.strip():
                    self.assertAlmostEqual(float(score), of_pair, delta=1e-3)
                    self.assertNotAlmostEqual(of_pair, alone, places=2)

    def test_a_line_does_not_depend_on_the_others(self):
        options = ("--ensemble", self.other, "--beam", 2, "--scores")
        out = self.translate(*options).splitlines()
        for line, translated in zip(LINES, out):
            self.assertEqual(self.translate(*options, text=line + "\n"), translated + "\n")

    def test_a_model_with_itself_translates_as_it_does_alone(self):
        self.assertEqual(self.translate("--beam", 2, "--ensemble", self.model, "--ensemble", self.model, "--alignments"),
                         self.translate("--beam", 2, "--alignments"))

    def test_all_that_a_translation_may_ask_for_works_with_it(self):
        options = ("--ensemble", self.other, "--beam", 4, "--n-best", 2, "--token-scores", "--coverage-penalty", 0.2)
        self.assertEqual(len(self.translate(*options).splitlines()), 2 * sum(bool(line.strip()) for line in LINES) + 2)
        self.translate("--ensemble", self.other, "--beam", 6, "--force", "Hund", "--prefix", "Ein", max_length=40)
        self.translate("--ensemble", self.other, "--cache", "int8", "--precision", "bf16", "--alternatives", 3)

    def test_the_model_is_evaluated_with_it(self):
        source, reference = self.file("source.txt", "Ein Hund.\n"), self.file("reference.txt", "A dog.\n")
        outputs = []
        for options in ([], ["--ensemble", self.other]):
            output = self.path / "output.txt"
            result = run("evaluate", "--model", self.model, "--source", source, "--reference", reference, "--out", output,
                         "--max-tokens", 12, *options)
            self.assertEqual((result.returncode, result.stderr), (0, b""))
            outputs.append(output.read_text())
        self.assertEqual(outputs[1], self.translate("--ensemble", self.other, text="Ein Hund.\n"))
        self.assertEqual(outputs[0], self.translate(text="Ein Hund.\n"))

    def test_a_shortlist_works_with_it(self):
        made, texts = self.path / "list", self.path / "texts"
        texts.write_text("".join(f"{line}\n" for line in LINES if line.strip()))
        result = run("shortlist", "--model", self.model, "--source", texts, "--target", texts, "--out", made)
        self.assertEqual(result.returncode, 0, result.stderr)
        options = ("--ensemble", self.other, "--shortlist", made, "--beam", 2, "--scores")
        out = self.translate(*options).splitlines()
        for line, translated in zip(LINES, out):
            self.assertEqual(self.translate(*options, text=line + "\n"), translated + "\n")

    def test_a_line_must_fit_all_models(self):
        shorter = self.path / "shorter"
        subprocess.run([MAKE_MODEL, shorter, "kind=char", "vocabulary=0", "max_length=24"], check=True)
        self.assert_refused("translate", "--model", self.model, "--ensemble", shorter, text=LINES[1] + "\n",
                            mentions=["stdin:1", "at most 24"])
        self.translate("--ensemble", shorter, text=LINES[0] + "\n", max_length=0)

    def test_a_token_that_differs_is_named(self):
        for name, text in (("one", "ab\n"), ("other", "ac\n")):
            subprocess.run([MAKE_MODEL, self.path / name, "kind=char", "vocabulary=0",
                            f"source={self.file('same.txt', 'xy' + chr(10))}",
                            f"target={self.file(name + '.txt', text)}"], check=True)
        self.assert_refused("translate", "--model", self.path / "one", "--ensemble", self.path / "other", text="x\n",
                            mentions=["another target vocabulary", "'b', not 'c'"])

    def test_what_cannot_be_averaged_is_refused(self):
        stranger, language_model = self.path / "stranger", self.path / "language-model"
        subprocess.run([MAKE_MODEL, stranger, "vocabulary=350"], check=True)
        subprocess.run([MAKE_MODEL, language_model, "architecture=causal-lm", "kind=char", "vocabulary=0"], check=True)
        for other, mentions in [(stranger, [stranger, self.model, "another source vocabulary"]),
                                (language_model, [language_model, "language model"]),
                                (self.path / "nothing", ["nothing"])]:
            self.assert_refused("translate", "--model", self.model, "--ensemble", other, text="Ein Hund.\n",
                                mentions=mentions)


class RefusedText(ModelTest):
    def test_a_standard_input_that_cannot_be_read_is_an_error(self):
        folder = os.open(self.path, os.O_RDONLY)
        try:
            result = subprocess.run([BINARY, "translate", "--model", self.model], stdin=folder, capture_output=True,
                                    timeout=60)
        finally:
            os.close(folder)
        self.assertEqual((result.returncode, result.stdout), (2, b""))
        self.assertIn(b"stdin: cannot read", result.stderr)

    def test_text_that_is_not_utf8_is_named_with_its_line(self):
        self.assert_refused("translate", "--model", self.model, text=b"gut\nschl\xffecht\n",
                            mentions=("stdin:2", "UTF-8"))

    def test_text_in_another_encoding_is_refused(self):
        self.assert_refused("translate", "--model", self.model, text="gut\n".encode("utf-16-le"),
                            mentions=("stdin:1", "byte 2", "NUL"))

    def test_a_line_longer_than_the_model_takes_is_refused(self):
        self.assert_refused("translate", "--model", self.model, text="gut\n" * 3 + "zu lang " * 40 + "\n",
                            mentions=("stdin:4", "at most 64", "split"))

    def test_line_numbers_count_on_from_window_to_window(self):
        text = "a\n" * 1500 + "\xff\n"
        result = run("translate", "--model", self.model, "--max-tokens", 1, text=text.encode("latin-1"))
        self.assertEqual((result.returncode, result.stdout.count(b"\n")), (2, 1000))
        self.assertIn(b"stdin:1501", result.stderr)

    def test_a_compressed_standard_input_is_decompressed(self):
        self.assertEqual(self.translate(text=gzip.compress(("\n".join(LINES) + "\n").encode())), self.translate())
        self.assert_refused("translate", "--model", self.model, text=gzip.compress(b"gut\n\xff\n"),
                            mentions=("stdin:2", "UTF-8"))

    def test_a_line_of_more_than_1_mib_is_refused(self):
        self.assert_refused("translate", "--model", self.model, text="a" * ((1 << 20) + 10),
                            mentions=("stdin:1", "longer"))

    def test_options_that_make_no_sense_are_refused(self):
        for options, mentions in (
                (("--beam", 0), ("beam is 0",)), (("--beam", 5000), ("beam is 5000",)),
                (("--beam", 2, "--n-best", 3), ("n-best is 3", "beam of 2")), (("--n-best", 0), ("n-best is 0",)),
                (("--length-penalty", "nan"), ("--length-penalty", "not a number")),
                (("--length-penalty", -1), ("length penalty is -1", "0 to 10")),
                (("--max-tokens", -1), ("max tokens is -1",)),
                (("--precision", "int8"), ("'int8'", "f32", "bf16")), (("--threads", -1), ("-1",)),
                (("--threads", 100000), ("100000",)), (("--beam", "many"), ("--beam",)), (("--best", 1), ("--best",))):
            self.assert_refused("translate", "--model", self.model, *options, text="Ein Hund.\n", mentions=mentions)
        self.assert_refused("translate", mentions=("--model",))


class RefusedModels(ModelTest):
    def test_a_path_that_is_not_a_model_directory_is_refused(self):
        self.refused_model(self.path / "nowhere", "nowhere", "no such model directory")
        self.refused_model(self.file("a-file", "text"), "a-file", "expected a model directory")
        (self.path / "empty").mkdir()
        self.refused_model(self.path / "empty", "empty", "config.json")

    def test_a_missing_file_is_named(self):
        for name in ("config.json", "model.safetensors", "source.tokenizer", "target.tokenizer"):
            model = self.copy_of_model()
            (model / name).unlink()
            self.refused_model(model, name, report=name != "model.safetensors")

    def edited(self, change):
        """A model whose config.json went through `change`."""
        model = self.copy_of_model()
        config = json.loads((model / "config.json").read_text())
        changed = change(config)
        config = changed if isinstance(changed, list) else config
        (model / "config.json").write_text(json.dumps(config))
        return model

    def test_an_edited_config_is_refused(self):
        absurd = [("model", 1 << 24), ("inner", 1 << 40), ("encoder_layers", 1024), ("decoder_layers", 10 ** 9),
                  ("heads", 5), ("model", 0), ("inner", -4), ("model", 2 ** 63), ("heads", 2 ** 64 - 1)]
        for key, value in absurd + [("max_length", 0), ("target_vocabulary", 1 << 23)]:
            self.refused_model(self.edited(lambda c: c["model"].update({key: value})), self.path / "model")
        for key, value, words in (("heads", "4", "an integer"), ("heads", 4.5, "an integer"),
                                  ("bias", 1, "true or false"), ("epsilon", "x", "a number"),
                                  ("activation", 3, "a text"), ("activation", "rellu", "'relu'"),
                                  ("epsilon", -1.0, "epsilon"), ("heads", None, "an integer")):
            self.refused_model(self.edited(lambda c: c["model"].update({key: value})), "config.json", key, words)
        self.refused_model(self.edited(lambda c: c["model"].update(inne=4)), "config.json", "'inne'", "'inner'")
        self.refused_model(self.edited(lambda c: c["model"].pop("heads")), "config.json", "model.heads", "missing")
        self.refused_model(self.edited(lambda c: c.update(note="x")), "config.json", "'note'")
        self.refused_model(self.edited(lambda c: c.update(version=2)), "config.json", "version 2")
        self.refused_model(self.edited(lambda c: c.update(format="gguf")), "config.json", "heed-model")
        self.refused_model(self.edited(lambda c: c.pop("tokenizers")), "config.json", "tokenizers")
        self.refused_model(self.edited(lambda c: [c]), "config.json")
        self.refused_model(self.edited(lambda c: c["tokenizers"].update(source="../source.tokenizer")), "config.json",
                           "same folder")
        self.refused_model(self.edited(lambda c: c["model"].update(architecture="causal-lm")), "config.json",
                           '"text" tokenizer', "decoder-only", report=False)

    def test_a_config_that_is_not_json_is_refused(self):
        model = self.copy_of_model()
        text = (model / "config.json").read_text()
        for broken in ("", text[:40], "[" * 100000, "\x00", text + "}"):
            (model / "config.json").write_text(broken)
            self.refused_model(model, "config.json")

    def test_truncated_weights_are_refused(self):
        model = self.copy_of_model()
        whole = (model / "model.safetensors").read_bytes()
        for size in (0, 4, 8, 100, 2000, len(whole) // 2, len(whole) - 1):
            (model / "model.safetensors").write_bytes(whole[:size])
            self.refused_model(model, "model.safetensors")
        (model / "model.safetensors").write_bytes(whole + b"\x00")
        self.refused_model(model, "model.safetensors")

    def rewrite_header(self, change):
        model = self.copy_of_model()
        whole = (model / "model.safetensors").read_bytes()
        size = struct.unpack("<Q", whole[:8])[0]
        header = json.loads(whole[8:8 + size])
        data = change(header, whole[8 + size:])
        text = json.dumps(header).encode()
        (model / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)
        return model

    def test_an_edited_header_is_refused(self):
        name = "output.weight"

        def renamed(header, data):
            header["output.wait"] = header.pop(name)
            return data

        def other_shape(header, data):
            header[name]["shape"].reverse()
            return data

        def other_type(header, data):
            header[name]["dtype"] = "I32"
            return data

        def left_out(header, data):
            begin, end = header.pop(name)["data_offsets"]
            for key, entry in header.items():
                if key != "__metadata__" and entry["data_offsets"][0] >= end:
                    entry["data_offsets"] = [offset - (end - begin) for offset in entry["data_offsets"]]
            return data[:begin] + data[end:]

        def one_more(header, data):
            header["more"] = {"dtype": "F32", "shape": [1], "data_offsets": [len(data), len(data) + 4]}
            return data + b"\x00" * 4

        for change, mention in ((renamed, name), (other_shape, name), (other_type, name), (left_out, name),
                                (one_more, "more")):
            self.refused_model(self.rewrite_header(change), "model.safetensors", mention)
        model = self.rewrite_header(lambda header, data: data)
        self.assertEqual(self.translate(model=model), self.translate())

    def test_weights_that_are_not_numbers_are_refused(self):
        model = self.rewrite_header(lambda header, data: b"\xff" * len(data))
        self.assert_refused("translate", "--model", model, text="Ein Hund.\n", mentions=("damaged or edited",))

    def test_weights_whose_checksum_was_lost_are_refused(self):
        def lose_checksum(header, data):
            header["__metadata__"]["heed_chfcksum"] = header["__metadata__"].pop("heed_checksum")
            return data

        model = self.rewrite_header(lose_checksum)
        self.assert_refused("translate", "--model", model, text="Ein Hund.\n",
                            mentions=("model.safetensors", "no 'heed_checksum'"))

    def test_weights_of_other_programs_that_are_not_numbers_are_refused(self):
        def forget_metadata(header, data):
            del header["__metadata__"]
            return b"\xff" * len(data)

        model = self.rewrite_header(forget_metadata)
        self.assert_refused("translate", "--model", model, text="Ein Hund.\n", mentions=("model.safetensors", "not finite"))

    def test_tokenizers_of_another_model_are_refused(self):
        other = self.path / "other"
        subprocess.run([MAKE_MODEL, other, "vocabulary=350"], check=True)
        for name, side in (("source.tokenizer", "source"), ("target.tokenizer", "target")):
            model = self.copy_of_model()
            shutil.copy(other / name, model / name)
            self.refused_model(model, name, "350 tokens", side)

    def test_swapped_tokenizers_of_the_same_size_are_refused(self):
        """Only their content tells them apart."""
        model = self.path / "even"
        subprocess.run([MAKE_MODEL, model, "vocabulary=350"], check=True)
        (model / "source.tokenizer").rename(model / "x")
        (model / "target.tokenizer").rename(model / "source.tokenizer")
        (model / "x").rename(model / "target.tokenizer")
        self.refused_model(model, "source.tokenizer", "checksum")

    def test_broken_tokenizers_are_refused(self):
        for content in (b"", b"not a tokenizer", (self.model / "source.tokenizer").read_bytes()[:-9],
                        (self.model / "model.safetensors").read_bytes()):
            model = self.copy_of_model()
            (model / "source.tokenizer").write_bytes(content)
            self.refused_model(model, "source.tokenizer")


class ScoreAndEvaluate(ModelTest):
    def setUp(self):
        super().setUp()
        self.source = self.file("source.de", "Ein Hund.\nEin Haus.\nDas Buch ist alt.\n")
        self.target = self.file("target.en", "A dog.\nA house.\nThe book is old.\n")

    def test_scores_do_not_depend_on_neighbours(self):
        both = run("score", "--model", self.model, "--source", self.source, "--target", self.target).stdout.decode()
        one = run("score", "--model", self.model, "--source", self.file("s", "Ein Haus.\n"), "--target",
                  self.file("t", "A house.\n")).stdout.decode()
        self.assertEqual(both.splitlines()[1] + "\n", one)
        log_probability, tokens = one.split("\t")
        self.assertLess(float(log_probability), 0.0)
        self.assertEqual(int(tokens), len("A house.") + 1)

    def test_files_that_are_not_parallel_are_refused(self):
        short = self.file("short.en", "A dog.\n")
        for command, option in (("score", "--target"), ("evaluate", "--reference")):
            self.assert_refused(command, "--model", self.model, "--source", self.source, option, short,
                                mentions=("source.de: 3 lines", "short.en has 1"))
            self.assert_refused(command, "--model", self.model, "--source", self.path / "none", option, short,
                                mentions=("none",))
            bad = self.file("bad.de", b"Ein Hund.\nEin \xff.\nx\n")
            self.assert_refused(command, "--model", self.model, "--source", bad, option, self.target,
                                mentions=("bad.de:2", "UTF-8"))
            long = self.file("long.de", "a\n" + "a" * 100 + "\nb\n")
            self.assert_refused(command, "--model", self.model, "--source", long, option, self.target,
                                mentions=("long.de:2:", "at most 64"))
        self.assert_refused("score", "--model", self.model, "--source", self.target, "--target", long,
                            mentions=("long.de:2:", "at most 64"))

    def test_evaluate_reports_what_bleu_says_of_its_output(self):
        output = self.path / "out.en"
        result = run("evaluate", "--model", self.model, "--source", self.source, "--reference", self.target, "--json",
                     "--beam", 2, "--out", output)
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        report = json.loads(result.stdout)
        translated = run("translate", "--model", self.model, "--beam", 2, text=self.source.read_bytes()).stdout
        self.assertEqual(output.read_bytes(), translated)
        bleu = json.loads(run("bleu", "--reference", self.target, "--json", text=translated).stdout)
        for key, value in bleu.items():
            self.assertEqual(report[key], value, key)
        self.assertIn("tok:13a|smooth:exp", report["signature"])
        for key in ("seconds", "sentences_per_second", "target_tokens", "target_tokens_per_second"):
            self.assertGreater(report[key], 0, key)
        self.assertEqual(report["sentences"], 3)
        lower = run("evaluate", "--model", self.model, "--source", self.source, "--reference", self.target, "--json",
                    "--lowercase").stdout
        self.assertIn("case:lc", json.loads(lower)["signature"])

    def test_a_pipe_is_read_once(self):
        arguments = ("evaluate", "--model", self.model, "--source", self.source, "--json")
        piped = run(*arguments, "--reference", "-", text=self.target.read_bytes())
        self.assertEqual((piped.returncode, piped.stderr), (0, b""))
        named = run(*arguments, "--reference", self.target)
        self.assertEqual(json.loads(piped.stdout)["bleu"], json.loads(named.stdout)["bleu"])
        self.assert_refused("score", "--model", self.model, "--source", "-", "--target", "-", text="x\n",
                            mentions=("standard input", "read only once"))
        self.assert_refused("bleu", "--reference", "-", text="x\n", mentions=("standard input",))

    def test_without_json_evaluate_prints_scores_and_speed(self):
        text = run("evaluate", "--model", self.model, "--source", self.source, "--reference", self.target).stdout
        for word in (b"BLEU", b"chrF2++", b"sentences/s", b"target tokens/s", b"nrefs:1|case:mixed|eff:no|tok:13a"):
            self.assertIn(word, text)

    def test_an_evaluation_that_is_refused_leaves_no_output(self):
        output = self.path / "out.en"
        self.assert_refused("evaluate", "--model", self.model, "--source", self.source, "--reference",
                            self.file("short", "x\n"), "--out", output, mentions=("parallel",))
        self.assert_refused("evaluate", "--model", self.model, "--source", self.file("none.de", ""), "--reference",
                            self.file("none.en", ""), "--out", output, mentions=("no lines",))
        self.assertFalse(output.exists())
        before = self.target.read_bytes()
        self.assert_refused("evaluate", "--model", self.model, "--source", self.source, "--reference", self.target,
                            "--out", self.target, mentions=(self.target, "overwritten"))
        self.assertEqual(self.target.read_bytes(), before)
        self.assert_refused("evaluate", "--model", self.model, "--source", self.source, "--reference", self.target,
                            "--out", self.path / "missing" / "out.en", mentions=("missing",))


if __name__ == "__main__":
    unittest.main()
