"""Quantized weights from docs/models/formats.md alone: reads a file with panels, and writes the same weights row by
row."""

import math

import safetensors_file

ROWS = 16  # of a panel
SIZES = {"F32": 4, "I32": 4, "BF16": 2, "F16": 2, "I8": 1, "U8": 1}


def rows_of_int8(panels, rows, columns):
    steps = math.ceil(columns / 4)
    out = bytearray()
    for r in range(rows):
        for c in range(columns):
            out.append(panels[((r // ROWS * steps + c // 4) * ROWS + r % ROWS) * 4 + c % 4])
    return bytes(out)


def rows_of_int4(panels, rows, columns):
    out = bytearray()
    for r in range(rows):
        values = []
        for c in range(columns):
            byte = panels[((r // ROWS * (columns // 8) + c // 8) * ROWS + r % ROWS) * 4 + c % 4]
            values.append(byte >> 4 if c % 8 >= 4 else byte & 15)
        out += bytes(low + 16 * high for low, high in zip(values[::2], values[1::2]))
    return bytes(out)


def rows_of_group_scales(scales, rows, groups):
    return b"".join(scales[2 * ((r // ROWS * groups + g) * ROWS + r % ROWS):][:2]
                    for r in range(rows) for g in range(groups))


def write_rows(source, target, shapes):
    """The same weights in rows, as earlier versions wrote them, without metadata; `shapes` are the matrices'."""
    metadata, tensors = safetensors_file.read(source)
    plain = {}
    for name, (kind, shape, content, _) in tensors.items():
        owner, _, ending = name.rpartition(".")
        if kind in ("I8", "U8"):
            rows, columns = shapes[name]
            make, width = (rows_of_int8, columns) if kind == "I8" else (rows_of_int4, columns // 2)
            plain[name] = (kind, [rows, width], make(content, rows, columns))
        elif ending == "scales" and kind in ("BF16", "F16"):
            rows = shapes[owner][0]
            plain[name] = (kind, [rows, shape[1]], rows_of_group_scales(content, rows, shape[1]))
        elif ending == "scales":
            plain[name] = (kind, [shapes[owner][0]], content[:4 * shapes[owner][0]])
        elif ending != "sums":
            plain[name] = (kind, shape, content)
    assert metadata["heed_layout"] == "panels-16"
    aligned = dict(sorted(plain.items(), key=lambda item: (-SIZES[item[1][0]], item[0])))
    safetensors_file.write(target, aligned, {})
