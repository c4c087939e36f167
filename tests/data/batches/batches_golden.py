#!/usr/bin/env python3
"""The batches that Batches.KeepTheirOrderFromVersionToVersion expects, by docs/data.md: 12 sentences in pools of 8, four
to a batch, seed 1."""

import math

MASK = (1 << 64) - 1


def mix(x):
    x ^= x >> 30
    x = x * 0xBF58476D1CE4E5B9 & MASK
    x ^= x >> 27
    x = x * 0x94D049BB133111EB & MASK
    return x ^ x >> 31


def derive(key, value):
    if isinstance(value, str):
        name, value = value, 0xCBF29CE484222325
        for byte in name.encode():
            value = (value ^ byte) * 0x100000001B3 & MASK
    return mix((key + 0x9E3779B97F4A7C15 + mix((value + 0xD1B54A32D192ED03) & MASK)) & MASK)


def permutation(key, size):
    keys = [derive(key, r) for r in range(12)]
    rows = math.isqrt(size - 1) + 1
    columns = -(-size // rows)

    def step(x):
        row, column = divmod(x, columns)
        for r in range(0, 12, 2):
            row = (row + ((mix(keys[r] ^ column) >> 32) * rows >> 32)) % rows
            column = (column + ((mix(keys[r + 1] ^ row) >> 32) * columns >> 32)) % columns
        return row * columns + column

    def at(index):
        index = step(index)
        while index >= size:
            index = step(index)
        return index

    return [at(i) for i in range(size)]


def target_length(sentence):
    return 1 + (derive(17, sentence) >> 32) % 40


def epoch(number, seed=1, size=12, pools=((0, 8), (8, 12)), sentences=4):
    key = derive(derive(seed, "batches"), number)
    order = permutation(derive(key, "sentences"), size)
    batches = []
    for index, (begin, end) in enumerate(pools):
        pool = sorted(order[begin:end], key=target_length)
        cuts = [pool[i : i + sentences] for i in range(0, len(pool), sentences)]
        batches += [cuts[t] for t in permutation(derive(derive(key, "turns"), index), len(cuts))]
    return batches


if __name__ == "__main__":
    for number in range(2):
        print(epoch(number))
