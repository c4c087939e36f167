#!/usr/bin/env python3
"""Prints the golden values of random_test.cpp, from the formulas of src/base/random.h written down a second time."""

WORD64, WORD32 = (1 << 64) - 1, (1 << 32) - 1


def mix_bits(x):
    x ^= x >> 30
    x = x * 0xBF58476D1CE4E5B9 & WORD64
    x ^= x >> 27
    x = x * 0x94D049BB133111EB & WORD64
    return x ^ x >> 31


def derive(key, number):
    return mix_bits((key + 0x9E3779B97F4A7C15 + mix_bits((number + 0xD1B54A32D192ED03) & WORD64)) & WORD64)


def derive_name(key, name):
    hashed = 0xCBF29CE484222325
    for byte in name.encode():
        hashed = (hashed ^ byte) * 0x100000001B3 & WORD64
    return derive(key, hashed)


def draw16(key, row, column):
    mixed = mix_bits(key ^ mix_bits((row + 0x9E3779B97F4A7C15) & WORD64))
    first, second = mixed & WORD32, mixed >> 32
    x = column >> 1 ^ first
    x ^= x >> 16
    x = x * 0x7FEB352D & WORD32
    x ^= x >> 15
    x = (x + second) & WORD32
    x = x * 0x846CA68B & WORD32
    x ^= x >> 16
    return x >> 16 * (column & 1) & 0xFFFF


if __name__ == "__main__":
    print("splitmix64 from seed 0:", hex(mix_bits(0x9E3779B97F4A7C15)), hex(mix_bits(2 * 0x9E3779B97F4A7C15 & WORD64)))
    update = derive(42, 7)
    path = derive_name(update, "encoder.0")
    print("42, update 7:", hex(update), " encoder.0:", hex(path))
    print("row 12345:", [draw16(path, 12345, column) for column in range(8)], draw16(path, 12345, 1000001))
    print("uniform draw 3:", (derive(path, 3) >> 11) * 2.0**-53)
