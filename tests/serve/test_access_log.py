"""The access log: a line for each answer, also for what is refused before anything reads it."""

import json
import os
import pathlib
import subprocess
import tempfile
import time

from heed_server import ServerTest, unittest

SECRET, POOR = "a-secret-of-24-characters", "a-secret-without-tokens"
KEY = {"Authorization": f"Bearer {SECRET}"}


class AccessLog(ServerTest):
    @classmethod
    def setUpClass(cls):
        cls.models = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.models.cleanup)
        folder = pathlib.Path(cls.models.name)
        make = lambda name, *arguments: subprocess.run([os.environ["HEED_MAKE_MODEL"], folder / name, *arguments], check=True)
        make("lm", "architecture=causal-lm", "max_length=512", "documents=line")
        make("plain", "architecture=encoder")
        make("words", "architecture=encoder", "model.head=token-labels", 'model.labels=["A", "B"]')
        make("number", "architecture=encoder", "model.head=number")
        make("labels", "architecture=encoder", "model.head=label", 'model.labels=["good", "bad"]')
        cls.made = folder

    def started(self, limits="", *models):
        self.log = self.path / "log"
        names = models or ("lm",)
        text = f'[server]\naccess_log = "{self.log}"\n[limits]\n{limits}\n'
        text += "".join(f'[model.{name}]\npath = "{self.made / name}"\n' for name in names)
        text += f'[key.rich]\nsecret = "{SECRET}"\n[key.poor]\nsecret = "{POOR}"\ntokens_per_day = 1\n'
        return self.serve("--config", self.file("serve.toml", text))

    def lines(self, count):
        end = time.monotonic() + 10.0
        while self.log.read_text().count("\n") < count and time.monotonic() < end:
            time.sleep(0.01)
        lines = [json.loads(line) for line in self.log.read_text().splitlines()]
        self.assertEqual(len(lines), count, lines)
        return lines

    def test_refusals_have_lines(self):
        server = self.started("body_bytes = 2000\nheader_bytes = 4000\nheader_seconds = 0.2\nbody_seconds = 0.2")
        sizes = []

        def ask(method, path, body=None, headers=KEY):
            status, _, answer = server.request(method, path, body, headers)
            sizes.append((status, len(answer)))
            self.lines(len(sizes))  # which the next one could overtake

        ask("POST", "/heed/generate", '{"prompt": "a", "max_tokens": 2}', {})
        ask("POST", "/heed/generate", '{"prompt": "a", "max_tokens": 2}', {"Authorization": "Bearer nobody"})
        ask("GET", "/nothing")
        ask("GET", "/heed/generate")
        ask("POST", "/heed/generate", "x" * 3000)
        ask("POST", "/heed/generate", '{"prompt": 5}')
        for data in (b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"x" * 5000 + b"\r\n\r\n", b"nonsense\r\n\r\n",
                     b"POST /heed/generate HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nab", b"GET /heed/mod"):
            answer = server.raw(data)
            head, body = answer.split(b"\r\n\r\n", 1)
            sizes.append((int(head.split()[1]), len(body)))
        self.assertEqual([status for status, _ in sizes], [401, 401, 404, 405, 413, 400, 431, 400, 408, 408])
        lines = self.lines(len(sizes))
        self.assertEqual([(line["status"], line["bytes"]) for line in lines], sizes)
        self.assertEqual([line["path"] for line in lines[:6]],
                         ["/heed/generate", "/heed/generate", "/nothing", "/heed/generate", "/heed/generate", "/heed/generate"])
        self.assertEqual([line.get("key") for line in lines[:6]], [None, None, None, None, None, "rich"])
        self.assertEqual(lines[8]["path"], "/heed/generate")
        self.assertTrue(all(line["read"] == line["written"] == 0 for line in lines))
        # What only asks how the server is has none.
        server.get("/health")
        ask("GET", "/nothing")
        self.assertEqual(self.lines(11)[10]["status"], 404)

    def test_too_many_requests_have_lines(self):
        server = self.started("requests = 1")
        with server.connect() as connection:
            body = json.dumps({"prompt": "a", "max_tokens": 4000, "min_tokens": 4000, "stream": True})
            connection.sendall(f"POST /heed/generate HTTP/1.1\r\nHost: a\r\nX-Api-Key: {SECRET}\r\n"
                               f"Content-Length: {len(body)}\r\n\r\n{body}".encode())
            self.assertIn(b"200", connection.recv(100))
            self.assertEqual(server.post("/heed/generate", {"prompt": "a"}, KEY)[0], 429)
            refused, = self.lines(1)
            self.assertEqual((refused["status"], refused["key"]), (429, "rich"))
        self.assertEqual([line["status"] for line in self.lines(2)], [429, 499])

    def test_a_client_that_went_away_is_told_from_one_that_stayed(self):
        server = self.started()
        fields = {"prompt": "a", "max_tokens": 3000, "min_tokens": 3000, "stream": True, "temperature": 0}
        body = json.dumps(fields)
        with server.connect() as connection:
            connection.sendall(f"POST /heed/generate HTTP/1.1\r\nHost: a\r\nX-Api-Key: {SECRET}\r\n"
                               f"Content-Length: {len(body)}\r\n\r\n{body}".encode())
            received = b""
            while received.count(b"data: ") < 20:
                received += connection.recv(4096)
        line, = self.lines(1)
        events = received.split(b"\r\n\r\n", 1)[1]
        self.assertEqual((line["status"], line["key"], line["model"]), (499, "rich", "lm"))
        self.assertGreater(line["read"], 0)
        # All that arrived was written; what the connection held when it broke may have been too.
        self.assertGreater(line["bytes"], sum(len(event) for event in events.split(b"\r\n") if event.startswith(b"data")) / 2)
        self.assertLess(line["bytes"], 100_000)
        fields["max_tokens"] = fields["min_tokens"] = 30
        whole = server.request("POST", "/heed/generate", json.dumps(fields), KEY)[2]
        line = self.lines(2)[1]
        self.assertEqual((line["status"], line["bytes"], line["written"]), (200, len(whole), 30))
        metrics = server.get("/metrics")[1].decode()
        self.assertIn('status="499"', metrics)

    def test_what_is_read_counts_for_a_key(self):
        server = self.started("", "lm", "plain", "words", "number", "labels")
        calls = [("/heed/classify", {"model": "labels", "text": "ein hund"}),
                 ("/heed/classify", {"model": "number", "pairs": [["ein hund", "a dog"]]}),
                 ("/heed/tag", {"model": "words", "sentences": [["ein", "hund"]]}),
                 ("/heed/embed", {"model": "plain", "text": "ein hund"}),
                 ("/heed/score", {"model": "lm", "text": "ein hund"}),
                 ("/heed/next", {"model": "lm", "prompt": "ein hund"}),
                 ("/heed/attention", {"model": "lm", "text": "ein hund", "kind": "decoder"}),
                 ("/rerank", {"model": "number", "query": "ein", "texts": ["hund", "a dog"]}),
                 ("/predict", {"model": "labels", "inputs": [["ein hund"], ["a"]]}),
                 ("/embed", {"model": "plain", "inputs": ["ein hund", "a"]}),
                 ("/v1/embeddings", {"model": "plain", "input": ["ein hund", "a"]})]
        for path, fields in calls:
            status, answer = server.post(path, fields, KEY)
            self.assertEqual(status, 200, (path, answer))
        read = [(line["path"], line["read"]) for line in self.lines(len(calls))]
        self.assertTrue(all(tokens >= 2 for _, tokens in read), read)
        # The same texts cost the same by all ways.
        by_path = dict(read)
        self.assertEqual(by_path["/embed"], by_path["/predict"])
        self.assertEqual(by_path["/embed"], by_path["/v1/embeddings"])
        self.assertEqual(answer["usage"]["prompt_tokens"], by_path["/v1/embeddings"])
        self.assertEqual(by_path["/heed/attention"], by_path["/heed/next"])

    def test_a_key_without_tokens_is_refused_after_the_first_call(self):
        server = self.started("", "labels")
        poor = {"Authorization": f"Bearer {POOR}"}
        self.assertEqual(server.post("/predict", {"inputs": "ein hund"}, poor)[0], 200)
        time.sleep(0.2)
        self.assertEqual(server.post("/predict", {"inputs": "ein hund"}, poor)[0], 429)
        self.assertEqual([(line["status"], line["key"]) for line in self.lines(2)], [(200, "poor"), (429, "poor")])


if __name__ == "__main__":
    unittest.main()
