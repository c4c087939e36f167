"""heed train of classifiers and taggers from outside, and heed classify, tag and embed."""

import json
import math
import os
import random
import re
import struct
import subprocess
import unittest

import train_cli
from heed_cli import heed, run

MODEL = """
[model]
architecture = "encoder"
model = 32
inner = 64
heads = 2
encoder_layers = 1
max_length = 48
positions = "learned"
{more}

[data]
train = ["{folder}/train.tsv"]
validation = ["{folder}/valid.tsv"]
batch_sequences = 16

[tokenizer]
kind = "char"
vocabulary = 0

[schedule]
peak = 0.005
warmup = 20

[training]
task = "{task}"
updates = 150
log_every = 50

[validation]
every = 75

[checkpoints]
final = "last"
"""


def words(draw):
    return "".join(draw.choice("abcdefgh") for _ in range(draw.randint(3, 8)))


def has_a(text):
    return "with" if "a" in text else "without"


class Encoder(train_cli.TrainTest):
    def data(self, make, train=400, valid=50):
        draw = random.Random(4)
        for name, count in (("train", train), ("valid", valid)):
            self.file(name + ".tsv", "".join(make(draw) + "\n" for _ in range(count)))

    def recipe_for(self, task, more=""):
        self.recipe = self.file("recipe.toml", MODEL.format(folder=self.path, task=task, more=more))

    def texts(self):
        return [line.split("\t")[0] for line in (self.path / "valid.tsv").read_text().splitlines()]

    def score(self, name):
        events = [json.loads(line) for line in (self.path / name / "metrics.jsonl").read_text().splitlines()]
        return events[-2]

    def trained(self, *more):
        result = self.train("run", *more)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return self.path / "run"


class LongTexts(Encoder):
    TEXT = "abcdefgh " * 9 + "\n"  # more than the 48 tokens of training

    def setUp(self):
        super().setUp()
        self.data(lambda draw: (lambda text: f"{text}\t{has_a(text)}")(words(draw)))

    def test_positions_without_a_table_go_beyond_the_trained_length(self):
        self.recipe_for("classify")
        model = self.trained("--set", "model.positions=rotary", "--set", "training.updates=2")
        self.assert_refused("classify", "--model", model, text=self.TEXT, mentions=["at most 48"])
        for command in "classify", "embed":
            found = {options: heed(command, "--model", model, "--context", 200, *options, text=self.TEXT)
                     for options in ((), ("--rotary-scaling", "yarn"))}
            for result in found.values():
                self.assertEqual((result.returncode, result.stderr), (0, ""))
            if command == "embed":
                self.assertEqual(len({result.stdout for result in found.values()}), 2)

    def test_a_learned_table_ends_where_training_ended(self):
        self.recipe_for("classify")
        model = self.trained("--set", "training.updates=2")
        self.assert_refused("embed", "--model", model, "--context", 49, text=self.TEXT,
                            mentions=["a table of 48 positions", "49 tokens"])


class Classify(Encoder):
    def setUp(self):
        super().setUp()
        self.data(lambda draw: (lambda text: f"{text}\t{has_a(text)}")(words(draw)))

    def test_a_classifier_of_one_label_learns_reports_and_quantizes(self):
        for pooling in "first", "mean", "max":
            self.recipe_for("classify", f'pooling = "{pooling}"')
            result = self.train("run-" + pooling)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            self.assertRegex(result.stdout, r"validation at update 150: loss .* accuracy .* f1 macro .* matthews")
            self.assertGreater(self.score("run-" + pooling)["accuracy"], 0.8)
        model = self.path / "run-max"
        self.assertEqual(json.loads((model / "config.json").read_text())["model"]["labels"], ["with", "without"])
        texts = self.texts()
        result = heed("classify", "--model", model, text="\n".join(texts) + "\n")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        found = result.stdout.splitlines()
        right = sum(label == has_a(text) for label, text in zip(found, texts, strict=True))
        self.assertGreater(right / len(texts), 0.8)
        whole = heed("classify", "--model", model, "--json", text="\n".join(texts) + "\n").stdout.splitlines()
        self.assertAlmostEqual(sum(json.loads(whole[0])["probabilities"].values()), 1.0, places=5)
        alone = [heed("classify", "--model", model, "--json", text=text + "\n").stdout for text in texts[:3]]
        self.assertEqual([line + "\n" for line in whole[:3]], alone, "a text's result does not depend on the others")
        report = heed("report", model, "--source", self.file("texts.txt", "\n".join(texts) + "\n"), "--samples", 3)
        self.assertEqual((report.returncode, report.stderr), (0, ""))
        page = (model / "report.html").read_text()
        self.assertEqual(page.count('<article class="sample">'), 3)
        self.assertEqual(len(re.findall(r"<tr><td>encoder</td>", page)), 2, "a row for each head")
        self.assertEqual(heed("inspect", model, "--probe").returncode, 0)
        quantized = heed("quantize", "--model", model, "--out", self.path / "small", "--type", "int8-static",
                         "--calibration", self.path / "texts.txt", "--report", self.path / "small.html",
                         "--report-text", self.path / "valid.tsv")
        self.assertEqual((quantized.returncode, quantized.stderr), (0, ""))
        after, before = map(float, re.search(r"accuracy, %: ([\d.]+), before ([\d.]+)", quantized.stdout).groups())
        self.assertAlmostEqual(before, 100 * right / len(texts), places=2)
        self.assertGreater(after, before - 5)

    def test_heads_for_several_labels_and_for_a_number_learn(self):
        self.data(lambda draw: (lambda t: f"{t}\t{','.join(sorted(set(t) & set('ab')))}")(words(draw)))
        self.recipe_for("classify", 'head = "labels"\npooling = "max"')
        model = self.trained()
        self.assertGreater(self.score("run")["f1_micro"], 0.8)
        found = json.loads(heed("classify", "--model", model, "--json", text="ccc\n").stdout)
        self.assertEqual(set(found["probabilities"]), {"a", "b"})
        result = heed("classify", "--model", model, "--evaluate", "--json", "--input", self.path / "valid.tsv")
        self.assertEqual([label["label"] for label in json.loads(result.stdout)["labels"]], ["a", "b"])
        self.assertAlmostEqual(json.loads(result.stdout)["f1_micro"], self.score("run")["f1_micro"], delta=0.05)
        spaced = heed("classify", "--model", model, "--evaluate", "--json", text="ab\ta, b\nab\t b ,a \ncc\t\ncc\t  \n")
        self.assertEqual([label["expected"] for label in json.loads(spaced.stdout)["labels"]], [2, 2])
        train = (self.path / "train.tsv").read_text()
        for labels in "a,,b", "a,", ",", "a, ,b":
            self.file("train.tsv", f"ab\ta\nab\t{labels}\n")
            self.assert_refused("train", self.recipe, "--out", self.path / "no", stdout=None,
                                mentions=[f"train.tsv:2: the labels are '{labels}', of which one is empty"])
        self.file("train.tsv", train)
        self.data(lambda draw: (lambda t: f"{t}\t{len(t) / 4}")(words(draw)))
        self.recipe_for("classify", 'head = "number"')
        model = self.path / "number"
        self.assertEqual(self.train("number").returncode, 0)
        self.assertGreater(self.score("number")["spearman"], 0.8)
        tested = json.loads(heed("classify", "--model", model, "--evaluate", "--json", "--input",
                                 self.path / "valid.tsv").stdout)
        self.assertAlmostEqual(tested["spearman"], self.score("number")["spearman"], delta=0.05)
        self.assertNotIn("labels", tested)
        self.assertGreater(float(heed("classify", "--model", model, text="abcdefgh\n").stdout),
                           float(heed("classify", "--model", model, text="abc\n").stdout))

    def test_pairs_with_token_types_are_learned(self):
        def pair(draw):
            first, second = words(draw), words(draw)
            return f"{first}\t{second}\t{has_a(second)}"
        self.data(pair)
        self.recipe_for("classify", 'token_types = 2\npooling = "max"')
        model = self.trained("--set", "data.pairs=true", "--set", "training.updates=400", "--set", "validation.every=400")
        self.assertGreater(self.score("run")["accuracy"], 0.75)
        result = heed("classify", "--model", model, "--json", text="bbb\taaa\n")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        told = heed("classify", "--model", model, "--pairs", "--json", text="bbb\taaa\n")
        self.assertEqual((told.returncode, told.stdout), (0, result.stdout))
        for text, mention in ("a\tb\nab\n", "1 column,"), ("a\tb\na\tb\tc\n", "3 columns,"):
            for command in "classify", "embed":
                self.assert_refused(command, "--model", model, text=text, mentions=["stdin:2", mention], stdout=None)
        self.assert_reads_pairs(model)
        self.assert_old_directories_leave_it_to_the_option(model, result.stdout)

    def assert_reads_pairs(self, model):
        pairs = self.file("pairs.txt", "bbb\taaa\nccc\tbbb\n")
        rows = [json.loads(line) for line in heed("embed", "--model", model, "--input", pairs).stdout.splitlines()]
        self.assertEqual([len(row) for row in rows], [32, 32])
        self.assertNotEqual(rows[0], rows[1])
        similarity = heed("embed", "--model", model, "--input", pairs, "--similarity", pairs)
        self.assertEqual((similarity.stdout.split(), similarity.stderr), (["1.000000", "1.000000"], ""))
        out = self.path / "pairs.npy"
        self.assertEqual(heed("embed", "--model", model, "--input", pairs, "--npy", out).returncode, 0)
        self.assertEqual(run("embed", "--model", model, "--npy", "-", text=pairs.read_text()).stdout, out.read_bytes())
        report = heed("report", model, "--source", pairs, "--samples", 1)
        self.assertEqual((report.returncode, report.stderr), (0, ""))
        tokens = json.loads(re.search(r'"source_tokens":(\[.*?\])', (model / "report.html").read_text()).group(1)
                            .replace("\\u003c", "<").replace("\\u003e", ">"))
        self.assertEqual(tokens, ["<s>", *"bbb", "<sep>", *"aaa", "</s>"])
        self.assert_refused("report", model, "--source", self.file("single.txt", "\nabc\n"),
                            mentions=["single.txt:2: 1 column, expected 2"])
        small = self.path / "small"
        self.assertEqual(heed("quantize", "--model", model, "--out", small, "--type", "int8-static", "--calibration",
                              pairs).stderr, "")
        self.assert_refused("classify", "--model", small, text="abc\n", mentions=["stdin:1: 1 column"])

    def assert_old_directories_leave_it_to_the_option(self, model, classified):
        config = json.loads((model / "config.json").read_text())
        self.assertIs(config.pop("pairs"), True)
        (model / "config.json").write_text(json.dumps(config))
        result = heed("classify", "--model", model, "--pairs", "--json", text="bbb\taaa\n")
        self.assertEqual((result.returncode, result.stdout), (0, classified))
        single = heed("classify", "--model", model, "--json", text="bbb\taaa\n")
        self.assertEqual((single.returncode, single.stderr), (0, ""))
        self.assertNotEqual(single.stdout, classified)

    def test_a_model_of_single_texts_reads_no_pairs(self):
        self.recipe_for("classify", "token_types = 1")
        model = self.trained("--set", "training.updates=1")
        self.assertIs(json.loads((model / "config.json").read_text())["pairs"], False)
        for command in "classify", "embed":
            self.assert_refused(command, "--model", model, "--pairs", text="a\tb\n",
                                mentions=["trained on single texts", "--pairs"])
        config = json.loads((model / "config.json").read_text())
        del config["pairs"]
        (model / "config.json").write_text(json.dumps(config))
        for command in "classify", "embed":
            self.assertEqual(heed(command, "--model", model, text="ab\n").returncode, 0)
            self.assert_refused(command, "--model", model, "--pairs", text="a\tb\n", mentions=["model.token_types is 1"])

    def test_a_labelled_file_is_scored_as_validation_does(self):
        self.recipe_for("classify")
        model = self.trained("--set", "training.precision=f32", "--threads", 1)
        valid = self.path / "valid.tsv"
        whole = heed("classify", "--model", model, "--evaluate", "--json", "--precision", "f32", text=valid.read_text())
        self.assertEqual((whole.returncode, whole.stderr), (0, ""))
        found, validated = json.loads(whole.stdout), self.score("run")
        for key in "loss", "accuracy", "f1_macro", "matthews":
            self.assertAlmostEqual(found[key], validated[key], places=5, msg=key)
        self.assertEqual([{k: label[k] for k in validated["labels"][0]} for label in found["labels"]], validated["labels"])
        self.assertEqual((found["texts"], found["precision"]), (50, "f32"))
        for label in found["labels"]:
            self.assertAlmostEqual(label["f1"], 2 * label["right"] / (label["expected"] + label["predicted"]), places=5)
        text = heed("classify", "--model", model, "--evaluate", "--input", valid, "--precision", "f32").stdout
        self.assertIn(f"accuracy {found['accuracy']:.4f}  f1 macro {found['f1_macro']:.4f}", text)
        self.assertRegex(text, r"\n50 texts in [\d.]+ s \(f32, \d+ thread")
        self.assertRegex(text, r"\n *\d+ +\d+ +[\d.]+ +[\d.]+ +[\d.]+  without\n")
        row = "".join(f"{count:8}" for count in found["labels"][0]["predicted_as"]) + "  with\n"
        self.assertIn(row, text)
        for line, mention in [("abc\tnever", "stdin:2: the label 'never' is not in the model's labels"),
                              ("abc", "stdin:2: 1 column, expected 2"), ("abc\t", "stdin:2: the label is empty")]:
            self.assert_refused("classify", "--model", model, "--evaluate", text=f"abc\twith\n{line}\n", mentions=[mention])
        self.assert_refused("classify", "--model", model, "--evaluate", "--scores", text="abc\twith\n",
                            mentions=["--scores and --evaluate"])
        self.assertEqual(heed("classify", "--model", model, "--evaluate", text="a" * 99 + "\twith\n").returncode, 0,
                         "a text that is too long is cut, as in training")
        self.assert_refused("tag", "--model", model, "--evaluate", text="abc\n", mentions=["has no head for labels of words"])

    def test_the_report_has_the_metrics_of_the_task(self):
        self.recipe_for("classify")
        model = self.trained()
        self.assertEqual(heed("report", model).returncode, 0)
        page = (model / "report.html").read_text()
        best = [event for event in map(json.loads, (model / "metrics.jsonl").read_text().splitlines())
                if event["event"] == "validation" and event["best"]][-1]
        self.assertIn(f"<dt>Best validation: Accuracy</dt><dd>{best['accuracy']:.3f}<small>", page)
        self.assertIn(f"<td>{best['accuracy']:.4f}</td><td>{best['f1_macro']:.4f}</td><td>{best['matthews']:.4f}</td>", page)
        self.assertIn(" of 400 texts", page)
        self.assertEqual(page.count('<article class="sample">'), 6, "the first validation texts")
        self.assertEqual(len(re.findall(r"<tr><td>encoder</td>", page)), 2, "a row for each head")
        data = json.loads(page[page.index('id="data">') + 10:page.rindex("</script>\n<script>")])
        self.assertEqual([sample["source"] for sample in data["samples"]], self.texts()[:6], "without their labels")
        self.assertTrue(all(sample["maps"]["encoder"] for sample in data["samples"]))
        self.assertEqual([metric["highest"] for metric in data["curves"]["metrics"]], [1, 1, 1])
        self.assertEqual([metric["key"] for metric in data["curves"]["metrics"]], ["accuracy", "f1_macro", "matthews"])
        self.assertEqual(data["curves"]["validation"]["accuracy"][-1], self.score("run")["accuracy"])

    def test_killed_at_any_moment_it_resumes_to_the_same_bits(self):
        self.recipe_for("classify")
        self.assert_kills_change_nothing("--set", "checkpoints.every=5", moments=3)

    def test_what_makes_no_sense_is_refused_before_anything_is_trained(self):
        self.recipe_for("classify")
        good = (self.path / "valid.tsv").read_text()
        cases = [("train.tsv", "abc\tx\nabc\n", "train.tsv:2: 1 column, expected 2"),
                 ("train.tsv", "abc\tx\nabc\tabc\tx\n", "train.tsv:2: 3 columns, expected 2"),
                 ("train.tsv", "abc\tx\nabc\t\n", "train.tsv:2: the label is empty"),
                 ("valid.tsv", "abc\twith\nabc\tnever\n", "valid.tsv:2: the label 'never' is not in the training text"),
                 ("valid.tsv", "abc\twith\nabc\tlisted\n", "valid.tsv:2: the label 'listed' is not in the training text"),
                 ("train.tsv", "abc\tx\nabc\tunlisted\n", "train.tsv:1: the label 'x' is not in model.labels"),
                 ("train.tsv", "", "train.tsv: holds no text")]
        train = (self.path / "train.tsv").read_text()
        for name, content, mention in cases:
            self.file("train.tsv", train)
            self.file("valid.tsv", good)
            self.file(name, content)
            more = ["--set", "model.labels=without,with,listed"] if "listed" in content else []
            self.assert_refused("train", self.recipe, "--out", self.path / "no", *more, mentions=[mention], stdout=None)
            self.assertFalse((self.path / "no").exists())
        self.file("train.tsv", train)
        self.file("valid.tsv", good)
        for setting, mention in [("model.head=number", "train.tsv:1: the label is 'with"),
                                 ("model.head=tokens", "the task classify needs model.head"),
                                 ("model.tie=output", "tie"),
                                 ("data.too_long=refuse", None),
                                 ("model.max_length=2", "of which special tokens alone need 2"),
                                 ("model.labels=with,without,with", "labels has "),
                                 ("data.batch_sequences=0", "data.batch_sequences is 0"),
                                 ("model.architecture=causal-lm", "trains an encoder")]:
            if mention:
                self.assert_refused("train", self.recipe, "--out", self.path / "no", "--set", setting,
                                    mentions=[mention.split("'")[0]], stdout=None)
        self.assert_refused("train", self.recipe, "--out", self.path / "no", "--set", "data.pairs=true", "--set",
                            "model.token_types=1", mentions=["model.token_types is 1, but data.pairs"])
        self.assert_refused("train", self.recipe, "--out", self.path / "no", "--set", "data.too_long=refuse", "--set",
                            "model.max_length=5", mentions=["tokens with special tokens, but the model takes at most 5"],
                            stdout=None)

    def test_embeddings_are_printed_compared_and_written(self):
        self.recipe_for("classify")
        model = self.trained()
        rows = [json.loads(line) for line in heed("embed", "--model", model, text="abc\nabcdefgh\nabc\n").stdout.splitlines()]
        self.assertEqual([len(row) for row in rows], [32, 32, 32])
        self.assertEqual(rows[0], rows[2])
        normal = json.loads(heed("embed", "--model", model, "--normalize", text="abc\n").stdout)
        self.assertAlmostEqual(math.sqrt(sum(x * x for x in normal)), 1.0, places=5)
        left, right = self.file("left", "abc\nabc\n"), self.file("right", "abc\nefgh\n")
        similarity = heed("embed", "--model", model, "--input", left, "--similarity", right).stdout.split()
        self.assertEqual(float(similarity[0]), 1.0)
        self.assertLess(float(similarity[1]), 1.0)
        out = self.path / "out.npy"
        self.assertEqual(heed("embed", "--model", model, "--input", right, "--npy", out).returncode, 0)
        content = out.read_bytes()
        size = struct.unpack("<H", content[8:10])[0]
        self.assertEqual((content[:8], (10 + size) % 64), (b"\x93NUMPY\x01\x00", 0))
        self.assertIn(b"'shape': (2, 32)", content[10:10 + size])
        numbers = struct.unpack("<64f", content[10 + size:])
        for number, expected in zip(numbers, rows[0]):
            self.assertAlmostEqual(number, expected, places=5)
        self.assert_refused("embed", "--model", model, "--npy", out, "--similarity", left, mentions=["give one of them"])
        self.assert_refused("embed", "--model", model, "--npy", self.path / "no" / "x.npy", mentions=["x.npy"])
        self.assert_refused("embed", "--model", model, "--input", left, "--npy", left, mentions=["overwritten"])
        self.assert_refused("embed", "--model", model, text="x" * 60 + "\n", mentions=["stdin:1", "at most 48"])
        self.assert_refused("tag", "--model", model, text="a b\n", mentions=["has no head for labels of words"])
        self.assert_refused("generate", "--model", model, mentions=["heed embed takes it"])


class OtherModels(Encoder):
    """Models that were made to write texts embed them too."""

    def test_language_models_and_translators_embed_texts(self):
        for architecture in "causal-lm", "seq2seq":
            model = self.path / architecture
            subprocess.run([os.environ["HEED_MAKE_MODEL"], model, f"architecture={architecture}", "documents=line"],
                           check=True)
            text = "eine Katze\nein Hund schl\u00e4ft\n"
            result = heed("embed", "--model", model, text=text)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            rows = [json.loads(line) for line in result.stdout.splitlines()]
            self.assertEqual([len(row) for row in rows], [32, 32])
            self.assertNotEqual(rows[0], rows[1])
            alone = heed("embed", "--model", model, "--threads", 1, text=text.splitlines()[1] + "\n")
            self.assertEqual(json.loads(alone.stdout), rows[1], "a text's result does not depend on the others")
            mean = heed("embed", "--model", model, "--pooling", "mean", text=text)
            self.assertEqual(mean.stdout, result.stdout, "the mean, unless the model says otherwise")
            last = heed("embed", "--model", model, "--pooling", "last", text=text)
            self.assertNotEqual(last.stdout, result.stdout)
            prompted = heed("embed", "--model", model, "--prompt", "eine ", text="Katze\n")
            self.assertEqual(json.loads(prompted.stdout), rows[0])
            self.assert_refused("embed", "--model", model, "--prompt-name", "query", text=text,
                                mentions=["has no prompt 'query'; it has none"])
            self.assert_refused("embed", "--model", model, "--prompt-name", "query", "--prompt", "a", text=text,
                                mentions=["give one of them"])
            self.assert_refused("embed", "--model", model, "--pairs", text="a\tb\n", mentions=["reads single texts"])
            for command, mention in ("classify", "labels of texts"), ("tag", "labels of words"), ("fill", "masked tokens"):
                self.assert_refused(command, "--model", model, text="a\n", mentions=["has no head for " + mention])


class Tag(Encoder):
    def test_a_tagger_learns_the_same_from_columns_and_from_lines(self):
        draw = random.Random(9)
        sentences = [[words(draw) for _ in range(draw.randint(1, 4))] for _ in range(350)]
        parts = {"train": sentences[:300], "valid": sentences[300:]}
        for name, part in parts.items():
            self.file(name + ".tsv", "\n".join("".join(f"{w}\t{len(w)}\t{has_a(w)}\n" for w in s) for s in part))
        self.recipe_for("tag")
        model = self.trained("--set", "training.updates=300")
        tested = json.loads(heed("tag", "--model", model, "--evaluate", "--json", "--input", self.path / "valid.tsv").stdout)
        self.assertAlmostEqual(tested["accuracy"], self.score("run")["accuracy"], delta=0.02)
        self.assertEqual((tested["texts"], tested["words"]), (50, sum(map(len, parts["valid"]))))
        self.assertIn("words in 300 sentences with 2 labels", self.train("again", "--set", "training.updates=1").stdout)
        self.assertGreater(self.score("run")["accuracy"], 0.7)
        result = heed("tag", "--model", model, text="bcd abc\n\nefg\n")
        self.assertEqual([len(line.split()) for line in result.stdout.splitlines()], [2, 0, 1])
        found = json.loads(heed("tag", "--model", model, "--json", text="bcd abc\n").stdout)
        self.assertEqual([part["word"] for part in found], ["bcd", "abc"])
        self.assertEqual(heed("report", model, "--samples", 2).returncode, 0)
        page = (model / "report.html").read_text()
        self.assertEqual(re.findall(r'"source":"(.*?)"', page), [" ".join(sentence) for sentence in parts["valid"][:2]])
        self.assertEqual(len(re.findall(r"<tr><td>encoder</td>", page)), 2, "a row for each head")
        quantized = heed("quantize", "--model", model, "--out", self.path / "small", "--report", self.path / "small.html",
                         "--report-text", self.path / "valid.tsv")
        self.assertEqual((quantized.returncode, quantized.stderr), (0, ""))
        before = float(re.search(r"accuracy, %: [\d.]+, before ([\d.]+)", quantized.stdout).group(1))
        self.assertAlmostEqual(before, 100 * self.score("run")["accuracy"], delta=2, msg="of another precision: a word or two")
        for name, part in parts.items():
            self.file(name + ".tsv", "".join(f"{' '.join(s)}\t{' '.join(map(has_a, s))}\n" for s in part))
        lines = self.train("lines", "--set", "data.format=lines", "--set", "training.updates=300")
        self.assertEqual((lines.returncode, lines.stderr), (0, ""))
        self.assertEqual(self.weights("lines"), self.weights("run"), "the same words and labels, written differently")
        again = json.loads(heed("tag", "--model", model, "--evaluate", "--json", "--format", "lines", "--input",
                                self.path / "valid.tsv").stdout)
        self.assertEqual((again["labels"], again["loss"]), (tested["labels"], tested["loss"]))
        self.assert_refused("tag", "--model", model, "--format", "lines", text="a word\n",
                            mentions=["--format needs --evaluate"])

    def test_bad_files_are_named_by_their_line(self):
        self.recipe_for("tag")
        for train, more, mention in [("a\tX\nb\n", [], "train.tsv:2: 1 column, expected 2"),
                                     ("a\tX\nb\tn\tX\n", [], "train.tsv:2: 3 columns, expected 2"),
                                     ("a\tX\n\nb\t\n", [], "train.tsv:3: the word or its label is empty"),
                                     ("a b\tX Y\na b\tX\n", ["--set", "data.format=lines"], "train.tsv:2: 2 words, but 1 label"),
                                     ("\n\n", [], "holds no word")]:
            self.file("train.tsv", train)
            self.file("valid.tsv", "a\tX\n")
            self.assert_refused("train", self.recipe, "--out", self.path / "no", *more, mentions=[mention], stdout=None)
        self.file("train.tsv", "a\tX\n")
        self.file("valid.tsv", "a\tX\n\na\tY\n")
        self.assert_refused("train", self.recipe, "--out", self.path / "no", mentions=["valid.tsv:3: the label 'Y'"],
                            stdout=None)


if __name__ == "__main__":
    unittest.main()
