"""The end of a server: what is under way has drain_seconds to finish, and nothing keeps the process after that."""

import signal
import time

import heed_cli
from taken_places import TakenPlacesTest, gauge, json, send, unittest

ENDLESS = {"prompt": "ein", "max_tokens": 1000000}
REQUEST = b"POST /heed/generate HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s"


class Shutdown(TakenPlacesTest):
    def end(self, server):
        """Sends SIGTERM and returns when the server has heard it: it accepts no connections any more."""
        server.process.send_signal(signal.SIGTERM)

        def is_refused():
            try:
                server.connect().close()
            except ConnectionRefusedError:
                return True
            return False
        self.assert_soon(is_refused)

    def begun(self, server, data):
        """A connection that sent the beginning of a request, which the server has read."""
        connection = server.connect()
        self.addCleanup(connection.close)
        connection.sendall(data)
        for _ in range(2):  # connections are looked at in turn
            self.assertEqual(server.get("/ready")[0], 200)
        return connection

    def received(self, connection):
        data = b""
        while part := connection.recv(65536):
            data += part
        head, _, body = data.partition(b"\r\n\r\n")
        self.assertIn(b"\r\nConnection: close", head)
        return int(head.split()[1]), body

    def test_what_is_under_way_ends_with_the_time(self):
        server = self.serve_one_lane("[server]\ndrain_seconds = 2")
        writing = [send(server, "/heed/generate", {**ENDLESS, "stream": stream}) for stream in (True, False)]
        self.assert_soon(lambda: gauge(server, "heed_sequences") == 2)
        begin = time.monotonic()
        self.end(server)
        self.assertEqual(server.process.wait(30 * heed_cli.PATIENCE), 0)
        self.assertGreaterEqual(time.monotonic() - begin, 2.0)
        for connection in writing:
            connection.close()

    def test_those_whose_requests_are_cut_off_are_told_so(self):
        for seconds, signals in ((1, 1), (600, 2)):
            server = self.serve_one_lane(f"[server]\ndrain_seconds = {seconds}")
            whole, stream = (send(server, "/v1/completions", {**ENDLESS, "model": "lm", "stream": one}) for one in (False, True))
            sampled = send(server, "/heed/generate", ENDLESS)
            events = stream.getresponse()
            self.assert_soon(lambda: gauge(server, "heed_sequences") == 3)
            self.end(server)
            if signals == 2:
                server.process.send_signal(signal.SIGTERM)
            self.assertEqual(server.process.wait(30 * heed_cli.PATIENCE), 0)
            answer = whole.getresponse()
            self.assertEqual((answer.status, json.loads(answer.read())["error"]["message"]),
                             (503, "the server is shutting down"))
            self.assertIn("Retry-After", answer.headers)
            last = events.read().split(b"\n\n")[-2]
            self.assertEqual(json.loads(last[len(b"data: "):])["error"]["message"], "the server is shutting down")
            answer = sampled.getresponse()
            text, = json.loads(answer.read())["texts"]
            self.assertEqual((answer.status, text["finish"]), (200, "cancelled"))
            self.assertGreater(text["tokens"], 0)
            for connection in (whole, stream, sampled):
                connection.close()
            self.assertEqual(sorted(line["status"] for line in self.lines()), [200, 200, 503])
            self.log.unlink()

    def test_what_waits_is_answered_too(self):
        server = self.serve_one_lane()
        fields = {"prompt": "ein hund", "max_tokens": 5, "seed": 1}
        alone = server.post("/heed/generate", fields)[1]
        with self.all_places_taken(server):
            waiting = send(server, "/heed/generate", fields)
            self.assert_waiting(server, 1)
            self.end(server)
            self.assertIsNone(server.process.poll())
        answer = waiting.getresponse()
        self.assertEqual((answer.status, json.loads(answer.read())["texts"]), (200, alone["texts"]))
        waiting.close()
        self.assertEqual(server.process.wait(30 * heed_cli.PATIENCE), 0)

    def test_it_is_not_ready_while_it_ends(self):
        server = self.serve_one_lane()
        body = json.dumps({"prompt": "ein", "max_tokens": 5}).encode()
        request = REQUEST % (len(body), body)
        idle = self.begun(server, b"")
        ready, health = (self.begun(server, b"GET %s HTTP/1.1\r\nHost: a\r\n" % path)
                         for path in (b"/ready", b"/health"))
        late = self.begun(server, request[:-2])
        self.end(server)
        self.assertEqual(idle.recv(1), b"")
        for connection, rest, status, mentions in ((ready, b"\r\n", 503, b"ending"), (health, b"\r\n", 200, b"ok"),
                                                   (late, request[-2:], 503, b"shutting down")):
            connection.sendall(rest)
            found, text = self.received(connection)
            self.assertEqual(found, status)
            self.assertIn(mentions, text)
            connection.close()
        self.assertEqual(server.process.wait(30 * heed_cli.PATIENCE), 0)


if __name__ == "__main__":
    unittest.main()
