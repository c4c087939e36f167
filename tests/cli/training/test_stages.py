#!/usr/bin/env python3
"""A model whose layers are divided into stages, one for each rank that mpirun starts."""

import json
import os
import pathlib
import unittest

from heed_cli import BINARY, CliTest, heed
from mpirun import ended, lines_of_heed, skip_without_mpi, start

# 28 million parameters, whose training takes 22 bytes each: 620 MB in one process, with gradients of a shard and copies
# in bf16; in each of two stages about half of it, and in the first 13 bytes while a checkpoint is written.
LIMIT = 480 << 20
RECIPE = """
[model]
architecture = "causal-lm"
model = 768
inner = 3072
heads = 8
decoder_layers = 4
max_length = 32
positions = "rotary"
[data]
train = ["text.txt"]
context = 8
batch_sequences = 2
[tokenizer]
kind = "char"
[training]
updates = 3
accumulate = 2
log_every = 1
precision = "bf16"
[checkpoints]
every = 1
keep = 1
final = "last"
"""


def writable_groups():
    """A folder in which groups of processes with a limit of memory can be made, and the name of the limit's file."""
    for folder, limit in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")):
        probe = pathlib.Path(folder) / f"heed-test-{os.getpid()}"
        try:
            probe.mkdir()
        except OSError:
            continue
        try:
            if (probe / limit).exists() and os.access(probe / limit, os.W_OK):
                return pathlib.Path(folder), limit
        finally:
            probe.rmdir()
    return None, None


class StagesTest(CliTest):
    def setUp(self):
        super().setUp()
        self.text = self.file("text.txt", "the quick brown fox jumps over the lazy dog\n" * 40)
        self.recipe = self.file("recipe.toml", RECIPE.replace("text.txt", str(self.text)))

    def words(self, name, *more):
        return [BINARY, "train", self.recipe, "--out", self.path / name, "--threads", "1", *more]

    def weights(self, name):
        return (self.path / name / "model.safetensors").read_bytes()

    def events(self, name):
        return [json.loads(line) for line in (self.path / name / "metrics.jsonl").read_text().splitlines()]

    def peak(self, name):
        return max(entry.get("peak_memory_bytes", 0) for entry in self.events(name))

    def test_two_stages_give_the_bits_of_one_process_in_less_memory(self):
        result = heed(*self.words("one")[1:])
        self.assertEqual(result.returncode, 0, result.stderr)
        status, out, err = ended(start(2, *self.words("two", "--layout", "pipeline=2")))
        self.assertEqual((status, lines_of_heed(err)), (0, []), err)
        self.assertEqual(self.weights("one"), self.weights("two"))
        self.assertLess(self.peak("two"), 0.8 * self.peak("one"))
        self.assertGreater(self.peak("one"), LIMIT)

    def test_copies_divide_the_optimizers_state(self):
        for ranks in (2, 4):
            name = f"data={ranks}"
            status, out, err = ended(start(ranks, *self.words(name, "--set", "training.shards=4")))
            self.assertEqual((status, lines_of_heed(err)), (0, []), err)
            start_of_run, last = self.events(name)[0], [event for event in self.events(name) if "ranks" in event][-1]
            of_one_process = 12 * start_of_run["parameters"]  # the masters and two moments, in f32
            for rank in last["ranks"]:
                self.assertGreater(rank["optimizer_bytes"], 0.9 * of_one_process / ranks)
                self.assertLess(rank["optimizer_bytes"], 1.05 * of_one_process / ranks)

    def test_a_model_too_large_for_one_process_trains_over_two_stages(self):
        folder, limit = writable_groups()
        if folder is None:
            self.skipTest("no groups of processes can be limited here")
        groups = [folder / f"heed-test-{os.getpid()}-{rank}" for rank in range(2)]
        for group in groups:
            group.mkdir()
            self.addCleanup(group.rmdir)
            (group / limit).write_text(str(LIMIT))
        enter = f'echo $$ > {folder}/heed-test-{os.getpid()}-${{OMPI_COMM_WORLD_RANK:-0}}/cgroup.procs && exec "$@"'
        limited = ["sh", "-c", enter, "sh"]
        status, out, err = ended(start(1, *limited, *self.words("one")))
        self.assertEqual((status, len(lines_of_heed(err))), (2, 1), err)
        self.assertRegex(err, r"heed: memory: .* take 0\.6\d GB, but only 0\.50 can be used here: .*training\.layout")
        self.assertFalse((self.path / "one").exists())
        status, out, err = ended(start(2, *limited, *self.words("two", "--layout", "pipeline=2")))
        self.assertEqual((status, lines_of_heed(err)), (0, []), err)

    def test_layouts_that_cannot_be_are_refused_once(self):
        for ranks, layout, refusal in (
            (2, "pipeline=3", "recipe: training.layout: pipeline=3,tensor=1 needs 3 ranks, but there are 2"),
            (5, "pipeline=5", "layout: pipeline is 5, but the model has only 4 layers"),
        ):
            status, out, err = ended(start(ranks, *self.words("refused", "--layout", layout)))
            self.assertEqual((status, lines_of_heed(err)), (2, [f"heed: {refusal}"]), err)
            self.assertFalse((self.path / "refused").exists())


if __name__ == "__main__":
    skip_without_mpi()
    unittest.main()
