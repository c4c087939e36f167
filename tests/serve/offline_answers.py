"""What the offline commands write for a request to the server, each alone in a process of its own."""

import json
import struct

from heed_cli import run

# Fields that commands have as options.
OPTIONS = {"beam": "--beam", "n_best": "--n-best", "samples": "--n", "n": "--n", "seed": "--seed",
           "max_tokens": "--max-tokens", "temperature": "--temperature", "top_k": "--top-k", "regex": "--regex"}


def tokens_of(text):
    """As the commands print them."""
    return [(token["piece"], f"{token['log_probability']:.6f}") for token in text["each"]]


def assert_as_offline(test, model, path, fields, answer, *options):
    """Of `translate` and `generate` with "tokens", `embed`, and texts in OpenAI's interface."""
    given = [(option, fields[name]) for name, option in OPTIONS.items() if name in fields]
    words = ("--model", model, *options, *(word for pair in given for word in pair))
    if path == "/heed/translate":
        test.assertEqual(translations(fields, words), [(one["text"], f"{one['score']:.6f}", tokens_of(one))
                                                       for one in answer["lines"][0]["translations"]])
    elif path == "/heed/generate":
        test.assertEqual([(text["text"], tokens_of(text)) for text in texts(test, fields, words)],
                         [(text["text"], tokens_of(text)) for text in answer["texts"]])
    elif path == "/heed/embed":
        test.assertEqual(embeddings(fields, words), [struct.pack(f"{len(one)}f", *one) for one in answer["embeddings"]])
    else:
        test.assertEqual([text["text"] for text in texts(test, fields, words)],
                         [choice["message"]["content"] if "message" in choice else choice["text"]
                          for choice in answer["choices"]])


def translations(fields, words):
    printed = run("translate", *words, "--scores", "--token-scores", text=fields["text"] + "\n")
    found = []
    for line in printed.stdout.decode("utf-8", "replace").split("\n")[:-1]:
        text, score, each = line.split(" ||| ")[1:] if fields.get("n_best", 1) > 1 else line.split("\t")
        found.append((text, score, [tuple(token.rsplit(":", 1)) for token in each.split(" ")]))
    return found


def texts(test, fields, words):
    if "choices" in fields:
        words += ("--choices", test.file("choices", "\n".join(fields["choices"]) + "\n"))
    if "response_format" in fields:
        words += ("--json-schema", test.file("schema", json.dumps(fields["response_format"]["json_schema"]["schema"])))
    prompt = json.dumps({"messages": fields["messages"]}) if "messages" in fields else fields["prompt"]
    printed = run("generate", *words, "--json", "--token-scores", text=prompt + "\n")
    test.assertEqual(printed.returncode, 0, printed.stderr)
    found = [json.loads(line) for line in printed.stdout.splitlines()]
    return [{**one, "each": [{**token, "piece": token["token"]} for token in one["each"]]} for one in found]


def embeddings(fields, words):
    printed = run("embed", *words, text="".join(f"{text}\n" for text in fields["texts"]))
    return [struct.pack(f"{len(one)}f", *one) for one in map(json.loads, printed.stdout.splitlines())]
