"""What the server tells of a model's inside: attention, the next token's candidates, the beam as it grew."""

import array
import base64
import json
import math
import os
import pathlib
import subprocess
import tempfile

from heed_server import Server, ServerTest, unittest


def floats(text):
    numbers = array.array("f")
    numbers.frombytes(base64.b64decode(text))
    return list(numbers)


def rows_of(answer, entry, key="weights"):
    numbers = floats(entry[key])
    assert len(numbers) == entry["rows"] * entry["columns"]
    return [numbers[row * entry["columns"]:(row + 1) * entry["columns"]] for row in range(entry["rows"])]


class Inside(ServerTest):
    @classmethod
    def setUpClass(cls):
        cls.models = tempfile.TemporaryDirectory()
        arguments = []
        for name, settings in {"t": ["layers=2", "heads=4"], "g": ["architecture=causal-lm", "documents=line", "heads=4"],
                               "grouped": ["architecture=causal-lm", "documents=line", "heads=4", "model.key_value_heads=2"],
                               "e": ["architecture=encoder"]}.items():
            model = pathlib.Path(cls.models.name) / name
            subprocess.run([os.environ["HEED_MAKE_MODEL"], model, *settings], check=True)
            arguments += ["--model", f"{name}={model}"]
        cls.server = Server(*arguments)

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()
        cls.models.cleanup()

    def refused(self, path, fields, field):
        status, answer = self.server.post(path, fields)
        self.assertEqual(status, 400, answer)
        if field:
            self.assertEqual(answer["error"]["field"], field, answer)
        return answer["error"]["message"]

    def test_each_row_of_a_map_sums_to_one(self):
        pair = {"model": "t", "source": "ein hund läuft", "target": "a dog runs"}
        tokens = {"source": self.post("/heed/translate", {"model": "t", "text": "ein hund läuft", "source_pieces": True}
                                     )["lines"][0]["source_pieces"]}
        for kind in ("encoder", "decoder", "cross"):
            answer = self.post("/heed/attention", {**pair, "kind": kind})
            self.assertEqual((answer["layers"], answer["heads"]), (2, 4))
            self.assertEqual([(one["layer"], one["head"]) for one in answer["maps"]],
                             [(layer, head) for layer in range(2) for head in range(4)])
            if kind != "decoder":
                self.assertEqual(answer["columns"], tokens["source"])
            for entry in answer["maps"]:
                self.assertIsNone(entry["norms"])
                self.assertEqual((entry["rows"], entry["columns"]), (len(answer["rows"]), len(answer["columns"])))
                for row in rows_of(answer, entry):
                    self.assertAlmostEqual(sum(row), 1.0, places=2)

    def test_a_decoder_sees_nothing_of_what_follows(self):
        answer = self.post("/heed/attention", {"model": "g", "text": "a dog runs in the park", "kind": "decoder"})
        for entry in answer["maps"]:
            for number, row in enumerate(rows_of(answer, entry)):
                self.assertEqual(row[number + 1:], [0.0] * (len(row) - number - 1))

    def test_norms_are_weights_times_a_length_for_each_key(self):
        for model in ("g", "grouped"):
            answer = self.post("/heed/attention", {"model": model, "text": "a dog runs in the park", "kind": "decoder", "norms": True})
            lengths = {}
            for entry in answer["maps"]:
                weights, norms = rows_of(answer, entry), rows_of(answer, entry, "norms")
                of_keys = norms[-1]
                for key in range(entry["columns"]):
                    length = of_keys[key] / weights[-1][key]
                    self.assertGreater(length, 0.0)
                    lengths[entry["layer"], entry["head"], key] = length
                    for row in range(key, entry["rows"]):
                        self.assertAlmostEqual(norms[row][key], weights[row][key] * length, delta=1e-3 * length)
            # Heads that share values still have columns of the projection of their own.
            self.assertNotAlmostEqual(lengths[0, 0, 0], lengths[0, 1, 0], places=4)

    def test_some_layers_and_heads_are_those_of_all(self):
        fields = {"model": "t", "source": "ein hund", "target": "a dog", "kind": "cross", "norms": True}
        every = self.post("/heed/attention", fields)["maps"]
        some = self.post("/heed/attention", {**fields, "layers": [1], "heads": [2, 0]})["maps"]
        self.assertEqual(some, [one for one in every if one["layer"] == 1 and one["head"] in (0, 2)])

    def test_a_smaller_map_has_the_largest_of_its_fields(self):
        fields = {"model": "e", "text": "a man in a red shirt rides a bike", "kind": "encoder"}
        whole, small = self.post("/heed/attention", fields), self.post("/heed/attention", {**fields, "at_most": 5})
        self.assertEqual(whole["rows"], small["rows"])
        size = len(whole["rows"])
        step = math.ceil(size / 5)
        self.assertGreater(step, 1)
        for one, other in zip(whole["maps"], small["maps"]):
            rows, fewer = rows_of(whole, one), rows_of(small, other)
            self.assertEqual(len(fewer), math.ceil(size / step))
            for r, row in enumerate(fewer):
                for c, value in enumerate(row):
                    self.assertEqual(value, max(rows[y][x] for y in range(r * step, min(size, (r + 1) * step))
                                                for x in range(c * step, min(size, (c + 1) * step))))

    def test_attention_that_a_model_lacks_is_refused(self):
        pair = {"model": "t", "source": "ein hund", "target": "a dog"}
        self.refused("/heed/attention", {**pair, "kind": "sideways"}, "kind")
        self.refused("/heed/attention", {**pair, "layers": [2]}, "layers")
        self.refused("/heed/attention", {**pair, "heads": [-1]}, "heads")
        self.refused("/heed/attention", {**pair, "heads": "0"}, "heads")
        self.refused("/heed/attention", {"model": "t", "source": "ein hund"}, "target")
        self.refused("/heed/attention", {"model": "g", "text": "a dog", "kind": "cross"}, "kind")
        self.refused("/heed/attention", {"model": "e", "text": "a dog", "kind": "decoder"}, "kind")
        self.refused("/heed/attention", {"model": "e", "text": "a dog", "kind": "encoder", "what": 1}, "what")
        self.assertIn("at most", self.refused("/heed/attention", {**pair, "source": "ein hund " * 100}, "source"))

    def test_next_tokens_have_the_probabilities_of_a_text_that_goes_on_so(self):
        answer = self.post("/heed/next", {"model": "g", "prompt": "a dog", "top": 10000})
        tokens = answer["tokens"]
        self.assertAlmostEqual(sum(math.exp(token["log_probability"]) for token in tokens), 1.0, places=5)
        self.assertEqual([token["logit"] for token in tokens], sorted((token["logit"] for token in tokens), reverse=True))
        by_piece = {token["piece"]: token for token in tokens}
        written = self.post("/heed/generate", {"model": "g", "prompt": "a dog", "max_tokens": 1, "temperature": 0.0, "tokens": True})["texts"][0]
        self.assertAlmostEqual(by_piece[written["each"][0]["piece"]]["log_probability"], written["each"][0]["log_probability"], delta=0.02)
        first = self.post("/heed/next", {"model": "g", "prompt": "a dog", "top": 3})["tokens"]
        self.assertEqual(first, tokens[:3])
        self.assertGreaterEqual(len(answer["prompt_ids"]), 2)
        more = self.post("/heed/next", {"model": "g", "prompt": "a", "prefix": " dog", "top": 3})
        self.assertEqual(more["tokens"], first)

    def test_next_tokens_that_are_not_there_are_refused(self):
        self.refused("/heed/next", {"model": "g"}, "prompt")
        self.refused("/heed/next", {"model": "g", "prompt": "a", "top": 0}, "top")
        self.refused("/heed/next", {"model": "t", "prompt": "a"}, None)
        self.refused("/heed/next", {"model": "g", "prompt": "a", "messages": []}, "prompt")

    def test_the_steps_of_a_beam_lead_to_its_translations(self):
        fields = {"model": "t", "text": "ein hund läuft", "beam": 4, "n_best": 4, "tokens": True}
        plain, traced = self.post("/heed/translate", fields)["lines"][0], self.post("/heed/translate", {**fields, "trace": True})["lines"][0]
        self.assertNotIn("steps", plain)
        steps, places = traced.pop("steps"), [one.pop("place") for one in traced["translations"]]
        self.assertTrue(traced.pop("steps_complete"))
        self.assertEqual(traced, plain)
        paths = {}
        for number, step in enumerate(steps):
            self.assertLessEqual(len([one for one in step if one["fate"] == "went-on"]), 4)
            self.assertEqual({one["group"] for one in step}, {0})
            for rank, one in enumerate(step):
                before = paths[number - 1, one["parent"]] if one["parent"] >= 0 else ([], 0.0)
                self.assertEqual(one["parent"] < 0, number == 0)
                paths[number, rank] = (before[0] + [one["piece"]], before[1] + one["log_probability"])
                self.assertAlmostEqual(one["total"], paths[number, rank][1], places=4)
        for translation, (step, rank) in zip(plain["translations"], places):
            self.assertEqual([token["piece"] for token in translation["each"]], paths[step, rank][0])
            self.assertEqual(steps[step][rank]["fate"], "ended")
            self.assertAlmostEqual(steps[step][rank]["score"], translation["score"], places=5)

    def test_steps_are_streamed_before_the_translation(self):
        for options in ({}, {"beam": 3, "n_best": 2}, {"beam": 2, "prefix": "a dog"}, {"beam": 4, "groups": 2}):
            fields = {"model": "t", "texts": ["ein hund läuft", "eine frau", ""], "trace": True, **options}
            whole = self.post("/heed/translate", fields)
            events = [json.loads(event) for event in self.server.events("/heed/translate", {**fields, "stream": True})]
            self.assertEqual(events[-1], whole)
            for number, line in enumerate(whole["lines"]):
                of_line = [event for event in events[:-1] if event["line"] == number]
                self.assertEqual([event["step"] for event in of_line if "step" in event], line["steps"])
                kinds = [next(kind for kind in ("step", "translations", "text") if kind in event) for event in of_line]
                self.assertGreater(kinds.index("translations"), max((i for i, kind in enumerate(kinds) if kind == "step"),
                                                                   default=-1))

    def test_maps_and_next_tokens_are_streamed(self):
        for fields in ({"model": "t", "source": "ein hund läuft", "target": "a dog runs", "kind": "cross", "norms": True},
                       {"model": "g", "text": "a dog", "kind": "decoder", "heads": [1, 3]},
                       {"model": "e", "text": "a dog", "kind": "encoder", "at_most": 2}):
            whole = self.post("/heed/attention", fields)
            *maps, last = (json.loads(event) for event in self.server.events("/heed/attention", {**fields, "stream": True}))
            self.assertEqual(last, whole)
            self.assertEqual([event["map"] for event in maps], whole["maps"])
        fields = {"model": "g", "prompt": "a dog", "top": 3}
        events = [json.loads(event) for event in self.server.events("/heed/next", {**fields, "stream": True})]
        self.assertEqual(events, [self.post("/heed/next", fields)])

    def test_the_steps_of_groups_and_of_alternatives_are_listed(self):
        for more in ({"beam": 4, "groups": 2, "n_best": 2}, {"beam": 1, "alternatives": 3}):
            answer = self.post("/heed/translate", {"model": "t", "text": "ein hund", "trace": True, **more})["lines"][0]
            self.assertGreater(len({one["group"] for one in answer["steps"][1]}), 1, more)
            for translation in answer["translations"]:
                step, number = translation["place"]
                self.assertEqual(answer["steps"][step][number]["fate"], "ended")

    def test_steps_begin_with_the_prefix(self):
        answer = self.post("/heed/translate", {"model": "t", "text": "ein hund", "prefix": "a", "beam": 2, "trace": True, "tokens": True})["lines"][0]
        self.assertEqual({one["parent"] for one in answer["steps"][0]}, {-1})
        self.assertEqual(answer["translations"][0]["tokens"], len(answer["translations"][0]["each"]))


if __name__ == "__main__":
    unittest.main()
