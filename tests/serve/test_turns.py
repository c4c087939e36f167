"""Who goes first where all places are taken: clients in turn, higher priorities before lower ones, and nobody who has
gone away."""

import os
import signal
import subprocess

from taken_places import PLACES, TakenPlacesTest, contextlib, gauge, send, unittest

MANY, FEW = "a-secret-of-24-characters", "another-secret-of-more"
KEYS = f'''
[key.many]
secret = "{MANY}"
max_priority = 5
[key.few]
secret = "{FEW}"
'''


class Turns(TakenPlacesTest):
    def setUp(self):
        super().setUp()
        self.connections = contextlib.ExitStack()
        self.addCleanup(self.connections.close)

    def queue(self, server, waiting, tokens, headers=None, **options):
        """A request that takes all places when its turn comes, the last of so many that wait. Texts of different
        lengths tell requests apart."""
        fields = {"prompt": "ein hund", "samples": PLACES, "max_tokens": tokens}
        self.connections.enter_context(contextlib.closing(send(server, "/heed/generate", fields, headers, **options)))
        self.assert_waiting(server, waiting)

    def order(self, requests):
        """The tokens of each text, request by request as they were answered."""
        answered = lambda: [line["written"] // PLACES for line in self.lines() if line["status"] == 200]
        self.assert_soon(lambda: len(answered()) == requests, 120)
        return answered()

    def test_a_client_with_one_request_is_not_held_up_behind_one_with_a_hundred(self):
        by_key = ({"X-Api-Key": MANY}, {}), ({"X-Api-Key": FEW}, {})
        by_address = ({}, {}), ({}, {"source": "127.0.0.2"})
        for settings, ((of_many, many), (of_few, few)) in ((KEYS, by_key), ("", by_address)):
            server = self.serve_one_lane(settings)
            with self.all_places_taken(server, of_many):
                for number in range(100):
                    self.queue(server, number + 1, 1, of_many, **many)
                self.queue(server, 101, 2, of_many, **many)
                self.queue(server, 102, 3, of_few, **few)
            order = self.order(102)
            # The second, but for two answers that overtake each other; of the same client the last comes last.
            self.assertLess(order.index(3), 25, order)
            self.assertGreater(order.index(2), 75, order)
            self.assertEqual(server.stop(), 0)

    def test_a_higher_priority_goes_first(self):
        server = self.serve_one_lane(KEYS)
        key = {"X-Api-Key": MANY}
        with self.all_places_taken(server, key):
            self.queue(server, 1, 2, {**key, "Heed-Priority": "-1"})
            for number in range(40):
                self.queue(server, number + 2, 1, key)
            self.queue(server, 42, 3, {**key, "Heed-Priority": "5"})
            for secret, priority in ((MANY, "6"), (FEW, "1")):
                status, answer = server.post("/heed/generate", {"prompt": "ein"},
                                             {"X-Api-Key": secret, "Heed-Priority": priority})
                self.assertEqual((status, answer["error"]["field"]), (400, "Heed-Priority"))
        order = self.order(42)
        self.assertLess(order.index(3), 10, order)
        self.assertGreater(order.index(2), 30, order)

    def test_clients_take_turns_at_what_is_only_read(self):
        encoder = self.path / "e"
        subprocess.run([os.environ["HEED_MAKE_MODEL"], encoder, "architecture=encoder", "width=128", "layers=4",
                        "max_length=256"], check=True)
        server = self.serve_one_lane(f'[model.e]\npath = "{encoder}"\nthreads = 1')
        text = " ".join(["ein hund"] * 15)
        # Until it goes on, all wait in its socket.
        server.process.send_signal(signal.SIGSTOP)
        for texts, source in [(32, "127.0.0.1")] * 40 + [(31, "127.0.0.2")]:
            fields = {"model": "e", "texts": [text] * texts}
            self.connections.enter_context(contextlib.closing(send(server, "/heed/embed", fields, source=source)))
        server.process.send_signal(signal.SIGCONT)
        self.assert_soon(lambda: len(self.lines()) == 41, 120)
        self.assertEqual({line["status"] for line in self.lines()}, {200})
        order = [line["read"] for line in self.lines()]
        self.assertLess(order.index(min(order)), 20, order)

    def test_a_client_that_goes_away_while_it_waits_leaves_the_queue(self):
        server = self.serve_one_lane()
        prompt = {"prompt": "ein hund", "max_tokens": 5, "seed": 1}
        for stream in (True, False):
            with self.all_places_taken(server):
                gone = send(server, "/heed/generate", {**prompt, "stream": stream})
                self.assert_waiting(server, 1)
                self.queue(server, 2, 1)
                gone.close()
                self.assert_waiting(server, 1)
                self.assert_soon(lambda: gauge(server, "heed_requests") == 2)
                # It never had a place: those who have them are the same.
                self.assertEqual((gauge(server, "heed_sequences"), gauge(server, "heed_running_texts")), (PLACES, 1))
                line = self.lines()[-1]
                self.assertEqual((line["status"], line["written"]), (499, 0))
            self.assert_soon(lambda: gauge(server, "heed_requests") == 0)
        self.assertEqual([line["status"] for line in self.lines()].count(200), 2)

    def test_time_runs_while_a_request_waits(self):
        server = self.serve_one_lane()
        with self.all_places_taken(server):
            for path, expected in (("/heed/generate", 200), ("/v1/completions", 504)):
                status, answer = server.post(path, {"prompt": "ein", "max_tokens": 5}, {"Heed-Timeout": "0.2"})
                self.assertEqual(status, expected, answer)
                if status == 200:
                    text, = answer["texts"]
                    self.assertEqual((text["finish"], text["tokens"]), ("deadline", 0))
            self.assertEqual(gauge(server, "heed_waiting_texts"), 0)


if __name__ == "__main__":
    unittest.main()
