"""Ten thousand requests (or HEED_COMPANY of them) in random company: of all kinds, with prompts that begin alike, long
ones, drafts and constraints, and clients that go away. Each answer is the one that the request got alone, and what the
offline commands write."""

import concurrent.futures
import json
import os
import random
import subprocess
import threading

from heed_server import ServerTest, unittest
from offline_answers import assert_as_offline

REQUESTS = int(os.environ.get("HEED_COMPANY", "10000"))
DISTINCT, CLIENTS = REQUESTS // 40, 24
WORDS = "ein hund zwei kinder eine frau liest läuft spielen im park mit dem ball buch wasser".split()
TEMPLATE = """{% for m in messages %}[{{ m.role }}] {{ m.content }}
{% endfor %}{% if add_generation_prompt %}[assistant] {% endif %}"""
SCHEMA = {"type": "object", "properties": {"answer": {"enum": ["yes", "no"]}, "sure": {"type": "boolean"}},
          "required": ["answer", "sure"], "additionalProperties": False}
FORMAT = {"type": "json_schema", "json_schema": {"name": "answer", "schema": SCHEMA}}
CONFIG = """
[model.t]
path = "t"
[model.lm]
path = "lm"
[model.drafts]
path = "lm"
draft = "prompt"
draft_tokens = 4
[model.chat]
path = "chat"
[model.e]
path = "e"
"""
MODELS = {"t": ["scale=3"], "e": ["architecture=encoder"],
          "lm": ["architecture=causal-lm", "max_length=512", "documents=line", "scale=3"],
          "chat": ["architecture=causal-lm", "max_length=512", "documents=line", "scale=3", "kind=byte",
                   "vocabulary=0"]}


def text(draw, least, most):
    return " ".join(draw.choice(WORDS) for _ in range(draw.randint(least, most)))


def make_translation(draw):
    beam, n_best = draw.choice(((1, 1), (1, 1), (3, 1), (3, 3)))
    return "/heed/translate", {"model": "t", "text": text(draw, 1, 8), "beam": beam, "n_best": n_best, "tokens": True}


def make_text(draw, beginnings):
    fields = {"model": "lm", "prompt": draw.choice(beginnings) + " " + text(draw, 0, 10), "seed": draw.randint(0, 5),
              "max_tokens": draw.randint(1, 40), "samples": draw.choice((1, 1, 2)), "tokens": True}
    constraint = draw.random()
    if constraint < 0.1:
        fields["regex"] = draw.choice(("[a-e ]{1,9}", "(hund|kinder)( und (hund|kinder))*"))
    elif constraint < 0.2:
        fields["choices"] = draw.sample(WORDS, 4)
    elif constraint < 0.4:
        # What was written before comes again.
        fields.update(model="drafts", prompt=" ".join([text(draw, 2, 4)] * 4))
    return "/heed/generate", {**fields, **draw.choice(({}, {"temperature": 0}, {"temperature": 0.7, "top_k": 5}))}


def make_chat(draw, beginnings):
    messages = [{"role": "system", "content": draw.choice(beginnings[-2:])},
                {"role": "user", "content": text(draw, 1, 5)}]
    fields = {"model": "chat", "messages": messages, "seed": draw.randint(0, 5)}
    if draw.random() < 0.3:
        return "/heed/generate", {**fields, "max_tokens": draw.randint(1, 20), "tokens": True}
    if draw.random() < 0.5:
        return "/v1/chat/completions", {**fields, "max_tokens": draw.randint(1, 20), "n": draw.choice((1, 3))}
    return "/v1/chat/completions", {**fields, "max_tokens": 100, "response_format": FORMAT}


def make_request(draw, beginnings):
    kind = draw.random()
    if kind < 0.35:
        return make_translation(draw)
    if kind < 0.75:
        return make_text(draw, beginnings)
    if kind < 0.85:
        return make_chat(draw, beginnings)
    return "/heed/embed", {"model": "e", "texts": [text(draw, 1, 12) for _ in range(draw.randint(1, 3))]}


def comparable(answer):
    """Without what may depend on company, and the names and times of OpenAI's interface."""
    if "choices" in answer:
        return answer["choices"]
    texts = [{**text, "drafted": None, "accepted": None} for text in answer.get("texts", ())]
    return {**answer, "cached_tokens": None, "texts": texts}


class Company(ServerTest):
    def make_models(self):
        for name, arguments in MODELS.items():
            subprocess.run([os.environ["HEED_MAKE_MODEL"], self.path / name, *arguments], check=True)
        (self.path / "chat" / "chat_template.jinja").write_text(TEMPLATE)

    def go_away(self, server, path, fields, after):
        """Before the answer begins, or after so many bytes of it."""
        body = json.dumps({**fields, "stream": True} if after > 0 else fields).encode()
        with server.connect() as connection:
            connection.sendall(b"POST %s HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s"
                               % (path.encode(), len(body), body))
            while after > 0 and (part := connection.recv(after)):
                after -= len(part)

    def saved_tokens(self, server, model):
        metrics = server.get("/metrics")[1].decode()
        return next(float(line.split()[-1]) for line in metrics.splitlines()
                    if line.startswith(f'heed_prefix_saved_tokens{{model="{model}"'))

    def test_answers_do_not_depend_on_company(self):
        draw = random.Random(11)
        self.make_models()
        server = self.serve("--config", self.file("serve.toml", CONFIG))
        beginnings = [text(draw, 0, 3)] + [text(draw, 20, 60) for _ in range(6)]
        requests = [make_request(draw, beginnings) for _ in range(DISTINCT)]

        def answer_to(request):
            status, answer = server.post(*request)
            return status, comparable(answer)

        alone = [server.post(*request) for request in requests]
        self.assertEqual({status for status, _ in alone}, {200})
        self.assertGreater(sum(text["drafted"] for _, answer in alone for text in answer.get("texts", ())), 0)
        for (path, fields), (_, answer) in zip(requests, alone, strict=True):
            with self.subTest(path, **fields):
                drafts = fields["model"] == "drafts"
                assert_as_offline(self, self.path / ("lm" if drafts else fields["model"]), path, fields, answer,
                                  *(("--draft", "prompt") if drafts else ()))
        expected = [(status, comparable(answer)) for status, answer in alone]
        order = [(draw.randrange(DISTINCT), draw.random() < 0.1, draw.choice((0, 600))) for _ in range(REQUESTS)]
        wrong, lock = [], threading.Lock()

        def ask(which):
            number, goes_away, after = which
            if goes_away:
                self.go_away(server, *requests[number], after)
            elif answer_to(requests[number]) != expected[number]:
                with lock:
                    wrong.append(requests[number])
        with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
            list(pool.map(ask, order))
        self.assertEqual(wrong, [])
        self.assertGreater(self.saved_tokens(server, "lm"), REQUESTS // 10)
        self.assertGreater(self.saved_tokens(server, "chat"), REQUESTS // 100)


if __name__ == "__main__":
    unittest.main()
