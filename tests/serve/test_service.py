"""What a service does beside answering: keys, limits, other models, clients that go away, its end."""

import http.client
import json
import os
import pathlib
import resource
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import threading
import time

import heed_cli
from heed_server import Server, ServerTest, unittest

SECRET, ADMIN = "a-secret-of-24-characters", "another-secret-of-more"
LONG = {"model": "lm", "prompt": "ein", "max_tokens": 4000, "temperature": 0.0, "min_tokens": 4000}


def make_model(path, *arguments):
    subprocess.run([os.environ["HEED_MAKE_MODEL"], path, *arguments], check=True)
    return path


class Service(ServerTest):
    @classmethod
    def setUpClass(cls):
        cls.models = tempfile.TemporaryDirectory()
        folder = pathlib.Path(cls.models.name)
        cls.translator = make_model(folder / "translator")
        cls.other = make_model(folder / "other", "seed=2", "scale=3")
        cls.writer = make_model(folder / "lm", "architecture=causal-lm", "max_length=512", "documents=line")

    @classmethod
    def tearDownClass(cls):
        cls.models.cleanup()

    def config(self, text):
        return self.file("serve.toml", text)

    def test_keys_have_rights_and_quotas(self):
        server = self.serve("--config", self.config(f'''
[model.de-en]
path = "{self.translator}"
[model.other]
path = "{self.other}"
[key.guest]
secret = "{SECRET}"
models = ["de-en"]
requests_per_minute = 3
[key.admin]
secret = "{ADMIN}"
administers = true
'''))
        body = {"model": "de-en", "text": "ein hund"}
        self.assertEqual(server.post("/heed/translate", body)[0], 401)
        self.assertEqual(server.post("/heed/translate", body, {"Authorization": "Bearer wrong"})[0], 401)
        guest, admin = {"Authorization": f"Bearer {SECRET}"}, {"X-Api-Key": ADMIN}
        self.assertEqual(server.post("/heed/translate", body, guest)[0], 200)
        status, answer = server.post("/heed/translate", {**body, "model": "other"}, guest)
        self.assertEqual((status, answer["error"]["field"]), (403, "model"))
        self.assertEqual([one["name"] for one in json.loads(server.get("/heed/models", guest)[1])["models"]], ["de-en"])
        status, headers, _ = server.request("POST", "/heed/translate", json.dumps(body), guest)
        self.assertEqual(status, 429)
        self.assertTrue(1 <= int(headers["Retry-After"]) <= 60)
        self.assertEqual(server.post("/heed/models", {"name": "x", "path": str(self.other)}, guest)[0], 429)
        for path in ("", "nowhere", str(self.other) + "\0", "x" * 5000, str(self.other / "config.json")):
            status, answer = server.post("/heed/models", {"name": "x", "path": path}, admin)
            self.assertEqual((status, answer["error"]["field"]), (400, "path"), answer)
        for name in ("", "a\nb", "x" * 100000):
            status, answer = server.post("/heed/models", {"name": name, "path": str(self.other)}, admin)
            self.assertEqual((status, answer["error"]["field"]), (400, "name"))
        self.assertEqual(server.post("/heed/models", {"name": "x", "path": str(self.other)}, admin)[0], 200)
        self.assertEqual(server.post("/heed/translate", {**body, "model": "x"}, admin)[0], 200)
        self.assertEqual(server.request("DELETE", "/heed/models/x", headers=admin)[0], 200)
        self.assertEqual(server.post("/heed/translate", {**body, "model": "x"}, admin)[0], 404)
        self.assertEqual(server.get("/health")[0], 200)

    def test_pages_of_other_origins_ask_only_where_allowed(self):
        server = self.serve("--config", self.config(f'''
[server]
origins = ["https://a.example"]
[model.t]
path = "{self.translator}"
[key.one]
secret = "{SECRET}"
'''))
        for origin, allowed in (("https://a.example", True), ("https://b.example", False)):
            for method, path, status in (("OPTIONS", "/heed/translate", 204), ("GET", "/health", 200),
                                         ("POST", "/heed/translate", 401), ("GET", "/nothing", 404)):
                found, headers, _ = server.request(method, path, headers={"Origin": origin})
                self.assertEqual(found, status)
                self.assertEqual(headers.get("Access-Control-Allow-Origin"), origin if allowed else None)

    def test_a_full_server_refuses_and_goes_on(self):
        server = self.serve("--config", self.config(f'''
[limits]
requests = 2
[model.lm]
path = "{self.writer}"
'''))
        connections = [server.connect() for _ in range(2)]
        body = json.dumps({**LONG, "stream": True}).encode()
        for connection in connections:
            connection.sendall(b"POST /heed/generate HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
            self.assertTrue(connection.recv(1000).startswith(b"HTTP/1.1 200"))
        status, headers, answer = server.request("POST", "/heed/generate", json.dumps(LONG))
        self.assertEqual((status, headers["Retry-After"]), (429, "1"))
        self.assertEqual(server.get("/health")[0], 200)
        # Their places are free at once when they go away.
        for connection in connections:
            connection.close()
        self.assert_soon(lambda: "heed_requests 0\n" in server.get("/metrics")[1].decode(), 3.0)
        self.assertEqual(server.post("/heed/generate", {**LONG, "max_tokens": 2, "min_tokens": 0})[0], 200)

    def assert_soon(self, holds, seconds):
        end = time.monotonic() + seconds
        while not holds():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)

    def test_time_is_limited_by_request(self):
        server = self.serve("--model", f"lm={self.writer}")
        begin = time.monotonic()
        status, answer = server.post("/heed/generate", {**LONG, "samples": 64}, {"Heed-Timeout": "0.3"})
        self.assertEqual((status, answer["texts"][0]["finish"]), (200, "deadline"))
        self.assertLess(time.monotonic() - begin, 3.0)
        for value in ("x", "-1", "1e9", "nan"):
            status, answer = server.post("/heed/generate", LONG, {"Heed-Timeout": value})
            self.assertEqual((status, answer["error"]["field"]), (400, "Heed-Timeout"))
        self.assertEqual(server.post("/heed/generate", LONG, {"Heed-Priority": "1"})[0], 400)

    def test_time_is_limited_for_what_is_only_read(self):
        server = self.serve("--model", f"lm={self.writer}", "--model", f"t={self.translator}")
        text = "ein hund und zwei kinder spielen im park . " * 20000
        for seconds, fields in (("0.05", {"model": "lm", "text": text}),
                                ("0.001", {"model": "t", "sources": ["ein hund"] * 1000, "targets": ["a dog runs"] * 1000})):
            begin = time.monotonic()
            self.assertEqual(server.post("/heed/score", fields, {"Heed-Timeout": seconds})[0], 504)
            self.assertLess(time.monotonic() - begin, 5.0)
        for path, fields in (("score", {"model": "lm", "text": "ein hund"}), ("next", {"model": "lm", "prompt": "ein"}),
                             ("attention", {"model": "lm", "text": "ein hund", "kind": "decoder"}),
                             ("attention", {"model": "t", "source": "ein hund", "target": "a dog"})):
            self.assertEqual(server.post(f"/heed/{path}", fields)[0], 200)
            status, answer = server.post(f"/heed/{path}", fields, {"Heed-Timeout": "x"})
            self.assertEqual((status, answer["error"]["field"]), (400, "Heed-Timeout"), path)

    def test_a_second_signal_ends_what_is_only_read_too(self):
        server = self.serve("--model", f"lm={self.writer}")
        body = json.dumps({"model": "lm", "text": "ein hund und zwei kinder spielen im park . " * 100000}).encode()
        connection = server.connect()
        connection.sendall(b"POST /heed/score HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        time.sleep(0.5)
        for _ in range(2):
            server.process.send_signal(signal.SIGTERM)
            time.sleep(0.2)
        self.assertEqual(server.process.wait(10 * heed_cli.PATIENCE), 0)
        connection.close()

    def test_a_reader_that_does_not_read_is_given_up(self):
        server = self.serve("--config", self.config(f'''
[limits]
waiting_bytes = 4096
stall_seconds = 1.0
[model.lm]
path = "{self.writer}"
'''))
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        connection.connect((server.host, server.port))
        body = json.dumps({**LONG, "tokens": True, "stream": True, "samples": 64}).encode()
        connection.sendall(b"POST /heed/generate HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        # It may have come and gone between two looks: it is counted when it has ended.
        self.assert_soon(lambda: "heed_requests_total{" in server.get("/metrics")[1].decode(), 30.0)
        self.assert_soon(lambda: "heed_requests 0\n" in server.get("/metrics")[1].decode(), 3.0)
        connection.close()

    def test_clients_that_do_not_read_are_given_up_when_other_answers_need_the_memory(self):
        server = self.serve("--config", self.config(f'''
[limits]
answer_bytes = 3000000
[model.t]
path = "{self.translator}"
'''))
        body = json.dumps({"texts": ["ein hund läuft im park ."] * 200, "beam": 4, "n_best": 4, "tokens": True,
                           "top_tokens": 20}).encode()
        whole = server.request("POST", "/heed/translate", body)
        self.assertGreater(len(whole[2]), 2000000)
        slow = socket.socket()
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        slow.connect((server.host, server.port))
        slow.sendall(b"POST /heed/translate HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        received = len(slow.recv(100))
        # It is there until another answer needs the room; that one comes whole.
        again = server.request("POST", "/heed/translate", body)
        self.assertEqual((again[0], again[2]), (200, whole[2]))
        slow.settimeout(30)
        try:
            while part := slow.recv(1 << 20):
                received += len(part)
        except ConnectionResetError:
            pass
        self.assertLess(received, len(whole[2]))
        slow.close()

    def test_requests_under_way_finish_when_it_ends(self):
        server = self.serve("--model", f"lm={self.writer}")
        answers = []
        thread = threading.Thread(target=lambda: answers.append(server.post("/heed/generate", {**LONG, "samples": 64, "max_tokens": 800,
                                                                                              "min_tokens": 800})))
        thread.start()
        self.assert_soon(lambda: "heed_requests 1\n" in server.get("/metrics")[1].decode(), 5.0)
        kept = server.connect()
        server.process.send_signal(signal.SIGTERM)
        self.assertEqual(server.process.wait(30), 0)
        thread.join()
        self.assertEqual(answers[0][0], 200)
        self.assertEqual(answers[0][1]["texts"][0]["tokens"], 800)
        kept.close()

    def test_a_second_signal_ends_it_at_once(self):
        server = self.serve("--model", f"lm={self.writer}")
        body = json.dumps({**LONG, "stream": True, "samples": 32}).encode()
        connection = server.connect()
        connection.sendall(b"POST /heed/generate HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        connection.recv(1000)
        server.process.send_signal(signal.SIGTERM)
        time.sleep(0.2)
        self.assertIsNone(server.process.poll())
        server.process.send_signal(signal.SIGTERM)
        self.assertEqual(server.process.wait(10), 0)
        connection.close()

    def test_a_model_is_replaced_while_it_answers(self):
        link = self.path / "model"
        link.symlink_to(self.translator)
        server = self.serve("--config", self.config(f'[model.t]\npath = "{link}"\n'))
        body = {"texts": ["ein hund läuft im park .", "zwei kinder spielen ."]}
        first = server.post("/heed/translate", body)[1]
        stopping, failures = threading.Event(), []

        def ask():
            while not stopping.is_set():
                status, answer = server.post("/heed/translate", body)
                if status != 200:
                    failures.append(answer)
        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        for target in (self.other, self.translator, self.other) * 3:
            link.unlink()
            link.symlink_to(target)
            before = server.error_text().count("read again")
            server.process.send_signal(signal.SIGHUP)
            self.assert_soon(lambda: server.error_text().count("read again") > before, 10.0)
        stopping.set()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])
        self.assertNotEqual(server.post("/heed/translate", body)[1], first)
        # A file that is wrong changes nothing.
        (self.path / "serve.toml").write_text("[model.t]\n")
        server.process.send_signal(signal.SIGHUP)
        self.assert_soon(lambda: "the settings stay as they were" in server.error_text(), 10.0)
        self.assertEqual(server.post("/heed/translate", body)[0], 200)

    def test_a_file_with_one_wrong_model_changes_no_other(self):
        server = self.serve("--config", self.config(f'[model.a]\npath = "{self.translator}"\n'))
        body = {"model": "a", "text": "ein hund läuft im park ."}
        first = server.post("/heed/translate", body)
        self.config(f'[model.a]\npath = "{self.other}"\n[model.aa]\npath = "{self.other}"\n[model.b]\npath = "nothing"\n')
        server.process.send_signal(signal.SIGHUP)
        self.assert_soon(lambda: "the settings stay as they were" in server.error_text(), 10.0)
        self.assertEqual(server.post("/heed/translate", body), first)
        self.assertEqual(server.post("/heed/translate", {**body, "model": "aa"})[0], 404)

    def test_a_model_is_replaced_fifty_times_under_load(self):
        server = self.serve("--config", self.config(f'''
[model.m]
path = "{self.translator}"
[key.admin]
secret = "{ADMIN}"
administers = true
'''))
        admin = {"Authorization": "Bearer " + ADMIN}
        body = {"model": "m", "text": "ein hund läuft im park .", "tokens": True}
        replace = lambda path: self.assertEqual(server.post("/heed/models", {"name": "m", "path": str(path)}, admin)[0], 200)
        expected = []
        for path in (self.other, self.translator):
            replace(path)
            expected.append(server.post("/heed/translate", body, admin))
        self.assertNotEqual(*expected)
        answers, is_over = [], threading.Event()

        def ask():
            while not is_over.is_set():
                answers.append(server.post("/heed/translate", body, admin))

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        for number in range(50):
            replace((self.other, self.translator)[number % 2])
        is_over.set()
        for thread in threads:
            thread.join()
        for answer in expected:
            self.assertIn(answer, answers)
        for answer in answers:
            self.assertIn(answer, expected)

    def test_a_killed_server_starts_again_at_its_address(self):
        arguments = ("--model", f"t={self.translator}", "--model", f"lm={self.writer}")
        server = self.serve(*arguments)
        body = {"model": "t", "text": "ein hund läuft im park ."}
        before = server.post("/heed/translate", body)
        kept, writing = server.connect(), server.connect()
        text = json.dumps({**LONG, "stream": True}).encode()
        writing.sendall(b"POST /heed/generate HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s" % (len(text), text))
        self.assertTrue(writing.recv(1000).startswith(b"HTTP/1.1 200"))
        self.assertEqual(server.stop(signal.SIGKILL), -signal.SIGKILL)
        again = self.serve(*arguments, listen=f"{server.host}:{server.port}")
        self.assertEqual(again.port, server.port)
        self.assertEqual(again.post("/heed/translate", body), before)
        for connection in (kept, writing):
            connection.close()

    def test_refusals_are_counted_by_reason_and_model(self):
        server = self.serve("--config", self.config(f'''
[model.t]
path = "{self.translator}"
[key.few]
secret = "{SECRET}"
requests_per_minute = 2
'''))
        key = {"Authorization": "Bearer " + SECRET}
        self.assertEqual(server.post("/heed/translate", {"text": "ein hund", "beam": 0}, key)[0], 400)
        self.assertEqual(server.post("/heed/translate", {"text": "ein hund"}, key)[0], 200)
        self.assertEqual(server.post("/heed/translate", {"text": "ein hund"}, key)[0], 429)
        self.assertEqual(server.post("/heed/translate", {"text": "ein hund"})[0], 401)
        self.assertEqual(server.request("GET", "/nothing", headers=key)[0], 404)
        counted = lambda: sorted(line for line in server.get("/metrics")[1].decode().splitlines()
                                 if line.startswith("heed_refusals_total{"))
        # The one that had a model is counted after its answer.
        self.assert_soon(lambda: len(counted()) == 4, 5.0)
        self.assertEqual(counted(), [f'heed_refusals_total{{reason="{reason}",model="{model}"}} 1' for reason, model in
                                     (("bad_request", "t"), ("no_key", ""), ("not_found", ""), ("quota", ""))])

    def test_models_make_room_for_others(self):
        size = sum(file.stat().st_size for file in self.translator.iterdir() if file.is_file())
        server = self.serve("--config", self.config(f'''
[limits]
model_bytes = {size * 3 // 2}
[model.a]
path = "{self.translator}"
[model.b]
path = "{self.other}"
'''))
        loaded = lambda: {one["name"]: one["loaded"] for one in json.loads(server.get("/heed/models")[1])["models"]}
        self.assertEqual(loaded(), {"a": False, "b": True})
        self.assertEqual(server.post("/heed/translate", {"model": "a", "text": "ein hund"})[0], 200)
        self.assertEqual(loaded(), {"a": True, "b": False})

    def test_a_model_beyond_the_memory_is_refused_before_it_is_read(self):
        size = sum(file.stat().st_size for file in self.translator.iterdir() if file.is_file())
        large = self.path / "large"
        shutil.copytree(self.other, large)
        (large / "more").write_bytes(bytes(2 * size))
        (large / "model.safetensors").write_bytes(b"damaged")
        settings = """
[limits]
model_bytes = {limit}
[model.a]
path = "{first}"
{more}
[key.admin]
secret = "{key}"
administers = true
"""
        known = {"first": self.translator, "key": ADMIN}
        server = self.serve("--config", self.config(settings.format(limit=size * 3 // 2, more="", **known)))
        key = {"Authorization": "Bearer " + ADMIN}
        status, answer = server.post("/heed/models", {"name": "large", "path": str(large)}, key)
        self.assertEqual((status, answer["error"]["field"]), (507, "model"), answer)
        self.assertIn("bytes, but all models together may have", answer["error"]["message"])
        models, = json.loads(server.get("/heed/models", key)[1])["models"]
        self.assertEqual((models["name"], models["loaded"]), ("a", True), "nothing made room")
        # What a model needs beside its own files counts too.
        for more in (f'ensemble = ["{self.other}"]', f'draft = "{self.other}"'):
            config = self.config(settings.format(limit=size * 3 // 2, more=more, **known))
            refused = heed_cli.heed("serve", "--config", config)
            self.assertEqual(refused.returncode, 2)
            self.assertRegex(refused.stderr, "^heed: [^\\n]*all models together may have[^\\n]*\\n$")

    def test_the_access_log_has_a_line_for_each_request(self):
        log = self.path / "log"
        server = self.serve("--model", f"t={self.translator}", "--access-log", log)
        server.post("/heed/translate", {"text": "ein hund"})
        # A line is written after its answer, so the next request could overtake it.
        self.assert_soon(lambda: log.read_text().count("\n") == 1, 5.0)
        server.post("/heed/translate", {"text": 1})
        self.assertEqual(server.stop(), 0)
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        self.assertEqual([(line["path"], line["status"], line["model"]) for line in lines],
                         [("/heed/translate", 200, "t"), ("/heed/translate", 400, "t")])

    def test_the_access_log_goes_on_after_a_full_disk_and_in_a_new_file(self):
        log, moved = self.path / "log", self.path / "moved"
        config = self.config(f'[server]\naccess_log = "{log}"\n[model.t]\npath = "{self.translator}"\n')
        server = self.serve("--config", config)
        small = (0, resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE)[1])
        everything = resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, small)
        self.assertEqual(server.post("/heed/translate", {"text": "ein hund"})[0], 200)
        self.assert_soon(lambda: "heed_requests 0\n" in server.get("/metrics")[1].decode(), 5.0)
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, everything)
        server.post("/heed/translate", {"text": 1})
        logged = lambda path: [json.loads(line)["status"] for line in path.read_text().splitlines()]
        self.assert_soon(lambda: logged(log)[-1:] == [400], 5.0)
        log.rename(moved)
        server.process.send_signal(signal.SIGHUP)
        self.assert_soon(log.exists, 5.0)
        server.post("/heed/translate", {"text": "ein hund"})
        self.assert_soon(lambda: logged(log) == [200], 5.0)
        self.assertEqual(logged(moved)[-1], 400)

    def test_a_process_that_may_have_no_more_threads_refuses(self):
        server = self.serve("--model", f"lm={self.writer}")
        pages = int(pathlib.Path(f"/proc/{server.process.pid}/statm").read_text().split()[0])
        room = pages * os.sysconf("SC_PAGE_SIZE") + (6 << 20)  # less than the stack of one
        resource.prlimit(server.process.pid, resource.RLIMIT_AS, (room, room))
        connections = [server.connect() for _ in range(4)]
        for connection in connections:
            body = json.dumps({**LONG, "stream": True}).encode()
            connection.sendall(b"POST /heed/generate HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s" %
                               (len(body), body))
        statuses = {connection.recv(12)[9:] for connection in connections}
        for connection in connections:
            connection.close()
        # 503 where the request still got a thread, but the model's lanes did not.
        self.assertTrue(statuses & {b"429", b"503"}, statuses)
        self.assertLessEqual(statuses, {b"200", b"429", b"503"})
        self.assertEqual(server.get("/health")[0], 200)

    def test_idle_clients_leave_room_where_few_files_may_be_open(self):
        server = self.serve("--model", f"lm={self.writer}")
        most = resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE)
        self.assertEqual(*most)
        resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (40, most[1]))
        idle = [server.connect() for _ in range(60)]
        self.assertEqual(server.request("GET", "/health", timeout=10)[0], 200)
        for connection in idle:
            connection.close()

    def test_a_model_is_named_by_all_of_its_path(self):
        server = self.serve("--config", self.config(f'''
[model."house/de-en"]
path = "{self.translator}"
[model.de-en]
path = "{self.other}"
[key.admin]
secret = "{ADMIN}"
administers = true
'''))
        headers = {"Authorization": f"Bearer {ADMIN}"}
        for path, status in (("other/de-en", 404), ("house/de-en", 200), ("house%2Fde-en", 404), ("de-en", 200)):
            self.assertEqual(server.request("DELETE", f"/heed/models/{path}", headers=headers)[0], status, path)

    def test_wrong_settings_are_refused_before_it_listens(self):
        model = f'[model.t]\npath = "{self.translator}"\n'
        for text, mentions in ((f'[model.t]\npath = "{self.path}/nothing"\n', ("nothing",)),
                               ("[model.t]\n", ("serve.toml", "[model.t] has no path")),
                               ('[server]\nlisten = 3\n', ("serve.toml:2", "listen must be a text")),
                               (f'[model.t]\npath = "{self.translator}"\nx = 1\n', ("serve.toml:3", "unknown key 'x'")),
                               (f'[model.t]\npath = "{self.translator}"\n[key.a]\nsecret = "short"\n', ("key.a", "16")),
                               (f'[model.t]\npath = "{self.translator}"\n[limits]\nrequests = 0\n', ("requests is 0",)),
                               (f'[model.t]\npath = "{self.translator}"\n[server]\nlisten = "nowhere"\n',
                                ("'nowhere' is not an address",)),
                               (model + "prefix_bytes = -5\n", ("prefix_bytes is -5",)),
                               (model + 'languages = ["de"]\n', ("[model.t]", "one language")),
                               (model + 'languages = ["=x", "de"]\n', ("[model.t]", "'=x'")),
                               (model + 'source_language = "de"\n', ("[model.t]", "target_language")),
                               (model + f'[key.a]\nsecret = "{SECRET}"\n[key.b]\nsecret = "{SECRET}"\n', ("[key.b]", "another key")),
                               (model + '[server]\norigins = ["x y"]\n', ("'x y'",)),
                               (model + '[server]\norigins = ["https://a.b/c"]\n', ("'https://a.b/c'",)),
                               ("[a\n", ("serve.toml:1",))):
            self.assert_refused("serve", "--config", self.config(text), mentions=mentions)
        self.assert_refused("serve", mentions=("there is no model",))
        self.assert_refused("serve", "--model", str(self.translator), mentions=("is not NAME=DIR",))
        self.assert_refused("serve", "--model", f"t={self.translator}", "--model", f"t={self.other}",
                            mentions=("two models are called 't'",))
        taken = socket.create_server(("127.0.0.1", 0))
        self.assert_refused("serve", "--model", f"t={self.translator}", "--listen",
                            f"127.0.0.1:{taken.getsockname()[1]}", mentions=("cannot listen on",))
        taken.close()

    @unittest.skipIf(shutil.which("openssl") is None, "openssl is not installed")
    def test_connections_by_tls(self):
        certificate, key = self.path / "certificate.pem", self.path / "key.pem"

        def make(name):
            subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate,
                            "-days", "2", "-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1"],
                           check=True, capture_output=True)
        make("first")
        server = self.serve("--config", self.config(f'''
[server]
certificate = "certificate.pem"
private_key = "key.pem"
[model.lm]
path = "{self.writer}"
'''))
        self.assertTrue(server.line.startswith("heed serves at https://127.0.0.1:"))

        def post(fields):
            context = ssl.create_default_context(cafile=certificate)
            connection = http.client.HTTPSConnection(server.host, server.port, context=context, timeout=20)
            connection.request("POST", "/heed/generate", json.dumps(fields))
            answer = connection.getresponse()
            text = answer.read().decode()
            connection.close()
            self.assertEqual(answer.status, 200)
            return text
        fields = {"prompt": "ein", "max_tokens": 300, "temperature": 0.0}
        whole = json.loads(post(fields))
        events = post({**fields, "stream": True}).split("\n\n")
        self.assertEqual(json.loads(events[-2][len("data: "):]), whole)
        # What is no TLS is not answered.
        self.assertNotIn(b"200", server.raw(b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n", 2))
        make("second")
        server.process.send_signal(signal.SIGHUP)
        self.assert_soon(lambda: "read again" in server.error_text(), 10.0)
        self.assertEqual(json.loads(post(fields)), whole)
        certificate.write_text("nonsense")
        self.assert_refused("serve", "--config", self.path / "serve.toml", mentions=("certificate.pem", "PEM"))

    def test_systemd_hands_over_a_socket_and_hears_that_it_is_ready(self):
        listening = socket.create_server(("127.0.0.1", 0))
        notified = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        notified.bind(str(self.path / "notify"))
        notified.settimeout(20)
        port = listening.getsockname()[1]
        script = ('import os, sys\nos.dup2(int(sys.argv[1]), 3)\nos.environ["LISTEN_PID"] = str(os.getpid())\n'
                  'os.execv(sys.argv[2], sys.argv[2:])\n')
        environment = {**os.environ, "LISTEN_FDS": "1", "NOTIFY_SOCKET": str(self.path / "notify")}
        process = subprocess.Popen(["python3", "-c", script, str(listening.fileno()), heed_cli.BINARY, "serve", "--model",
                                    f"t={self.translator}"], pass_fds=[listening.fileno()], env=environment,
                                   stdout=subprocess.DEVNULL)
        try:
            self.assertEqual(notified.recv(100), b"READY=1")
            with socket.create_connection(("127.0.0.1", port), 10) as connection:
                connection.sendall(b"GET /ready HTTP/1.0\r\n\r\n")
                self.assertTrue(connection.recv(1000).startswith(b"HTTP/1.1 200"))
            process.send_signal(signal.SIGTERM)
            self.assertEqual(notified.recv(100), b"STOPPING=1")
            self.assertEqual(process.wait(20), 0)
        finally:
            process.kill()
            process.wait()
            notified.close()
            listening.close()


if __name__ == "__main__":
    unittest.main()
