"""Reads GGUF files from the format's description alone."""

import struct

SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
STRING, ARRAY = 8, 9
F32, F16, Q4_0, Q8_0 = 0, 1, 2, 8


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def number(self, kind):
        (value,) = struct.unpack_from("<" + kind, self.data, self.at)
        self.at += struct.calcsize(kind)
        return value

    def text(self):
        length = self.number("Q")
        self.at += length
        return self.data[self.at - length:self.at].decode()

    def value(self, kind):
        if kind == STRING:
            return self.text()
        if kind == ARRAY:
            element = self.number("I")
            return [self.value(element) for _ in range(self.number("Q"))]
        return self.number(SCALARS[kind])


def values_of(data, kind, count):
    """A tensor's values, and of each the step that its block rounds to."""
    if kind in (F32, F16):
        letter, size = ("f", 4) if kind == F32 else ("e", 2)
        return list(struct.unpack_from(f"<{count}{letter}", data)), None, count * size
    values, steps, at = [], [], 0
    for _ in range(count // 32):
        (scale,) = struct.unpack_from("<e", data, at)
        if kind == Q8_0:
            whole, size = struct.unpack_from("<32b", data, at + 2), 34
        else:
            pairs, size = struct.unpack_from("<16B", data, at + 2), 18
            whole = [pair % 16 - 8 for pair in pairs] + [pair // 16 - 8 for pair in pairs]
        values += [scale * n for n in whole]
        steps += [abs(scale)] * 32
        at += size
    return values, steps, at


def read_gguf(path):
    """The metadata, and of each tensor shape (rows first), type, values and steps."""
    data = path.read_bytes()
    assert data[:4] == b"GGUF", data[:4]
    reader = Reader(data)
    reader.at = 4
    assert reader.number("I") == 3
    count, entries = reader.number("Q"), reader.number("Q")
    metadata, infos, tensors = {}, [], {}
    for _ in range(entries):
        key = reader.text()
        assert key not in metadata, key
        metadata[key] = reader.value(reader.number("I"))
    for _ in range(count):
        name = reader.text()
        shape = [reader.number("Q") for _ in range(reader.number("I"))][::-1]
        infos.append((name, shape, reader.number("I"), reader.number("Q")))
    alignment = metadata.get("general.alignment", 32)
    begin = -(-reader.at // alignment) * alignment
    assert not any(data[reader.at:begin])
    end = 0
    for name, shape, kind, offset in infos:
        assert offset % alignment == 0 and offset == -(-end // alignment) * alignment, (name, offset, end)
        elements = 1
        for extent in shape:
            elements *= extent
        values, steps, size = values_of(data[begin + offset:], kind, elements)
        tensors[name] = (shape, kind, values, steps)
        end = offset + size
    assert len(data) == begin + -(-end // alignment) * alignment
    return metadata, tensors
