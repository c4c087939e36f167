"""What /metrics counts, in the text format of Prometheus."""

import collections
import json
import os
import pathlib
import re
import subprocess
import tempfile

from heed_server import Server, ServerTest, unittest

TEXTS = ["a dog runs in the park", "", "two children"]


def readings(server):
    """Of each series, by its name and then its labels; each must have been declared once, before its values."""
    found, types = collections.defaultdict(dict), {}
    for line in server.get("/metrics")[1].decode().splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split()
            assert types.setdefault(name, kind) == kind, line
        elif not line.startswith("#"):
            series, labels, value = re.fullmatch(r"(\w+)(?:\{(.*)\})? (\S+)", line).groups()
            name = re.sub("_(bucket|sum|count)$", "", series)
            assert series in types or types[name] == "histogram", line
            found[series][labels] = float(value)
    return found


class Metrics(ServerTest):
    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        made = pathlib.Path(folder.name)
        for name, arguments in {"t": (), "lm": ("architecture=causal-lm", "documents=line"),
                                "e": ("architecture=encoder",)}.items():
            subprocess.run([os.environ["HEED_MAKE_MODEL"], made / name, *arguments], check=True)
        config = self.file("serve.toml", "".join(f'[model.{name}]\npath = "{made / name}"\n' for name in ("lm", "e"))
                           + f'[model.t]\npath = "{made / "t"}"\nsource_language = "en"\ntarget_language = "de"\n')
        self.server = self.serve("--config", config)

    def value(self, series, model):
        return readings(self.server)[series].get(f'model="{model}"', 0)

    def test_each_text_has_a_first_token_whole_or_streamed(self):
        expected = 0
        for fields, more in (({}, 2), ({"beam": 3, "n_best": 2}, 2), ({"stream": True}, 2), ({"beam": 2, "stream": True}, 2)):
            fields = {"model": "t", "texts": TEXTS, **fields}
            self.server.request("POST", "/heed/translate", json.dumps(fields), {"Content-Type": "application/json"})
            expected += more
            self.assertEqual(self.value("heed_first_token_seconds_count", "t"), expected, fields)
        for text, more in (("a dog. Two children run.", 1), ("", 0)):
            self.post("/translate", {"q": text, "source": "en", "target": "de"})
            expected += more
            self.assertEqual(self.value("heed_first_token_seconds_count", "t"), expected, text)
        self.post("/heed/generate", {"model": "lm", "prompt": "a", "samples": 3, "max_tokens": 8})
        self.assertEqual(self.value("heed_first_token_seconds_count", "lm"), 3)

    def test_steps_are_counted_by_their_tokens(self):
        prompt = "a dog runs in the park while two children play"
        answer = self.post("/heed/generate", {"model": "lm", "prompt": prompt, "max_tokens": 5, "min_tokens": 5})
        self.post("/heed/embed", {"model": "e", "texts": ["a dog", "two children run"]})
        self.post("/heed/translate", {"model": "t", "text": "a dog"})
        found = readings(self.server)
        for model in ("lm", "e", "t"):
            buckets = [(float(re.search('le="(.*)"', labels)[1]), count)
                       for labels, count in found["heed_step_tokens_bucket"].items() if f'model="{model}"' in labels]
            self.assertEqual([bound for bound, _ in buckets], [2.0 ** i for i in range(13)] + [float("inf")])
            self.assertEqual(sorted(count for _, count in buckets), [count for _, count in buckets])
            self.assertEqual(buckets[-1][1], found["heed_step_tokens_count"][f'model="{model}"'])
        # The prompt is one step, and then each token but the last, which nothing follows.
        self.assertEqual(self.value("heed_step_tokens_count", "lm"), 5)
        self.assertEqual(self.value("heed_step_tokens_sum", "lm"), answer["prompt_tokens"] + 4)
        self.assertEqual(found["heed_step_tokens_bucket"]['model="lm",le="1"'], 4)
        self.assertEqual(self.value("heed_step_tokens_count", "e"), 1)


if __name__ == "__main__":
    unittest.main()
