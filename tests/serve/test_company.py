"""Ten thousand requests (or HEED_COMPANY of them) in random company, with prompts that begin alike, long ones, and clients that go away: each
answer is the one that the request got alone, and what the offline commands write."""

import concurrent.futures
import json
import os
import pathlib
import random
import struct
import subprocess
import tempfile
import threading

from heed_cli import run
from heed_server import Server, ServerTest, unittest

REQUESTS = int(os.environ.get("HEED_COMPANY", "10000"))
DISTINCT, CLIENTS = REQUESTS // 40, 24
WORDS = "ein hund zwei kinder eine frau liest läuft spielen im park mit dem ball buch wasser".split()


def text(draw, least, most):
    return " ".join(draw.choice(WORDS) for _ in range(draw.randint(least, most)))


def make_request(draw, beginnings):
    kind = draw.random()
    if kind < 0.35:
        return "/heed/translate", {"model": "t", "text": text(draw, 1, 8), "beam": draw.choice((1, 1, 3)),
                                   "tokens": True}
    if kind < 0.85:
        return "/heed/generate", {"model": "lm", "prompt": draw.choice(beginnings) + " " + text(draw, 0, 10),
                                  "seed": draw.randint(0, 5), "max_tokens": draw.randint(1, 40),
                                  "samples": draw.choice((1, 1, 2)), "tokens": True}
    return "/heed/embed", {"model": "e", "texts": [text(draw, 1, 12) for _ in range(draw.randint(1, 3))]}


def tokens_of(text):
    """As the offline commands print them."""
    return [(token["piece"], f"{token['log_probability']:.6f}") for token in text["each"]]


def assert_as_offline(test, folder, path, fields, answer):
    """The command gets the request alone, in a process of its own."""
    model = ("--model", folder / fields["model"])
    if path == "/heed/translate":
        [translation] = answer["lines"][0]["translations"]
        printed = run("translate", *model, "--beam", fields["beam"], "--scores", "--token-scores",
                      text=fields["text"] + "\n")
        tokens = " ".join(":".join(token) for token in tokens_of(translation))
        line = f"{translation['text']}\t{translation['score']:.6f}\t{tokens}\n"
        test.assertEqual(printed.stdout.decode("utf-8", "replace"), line)
    elif path == "/heed/generate":
        printed = run("generate", *model, "--prompt", fields["prompt"], "--seed", fields["seed"],
                      "--n", fields["samples"], "--max-tokens", fields["max_tokens"], "--json", "--token-scores")
        texts = [json.loads(line) for line in printed.stdout.splitlines()]
        for text in texts:
            text["each"] = [{**token, "piece": token["token"]} for token in text["each"]]
        test.assertEqual([(text["text"], tokens_of(text)) for text in texts],
                         [(text["text"], tokens_of(text)) for text in answer["texts"]])
    else:
        printed = run("embed", *model, text="".join(f"{text}\n" for text in fields["texts"]))
        embeddings = [json.loads(line) for line in printed.stdout.splitlines()]
        test.assertEqual([struct.pack(f"{len(one)}f", *one) for one in embeddings],
                         [struct.pack(f"{len(one)}f", *one) for one in answer["embeddings"]])


class Company(ServerTest):
    def test_answers_do_not_depend_on_company(self):
        draw = random.Random(11)
        folder = pathlib.Path(self.folder.name)
        for name, arguments in (("t", ("scale=3",)), ("e", ("architecture=encoder",)),
                                ("lm", ("architecture=causal-lm", "max_length=512", "documents=line", "scale=3"))):
            subprocess.run([os.environ["HEED_MAKE_MODEL"], folder / name, *arguments], check=True)
        server = self.serve(*[word for name in ("t", "lm", "e") for word in ("--model", f"{name}={folder / name}")])
        beginnings = [text(draw, 0, 3)] + [text(draw, 20, 60) for _ in range(6)]
        requests = [make_request(draw, beginnings) for _ in range(DISTINCT)]

        def answer_to(request):
            status, answer = server.post(*request)
            return status, {name: value for name, value in answer.items() if name != "cached_tokens"}

        alone = [answer_to(request) for request in requests]
        self.assertEqual({status for status, _ in alone}, {200})
        for (path, fields), (_, answer) in zip(requests, alone, strict=True):
            with self.subTest(path, **fields):
                assert_as_offline(self, folder, path, fields, answer)
        order = [(draw.randrange(DISTINCT), draw.random() < 0.1) for _ in range(REQUESTS)]
        wrong, lock = [], threading.Lock()

        def ask(which):
            number, goes_away = which
            path, fields = requests[number]
            if goes_away:
                body = json.dumps(fields).encode()
                with server.connect() as connection:
                    connection.sendall(b"POST %s HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s"
                                       % (path.encode(), len(body), body))
            elif answer_to(requests[number]) != alone[number]:
                with lock:
                    wrong.append(requests[number])
        with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
            list(pool.map(ask, order))
        self.assertEqual(wrong, [])
        metrics = server.get("/metrics")[1].decode()
        saved = next(float(line.split()[-1]) for line in metrics.splitlines()
                     if line.startswith('heed_prefix_saved_tokens{model="lm"'))
        self.assertGreater(saved, REQUESTS // 10)


if __name__ == "__main__":
    unittest.main()
