"""What is read of texts over HTTP: as the commands find it, whole or as a stream of results."""

import json
import os
import pathlib
import subprocess
import tempfile

import heed_cli
from heed_server import Server, ServerTest, unittest

TEXTS = [" ".join("a dog runs in the park while two children play".split()[:n % 9 + 1]) for n in range(40)]
SENTENCES = [text.split() for text in TEXTS]


class Readings(ServerTest):
    @classmethod
    def setUpClass(cls):
        cls.models = tempfile.TemporaryDirectory()
        cls.made = pathlib.Path(cls.models.name)
        labels = 'model.labels=["good", "bad"]'
        for name, arguments in {
                "labels": ("architecture=encoder", "model.head=label", labels),
                "several": ("architecture=encoder", "model.head=labels", labels),
                "words": ("architecture=encoder", "model.head=token-labels", labels),
                "plain": ("architecture=encoder", "model.head=none"),
                "t": ("scale=3",),
                "lm": ("architecture=causal-lm", "scale=3")}.items():
            subprocess.run([os.environ["HEED_MAKE_MODEL"], cls.made / name, *arguments], check=True)
        cls.names = sorted(path.name for path in cls.made.iterdir())
        masks = ("--model", f"masks={heed_cli.SOURCE / 'tests/interchange/golden/encoders/bert-masked'}")
        cls.server = Server(*masks, *[word for name in cls.names for word in ("--model", f"{name}={cls.made / name}")])

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()
        cls.models.cleanup()

    def offline(self, command, name, lines, *words):
        result = heed_cli.heed(command, "--model", self.made / name, *words, text="".join(line + "\n" for line in lines))
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return result.stdout.splitlines()

    def assert_streams(self, path, fields, list_name, event_name):
        """As a stream each result comes once, as an event with its line, before the whole answer."""
        whole = self.post(path, fields)
        events = [json.loads(event) for event in self.server.events(path, {**fields, "stream": True})]
        self.assertEqual(events[-1], whole)
        self.assertEqual(sorted(event["line"] for event in events[:-1]), list(range(len(whole[list_name]))))
        for event in events[:-1]:
            self.assertEqual(event, {"line": event["line"], event_name: whole[list_name][event["line"]]})
        return whole

    def test_models_say_what_they_are_for(self):
        tasks = {one["name"]: one.get("task") for one in json.loads(self.server.get("/heed/models")[1])["models"]}
        self.assertEqual(tasks, {"labels": "classify", "several": "classify", "words": "tag", "masks": "masked-lm",
                                 "plain": None, "t": None, "lm": None})

    def test_labels_of_texts(self):
        for name in ("labels", "several"):
            whole = self.assert_streams("/heed/classify", {"model": name, "texts": TEXTS}, "results", "result")
            self.assertEqual([",".join(one["labels"]) for one in whole["results"]], self.offline("classify", name, TEXTS))

    def test_labels_of_words(self):
        fields = {"model": "words", "sentences": SENTENCES}
        labels = self.assert_streams("/heed/tag", fields, "results", "result")["results"]
        self.assertEqual([" ".join(words) for words in labels], self.offline("tag", "words", TEXTS))
        found = self.assert_streams("/heed/tag", {**fields, "probabilities": True}, "results", "result")["results"]
        self.assertEqual([[word["labels"][0] for word in words] for words in found], labels)
        for word in (word for words in found for word in words):
            self.assertAlmostEqual(sum(score["probability"] for score in word["scores"]), 1.0, 6)
            self.assertEqual(max(word["scores"], key=lambda score: score["probability"])["label"], word["labels"][0])

    def test_masks(self):
        mask, = self.post("/heed/fill", {"model": "masks", "text": "a [MASK]", "top": 2})["results"]
        self.assertEqual(len(mask["masks"][0]), 2)
        self.assert_streams("/heed/fill", {"model": "masks", "texts": [text + " [MASK]" for text in TEXTS]}, "results", "result")

    def test_embeddings(self):
        for name in ("plain", "t", "lm"):
            self.assert_streams("/heed/embed", {"model": name, "texts": TEXTS, "normalized": True}, "embeddings", "embedding")

    def test_scores(self):
        self.assert_streams("/heed/score", {"model": "t", "sources": TEXTS, "targets": TEXTS[::-1]}, "scores", "score")
        self.assert_streams("/heed/score", {"model": "lm", "texts": TEXTS[1:5], "tokens": True}, "scores", "score")

    def test_wrong_requests_are_refused_before_a_stream_begins(self):
        for path, fields, field in (
                ("/heed/classify", {"model": "labels", "texts": TEXTS, "stream": 1}, "stream"),
                ("/heed/classify", {"model": "labels", "texts": TEXTS + ["a " * 500], "stream": True}, "texts[40]"),
                ("/heed/tag", {"model": "words", "sentences": SENTENCES, "probabilities": "yes", "stream": True}, "probabilities"),
                ("/heed/embed", {"model": "plain", "stream": True}, "texts"),
                ("/heed/score", {"model": "t", "sources": TEXTS, "targets": ["a"], "stream": True}, "targets")):
            status, answer = self.server.post(path, fields)
            self.assertEqual((status, answer["error"]["field"]), (400, field), answer)


if __name__ == "__main__":
    unittest.main()
