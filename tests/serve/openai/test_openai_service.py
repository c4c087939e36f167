"""OpenAI's interface in a service: company, time, clients that go, keys."""

import concurrent.futures
import http.client
import random
import re
import time

from openai_api import OpenAiTest, json, unittest

CHAT = "/v1/chat/completions"
HELLO = [{"role": "user", "content": "Hello"}]


class Company(OpenAiTest):
    config = "[limits]\nmax_tokens = 1000000\nrequest_seconds = 1\n"

    def test_answers_are_the_same_in_any_company(self):
        draw = random.Random(5)
        requests = []
        for i in range(120):
            fields = {"max_tokens": draw.randrange(1, 60), "temperature": draw.choice([0, 0.7, 1.3]), "seed": draw.randrange(9),
                      "n": draw.choice([1, 1, 3])}
            text = "".join(draw.choice("abc .") for _ in range(draw.randrange(1, 80)))
            if i % 3 == 0:
                requests.append(("/v1/completions", {"model": "text", "prompt": text, **fields}))
            else:
                requests.append((CHAT, {"model": "chat", "messages": [{"role": "user", "content": text}], **fields}))
        alone = [self.answer(path, **fields)["choices"] for path, fields in requests]
        order = list(range(len(requests)))
        draw.shuffle(order)
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            together = dict(zip(order, pool.map(lambda i: self.answer(requests[i][0], **requests[i][1])["choices"], order)))
        for i, choices in enumerate(alone):
            self.assertEqual(together[i], choices)

    def test_a_request_that_takes_too_long_is_an_error(self):
        self.refused(CHAT, None, "too long", status=504, model="endless", messages=HELLO, max_tokens=1000000)
        error = self.refused("/v1/completions", None, "too long", status=504, model="endless", prompt="a", max_tokens=1000000)
        self.assertEqual(error["type"], "server_error")
        # Clients would ask again, twice.
        body = json.dumps({"model": "endless", "prompt": "a", "max_tokens": 1000000})
        self.assertEqual(self.server.request("POST", "/v1/completions", body)[1]["X-Should-Retry"], "false")

    def test_a_stream_that_takes_too_long_ends_with_an_error(self):
        begun = time.monotonic()
        for path, fields in ((CHAT, {"messages": HELLO}), ("/v1/completions", {"prompt": "a"})):
            events = self.events(path, model="endless", max_tokens=1000000, stream=True, **fields)
            self.assertTrue(all(event["choices"][0]["finish_reason"] is None for event in events[:-1]))
            self.assertEqual(set(events[-1]), {"error"})
            self.assertEqual(set(events[-1]["error"]), {"message", "type", "param", "code"})
        self.assertLess(time.monotonic() - begun, 20)

    def test_a_response_that_takes_too_long_ends_with_its_own_error(self):
        body = json.dumps({"model": "endless", "input": "a", "max_output_tokens": 1000000, "stream": True})
        _, _, data = self.server.request("POST", "/v1/responses", body)
        last = data.decode().split("\n\n")[-2].split("\n")
        self.assertEqual(last[0], "event: error")
        event = json.loads(last[1].removeprefix("data: "))
        self.assertEqual((event["type"], event["sequence_number"]), ("error", data.count(b"event: ") - 1))
        self.assertIn("too long", event["message"])
        self.assertEqual(set(event["error"]), {"message", "type", "param", "code"})


class Mutations(OpenAiTest):
    def test_bodies_that_were_changed_anywhere_never_break_the_server(self):
        draw = random.Random(3)
        bodies = [
            (CHAT, {"model": "chat", "messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}], "name": "a"}],
                    "max_tokens": 3, "n": 2, "stop": ["x"], "seed": 5, "stream": False, "top_p": 0.5, "tools": [],
                    "response_format": {"type": "regex", "regex": "[ab]*"}, "chat_template_kwargs": {"prefix": "a"}}),
            ("/v1/completions", {"model": "text", "prompt": ["a", "b"], "max_tokens": 3, "best_of": 2, "echo": True,
                                 "stream_options": None, "logit_bias": {}, "suffix": ""}),
            ("/v1/embeddings", {"model": "reads", "input": ["a", "b"], "dimensions": 4, "encoding_format": "base64"}),
            ("/v1/responses", {"model": "chat", "input": [{"type": "message", "role": "user", "content": "a"}],
                               "max_output_tokens": 3, "text": {"format": {"type": "text"}}, "reasoning": {"effort": None}})]
        pieces = [b'"', b"{", b"}", b"[", b"]", b":", b",", b"null", b"-1", b"1e999", b"true", b"\xff", b"\\u0000", b"\0",
                  b"[" * 300, b"9" * 40, b'"stream": true,', b'"role"', b'"text"']
        for i in range(600):
            path, fields = bodies[i % len(bodies)]
            body = json.dumps(fields).encode()
            for _ in range(draw.choice([1, 1, 2, 3])):
                at, length = draw.randrange(len(body)), draw.randrange(6)
                body = body[:at] + draw.choice(pieces) * draw.randrange(2) + body[at + length:]
            status, _, text = self.server.request("POST", path, body)
            self.assertIn(status, (200, 400, 403, 404), (body, text))
            if status != 200:
                self.assertEqual(set(json.loads(text)["error"]), {"message", "type", "param", "code"}, body)
        self.answer(CHAT, model="chat", messages=HELLO, max_tokens=3)
        self.assertEqual(self.server.error_text(), "")


class Gone(OpenAiTest):
    config = "[limits]\nmax_tokens = 1000000\n"

    def gauge(self, name):
        text = self.server.get("/metrics")[1].decode()
        return sum(float(value) for value in re.findall(rf"(?m)^{name}(?:\{{[^}}]*\}})? (\S+)$", text))

    def test_a_client_that_goes_away_frees_its_places(self):
        for stream in (True, False):
            connections = []
            for _ in range(4):
                connection = http.client.HTTPConnection(self.server.host, self.server.port, timeout=30)
                connection.request("POST", CHAT, json.dumps({"model": "endless", "messages": HELLO, "max_tokens": 1000000,
                                                             "stream": stream, "n": 2}))
                connections.append(connection)
            self.wait_for(lambda: self.gauge("heed_requests") == 4)
            if stream:
                for connection in connections:
                    self.assertTrue(connection.getresponse().read(100))
            for connection in connections:
                connection.close()
            self.wait_for(lambda: self.gauge("heed_requests") == 0 and self.gauge("heed_sequences") == 0)
        self.answer(CHAT, model="chat", messages=HELLO, max_tokens=3)

    def wait_for(self, condition, seconds=10):
        end = time.monotonic() + seconds
        while not condition():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)


class Keys(OpenAiTest):
    config = ('[key.one]\nsecret = "the-first-secret-of-all"\nmodels = ["chat", "text"]\n'
              '[key.all]\nsecret = "the-second-secret-of-all"\n')

    def get(self, path, secret=None):
        headers = {} if secret is None else {"Authorization": f"Bearer {secret}"}
        status, text = self.server.get(path, headers)
        return status, json.loads(text)

    def test_a_key_sees_its_models(self):
        names = [model["id"] for model in self.get("/v1/models", "the-first-secret-of-all")[1]["data"]]
        self.assertEqual(names, ["chat", "text"])
        self.assertEqual(len(self.get("/v1/models", "the-second-secret-of-all")[1]["data"]), 5)
        self.assertEqual(self.get("/v1/models/reads", "the-first-secret-of-all")[0], 404)

    def test_who_may_not_ask_is_told_in_openai_s_words(self):
        for secret, kind, status in ((None, "authentication_error", 401), ("wrong", "authentication_error", 401)):
            found, answer = self.get("/v1/models", secret)
            self.assertEqual((found, answer["error"]["type"]), (status, kind))
            self.assertEqual(set(answer["error"]), {"message", "type", "param", "code"})
        status, answer = self.server.post("/v1/embeddings", {"model": "reads", "input": "a"},
                                          {"Authorization": "Bearer the-first-secret-of-all"})
        self.assertEqual((status, answer["error"]["type"]), (403, "permission_error"))


if __name__ == "__main__":
    unittest.main()
