"""Writes what the original library's save_pretrained writes: JSON, safetensors, shards with their index, torch.save."""

import json
import struct
from collections import OrderedDict

import torch

SAFETENSORS_TYPES = {torch.float64: "F64", torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16",
                     torch.int64: "I64", torch.uint8: "U8", torch.bool: "BOOL"}


def write_json(path, value, sort_keys=False):
    path.write_text(json.dumps(value, indent=2, sort_keys=sort_keys, ensure_ascii=False) + "\n", encoding="utf-8")


def raw_bytes(tensor):
    tensor = tensor.detach().contiguous()
    if tensor.dtype == torch.bfloat16:
        tensor = tensor.view(torch.int16)
    return tensor.numpy().tobytes()


def write_safetensors(path, tensors):
    """The widest types first, then by name, as safetensors lays them out; the header padded to 8 bytes."""
    names = sorted(tensors, key=lambda name: (-tensors[name].element_size(), name))
    header, offset = {"__metadata__": {"format": "pt"}}, 0
    for name in names:
        size = tensors[name].numel() * tensors[name].element_size()
        header[name] = {"dtype": SAFETENSORS_TYPES[tensors[name].dtype], "shape": list(tensors[name].shape),
                        "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(raw_bytes(tensors[name]) for name in names))


def read_safetensors(path):
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8:8 + size])
    header.pop("__metadata__")
    types = {name: dtype for dtype, name in SAFETENSORS_TYPES.items()}
    result = {}
    for name, entry in header.items():
        first, last = (8 + size + offset for offset in entry["data_offsets"])
        flat = torch.frombuffer(bytearray(data[first:last]), dtype=types[entry["dtype"]])
        result[name] = flat.reshape(entry["shape"])
    return result


def write_shards(folder, tensors, shards, stem, ending, write):
    """STEM-0000i-of-0000n.ENDING, each by `write`, and the index that says which tensor is where."""
    names, size = list(tensors), sum(t.numel() * t.element_size() for t in tensors.values())
    groups, filled = [[] for _ in range(shards)], 0
    for name in names:
        groups[min(shards - 1, filled * shards // size)].append(name)
        filled += tensors[name].numel() * tensors[name].element_size()
    where = {}
    for i, group in enumerate(groups):
        file = f"{stem}-{i + 1:05}-of-{shards:05}.{ending}"
        write(folder / file, {name: tensors[name] for name in group})
        where.update({name: file for name in group})
    write_json(folder / f"{stem}.{ending}.index.json",
               {"metadata": {"total_size": size}, "weight_map": dict(sorted(where.items()))})


def write_pickle(path, tensors, zipped=True):
    """What torch.save makes of a state_dict; tensors that are one object share their storage in it. Before PyTorch 1.6
    it was no archive but one pickle after the other, then the numbers."""
    torch.save(OrderedDict(tensors), path, _use_new_zipfile_serialization=zipped)


def write_weights(folder, tensors, form="safetensors", shards=1):
    """`form` is "safetensors", "bin", or "old bin" for that of PyTorch before 1.6."""
    def write(path, part):
        if form == "safetensors":
            write_safetensors(path, part)
        else:
            write_pickle(path, part, zipped=form == "bin")

    stem, ending = ("model", "safetensors") if form == "safetensors" else ("pytorch_model", "bin")
    if shards > 1:
        write_shards(folder, tensors, shards, stem, ending, write)
    else:
        write(folder / f"{stem}.{ending}", tensors)
