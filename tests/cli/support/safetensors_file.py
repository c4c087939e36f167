"""Reads and writes files of tensors, from docs/models/formats.md alone."""

import json
import struct


def read(path):
    """The metadata, and by name each tensor's type, shape, bytes and place in the file."""
    content = path.read_bytes()
    length = struct.unpack_from("<Q", content)[0]
    header = json.loads(content[8:8 + length])
    metadata = header.pop("__metadata__", {})
    tensors = {}
    for name, entry in header.items():
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        tensors[name] = (entry["dtype"], entry["shape"], content[begin:end], begin)
    return metadata, tensors


def write(path, tensors, metadata=None):
    """tensors: name -> (type, shape, bytes), in the order of the file."""
    header, data = {"__metadata__": metadata} if metadata else {}, b""
    for name, (kind, shape, content) in tensors.items():
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
