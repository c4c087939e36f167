"""A running `heed serve`, and requests to it."""

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import tempfile
import unittest

import heed_cli


class Server:
    """Started with these arguments on a free port; to be used in a with statement, or stopped."""

    def __init__(self, *arguments, listen="127.0.0.1:0", environment=None):
        self.errors = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            [heed_cli.BINARY, "serve", *map(str, arguments), "--listen", listen], stdout=subprocess.PIPE,
            stderr=self.errors, env={**os.environ, "LC_ALL": "C", **(environment or {})})
        self.line = self.process.stdout.readline().decode()
        found = re.fullmatch(r"heed serves at https?://(.*):(\d+)\n", self.line)
        if not found:
            self.process.wait()
            self.process.stdout.close()
            raise RuntimeError(f"heed serve: {self.line!r}, {self.error_text()!r}")
        self.host, self.port = found[1], int(found[2])

    @property
    def address(self):
        return f"http://{self.host}:{self.port}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self, number=signal.SIGTERM, timeout=60):
        """Sends a signal, waits for the end and returns the exit status."""
        if self.errors.closed:
            return self.process.returncode
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            status = self.process.wait(timeout * heed_cli.PATIENCE)
        finally:
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait()
            self.process.stdout.close()
        self.last_errors = self.error_text()
        self.errors.close()
        return status

    def error_text(self):
        if self.errors.closed:
            return self.last_errors
        self.errors.seek(0)
        return self.errors.read().decode()

    def request(self, method, path, body=None, headers=None, timeout=60):
        """Status, headers and body of an answer; the body as bytes."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=timeout * heed_cli.PATIENCE)
        try:
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()
        finally:
            connection.close()

    def post(self, path, fields, headers=None, timeout=60):
        """Status of an answer, and its body, which must be JSON."""
        body = fields if isinstance(fields, (bytes, str)) else json.dumps(fields)
        status, answer_headers, text = self.request("POST", path, body,
                                                    {"Content-Type": "application/json", **(headers or {})}, timeout)
        assert answer_headers["Content-Type"].startswith("application/json"), answer_headers
        return status, json.loads(text)

    def get(self, path, headers=None):
        status, _, text = self.request("GET", path, headers=headers)
        return status, text

    def events(self, path, fields, headers=None, timeout=60):
        """The data of each event of a stream, in order."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=timeout * heed_cli.PATIENCE)
        try:
            connection.request("POST", path, json.dumps(fields), {"Content-Type": "application/json", **(headers or {})})
            answer = connection.getresponse()
            assert answer.status == 200, (answer.status, answer.read())
            assert answer.getheader("Content-Type").startswith("text/event-stream")
            blocks = answer.read().decode().split("\n\n")
            assert blocks.pop() == ""
            assert all(block.startswith(("data: ", ": ")) and "\n" not in block for block in blocks), blocks
            return [block[len("data: "):] for block in blocks if block.startswith("data: ")]
        finally:
            connection.close()

    def connect(self, timeout=30):
        """A bare connection."""
        return socket.create_connection((self.host, self.port), timeout)

    def raw(self, data, timeout=30):
        """What the server sends to a client that sends these bytes, until it closes the connection or `timeout`."""
        with self.connect(timeout) as connection:
            connection.sendall(data)
            received = b""
            try:
                while part := connection.recv(65536):
                    received += part
            except (TimeoutError, ConnectionResetError):
                pass
            return received

    def memory(self):
        """Resident bytes."""
        with open(f"/proc/{self.process.pid}/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class ServerTest(heed_cli.CliTest):
    """Tests with a model, or several, and a server of the test's own."""

    def serve(self, *arguments, **options):
        server = Server(*arguments, **options)
        self.addCleanup(server.stop)
        return server

    def post(self, path, fields):
        """What the class's server answers, with status 200."""
        status, answer = self.server.post(path, fields)
        self.assertEqual(status, 200, answer)
        return answer


__all__ = ["Server", "ServerTest", "unittest"]
