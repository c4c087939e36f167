"""Safetensors by the published format alone, with json and struct, to compare heed's reader and writer with.

    safetensors_by_spec.py show FILE       one line for each tensor and each metadata entry, sorted
    safetensors_by_spec.py make FILE       a file that the test knows

A line is `tensor NAME DTYPE SHAPE CRC` or `metadata KEY=VALUE`.
"""

import json
import struct
import sys
import zlib

SIZES = {"F64": 8, "F32": 4, "BF16": 2, "F16": 2, "I64": 8, "I32": 4, "I16": 2, "I8": 1, "U8": 1, "BOOL": 1}


def show(path):
    with open(path, "rb") as file:
        content = file.read()
    (length,) = struct.unpack("<Q", content[:8])
    assert length % 8 == 0, "the data are not aligned"
    text = content[8 : 8 + length]
    assert text[:1] == b"{", "the header does not begin with a brace"
    header = json.loads(text)
    data = content[8 + length :]
    lines = [f"metadata {key}={value}" for key, value in header.pop("__metadata__", {}).items()]
    spans = []
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        elements = 1
        for extent in entry["shape"]:
            elements *= extent
        assert end - begin == elements * SIZES[entry["dtype"]], name
        spans.append((begin, end))
        shape = ",".join(map(str, entry["shape"]))
        lines.append(f"tensor {name} {entry['dtype']} [{shape}] {zlib.crc32(data[begin:end]):08x}")
    position = 0
    for begin, end in sorted(spans):
        assert begin == position, "a hole or an overlap"
        position = end
    assert position == len(data), "bytes that no tensor has"
    print("\n".join(sorted(lines)))


def make(path):
    tensors = {
        "weights/b": ("F32", [2, 3], struct.pack("<6f", 0.5, -1.0, 2.0, 3.25, -4.5, 1e30)),
        "\u00fcmlaut \u2603": ("I64", [], struct.pack("<q", -5)),
        "none": ("BF16", [0, 7], b""),
        "a\nb": ("U8", [3], b"\x01\x02\xff"),
    }
    header, data = {"__metadata__": {"format": "pt", "note": 'quotes " and \u2603'}}, b""
    for name, (dtype, shape, content) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header, indent=1).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


if __name__ == "__main__":
    {"show": show, "make": make}[sys.argv[1]](sys.argv[2])
