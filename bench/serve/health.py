"""Asks /health again and again from a process of its own.

A thread beside the clients' would wait for Python's lock between threads, 5 ms at a time, and measure that."""

import http.client
import multiprocessing
import time


def ask(port, pause, stopping, times):
    connection, seconds = http.client.HTTPConnection("127.0.0.1", port, timeout=60), []
    while not stopping.is_set():
        begin = time.perf_counter()
        connection.request("GET", "/health")
        connection.getresponse().read()
        seconds.append(time.perf_counter() - begin)
        time.sleep(pause)
    times.put(seconds)


class Health:
    """with Health(port) as health: ... Afterwards health.times has the seconds of each request."""

    def __init__(self, port, pause=0.005):
        self.stopping, self.answers = multiprocessing.Event(), multiprocessing.Queue()
        self.process = multiprocessing.Process(target=ask, args=(port, pause, self.stopping, self.answers))
        self.times = []

    def __enter__(self):
        self.process.start()
        return self

    def __exit__(self, *_):
        self.stopping.set()
        self.times = self.answers.get(timeout=60)
        self.process.join()
