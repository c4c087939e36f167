"""Sockets that systemd holds: a server that is killed and started again has lost none of those that wait in them."""

import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import threading

import heed_cli
from heed_server import ServerTest, unittest

BODY = b'{"text": "ein hund"}'
REQUEST = (b"POST /heed/translate HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s"
           % (len(BODY), BODY))
# What systemd does between fork and exec. The sockets' numbers may be those that it moves them to.
START = """
import fcntl, os, sys
sockets = [fcntl.fcntl(int(number), fcntl.F_DUPFD_CLOEXEC, 10) for number in sys.argv[1].split(",")]
for place, number in enumerate(sockets):
    os.dup2(number, 3 + place)
os.environ["LISTEN_PID"] = str(os.getpid())
os.execv(sys.argv[2], sys.argv[2:])
"""


def ask(port, host="127.0.0.1"):
    """Sends the request, and returns the whole answer."""
    with socket.create_connection((host, port), 60 * heed_cli.PATIENCE) as connection:
        connection.sendall(REQUEST)
        return received(connection)


def received(connection):
    data = b""
    while part := connection.recv(65536):
        data += part
    return data


def body_of(answer):
    head, _, body = answer.partition(b"\r\n\r\n")
    return head.split(b" ")[1], body


class SocketActivation(ServerTest):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.model = pathlib.Path(folder.name) / "t"
        subprocess.run([os.environ["HEED_MAKE_MODEL"], cls.model], check=True)

    def setUp(self):
        super().setUp()
        # An abstract name, as in a container.
        self.notified = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.notified.bind(f"\0heed-{os.getpid()}-{id(self)}")
        self.notified.settimeout(60 * heed_cli.PATIENCE)
        self.addCleanup(self.notified.close)

    def listening(self, address="127.0.0.1", **options):
        made = socket.create_server((address, 0), **options)
        self.addCleanup(made.close)
        return made

    def start(self, *sockets):
        """A server with these sockets, which has said that it is ready."""
        numbers = [one.fileno() for one in sockets]
        environment = {**os.environ, "LISTEN_FDS": str(len(sockets)),
                       "NOTIFY_SOCKET": self.notified.getsockname().replace(b"\0", b"@").decode()}
        process = subprocess.Popen([sys.executable, "-c", START, ",".join(map(str, numbers)), heed_cli.BINARY, "serve",
                                    "--model", f"t={self.model}"], pass_fds=numbers, env=environment,
                                   stdout=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.assertEqual(self.notified.recv(100), b"READY=1")
        return process

    def kill(self, process):
        process.kill()
        self.assertEqual(process.wait(60), -signal.SIGKILL)

    def test_what_comes_while_it_starts_again_is_answered(self):
        listening = self.listening(backlog=64)
        port = listening.getsockname()[1]
        process = self.start(listening)
        status, expected = body_of(ask(port))
        self.assertEqual(status, b"200")
        for _ in range(2):
            self.kill(process)
            waiting = [socket.create_connection(("127.0.0.1", port), 60 * heed_cli.PATIENCE) for _ in range(32)]
            for connection in waiting:
                connection.sendall(REQUEST)
            process = self.start(listening)
            for connection in waiting:
                self.assertEqual(body_of(received(connection)), (b"200", expected))
                connection.close()
        process.terminate()
        self.assertEqual(self.notified.recv(100), b"STOPPING=1")
        self.assertEqual(process.wait(60), 0)

    def test_no_client_is_refused_while_it_starts_again(self):
        listening = self.listening(backlog=64)
        port = listening.getsockname()[1]
        process = self.start(listening)
        expected = body_of(ask(port))
        clients, kills = 4, 3
        answered, broken, is_over = [], [], threading.Event()

        def work():
            while not is_over.is_set():
                try:
                    answered.append(ask(port))
                except OSError as error:
                    broken.append(error)
        threads = [threading.Thread(target=work) for _ in range(clients)]
        for thread in threads:
            thread.start()
        for _ in range(kills):
            self.kill(process)
            process = self.start(listening)
            count = len(answered)
            while len(answered) < count + 2 * clients and process.poll() is None:
                threading.Event().wait(0.01)
        is_over.set()
        for thread in threads:
            thread.join()
        self.assertIsNone(process.poll())
        # Only the answers that were being made when it was killed are lost: at most one of each client.
        whole = [answer for answer in answered if answer.endswith(b"}\n")]
        self.assertEqual({body_of(answer) for answer in whole}, {expected})
        self.assertLessEqual(len(broken) + len(answered) - len(whole), clients * kills)
        self.assertLessEqual({type(error) for error in broken}, {ConnectionResetError, BrokenPipeError})

    def test_several_sockets_of_both_kinds(self):
        if not socket.has_dualstack_ipv6():
            self.skipTest("there is no IPv6")
        # ListenStream=PORT is one of IPv6 that takes both.
        sockets = [self.listening(), self.listening("::", family=socket.AF_INET6, dualstack_ipv6=True)]
        process = self.start(*sockets)
        first, both = (one.getsockname()[1] for one in sockets)
        found = {body_of(ask(port, host)) for port, host in ((first, "127.0.0.1"), (both, "127.0.0.1"), (both, "::1"))}
        self.assertEqual([status for status, _ in found], [b"200"])
        process.terminate()
        self.assertEqual(process.wait(60), 0)

    def test_sockets_of_another_process_are_left_alone(self):
        listening = self.listening()
        environment = {"LISTEN_FDS": "1", "LISTEN_PID": str(os.getpid())}
        server = self.serve("--model", f"t={self.model}", environment=environment)
        self.assertNotEqual(server.port, listening.getsockname()[1])
        self.assertEqual(server.get("/ready")[0], 200)


if __name__ == "__main__":
    unittest.main()
