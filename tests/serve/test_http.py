"""The server's HTTP from outside, byte by byte: limits, smuggling, clients that are slow, gone or wrong."""

import json
import os
import pathlib
import socket
import subprocess
import tempfile
import time

from heed_server import Server, ServerTest, unittest

GET = b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n"


def answers(data):
    """The answers in what a server has sent, as (status, headers, body)."""
    found = []
    while data:
        head, _, rest = data.partition(b"\r\n\r\n")
        lines = head.decode().split("\r\n")
        headers = dict(line.split(": ", 1) for line in lines[1:])
        length = int(headers.get("Content-Length", 0))
        found.append((int(lines[0].split()[1]), headers, rest[:length]))
        data = rest[length:]
    return found


class Http(ServerTest):
    @classmethod
    def setUpClass(cls):
        cls.models = tempfile.TemporaryDirectory()
        cls.model = pathlib.Path(cls.models.name) / "model"
        subprocess.run([os.environ["HEED_MAKE_MODEL"], cls.model], check=True)
        config = pathlib.Path(cls.models.name) / "serve.toml"
        config.write_text('[limits]\nheader_bytes = 4096\nbody_bytes = 20000\nheader_seconds = 1.0\nbody_seconds = 1.5\n'
                          'idle_seconds = 2.0\nstall_seconds = 2.0\n')
        cls.server = Server("--config", config, "--model", f"t={cls.model}")

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()
        cls.models.cleanup()

    def status_of(self, data, timeout=5):
        found = answers(self.server.raw(data, timeout))
        self.assertGreaterEqual(len(found), 1, data)
        return found[0][0]

    def post_bytes(self, body, *headers):
        lines = [b"POST /heed/translate HTTP/1.1", b"Host: a", *headers]
        return b"\r\n".join(lines) + b"\r\n\r\n" + body

    def test_requests_follow_each_other_on_one_connection(self):
        body = b'{"texts": ["ein hund"]}'
        one = self.post_bytes(body, b"Content-Length: %d" % len(body))
        with self.server.connect() as connection:
            # All at once, and cut anywhere.
            data = (GET + one) * 3
            for begin in range(0, len(data), 7):
                connection.sendall(data[begin:begin + 7])
            received = b""
            while len(answers(received)) < 6 or not received.endswith(b"\n"):
                part = connection.recv(65536)
                self.assertTrue(part, received)
                received += part
        found = answers(received)
        self.assertEqual([status for status, _, _ in found], [200] * 6)
        self.assertEqual(len({body for _, _, body in found}), 2)

    def test_versions_and_connections(self):
        old = self.server.raw(b"GET /health HTTP/1.0\r\n\r\n")
        self.assertIn(b"Connection: close", old)
        kept = b"GET /health HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"
        self.assertEqual(len(answers(self.server.raw(kept * 2, 1))), 2)
        closed = b"GET /health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
        self.assertEqual(len(answers(self.server.raw(closed * 2))), 1)
        head = self.server.raw(b"HEAD /health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        self.assertTrue(head.endswith(b"\r\n\r\n"), head)

    def test_bodies_in_chunks(self):
        body = b'{"texts": ["ein hund"]}'
        whole = self.post_bytes(body, b"Content-Length: %d" % len(body), b"Connection: close")
        parts = b"".join(b"%x;name=value\r\n%s\r\n" % (len(body[i:i + 5]), body[i:i + 5]) for i in range(0, len(body), 5))
        chunked = self.post_bytes(parts + b"0\r\n\r\n", b"Transfer-Encoding: chunked", b"Connection: close")
        self.assertEqual(answers(self.server.raw(chunked))[0][2], answers(self.server.raw(whole))[0][2])

    def test_smuggled_requests_are_refused(self):
        body = b'{"texts": ["a"]}'
        length = b"Content-Length: %d" % len(body)
        for headers in ((length, b"Transfer-Encoding: chunked"), (length, b"Content-Length: 3"),
                        (b"Content-Length: +5",), (b"Content-Length: 0x5",), (b"Content-Length: -1",),
                        (b"Content-Length: 99999999999999999999999",), (b"Transfer-Encoding: gzip, chunked",),
                        (b"Transfer-Encoding: identity",), (b"Transfer-Encoding : chunked",), (b"Content-Length : 3",),
                        (b"Transfer-Encoding: chunked", b"Transfer-Encoding: identity"),
                        (b"Transfer-Encoding: chunked", b"Transfer-Encoding: chunked"),
                        (b"Host: b", length), (b"A: b\nContent-Length: 3",), (b"A\x00: b",), (b": b",)):
            received = self.server.raw(self.post_bytes(body + GET, *headers))
            found = answers(received)
            self.assertEqual(len(found), 1, (headers, received))
            self.assertIn(found[0][0], (400, 413, 501), headers)
            self.assertEqual(found[0][1]["Connection"], "close", headers)
        for chunks in (b"5\r\nabc\r\n0\r\n\r\n", b"zz\r\nabc\r\n0\r\n\r\n", b"-1\r\n\r\n", b"ffffffffffffffffff\r\n",
                       b"3\nabc\n0\n\n"):
            received = self.server.raw(self.post_bytes(chunks + GET, b"Transfer-Encoding: chunked"), 4)
            self.assertTrue(all(status in (400, 408, 413) for status, _, _ in answers(received)), (chunks, received))

        old = b"POST /heed/translate HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
        self.assertEqual(self.status_of(old), 501)

    def test_lines_between_chunks_and_after_them_are_limited(self):
        for begin in (b"1;", b"1\r\na\r\n0\r\nA: "):
            memory = self.server.memory()
            with self.server.connect() as connection:
                connection.sendall(self.post_bytes(begin, b"Transfer-Encoding: chunked"))
                try:
                    for _ in range(64):
                        connection.sendall(b"a" * 1000000)
                except OSError:
                    pass
            self.assertLess(self.server.memory() - memory, 16000000, begin)
            self.assertEqual(self.status_of(self.post_bytes(begin + b"a" * 5000, b"Transfer-Encoding: chunked")), 431)

    def test_a_refusal_after_a_head_request_has_its_body(self):
        data = b"HEAD /health HTTP/1.1\r\nHost: a\r\n\r\nnonsense\r\n\r\n"
        self.assertIn(b"not an HTTP/1.1 request", self.server.raw(data))

    def test_what_is_no_request_is_refused(self):
        for data in (b"nonsense\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\x16\x03\x01\x02\x00\x01" * 20,
                     b"GET / HTTP/1.1\r\n\r\n", b"GET /a b HTTP/1.1\r\nHost: a\r\n\r\n", b"\x00" * 100,
                     b"GET / HTTP/1.1\r\nHost: a\r\nA: \x01\r\n\r\n"):
            self.assertEqual(self.status_of(data), 400, data)

    def test_sizes_at_each_limit_and_one_more(self):
        fixed = len(b"GET /health HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX: \r\n\r\n")
        for extra, expected in ((0, 200), (1, 431)):
            value = b"x" * (4096 - fixed + extra)
            data = b"GET /health HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX: " + value + b"\r\n\r\n"
            self.assertEqual(self.status_of(data), expected)
        for extra, expected in ((0, 400), (1, 413)):
            body = b"x" * (20000 + extra)
            for headers, sent in (((b"Content-Length: %d" % len(body),), body),
                                  ((b"Transfer-Encoding: chunked",), b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body))):
                self.assertEqual(self.status_of(self.post_bytes(sent, *headers)), expected, headers)
        # Said before the body is sent.
        self.assertEqual(self.status_of(self.post_bytes(b"", b"Content-Length: 20001")), 413)

    def test_a_body_is_asked_for_where_the_client_waits_to_be_asked(self):
        body = b'{"texts": ["a"]}'
        with self.server.connect() as connection:
            connection.sendall(self.post_bytes(b"", b"Content-Length: %d" % len(body), b"Expect: 100-continue"))
            self.assertEqual(connection.recv(100), b"HTTP/1.1 100 Continue\r\n\r\n")
            connection.sendall(body)
            self.assertTrue(connection.recv(65536).startswith(b"HTTP/1.1 200 OK\r\n"))

    def test_slow_clients_end(self):
        begin = time.monotonic()
        with self.server.connect() as head, self.server.connect() as body, self.server.connect() as idle, \
                self.server.connect() as kept:
            head.sendall(b"GET /health HTTP/1.1\r\n")
            body.sendall(self.post_bytes(b"{", b"Content-Length: 10"))
            kept.sendall(GET)
            kept.recv(1000)
            for connection, status in ((head, b"408"), (body, b"408"), (idle, b""), (kept, b"")):
                received = connection.recv(65536)
                self.assertEqual(received[9:12], status)
                if received:
                    self.assertEqual(connection.recv(65536), b"")
        self.assertLess(time.monotonic() - begin, 20.0)

    def test_headers_byte_by_byte_do_not_hold_a_connection(self):
        begin = time.monotonic()
        with self.server.connect() as connection:
            connection.settimeout(0.05)
            received = None
            while received is None and time.monotonic() - begin < 30.0:
                try:
                    connection.sendall(b"G")
                    received = connection.recv(1000)
                except TimeoutError:
                    pass
        self.assertEqual(received[9:12], b"408")
        self.assertLess(time.monotonic() - begin, 20.0)

    def test_paths_and_methods_that_are_not_there(self):
        self.assertEqual(self.server.get("/nothing")[0], 404)
        self.assertEqual(self.server.get("/heed/translate")[0], 405)
        self.assertEqual(self.server.get("/../../etc/passwd")[0], 404)
        self.assertEqual(self.server.request("PATCH", "/health")[0], 200)

    def test_a_thousand_idle_connections_do_not_slow_others(self):
        idle = [self.server.connect() for _ in range(1000)]
        try:
            begin = time.monotonic()
            for _ in range(20):
                self.assertEqual(self.server.get("/health")[0], 200)
            self.assertLess((time.monotonic() - begin) / 20, 0.25)
        finally:
            for connection in idle:
                connection.close()

    def test_garbage_does_not_end_the_server(self):
        import random
        draw = random.Random(1)
        whole = self.post_bytes(b'{"texts": ["ein hund"]}', b"Content-Length: 23")
        for _ in range(300):
            data = bytearray(whole)
            for _ in range(draw.randint(1, 8)):
                data[draw.randrange(len(data))] = draw.randrange(256)
            with self.server.connect() as connection:
                connection.sendall(bytes(data[:draw.randint(1, len(data))]))
                if draw.random() < 0.3:
                    connection.shutdown(socket.SHUT_WR)
        self.assertEqual(self.server.get("/health")[0], 200)


if __name__ == "__main__":
    unittest.main()
