"""What the tests of requests that wait share: a server all of whose places are taken until the test frees them."""

import contextlib
import http.client
import json
import os
import pathlib
import re
import subprocess
import tempfile
import time

import heed_cli
from heed_server import ServerTest, unittest

PLACES = 128  # sequences that a lane writes at once
TAKES_ALL = {"prompt": "ein", "samples": PLACES, "max_tokens": 1000000}  # and is never done


def send(server, path, fields, headers=None, source="127.0.0.1"):
    """A connection from this address on which a request was sent. To close it is to go away."""
    connection = http.client.HTTPConnection(server.host, server.port, timeout=60 * heed_cli.PATIENCE,
                                            source_address=(source, 0))
    connection.request("POST", path, json.dumps(fields), {"Content-Type": "application/json", **(headers or {})})
    return connection


def gauge(server, name):
    """The sum over all models."""
    values = re.findall(rf"(?m)^{name}(?:\{{[^}}]*\}})? (\S+)$", server.get("/metrics")[1].decode())
    return sum(map(float, values))


class TakenPlacesTest(ServerTest):
    """Servers with a language model "lm" of one lane, whose texts have no end."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.writer = pathlib.Path(folder.name) / "lm"
        subprocess.run([os.environ["HEED_MAKE_MODEL"], cls.writer, "architecture=causal-lm", "max_length=512"],
                       check=True)

    def serve_one_lane(self, settings="", **options):
        """With these further settings; self.log is its access log."""
        self.log = self.path / "log"
        self.log.unlink(missing_ok=True)  # another server's
        config = self.file("serve.toml", f'''
[limits]
max_tokens = 1000000
[model.lm]
path = "{self.writer}"
threads = 1
{settings}
''')
        return self.serve("--config", config, "--access-log", self.log, **options)

    def assert_soon(self, holds, seconds=30):
        end = time.monotonic() + seconds * heed_cli.PATIENCE
        while not holds():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)

    def assert_waiting(self, server, texts):
        self.assert_soon(lambda: gauge(server, "heed_waiting_texts") == texts)

    @contextlib.contextmanager
    def all_places_taken(self, server, headers=None):
        """By a client that goes away at the end."""
        with contextlib.closing(send(server, "/heed/generate", TAKES_ALL, headers)):
            self.assert_soon(lambda: gauge(server, "heed_sequences") == PLACES)
            yield

    def lines(self):
        """Of the log, so far."""
        return [json.loads(line) for line in self.log.read_text().splitlines()]


__all__ = ["PLACES", "TAKES_ALL", "TakenPlacesTest", "contextlib", "gauge", "json", "send", "unittest"]
