"""examples/serving/nginx.conf: nginx with this file before a server."""

import http.client
import shutil
import socket
import ssl
import subprocess
import sys

import heed_cli
from taken_places import TAKES_ALL, TakenPlacesTest, contextlib, gauge, json, send, unittest

NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")
EXAMPLE = heed_cli.SOURCE / "examples" / "serving" / "nginx.conf"
NAME = "heed.example"
AROUND = """
daemon off;
master_process off;
pid {folder}/nginx.pid;
error_log stderr;
events {{}}
http {{
  access_log off;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
{example}
}}
"""


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return taken.getsockname()[1]


class Nginx(TakenPlacesTest):
    def setUp(self):
        super().setUp()
        self.server = self.serve_one_lane()
        self.certificate, key = self.path / "certificate.pem", self.path / "key.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key,
                        "-out", self.certificate, "-days", "2", "-subj", f"/CN={NAME}",
                        "-addext", f"subjectAltName=DNS:{NAME}"], check=True, capture_output=True)
        self.port = free_port()
        self.start({"listen 443 ssl;": f"listen 127.0.0.1:{self.port} ssl;",
                    "/etc/ssl/heed.example.pem": self.certificate, "/etc/ssl/private/heed.example.key": key,
                    "http://127.0.0.1:8080;": f"http://127.0.0.1:{self.server.port};"})

    def start(self, changes):
        example = EXAMPLE.read_text()
        for before, after in changes.items():
            self.assertEqual(example.count(before), 1, before)
            example = example.replace(before, str(after))
        file = self.file("nginx.conf", AROUND.format(folder=self.path, example=example))
        process = subprocess.Popen([NGINX, "-c", file, "-p", self.path, "-e", "stderr"])
        self.addCleanup(process.wait)
        self.addCleanup(process.terminate)

        def listens():
            self.assertIsNone(process.poll(), "nginx has ended")
            with socket.socket() as connection:
                return connection.connect_ex(("127.0.0.1", self.port)) == 0
        self.assert_soon(listens)

    def connect(self):
        """By TLS, to who has the certificate."""
        context = ssl.create_default_context(cafile=self.certificate)
        plain = socket.create_connection(("127.0.0.1", self.port), 60 * heed_cli.PATIENCE)
        connection = http.client.HTTPConnection(NAME)
        connection.sock = context.wrap_socket(plain, server_hostname=NAME)
        self.addCleanup(connection.close)
        return connection

    def send(self, path, fields):
        connection = self.connect()
        connection.request("POST", path, json.dumps(fields), {"Content-Type": "application/json"})
        return connection

    def test_answers_are_those_of_the_server(self):
        fields = {"prompt": "ein hund", "max_tokens": 20, "samples": 3, "seed": 1}
        for path, more in (("/heed/generate", {}), ("/heed/generate", {"beam": 0}), ("/nothing", {})):
            answer = self.send(path, {**fields, **more}).getresponse()
            self.assertEqual((answer.status, json.loads(answer.read())), self.server.post(path, {**fields, **more}))
        with self.assertRaises(ssl.SSLError), socket.create_connection(("127.0.0.1", self.port)) as connection:
            ssl.create_default_context().wrap_socket(connection, server_hostname=NAME)

    def test_a_body_may_be_as_large_as_the_server_takes(self):
        connection = self.connect()
        connection.request("POST", "/heed/generate", b" " * (8 << 20))
        self.assertEqual(connection.getresponse().status, 400)
        # Said before the body is sent.
        connection = self.connect()
        connection.putrequest("POST", "/heed/generate")
        connection.putheader("Content-Length", str((8 << 20) + 1))
        connection.endheaders()
        self.assertEqual(connection.getresponse().status, 413)

    def events(self, answer):
        for line in answer:
            if line.startswith(b"data: {"):
                yield json.loads(line[len("data: "):])

    def test_events_arrive_before_later_ones_are_there(self):
        fields = {"prompt": ["ein hund", "zwei hund"], "max_tokens": 5, "seed": 1, "temperature": 1}
        whole = [choice["text"] for choice in self.server.post("/v1/completions", fields)[1]["choices"]]
        # The first text gets a place. The second one comes after another client's, which takes all places.
        with contextlib.ExitStack() as others:
            with self.all_places_taken(self.server):
                stream = self.send("/v1/completions", {**fields, "stream": True})
                self.assert_waiting(self.server, 2)
                others.callback(send(self.server, "/heed/generate", TAKES_ALL, source="127.0.0.2").close)
                self.assert_waiting(self.server, 3)
            answer = stream.getresponse()
            self.assertEqual(answer.status, 200)
            texts, events = ["", ""], self.events(answer)
            for event in events:
                choice, = event["choices"]
                self.assertEqual(choice["index"], 0)
                texts[0] += choice["text"]
                if choice["finish_reason"]:
                    break
            self.assertEqual(texts, [whole[0], ""])
            self.assertEqual(gauge(self.server, "heed_waiting_texts"), 1)
        for event in events:
            for choice in event["choices"]:
                texts[choice["index"]] += choice["text"]
        self.assertEqual(texts, whole)

    def test_a_client_that_goes_away_frees_its_places(self):
        stream = self.send("/heed/generate", {"prompt": "ein", "max_tokens": 1000000, "stream": True})
        next(self.events(stream.getresponse()))
        self.assertEqual(gauge(self.server, "heed_requests"), 1)
        stream.close()
        stream.sock = None
        self.assert_soon(lambda: gauge(self.server, "heed_requests") == 0)


if __name__ == "__main__":
    for program in ("nginx", "openssl"):
        if not (NGINX if program == "nginx" else shutil.which(program)):
            print(f"skipped: {program} is not installed")
            sys.exit(77)
    unittest.main()
