"""heed quantize: what it writes, that every command reads it, and what it refuses."""

import gzip
import itertools
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import tempfile
import unittest

import heed_cli
import quantized_file
import safetensors_file
from heed_cli import heed, run

MAKE_MODEL = os.environ["HEED_MAKE_MODEL"]
LINES = ["Ein Hund läuft.", "Zwei Frauen lesen ein altes Buch im Park.", "", "Das Haus ist rot."]
TEXT = "".join(line + "\n" for line in LINES)
WRITING = """
[model]
architecture = "causal-lm"
model = 32
inner = 32
heads = 2
decoder_layers = 1
max_length = 32
[data]
train = ["{text}"]
documents = "none"
context = 32
batch_sequences = 8
[tokenizer]
kind = "char"
vocabulary = 0
[training]
precision = "f32"
updates = 60
[checkpoints]
final = "last"
[schedule]
warmup = 10
"""
TRANSLATING = """
[model]
model = 32
inner = 32
heads = 2
encoder_layers = 1
decoder_layers = 1
max_length = 64
tie = "all"
[data]
train_source = {sources}
train_target = {targets}
max_length = 60
batch_target_tokens = 400
[tokenizer]
kind = "word"
vocabulary = 0
shared = true
[training]
precision = "f32"
updates = 200
[checkpoints]
final = "last"
[schedule]
warmup = 10
peak = 0.01
"""


def german_and_english():
    """A hundred sentences in both languages, which share their nouns: a model with one table of embeddings then copies
    much of a sentence in the language that it writes."""
    def phrases(articles, nouns):
        return [(f"{german} {noun}", f"{english} {noun}") for german, english in articles for noun in nouns]
    subjects = phrases((("der", "the"), ("ein", "a")), ("clown", "butler", "student", "pilot"))
    verbs = (("sieht", "sees"), ("sucht", "seeks"), ("malt", "paints"), ("kauft", "buys"))
    objects = phrases((("den", "the"), ("einen", "a")), ("ball", "motor", "ring", "film"))
    sentences = list(itertools.product(subjects, verbs, objects))
    return ("".join(" ".join(part[side] for part in sentences[37 * i % 256]) + "\n" for i in range(100)) for side in (0, 1))


def shapes_of(model):
    """The shapes of a model's weights, by name."""
    table = re.findall(r"(?m)^(\S+) +\[([\d, ]+)\]", heed("inspect", model).stdout)
    return {name: [int(extent) for extent in extents.split(", ")] for name, extents in table}


class Quantize(heed_cli.CliTest):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.models = pathlib.Path(folder.name)
        subprocess.run([MAKE_MODEL, cls.models / "translator", "kind=char", "vocabulary=0"], check=True)
        (cls.models / "text").write_text("the man sees the house.\na dog runs to the old city.\n" * 30)
        (cls.models / "writer.toml").write_text(WRITING.format(text=cls.models / "text"))
        trained = heed("train", cls.models / "writer.toml", "--out", cls.models / "writer")
        assert trained.returncode == 0, trained.stderr
        (cls.models / "lines.de").write_text(TEXT)

    @property
    def model(self):
        return self.models / "translator"

    def quantized(self, *options, model=None):
        out = self.path / "small"
        shutil.rmtree(out, ignore_errors=True)
        made = heed("quantize", "--model", model or self.model, "--out", out, *options)
        self.assertEqual((made.returncode, made.stderr), (0, ""))
        return out, made.stdout

    def test_int8_takes_about_a_quarter_and_translates_the_same_in_any_batch(self):
        small, printed = self.quantized()
        share = float(re.search(r"\((0\.\d+)\)", printed).group(1))
        self.assertTrue(0.25 < share < 0.40, printed)
        together = run("translate", "--model", small, "--max-tokens", 12, text=TEXT)
        self.assertEqual((together.returncode, together.stderr), (0, b""))
        for line, translated in zip(LINES, together.stdout.decode().split("\n")):
            alone = run("translate", "--model", small, "--max-tokens", 12, "--threads", 1, text=line + "\n")
            self.assertEqual(alone.stdout.decode(), translated + "\n")

    def test_int4_takes_about_a_seventh_and_translates_the_same_in_any_batch(self):
        small, printed = self.quantized("--type", "int4")
        self.assertLess(float(re.search(r"\((0\.\d+)\)", printed).group(1)), 0.30)
        together = run("translate", "--model", small, "--max-tokens", 12, text=TEXT).stdout.decode()
        for line, translated in zip(LINES, together.split("\n")):
            alone = run("translate", "--model", small, "--max-tokens", 12, "--threads", 1, text=line + "\n")
            self.assertEqual(alone.stdout.decode(), translated + "\n")

    def test_static_ranges_are_stored_and_translate_the_same_in_any_batch(self):
        small, printed = self.quantized("--type", "int8-static", "--calibration", self.models / "lines.de")
        self.assertRegex(printed, r"(?m)^ranges of inputs: \w+.* \d+; \d+ matrices smoothed\nlowest .*: \d+\.\d dB, \w+")
        self.assertRegex(heed("inspect", small).stdout, r"(?m)attention\.projection\.weight .* int8-static ")
        together = run("translate", "--model", small, "--max-tokens", 12, text=TEXT).stdout.decode()
        for line, translated in zip(LINES, together.split("\n")):
            alone = run("translate", "--model", small, "--max-tokens", 12, "--threads", 1, text=line + "\n")
            self.assertEqual(alone.stdout.decode(), translated + "\n")

    def test_calibration_gives_the_same_file_from_gzip_and_on_any_threads(self):
        packed = self.file("lines.de.gz", gzip.compress(TEXT.encode()))
        made = [self.quantized("--type", "int8-static", "--calibration", text, "--threads", threads)[0]
                .joinpath("model.safetensors").read_bytes()
                for text, threads in ((self.models / "lines.de", 1), (packed, 2))]
        self.assertEqual(*made)

    def test_a_language_model_is_calibrated_on_its_text(self):
        text = self.models / "text"
        small, _ = self.quantized("--type", "int8-static", "--calibration", text, model=self.models / "writer")
        nats = [json.loads(run("perplexity", "--model", model, "--json", text=text.read_text()).stdout)["nats_per_token"]
                for model in (self.models / "writer", small)]
        self.assertAlmostEqual(*nats, delta=0.02)
        self.assertNotEqual(*nats)

    def test_a_calibration_text_that_makes_no_sense_is_refused(self):
        def refuse(*options, mentions, model=self.model):
            self.assert_refused("quantize", "--model", model, "--out", self.path / "out", *options, mentions=mentions)
        static, lines = ("--type", "int8-static"), self.models / "lines.de"
        refuse(*static, mentions=("needs a text", "--calibration"))
        refuse("--calibration", lines, mentions=("serves int8-static and int4",))
        refuse(*static, "--calibration-target", lines, mentions=("name it with --calibration",))
        refuse(*static, "--calibration", self.path / "none", mentions=("none",))
        empty = self.file("empty", "\n  \n")
        refuse(*static, "--calibration", empty, mentions=("empty", "no text to calibrate on"))
        greek = self.file("greek", "αβγδ εζηθ\n" * 9)
        refuse(*static, "--calibration", greek, mentions=("% of its tokens are unknown",))
        refuse(*static, "--calibration", greek, mentions=("% of its tokens are unknown",), model=self.models / "writer")
        refuse(*static, "--calibration", lines, "--calibration-target", lines, model=self.models / "writer",
               mentions=("serve to calibrate a translation model",))
        self.assertFalse((self.path / "out").exists())

    def translating(self, name, *directions):
        """A model that was trained on pairs of files."""
        sources, targets = ([str(pair[side]) for pair in directions] for side in (0, 1))
        recipe = self.file(name + ".toml", TRANSLATING.format(sources=json.dumps(sources), targets=json.dumps(targets)))
        trained = heed("train", recipe, "--out", self.path / name)
        self.assertEqual(trained.returncode, 0, trained.stderr)
        return ("--model", self.path / name, "--out", self.path / "out", "--type", "int8-static", "--calibration")

    def test_a_calibration_text_of_the_wrong_side_is_refused(self):
        german, english = (self.file(name, text) for name, text in zip(("text.de", "text.en"), german_and_english()))
        options = self.translating("one-way", (german, english))
        def refuse(*files, mentions):
            self.assert_refused("quantize", *options, *files, mentions=mentions)
            self.assertFalse((self.path / "out").exists())
        refuse(english, mentions=("text.en: reads like what the model writes",))
        refuse(english, "--calibration-target", german, mentions=("text.en: is the target's side",))
        for twice in (german, english):
            refuse(twice, "--calibration-target", twice, mentions=(f"{twice}: has the same lines as",))
        for files in ((german,), (german, "--calibration-target", english)):
            self.assertEqual(heed("quantize", *options, *files).returncode, 0, files)
            shutil.rmtree(self.path / "out")

    def test_a_model_for_both_directions_is_calibrated_on_either_language(self):
        german, english = (self.file(name, text) for name, text in zip(("text.de", "text.en"), german_and_english()))
        both = self.file("both", german.read_text() + english.read_text())
        options = self.translating("both-ways", (german, english), (english, german))
        for files in ((german,), (english,), (both,), (german, "--calibration-target", english),
                      (english, "--calibration-target", german)):
            made = heed("quantize", *options, *files)
            self.assertEqual((made.returncode, made.stderr), (0, ""), files)
            shutil.rmtree(self.path / "out")
        self.assert_refused("quantize", *options, german, "--calibration-target", german, mentions=("has the same lines",))

    def test_a_model_that_writes_the_language_it_reads_is_calibrated_on_it(self):
        text = self.file("text.de", next(german_and_english()))
        options = self.translating("copying", (text, text))
        for files in ((text,), (text, "--calibration-target", text)):
            made = heed("quantize", *options, *files)
            self.assertEqual((made.returncode, made.stderr), (0, ""), files)
            shutil.rmtree(self.path / "out")

    def test_nothing_stays_after_a_report_that_cannot_be_written(self):
        command = ("quantize", "--model", self.model, "--out", self.path / "new" / "small", "--report")
        for page, mention in ((self.path, "is a folder: name the file"), ("/dev/full", "cannot write: No space left")):
            self.assert_refused(*command, page, mentions=(str(page), mention))
            self.assertFalse((self.path / "new").exists())
        made = heed(*command, self.path / "page.html")
        self.assertEqual((made.returncode, made.stderr), (0, ""))

    def test_int4_with_a_calibration_text_is_nearer_in_its_products(self):
        plain = self.quantized("--type", "int4", model=self.models / "writer")[0].joinpath("model.safetensors").read_bytes()
        small, printed = self.quantized("--type", "int4", "--calibration", self.models / "text", model=self.models / "writer")
        self.assertRegex(printed, r"(?m)^[1-9]\d* matrices of int4 compensated\nlowest signal to noise of a product: ")
        self.assertNotEqual(plain, small.joinpath("model.safetensors").read_bytes())
        self.assertEqual(len(plain), small.joinpath("model.safetensors").stat().st_size)
        self.assertEqual(run("perplexity", "--model", small, text=TEXT).returncode, 0)

    def test_groups_of_64_take_fewer_bytes(self):
        wide = self.path / "wide"
        subprocess.run([MAKE_MODEL, wide, "kind=char", "vocabulary=0", "width=64"], check=True)
        total = lambda *options: int(re.search(r", (\d+) bytes", self.quantized("--type", "int4", *options, model=wide)[1]).group(1))
        self.assertLess(total("--group", 64), total())
        self.quantized("--type", "int4", "--group", 64, model=wide)
        self.assertEqual(run("translate", "--model", self.path / "small", "--max-tokens", 5, text=TEXT).returncode, 0)
        options = ("--model", self.model, "--out", self.path / "out", "--type", "int4", "--group")
        self.assert_refused("quantize", *options, 64, mentions=("rows of 32", "groups of 64", "--keep"))
        self.assert_refused("quantize", *options, 48, mentions=("groups of 48, expected 32 or 64",))
        self.assert_refused("quantize", "--model", options[options.index("--model") + 1], "--out", self.path / "out",
                            "--type", "int8", "--group", 64, mentions=("groups of 64", "no matrix becomes int4"))

    def test_the_report_shows_layers_outliers_and_what_changed(self):
        page, target = self.path / "page.html", self.file("lines.en", "a\nb\n\nc\n")
        small, printed = self.quantized(
            "--type", "int8-static", "--calibration", self.models / "lines.de", "--keep", "*.feed_forward.*=bf16",
            "--report", page, "--report-source", self.models / "lines.de", "--report-reference", target, "--lowercase")
        self.assertRegex(printed, r"(?m)^BLEU: \d+\.\d{3}, before \d+\.\d{3}$")
        text = page.read_text()
        self.assertIn("<h1>small</h1>", text)
        self.assertIn('<th scope="row">encoder.layers.1</th><td class="bar"', text)
        self.assertIn('<th scope="row">inputs of encoder.layers.', text)
        self.assertRegex(text, r"attention\.projection\.weight</th><td>int8-static</td>.*range by \w+")
        self.assertRegex(text, r"feed_forward\.inner\.weight</th><td>bf16</td>.*<td>–</td>")
        self.assertIn("<dt>BLEU</dt>", text)

    def test_the_report_of_a_language_model_has_its_perplexity(self):
        text = self.models / "text"
        small, printed = self.quantized("--report", self.path / "page.html", "--report-text", text, "--calibration", text,
                                        model=self.models / "writer")
        found = [float(part) for part in re.search(r"perplexity: ([\d.]+), before ([\d.]+)", printed).groups()]
        expected = [json.loads(run("perplexity", "--model", model, "--json", "--precision", "f32", text=text.read_text())
                               .stdout)["perplexity"] for model in (small, self.models / "writer")]
        for a, b in zip(found, expected):
            self.assertAlmostEqual(a, b, places=3)
        self.assertIn("<dt>perplexity</dt>", (self.path / "page.html").read_text())

    def test_a_report_that_makes_no_sense_is_refused_before_anything_is_written(self):
        def refuse(*options, mentions, model=self.model):
            self.assert_refused("quantize", "--model", model, "--out", self.path / "out", *options, mentions=mentions)
            self.assertFalse((self.path / "out").exists())
        lines, page = self.models / "lines.de", ("--report", self.path / "page.html")
        refuse("--report-text", lines, mentions=("need --report",))
        refuse(*page, "--lowercase", mentions=("--lowercase", "--report-source"))
        refuse("--report", self.path / "no" / "page.html", mentions=("page.html", "folder"))
        refuse("--report", lines, "--type", "int8-static", "--calibration", lines, mentions=("lines.de", "overwritten"))
        refuse(*page, "--report-source", lines, mentions=("--report-source and --report-reference",))
        refuse(*page, "--report-text", lines, mentions=("an encoder-decoder is measured on sentences",))
        refuse(*page, "--report-source", lines, "--report-reference", lines, model=self.models / "writer",
               mentions=("name it with --report-text",))
        refuse("--report", lines, "--report-source", lines, "--report-reference", lines, mentions=("lines.de",))
        refuse(*page, "--report-text", self.path / "none", model=self.models / "writer", mentions=("none",))

    def test_int8_groups_has_the_integers_and_scales_of_q8_0(self):
        small, _ = self.quantized("--type", "int8-groups", model=self.models / "writer")
        rows = self.path / "rows"
        shutil.copytree(small, rows)
        quantized_file.write_rows(small / "model.safetensors", rows / "model.safetensors", shapes_of(small))
        self.assertRegex(heed("inspect", small).stdout, r"(?m)attention\.projection\.weight .* int8-groups ")
        _, tensors = safetensors_file.read(rows / "model.safetensors")
        _, exact = safetensors_file.read(self.models / "writer" / "model.safetensors")
        for name, (kind, shape, content, _) in tensors.items():
            if kind != "I8":
                continue
            values = struct.unpack(f"<{len(exact[name][2]) // 4}f", exact[name][2])
            scales = struct.unpack(f"<{len(values) // 32}e", tensors[name + ".scales"][2])
            for group, scale in enumerate(scales):
                whole = values[32 * group:32 * group + 32]
                self.assertEqual(scale, struct.unpack("<e", struct.pack("<e", max(map(abs, whole)) / 127))[0])
                for x, q in zip(whole, struct.unpack("<32b", content[32 * group:32 * group + 32])):
                    self.assertLessEqual(abs(x - q * scale), 0.502 * scale)

    def test_int4_needs_whole_groups(self):
        odd = self.path / "odd"
        subprocess.run([MAKE_MODEL, odd, "kind=char", "vocabulary=0", "width=24", "heads=2"], check=True)
        for kind in ("int4", "int8-groups"):
            self.assert_refused("quantize", "--model", odd, "--out", self.path / "out", "--type", kind,
                                mentions=("rows of 24", "groups of 32", "--keep"))
        self.assertFalse((self.path / "out").exists())

    def test_rounding_is_smaller_with_more_bits(self):
        ratio = {}
        for kind in ("int4", "int8", "int8-groups", "bf16", "f16"):
            ratio[kind] = float(re.search(r"noise ([0-9.]+) dB", self.quantized("--type", kind)[1]).group(1))
        self.assertLess(15, ratio["int4"])
        self.assertLess(ratio["int4"], ratio["int8"])
        self.assertLessEqual(ratio["int8"], ratio["int8-groups"])  # most rows are one group here
        self.assertLess(30, ratio["int8"])
        self.assertLess(ratio["int8"], ratio["bf16"])
        self.assertLess(ratio["bf16"], ratio["f16"])
        self.assertIn("noise inf dB", self.quantized("--type", "f32")[1])

    def test_f32_is_the_same_model(self):
        small, _ = self.quantized("--type", "f32")
        same = [run("translate", "--model", model, "--max-tokens", 12, text=TEXT).stdout for model in (self.model, small)]
        self.assertEqual(same[0], same[1])

    def test_kept_matrices_have_their_own_type_which_inspect_shows(self):
        small, _ = self.quantized("--keep", "*.feed_forward.*=bf16", "--keep", "*.tokens=f32")
        shown = heed("inspect", small).stdout
        self.assertRegex(shown, r"(?m)feed_forward\.inner\.weight .* bf16 ")
        self.assertRegex(shown, r"(?m)tokens .* f32 ")
        self.assertRegex(shown, r"(?m)attention\..*weight .* int8 ")
        self.assertRegex(shown, r"(?m)^bytes +\d+: \d+ in bf16, \d+ in f32, \d+ in int8$")
        self.assertRegex(heed("inspect", self.model).stdout, r"(?m)^bytes +\d+: \d+ in f32$")

    def test_what_makes_no_sense_is_refused_in_one_line(self):
        out = self.path / "out"
        refuse = lambda *options, mentions: self.assert_refused("quantize", *options, mentions=mentions)
        refuse("--model", self.path / "none", "--out", out, mentions=("no such model directory",))
        refuse("--model", self.model, "--out", self.model, mentions=("holds a model already",))
        refuse("--model", self.model, "--out", out, "--type", "int3", mentions=("'int3' is not one of int8",))
        refuse("--model", self.model, "--out", out, "--keep", "output", mentions=("PATTERN=NAME",))
        refuse("--model", self.model, "--out", out, "--keep", "*.atention.*=bf16", mentions=("the nearest is",))
        self.assertFalse(out.exists())
        small, _ = self.quantized()
        refuse("--model", small, "--out", out, mentions=("which cannot be changed exactly",))
        self.assert_refused("inspect", small, "--probe", mentions=("which cannot be changed exactly",))

    def test_a_damaged_file_is_refused(self):
        small, _ = self.quantized()
        weights = small / "model.safetensors"
        whole, (_, tensors) = weights.read_bytes(), safetensors_file.read(weights)
        matrix = "target.tokens"
        places = {"header": 60, "layout": whole.index(b"heed_layout") + 3, "last byte": len(whole) - 1}
        for name in (matrix, matrix + ".scales", matrix + ".sums"):
            _, _, content, begin = tensors[name]
            places[name], places[name + ", last byte"] = begin, begin + len(content) - 1
        for what, place in places.items():
            with self.subTest(what):
                damaged = bytearray(whole)
                damaged[place] ^= 1
                weights.write_bytes(damaged)
                self.assert_refused("translate", "--model", small, text="a\n", mentions=("model.safetensors",))
        for size in (7, 60, len(whole) // 2, len(whole) - 1):
            with self.subTest(f"cut at {size}"):
                weights.write_bytes(whole[:size])
                self.assert_refused("translate", "--model", small, text="a\n", mentions=("model.safetensors",))

    def test_an_unknown_layout_of_quantized_weights_is_refused(self):
        small, _ = self.quantized()
        weights = small / "model.safetensors"
        weights.write_bytes(weights.read_bytes().replace(b'"panels-16"', b'"panels-99"'))
        self.assert_refused("translate", "--model", small, text="a\n",
                            mentions=("model.safetensors", "'panels-99'", "'panels-16'"))

    def test_panels_are_aligned(self):
        for kind in ("int8", "int8-groups", "int4"):
            _, tensors = safetensors_file.read(self.quantized("--type", kind)[0] / "model.safetensors")
            panels = [entry for entry in tensors.values() if entry[0] in ("I8", "U8")]
            self.assertTrue(panels)
            self.assertEqual({begin % 64 for _, _, _, begin in panels}, {0})

    def test_a_file_of_rows_gives_the_same_bits_with_every_instruction_set(self):
        """Files of earlier versions hold rows. Their weights are packed when they are loaded."""
        wide = self.path / "wide"
        subprocess.run([MAKE_MODEL, wide, "kind=char", "vocabulary=0", "width=64", "inner=192"], check=True)
        source, target = self.file("source", LINES[1] + "\n"), self.file("target", "the man sees the house\n")
        for options in (("int8",), ("int8-static", "--calibration", self.models / "lines.de"), ("int8-groups",), ("int4",),
                        ("int4", "--group", 64)):
            small, _ = self.quantized("--type", *options, model=wide)
            rows = self.path / "rows"
            shutil.rmtree(rows, ignore_errors=True)
            shutil.copytree(small, rows)
            quantized_file.write_rows(small / "model.safetensors", rows / "model.safetensors", shapes_of(small))
            for cpu in heed_cli.CPU_LIMITS[1:]:
                scores = [run("score", "--model", model, "--precision", "f32", "--source", source, "--target", target,
                              environment={"HEED_CPU": cpu}) for model in (small, rows)]
                translations = [run("translate", "--model", model, "--precision", "f32", "--max-tokens", 12, text=TEXT,
                                    environment={"HEED_CPU": cpu}) for model in (small, rows)]
                with self.subTest(" ".join(map(str, options)), cpu=cpu):
                    for packed, plain in (scores, translations):
                        self.assertEqual((packed.returncode, packed.stderr), (0, b""))
                        self.assertEqual((plain.returncode, plain.stderr), (0, b""))
                        self.assertEqual(packed.stdout, plain.stdout)


if __name__ == "__main__":
    unittest.main()
