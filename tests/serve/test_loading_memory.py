"""Models that are loaded where there is little memory: one line and status 2, or a refusal by a server that goes on."""

import json
import os
import pathlib
import random
import resource
import shutil
import struct
import subprocess
import tempfile

import heed_cli
from heed_server import ServerTest, unittest

GOLDEN = heed_cli.SOURCE / "tests" / "interchange" / "golden" / "decoders" / "gpt2"
TOKENS = 60_000


def model_with_a_large_vocabulary(folder):
    """The golden GPT-2 with so many tokens that the values of tokenizer.json take most of the memory."""
    shutil.copytree(GOLDEN, folder)
    for name in ("merges.txt", "vocab.json", "golden.json"):
        (folder / name).unlink()
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    vocabulary, draw = tokenizer["model"]["vocab"], random.Random(1)
    merges, known = [pair.split(" ") for pair in tokenizer["model"]["merges"]], [one for one in vocabulary if "<" not in one]
    before = len(vocabulary)
    while len(vocabulary) < TOKENS:
        pair = [draw.choice(known), draw.choice(known)]
        if len(text := "".join(pair)) <= 12 and text not in vocabulary:
            vocabulary[text] = len(vocabulary)
            merges.append(pair)
            known.append(text)
    tokenizer["model"]["merges"] = merges
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "vocab_size": TOKENS}))
    content = (folder / "model.safetensors").read_bytes()
    length = 8 + struct.unpack("<Q", content[:8])[0]
    header, data = json.loads(content[8:length]), b""
    for name, tensor in header.items():
        if name != "__metadata__":
            begin, end = (length + offset for offset in tensor["data_offsets"])
            values = content[begin:end]
            if name.endswith("wte.weight"):
                values += bytes(len(values) // before * (TOKENS - before))
                tensor["shape"][0] = TOKENS
            tensor["data_offsets"] = [len(data), len(data) + len(values)]
            data += values
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)
    return folder


class LoadingMemory(ServerTest):
    @classmethod
    def setUpClass(cls):
        cls.models = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.models.cleanup)
        folder = pathlib.Path(cls.models.name)
        cls.large = model_with_a_large_vocabulary(folder / "large")
        cls.small = folder / "small"
        subprocess.run([os.environ["HEED_MAKE_MODEL"], cls.small, "architecture=causal-lm"], check=True)

    def test_a_limit_of_memory_is_one_line(self):
        refused = 0
        for megabytes in range(100, 260, 8):
            limit = megabytes << 20
            result = subprocess.run(
                [heed_cli.BINARY, "generate", "--model", self.large, "--prompt", "a", "--max-tokens", "1"],
                capture_output=True, text=True, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
            if result.returncode not in (0, 127):  # 127: its libraries do not fit
                self.assertEqual((result.returncode, result.stderr.count("\n")), (2, 1), (megabytes, result.stderr))
                refused += 1
        self.assertGreater(refused, 3)

    def test_a_server_that_has_no_memory_for_another_model_goes_on(self):
        secret = "a-secret-of-24-characters"
        config = self.file("serve.toml", f'[model.small]\npath = "{self.small}"\n[key.a]\nsecret = "{secret}"\nadministers = true\n')
        server = self.serve("--config", config)
        key = {"Authorization": f"Bearer {secret}"}
        ask = lambda: server.post("/heed/generate", {"model": "small", "prompt": "a", "max_tokens": 3, "seed": 1}, key)
        expected = ask()
        self.assertEqual(expected[0], 200)
        used = int(pathlib.Path(f"/proc/{server.process.pid}/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        most = resource.prlimit(server.process.pid, resource.RLIMIT_AS)[1]
        found = set()
        for megabytes in range(8, 88, 8):
            resource.prlimit(server.process.pid, resource.RLIMIT_AS, (used + (megabytes << 20), most))
            status, answer = server.post("/heed/models", {"name": "large", "path": str(self.large)}, key)
            found.add(status)
            self.assertIn(status, (200, 503), (answer, server.error_text()))
            self.assertEqual(ask(), expected)
            if status == 200:
                server.request("DELETE", "/heed/models/large", headers=key)
        self.assertIn(503, found)


if __name__ == "__main__":
    unittest.main()
