"""What the tests of OpenAI's interface share: a server with small models, and answers checked as strict clients would."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time

from heed_cli import run
from heed_server import Server, ServerTest, unittest

TEMPLATE = """{%- for m in messages %}[{{ m.role }}{{ ':' + m.name if m.name is defined else '' }}] {{ m.content | trim }}
{{ eos_token if m.role == 'assistant' }}{% endfor %}{{ prefix if prefix is defined else '' }}
{% if add_generation_prompt %}[assistant] {% endif %}
"""
ANSWER_KEYS = {"id", "object", "created", "model", "system_fingerprint", "choices", "usage"}


def make(path, *settings):
    subprocess.run([os.environ["HEED_MAKE_MODEL"], path, *settings], check=True)
    return path


class OpenAiTest(ServerTest):
    """One server for all tests of a class: "text" (a language model), "chat" (the same with a template),
    "endless", "reads" (an encoder), "translates"."""

    options = ()
    config = "[limits]\nmax_tokens = 300\ntexts = 40\n"

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        path = pathlib.Path(folder.name)
        cls.text = make(path / "text", "architecture=causal-lm", "kind=byte", "vocabulary=0", "positions=rotary",
                        "max_length=512", "documents=line", "scale=3")
        cls.chat = path / "chat"
        shutil.copytree(cls.text, cls.chat)
        (cls.chat / "chat_template.jinja").write_text(TEMPLATE)
        cls.reads = make(path / "reads", "architecture=encoder", "width=32")
        cls.translates = make(path / "translates")
        # Its texts have no end.
        cls.endless = make(path / "endless", "architecture=causal-lm", "kind=byte", "vocabulary=0", "positions=rotary",
                           "max_length=512", "documents=none", "scale=3")
        (cls.endless / "chat_template.jinja").write_text(TEMPLATE)
        models = ["text", "chat", "endless", "reads", "translates"]
        config = path / "serve.toml"
        config.write_text(cls.config)
        cls.server = Server("--config", config, *[one for name in models for one in ("--model", f"{name}={path / name}")],
                            *cls.options)
        cls.addClassCleanup(cls.server.stop)

    def answer(self, path, **fields):
        status, answer = self.server.post(path, fields)
        self.assertEqual(status, 200, answer)
        return answer

    def refused(self, path, param, *mentions, status=400, **fields):
        """An error in OpenAI's shape, with the field's name; the server goes on."""
        found, answer = self.server.post(path, fields)
        self.assertEqual(found, status, answer)
        self.assertEqual(set(answer), {"error"})
        error = answer["error"]
        self.assertEqual(set(error), {"message", "type", "param", "code"})
        self.assertEqual(error["param"], param, error)
        if param is not None:
            self.assertIn(param, error["message"])
        for mention in mentions:
            self.assertIn(mention, error["message"])
        self.assertNotIn("\n", error["message"])
        return error

    def events(self, path, **fields):
        return [json.loads(event) for event in self.server.events(path, fields)]

    def check_heading(self, answer, kind, prefix, model):
        self.assertEqual((answer["object"], answer["model"]), (kind, model))
        self.assertRegex(answer["id"], f"^{prefix}[0-9a-f]{{32}}$")
        self.assertLess(abs(answer["created"] - time.time()), 60)
        self.assertIs(type(answer["created"]), int)

    def check_usage(self, usage, read, written):
        self.assertEqual(usage, {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written,
                                 "prompt_tokens_details": {"cached_tokens": 0}})  # so few tokens are read again

    def offline(self, prompt, *options, model=None):
        """What the offline command makes of it, an object for each text."""
        result = run("generate", "--model", model or self.text, "--json", *options, text=json_line(prompt))
        self.assertEqual(result.returncode, 0, result.stderr)
        return [json.loads(line) for line in result.stdout.splitlines()]


def json_line(prompt):
    return (json.dumps({"messages": prompt}) if isinstance(prompt, list) else prompt) + "\n"


__all__ = ["OpenAiTest", "json", "re", "unittest", "ANSWER_KEYS", "make"]
