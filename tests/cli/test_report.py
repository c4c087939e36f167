"""heed report: one self-contained page that shows what the run wrote and says what is missing."""

import base64
import html.parser
import json
import os
import re
import unittest

import heed_cli
import model_folder
from heed_cli import heed

VOID = {"meta", "br", "input", "hr", "img", "link"}


class Page(html.parser.HTMLParser):
    """The page's elements, checked to be nested; the text of each kind of element."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.source, self.open, self.elements, self.texts = text, [], [], {}
        self.feed(text)
        self.close()
        if self.open:
            raise AssertionError(f"not closed: {self.open}")
        self.data = json.loads(self.script("application/json"))

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            raise AssertionError(f"line {self.getpos()[0]}: </{tag}> closes nothing")

    def handle_data(self, data):
        for tag in self.open[-1:]:
            self.texts.setdefault(tag, []).append(data)

    def script(self, kind):
        at = [attributes.get("type") for tag, attributes in self.elements if tag == "script"].index(kind)
        return self.texts["script"][at]

    def text(self):
        return " ".join(text for tag, texts in self.texts.items() if tag not in ("script", "style") for text in texts)


def train_line(update, **more):
    return {"event": "train", "update": update, "epoch": update / 200, "loss": 8 / update, "nll": 6 / update,
            "learning_rate": 0.0005, "gradient_norm": 1.25, "target_tokens_per_second": 9000.0 + update,
            "seconds": update / 4, "kl": 5 / update, "peak_memory_bytes": 1e8 + update, **more}


START = {"event": "start", "update": 0, "time": 1700000000, "parameters": 77, "precision": "bf16", "threads": 2, "layout": "data=<2>",
         "train_sentences": 29000, "validation_sentences": 1014}
METRICS = [START, train_line(50), train_line(100),
           {"event": "validation", "update": 100, "loss": 2.5, "bleu": 11.25, "seconds": 30.0, "best": True},
           train_line(150), train_line(200),
           {"event": "validation", "update": 200, "loss": 2.0, "seconds": 60.0, "best": True},
           {"event": "later invention", "what": 1},
           {"event": "end", "update": 200, "reason": "epochs", "seconds": 4000.0}]
RECIPE = """[model]
model = 32

[data]
train_source = ["train.de"]
train_target = ["train.en"]
validation_source = ["{0}/val.de"]
validation_target = ["{0}/val.en"]
[training]
epochs = 3
[validation]
beam = 2
"""
SAMPLES = ["ein hund läuft im park .", "", "die <script>alert(1)</script> & katze .", "zwei kinder"]


def lines(events):
    return "".join(json.dumps(event) + "\n" for event in events)


class ReportTest(heed_cli.CliTest):
    def model(self, **options):
        folder = self.path / "a<b>&c"
        self.parameters = model_folder.make_model(folder, sharpness=2.0, **options)
        return folder

    def whole(self):
        folder = self.model(tokenizer_options=("--user-symbol", "<script>"))
        (folder / "metrics.jsonl").write_text(lines(METRICS))
        (folder / "recipe.toml").write_text(RECIPE.format(self.path))
        self.file("val.de", "\n".join(SAMPLES) + "\n")
        self.file("val.en", "a dog\n\nthe <b>cat</b>\ntwo children\n")
        return folder

    def report(self, folder, *options):
        result = heed("report", folder, *options)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.printed = result.stdout
        return Page((folder / "report.html").read_text())


class WholeReport(ReportTest):
    def setUp(self):
        super().setUp()
        self.folder = self.whole()
        self.page = self.report(self.folder)

    def test_the_page_refers_to_nothing_outside_itself(self):
        self.assertNotRegex(self.page.source, r"(?i)https?://|url\(|@import|\bfetch\(|XMLHttpRequest|import\(")
        for tag, attributes in self.page.elements:
            self.assertNotIn(tag, ("link", "img", "iframe", "object", "embed", "base", "form"))
            self.assertNotIn("src", attributes)
            self.assertTrue(attributes.get("href", "#").startswith("#"), attributes)
            self.assertFalse([name for name in attributes if name.startswith("on")], attributes)
        policy = [a["content"] for t, a in self.page.elements if a.get("http-equiv") == "Content-Security-Policy"]
        self.assertRegex(policy[0], "^default-src 'none';")

    def test_inner_references_lead_somewhere(self):
        ids = [attributes["id"] for _, attributes in self.page.elements if "id" in attributes]
        self.assertEqual(len(ids), len(set(ids)))
        for _, attributes in self.page.elements:
            if "href" in attributes:
                self.assertIn(attributes["href"][1:], ids)

    def test_text_from_outside_stays_text(self):
        self.assertEqual(self.page.texts["h1"], ["a<b>&c"])
        self.assertEqual(sum(tag == "script" for tag, _ in self.page.elements), 2)
        self.assertFalse([tag for tag, _ in self.page.elements if tag == "b"])
        self.assertIn(SAMPLES[2], self.page.text())
        self.assertIn("the <b>cat</b>", self.page.text())

    def test_curves_hold_the_values_of_the_metrics(self):
        train, validation = self.page.data["curves"]["train"], self.page.data["curves"]["validation"]
        wanted = [event for event in METRICS if event["event"] == "train"]
        for key, values in train.items():
            self.assertEqual(values, [event[key] for event in wanted], key)
        self.assertEqual(set(train), set(wanted[0]) - {"event"})
        self.assertEqual(validation, {"update": [100, 200], "loss": [2.5, 2.0], "bleu": [11.25, None],
                                      "seconds": [30.0, 60.0], "best": [True, True]})
        self.assertEqual(self.page.data["curves"]["metrics"], [{"highest": 100, "key": "bleu", "name": "BLEU"}])

    def test_figures_and_the_table_need_no_script(self):
        text = self.page.text()
        for wanted in ("11.2", "at update 100", "2.000", "perplexity 7.39, at update 200", "1 h 06 min", "ended by epochs",
                       "trained in bf16 on 2 threads of each rank (data=<2>)", "2023-11-14 22:13 UTC", "9,150", "29,000", "100 MB"):
            self.assertIn(wanted, text)
        self.assertIn(f"{self.parameters:,}", text)
        self.assertIn("2.5000", self.page.texts["td"])

    def test_the_configuration_is_complete_and_choices_stand_out(self):
        source = self.page.source
        self.assertIn('<tr class="chosen"><th scope="row">epochs</th><td>3</td></tr>', source)
        self.assertIn('<tr><th scope="row">log_every</th><td>50</td></tr>', source)
        self.assertEqual([text for text in self.page.texts["caption"]],
                         ["model", "data", "tokenizer", "adapter", "optimizer", "schedule", "training", "distil",
                          "validation", "checkpoints"])

    def test_samples_come_with_references_and_maps_of_every_layer_and_head(self):
        samples = self.page.data["samples"]
        self.assertEqual([sample["source"] for sample in samples], [line for line in SAMPLES if line])
        self.assertIn("two children", self.page.text())
        self.assertIn("<script>", samples[1]["source_tokens"])
        model = self.page.data["model"]
        self.assertEqual((model["encoder_layers"], model["decoder_layers"], model["heads"]), (2, 3, 2))
        for sample in samples:
            sources, targets = len(sample["source_tokens"]), len(sample["target_tokens"])
            self.assertEqual(len(sample["log_probabilities"]), targets)
            for kind, layers, rows, columns in (("cross", 3, targets, sources), ("encoder", 2, sources, sources),
                                                ("decoder", 3, targets, targets)):
                values = base64.b64decode(sample["maps"][kind], validate=True)
                self.assertEqual(len(values), layers * 2 * rows * columns, kind)
                for first in range(0, len(values), columns):
                    self.assertAlmostEqual(sum(values[first:first + columns]), 255, delta=columns / 2)

    def test_heads_are_sorted_by_their_largest_share_and_agree_with_the_maps(self):
        table = self.page.source.split('<section id="heads">')[1].split("</section>")[0]
        rows = [re.findall(r"<td>(.*?)</td>", row) for row in re.findall(r"<tr>(<td>.*?)</tr>", table)]
        self.assertEqual(len(rows), (3 + 2 + 3) * 2)
        largest = [float(row[9]) for row in rows]
        self.assertEqual(largest, sorted(largest, reverse=True))
        row = next(row for row in rows if row[:3] == ["cross-attention", "3", "2"])
        first, end, counted = 0, 0, 0
        for sample in self.page.data["samples"]:
            sources, targets = len(sample["source_tokens"]), len(sample["target_tokens"])
            values = base64.b64decode(sample["maps"]["cross"])[(2 * 2 + 1) * targets * sources:]
            for query in range(targets):
                first += values[query * sources] / 255
                end += values[query * sources + sources - 1] / 255
            counted += targets
        self.assertAlmostEqual(float(row[7]), first / counted, delta=0.004)
        self.assertAlmostEqual(float(row[8]), end / counted, delta=0.004)

    def test_the_architecture_is_drawn_with_all_parameters(self):
        drawing = re.search(r'<svg class="architecture".*?</svg>', self.page.source, re.S).group(0)
        self.assertEqual(sum(map(int, re.findall(r'data-parameters="(\d+)"', drawing))), self.parameters)

    def test_positions_are_a_table_with_named_columns(self):
        positions = self.page.data["positions"]
        self.assertEqual((positions["kind"], positions["positions"]), ("sinusoidal", 64))
        self.assertEqual(positions["columns"], list(range(16)))
        self.assertEqual(len(base64.b64decode(positions["values"], validate=True)), 64 * 16)

    def test_the_same_files_give_the_same_page(self):
        self.assertEqual(self.report(self.folder).source, self.page.source)

    def test_the_command_says_where_the_page_is(self):
        self.assertRegex(self.printed, r"^\S*report\.html  \d+ kB, 3 samples\n$")
        self.assertEqual({path.name for path in self.folder.iterdir()},
                         {"config.json", "model.safetensors", "source.tokenizer", "target.tokenizer", "recipe.toml",
                          "metrics.jsonl", "report.html"})


LINES = [f"A line of {number} words, and <b>more</b> of them & so on.\n" for number in range(60)]


class LanguageModelReport(ReportTest):
    def trained(self):
        folder = self.path / "lm"
        text = self.file("text.txt", "".join(LINES))
        recipe = self.file("lm.toml", f"""[model]
architecture = "causal-lm"
model = 16
inner = 32
heads = 2
decoder_layers = 3
max_length = 48
[data]
train = ["{text}"]
validation_share = 0.2
context = 48
[tokenizer]
kind = "char"
vocabulary = 0
[training]
updates = 6
log_every = 2
[validation]
every = 3
""")
        result = heed("train", recipe, "--out", folder, "--threads", 1)
        self.assertEqual((result.returncode, result.stderr), (0, ""), result)
        return folder

    def test_the_page_has_curves_surprisal_and_maps_of_every_layer_and_head(self):
        folder = self.trained()
        metrics = (folder / "metrics.jsonl").read_text().splitlines()
        written = [json.loads(line) for line in metrics]
        for event in written:
            if event["event"] == "validation":
                event["samples"] = [{"prompt": "A line", "text": " of <i>its</i> own"}]
        (folder / "metrics.jsonl").write_text(lines(written))
        page = self.report(folder, "--samples", 3)
        curves = page.data["curves"]
        bits = [event["bits_per_byte"] for event in written if event["event"] == "validation"]
        self.assertEqual(curves["validation"]["bits_per_byte"], bits)
        self.assertNotIn('data-chart="kl"', page.source)
        self.assertIn("Bits per byte", page.text())
        self.assertIn(" of <i>its</i> own", page.text())
        self.assertEqual(len(page.data["samples"]), 3)
        validation = "".join(LINES)[int(0.8 * len("".join(LINES))):]
        for sample in page.data["samples"]:
            size = len(sample["target_tokens"])
            self.assertEqual(size, 48)
            self.assertEqual(sample["fed_tokens"][1:], sample["target_tokens"][:-1])
            text = "".join(sample["target_tokens"]).replace("\u2581", " ").replace("<U+000A>", "\n")
            self.assertIn(text, validation)
            self.assertTrue(all(value < 0 for value in sample["log_probabilities"]))
            values = base64.b64decode(sample["maps"]["decoder"], validate=True)
            self.assertEqual(len(values), 3 * 2 * size * size)
            for row in range(3 * 2 * size):
                seen, step = values[row * size:(row + 1) * size], row % size
                self.assertAlmostEqual(sum(seen), 255, delta=size / 2)
                self.assertFalse(any(seen[step + 1:]), "a later token was seen")
        surprisals = [float(a["style"].split(":")[1]) for _, a in page.elements if a.get("style", "").startswith("--surprisal")]
        self.assertEqual(len(surprisals), 3 * 48)
        wanted = [min(1.0, -value / 8) for sample in page.data["samples"] for value in sample["log_probabilities"]]
        for found, value in zip(surprisals, wanted):
            self.assertAlmostEqual(found, value, delta=0.006)

    def test_another_text_is_read_and_a_missing_one_is_pointed_out(self):
        folder = self.trained()
        self.assert_refused("report", folder, "--beam", 3, mentions=("language model", "--beam"))
        page = self.report(folder, "--source", self.file("other.txt", "of words, and more of them\n"))
        self.assertEqual(len(page.data["samples"]), 1)
        (self.path / "text.txt").unlink()
        self.assertIn("name a file of text with --source", self.report(folder).text())


class Options(ReportTest):
    def test_sentences_and_output_can_be_other_files(self):
        folder = self.whole()
        output = self.path / "elsewhere.html"
        result = heed("report", folder, "--source", self.file("s.txt", "eine katze\nein ball\nein mann\n"),
                      "--samples", 2, "--out", output, "--beam", 3, "--threads", 1)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertFalse((folder / "report.html").exists())
        page = Page(output.read_text())
        self.assertEqual([sample["source"] for sample in page.data["samples"]], ["eine katze", "ein ball"])
        self.assertNotIn("Reference", page.texts["dt"])

    def test_there_are_no_samples_when_none_are_wanted(self):
        page = self.report(self.whole(), "--samples", 0)
        self.assertEqual(page.data["samples"], [])

    def test_numbers_out_of_range_are_refused(self):
        folder = self.model()
        self.assert_refused("report", folder, "--samples", -1, mentions=("-1 samples",))
        self.assert_refused("report", folder, "--samples", 1000, mentions=("1000 samples",))
        self.assert_refused("report", folder, "--beam", -2, mentions=("beam",))
        source = self.file("sentences", "eine katze\n")
        self.assert_refused("report", folder, "--source", source, "--out", source, mentions=("overwritten",))
        self.assert_refused("report", folder, "--threads", -1, mentions=("threads",))
        self.assertFalse((folder / "report.html").exists())


class MissingParts(ReportTest):
    def test_a_bare_model_still_has_a_page(self):
        folder = self.model()
        page = self.report(folder)
        for note in ("No metrics.jsonl", "No recipe.toml", "No samples"):
            self.assertIn(note, page.text())
            self.assertIn(note, self.printed)
        self.assertEqual(page.texts["caption"], ["model"])
        self.assertIsNone(page.data["curves"])

    def test_without_weights_there_are_only_curves(self):
        folder = self.whole()
        (folder / "model.safetensors").unlink()
        page = self.report(folder)
        self.assertIn("No model.safetensors yet", page.text())
        self.assertEqual(len(page.data["curves"]["train"]["update"]), 4)
        self.assertIn("77", page.texts["dd"])

    def test_a_missing_validation_text_is_pointed_out(self):
        folder = self.whole()
        (self.path / "val.de").unlink()
        self.assertIn("name a file of sentences with --source", self.report(folder).text())

    def test_a_last_line_that_was_cut_off_is_pointed_out(self):
        folder = self.whole()
        (folder / "metrics.jsonl").write_text(lines(METRICS[:3]) + '{"event":"train","upd')
        page = self.report(folder)
        self.assertIn("cut off", page.text())
        self.assertIn("still running, or interrupted", page.text())
        self.assertEqual(page.data["curves"]["train"]["update"], [50, 100])

    def test_a_resumed_run_is_one_curve(self):
        folder = self.whole()
        (folder / "metrics.jsonl").write_text(
            lines(METRICS[:5] + [{**START, "update": 100}, train_line(150, loss=1.0)]))
        page = self.report(folder)
        self.assertEqual(page.data["curves"]["train"]["update"], [50, 100, 150])
        self.assertEqual(page.data["curves"]["train"]["loss"][2], 1.0)
        self.assertEqual(page.data["curves"]["resumes"], [100])
        self.assertIn("Resumed after update 100.", page.text())

    def test_learned_positions_are_those_of_the_model(self):
        page = self.report(self.model(positions="learned"))
        self.assertEqual(page.data["positions"]["kind"], "learned")
        self.assertEqual(page.data["positions"]["positions"], 64)

    def test_a_model_without_positions_says_so(self):
        page = self.report(self.model(positions="none"))
        self.assertIsNone(page.data["positions"])
        self.assertIn("This model has no positions.", page.text())


class Refusals(ReportTest):
    def test_a_folder_that_is_not_a_model_directory_is_refused(self):
        self.assert_refused("report", self.path / "absent", mentions=("absent", "no such model directory"))
        self.assert_refused("report", self.file("file", ""), mentions=("expected a model directory",))
        (self.path / "empty").mkdir()
        self.assert_refused("report", self.path / "empty", mentions=("config.json", "is not a model directory"))
        self.assertEqual(list((self.path / "empty").iterdir()), [])

    def test_malformed_metrics_are_named_with_their_line(self):
        folder = self.whole()
        for text, line, mention in ((lines(METRICS[:2]) + "nonsense\n", 3, "not a JSON object"),
                                    ('{"event":"train","update":"x"}\n', 1, '"update"'),
                                    ('{"update":1}\n', 1, '"event"')):
            (folder / "metrics.jsonl").write_text(text)
            self.assert_refused("report", folder, mentions=(f"metrics.jsonl:{line}:", mention))
        self.assertFalse((folder / "report.html").exists())

    def test_a_malformed_recipe_is_named(self):
        folder = self.whole()
        (folder / "recipe.toml").write_text("[training]\nepoch = 3\n")
        self.assert_refused("report", folder, mentions=("recipe.toml:2", "'epochs'"))

    def test_a_source_that_is_not_there_is_named(self):
        self.assert_refused("report", self.model(), "--source", self.path / "absent.txt", mentions=("absent.txt",))

    def test_a_source_that_is_not_text_is_named_with_its_line(self):
        path = self.file("latin1.txt", b"ein\nM\xe4dchen\n")
        self.assert_refused("report", self.model(), "--source", path, mentions=("latin1.txt:2", "UTF-8"))

    @unittest.skipIf(os.geteuid() == 0, "root may write anywhere")
    def test_a_folder_that_cannot_be_written_is_named(self):
        folder = self.whole()
        folder.chmod(0o500)
        self.addCleanup(folder.chmod, 0o700)
        self.assert_refused("report", folder, mentions=("report.html",))

    def test_an_output_in_no_folder_is_named(self):
        output = self.path / "none" / "report.html"
        self.assert_refused("report", self.model(), "--out", output, mentions=(output,))


if __name__ == "__main__":
    unittest.main()
