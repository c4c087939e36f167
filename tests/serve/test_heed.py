"""heed's own interface: what it answers is what the commands write, whatever else is being answered."""

import concurrent.futures
import json
import os
import pathlib
import random
import subprocess
import tempfile

import heed_cli
from heed_server import Server, ServerTest, unittest

LINES = ["ein hund läuft im park .", "zwei kinder spielen mit einem ball .", "die frau liest ein buch .",
         "ein mann fährt auf einem fahrrad und trägt einen roten helm .", "", "  ", "wasser"]


class Heed(ServerTest):
    @classmethod
    def setUpClass(cls):
        cls.models = tempfile.TemporaryDirectory()
        folder = pathlib.Path(cls.models.name)
        make = lambda name, *arguments: subprocess.run([os.environ["HEED_MAKE_MODEL"], folder / name, *arguments], check=True)
        make("t", "scale=3")
        make("lm", "architecture=causal-lm", "max_length=256", "documents=line", "scale=3")
        make("e", "architecture=encoder")
        cls.made = folder
        cls.server = Server(*[word for name in ("t", "lm", "e") for word in ("--model", f"{name}={folder / name}")])

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()
        cls.models.cleanup()

    def refused(self, path, fields, field, status=400):
        found, answer = self.server.post(path, fields)
        self.assertEqual((found, answer["error"]["field"]), (status, field), answer)

    def test_what_the_library_refuses_is_said_in_the_words_of_fields(self):
        for path, fields, field in (("/heed/generate", {"model": "lm", "prompt": "a", "top_p": 0}, "top_p"),
                                    ("/heed/generate", {"model": "lm", "prompt": "a", "temperature": 2000}, "temperature"),
                                    ("/heed/generate", {"model": "lm", "prompt": "a", "samples": 3, "beam": 2}, "samples"),
                                    ("/heed/generate", {"model": "lm", "prompt": "a", "max_tokens": 3, "min_tokens": 4},
                                     "min_tokens"),
                                    ("/heed/generate", {"model": "lm", "prompt": "a", "regex": "("}, "regex"),
                                    ("/heed/translate", {"model": "t", "text": "a", "n_best": 3, "beam": 2}, "n_best"),
                                    ("/heed/translate", {"model": "t", "text": "a", "length_penalty": 11}, "length_penalty")):
            status, answer = self.server.post(path, fields)
            self.assertEqual((status, answer["error"]["field"]), (400, field), answer)
            self.assertTrue(answer["error"]["message"].startswith(f"{field}: "), answer)
        status, answer = self.server.post("/heed/generate", {"model": "lm", "prompt": "hund " * 300})
        self.assertEqual((status, answer["error"]["field"]), (400, "prompt"))
        self.assertIn("cut_prompt", answer["error"]["message"])
        self.assertNotIn("--", answer["error"]["message"])

    def test_drafts_of_the_settings_change_no_text(self):
        with tempfile.NamedTemporaryFile("w", suffix=".toml") as settings:
            for name, draft in (("plain", ""), ("prompt", "prompt"), ("smaller", str(self.made / "lm"))):
                settings.write(f'[model.{name}]\npath = "{self.made / "lm"}"\n')
                settings.write(f'draft = "{draft}"\ndraft_tokens = 4\n' if draft else "")
            settings.write(f'[model.t]\npath = "{self.made / "t"}"\ndraft = "layers:1"\n')
            settings.flush()
            server = Server("--config", settings.name)
        fields = {"prompt": "der hund der hund der hund", "max_tokens": 60, "temperature": 0}
        plain, prompt, smaller = (server.post("/heed/generate", {"model": name, **fields})[1]["texts"][0]
                                  for name in ("plain", "prompt", "smaller"))
        self.assertEqual({plain["text"]}, {prompt["text"], smaller["text"]})
        self.assertEqual(plain["drafted"], 0)
        self.assertGreater(smaller["drafted"], 0)
        self.assertEqual(server.post("/heed/translate", {"model": "t", "text": LINES[0]})[1]["lines"],
                         self.server.post("/heed/translate", {"model": "t", "text": LINES[0]})[1]["lines"])
        server.stop()
        for lines, mentions in ((f'path = "{self.made / "e"}"\ndraft = "prompt"', "an encoder writes nothing"),
                                (f'path = "{self.made / "lm"}"\ndraft = "layers:x"', "not an integer"),
                                (f'path = "{self.made / "lm"}"\ndraft = "layers:9"', "draft layers is 9"),
                                (f'path = "{self.made / "lm"}"\ndraft_tokens = 4', "no effect without a draft"),
                                (f'path = "{self.made / "lm"}"\ndraft = "{self.made / "t"}"', "holds an encoder-decoder")):
            with tempfile.NamedTemporaryFile("w", suffix=".toml") as settings:
                settings.write("[model.m]\n" + lines + "\n")
                settings.flush()
                refused = heed_cli.run("serve", "--config", settings.name, "--listen", "127.0.0.1:0")
            self.assertEqual((refused.returncode, refused.stderr.count(b"\n")), (2, 1), refused.stderr)
            self.assertIn(mentions, refused.stderr.decode())

    def test_translations_are_those_of_the_command(self):
        for options, words in (({}, ()), ({"beam": 4}, ("--beam", 4)), ({"max_tokens": 3}, ("--max-tokens", 3)),
                               ({"beam": 3, "length_penalty": 0.5}, ("--beam", 3, "--length-penalty", 0.5)),
                               ({"prefix": "a"}, ("--prefix", "a")), ({"suppress": ["e"]}, ("--suppress", "e"))):
            answer = self.post("/heed/translate", {"model": "t", "texts": LINES, **options})
            served = [line["translations"][0]["text"] for line in answer["lines"]]
            offline = heed_cli.heed("translate", "--model", self.made / "t", *words, text="\n".join(LINES) + "\n")
            self.assertEqual(served, offline.stdout.split("\n")[:-1], options)

    def test_n_best_alignments_and_tokens(self):
        answer = self.post("/heed/translate", {"model": "t", "text": LINES[0], "beam": 4, "n_best": 3, "align": True,
                                               "tokens": True})
        offline = heed_cli.heed("translate", "--model", self.made / "t", "--beam", 4, "--n-best", 3, "--alignments",
                                text=LINES[0] + "\n").stdout.split("\n")[:-1]
        translations = answer["lines"][0]["translations"]
        self.assertEqual(len(translations), 3)
        self.assertEqual(len(offline), 3)
        for one, line in zip(translations, offline):
            _, text, score, alignment = line.split(" ||| ")
            self.assertEqual((one["text"], f"{one['score']:.6f}"), (text, score))
            self.assertEqual(" ".join(f"{source}-{target}" for source, target in one["alignment"]), alignment)
            self.assertAlmostEqual(sum(token["log_probability"] for token in one["each"]), one["log_probability"], 4)
            self.assertEqual(len(one["each"]), one["tokens"])

    def test_translations_are_streamed_while_they_are_written(self):
        for options in ({}, {"beam": 4, "n_best": 2, "tokens": True, "top_tokens": 3}):
            fields = {"model": "t", "texts": LINES, **options}
            whole = self.post("/heed/translate", fields)
            events = [json.loads(event) for event in self.server.events("/heed/translate", {**fields, "stream": True})]
            self.assertEqual(events[-1], whole)
            for number, line in enumerate(whole["lines"]):
                of_line = [event for event in events if event.get("line") == number]
                self.assertEqual("".join(event.get("text", "") for event in of_line), line["translations"][0]["text"])
                self.assertEqual([event["translations"] for event in of_line if "translations" in event],
                                 [line["translations"]])

    def test_the_likeliest_tokens_are_listed(self):
        one, = self.post("/heed/generate", {"model": "lm", "prompt": "a dog", "max_tokens": 20, "temperature": 0.0,
                                            "top_tokens": 4})["texts"]
        for token in one["each"]:
            self.assertEqual(len(token["top"]), 4)
            self.assertEqual(token["top"][0]["id"], token["id"])
            scores = [likely["log_probability"] for likely in token["top"]]
            self.assertEqual(scores, sorted(scores, reverse=True))
        self.refused("/heed/generate", {"model": "lm", "prompt": "a", "top_tokens": 21}, "top_tokens")

    def test_generated_texts_are_those_of_the_command(self):
        for options, words in (({"temperature": 0.0}, ("--temperature", 0)), ({"seed": 7}, ("--seed", 7)),
                               ({"seed": 3, "top_p": 0.8, "temperature": 0.7, "top_k": 20},
                                ("--seed", 3, "--top-p", 0.8, "--temperature", 0.7, "--top-k", 20)),
                               ({"beam": 3}, ("--beam", 3))):
            fields = {"model": "lm", "prompt": "a dog", "max_tokens": 40, **options}
            text = self.post("/heed/generate", fields)["texts"][0]["text"]
            offline = heed_cli.heed("generate", "--model", self.made / "lm", "--prompt", "a dog", "--max-tokens", 40, *words)
            self.assertEqual(text + "\n", offline.stdout, options)
            if "beam" not in options:
                events = [json.loads(event) for event in self.server.events("/heed/generate", {**fields, "stream": True})]
                self.assertEqual("".join(event.get("text", "") for event in events[:-1]), text)
                self.assertEqual(events[-1]["texts"][0]["text"], text)

    def test_what_the_cache_gave_is_counted(self):
        fields = {"model": "lm", "prompt": "a dog runs in the park while two children play . " * 4, "max_tokens": 3}
        first, again = self.post("/heed/generate", fields), self.post("/heed/generate", fields)
        self.assertEqual((first["texts"], first["cached_tokens"]), (again["texts"], 0))
        # All but the last, after which the text begins.
        self.assertEqual(again["cached_tokens"], again["prompt_tokens"] - 1)
        searched = self.post("/heed/generate", {**fields, "beam": 2})
        self.assertEqual(searched["cached_tokens"], searched["prompt_tokens"] - 1)
        usage = self.server.post("/v1/completions", fields)[1]["usage"]
        self.assertEqual(usage["prompt_tokens_details"], {"cached_tokens": usage["prompt_tokens"] - 1})

    def test_answers_do_not_depend_on_company(self):
        draw = random.Random(5)
        words = " ".join(LINES).split()
        requests = []
        for _ in range(400):
            text = " ".join(draw.choice(words) for _ in range(draw.randint(1, 8)))
            if draw.random() < 0.5:
                requests.append(("/heed/translate", {"model": "t", "text": text, "beam": draw.choice((1, 1, 4))}))
            else:
                requests.append(("/heed/generate", {"model": "lm", "prompt": text, "seed": draw.randint(0, 9),
                                                    "max_tokens": draw.randint(1, 60), "tokens": True}))
        alone = [self.post(*request) for request in requests]
        with concurrent.futures.ThreadPoolExecutor(24) as pool:
            together = list(pool.map(lambda i: (i, self.post(*requests[i])), draw.sample(range(400), 400)))
        for i, answer in together:
            self.assertEqual(answer, alone[i], requests[i])

    def test_scores_are_those_of_the_commands(self):
        targets = ["a dog", "two children", "a"]
        answer = self.post("/heed/score", {"model": "t", "sources": LINES[:3], "targets": targets})
        source, target = self.file("source", "\n".join(LINES[:3]) + "\n"), self.file("target", "\n".join(targets) + "\n")
        offline = heed_cli.heed("score", "--model", self.made / "t", "--source", source, "--target", target).stdout
        self.assertEqual("".join(f"{one['log_probability']:.6f}\t{one['tokens']}\n" for one in answer["scores"]), offline)
        one, = self.post("/heed/score", {"model": "lm", "text": "a dog runs", "tokens": True})["scores"]
        self.assertAlmostEqual(sum(token["log_probability"] for token in one["each"]), one["log_probability"], 4)

    def test_embeddings(self):
        for name in ("e", "t", "lm"):
            answer = self.post("/heed/embed", {"model": name, "texts": ["ein hund", "zwei"], "normalized": True})
            self.assertEqual([len(row) for row in answer["embeddings"]], [answer["width"]] * 2)
            for row in answer["embeddings"]:
                self.assertAlmostEqual(sum(value * value for value in row), 1.0, 5)

    def test_models_are_listed_and_described(self):
        status, text = self.server.get("/heed/models")
        self.assertEqual(status, 200)
        self.assertEqual([(one["name"], one["kind"], one["loaded"]) for one in json.loads(text)["models"]],
                         [("e", "encoder", True), ("lm", "language-model", True), ("t", "translator", True)])
        description = json.loads(self.server.get("/heed/describe/t")[1])
        self.assertIn('architecture = "seq2seq"', description["architecture"])
        self.assertGreater(len(description["parameters"]), 10)
        self.assertEqual(self.server.get("/heed/describe/nothing")[0], 404)
        self.assertIs(description["report"], False)
        self.assertEqual(self.server.get("/heed/report/t")[0], 404)
        report = self.made / "t" / "report.html"
        report.write_text("<p>curves</p>")
        self.addCleanup(report.unlink)
        self.assertIs(json.loads(self.server.get("/heed/describe/t")[1])["report"], True)
        status, headers, text = self.server.request("GET", "/heed/report/t")
        self.assertEqual((status, text), (200, b"<p>curves</p>"))
        self.assertTrue(headers["Content-Security-Policy"].startswith("sandbox "))

    def test_rules_have_as_many_bytes_as_their_automata_may(self):
        half = "a" * (1 << 16)
        for fields in ({"choices": [half, half + "b"]}, {"suppress": [half + half + "b"]}):
            self.refused("/heed/generate", {"model": "lm", "prompt": "a", **fields}, next(iter(fields)))

    def test_messages_name_the_model_and_not_its_directory(self):
        status, answer = self.server.post("/heed/classify", {"model": "e", "text": "a"})
        self.assertEqual(status, 400)
        self.assertTrue(answer["error"]["message"].startswith("model: e: has no head"), answer)

    def test_wrong_requests_are_refused_by_name(self):
        for body in ("", "x", "[]", "3", '{"texts": ["a"]', '{"text": "\\ud800"}', b'{"text": "\xff"}', "[" * 100000):
            status, answer = self.server.post("/heed/translate", body)
            self.assertEqual(status, 400, body[:20])
            self.assertTrue(answer["error"]["message"])
        for fields, field in (({}, "model"), ({"model": "x"}, "model"), ({"model": "t"}, "texts"),
                              ({"model": 3, "text": "a"}, "model"), ({"model": "lm", "text": "a"}, "model"),
                              ({"model": "t", "text": "a", "texts": ["a"]}, "text"), ({"model": "t", "texts": []}, "texts"),
                              ({"model": "t", "texts": ["a", 3]}, "texts[1]"), ({"model": "t", "text": "a", "beam": 0}, "beam"),
                              ({"model": "t", "text": "a", "beam": 1.5}, "beam"), ({"model": "t", "text": "a", "beam": 1e30}, "beam"),
                              ({"model": "t", "text": "a", "beam": True}, "beam"), ({"model": "t", "text": "a", "bean": 4}, "bean"),
                              ({"model": "t", "texts": ["a", "b"], "prefixes": ["x"]}, "prefixes"),
                              ({"model": "t", "text": "a", "unknown": "y"}, "unknown"),
                              ({"model": "t", "text": "a", "length_penalty": "nan"}, "length_penalty")):
            self.refused("/heed/translate", fields, field, 404 if fields in ({}, {"model": "x"}) else 400)
        for body, field in (('{"model": "t", "text": "a", "beam": 1, "beam": 2}', "beam"),
                            ('{"model": "lm", "model": "t", "text": "a"}', "model"),
                            ('{"model": "lm", "prompt": "a", "logit_bias": {"3": 1, "3": 2}}', "3")):
            self.refused("/heed/translate", body, field)
        self.refused("/heed/translate", {"model": "t", "texts": ["a"] * 17, "beam": 1024}, "beam")
        self.refused("/heed/translate", {"model": "t", "text": "a", "beam": 200, "alternatives": 100}, "alternatives")
        self.refused("/heed/generate", {"model": "lm", "prompt": "a", "messages": []}, "prompt")
        self.refused("/heed/generate", {"model": "lm", "messages": [{"role": "user", "content": "a"}]}, "model")
        self.refused("/heed/classify", {"model": "e", "pairs": [["a"]]}, "pairs[0]")
        self.refused("/heed/tag", {"model": "e", "sentences": ["a"]}, "sentences[0]")
        self.refused("/heed/translate", {"model": "t", "text": "a", "n_best": 4}, "n_best")
        status, answer = self.server.post("/heed/translate", {"model": "t", "texts": ["a", "b " * 5000]})
        self.assertEqual(status, 400)
        self.assertEqual(answer["error"]["field"], "texts[1]")
        self.assertTrue(answer["error"]["message"].startswith("texts[1]: "))


if __name__ == "__main__":
    unittest.main()
