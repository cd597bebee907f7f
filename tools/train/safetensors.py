"""Reads and writes the parts of the safetensors format that training needs: dense tensors of F32, F16 and I64.

Debian has no package for it, and the format is simple: a length, a JSON header and bytes."""

import json
import struct

import numpy as np

DTYPES = {"F32": np.float32, "F16": np.float16, "I64": np.int64}


def read(path):
    """Returns arrays by name; float16 is widened to float32."""
    with open(path, "rb") as file:
        data = file.read()
    (size,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + size])
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        begin, end = (8 + size + offset for offset in entry["data_offsets"])
        array = np.frombuffer(data[begin:end], DTYPES[entry["dtype"]]).reshape(entry["shape"])
        tensors[name] = array.astype(np.float32) if array.dtype == np.float16 else array.copy()
    return tensors


def write(path, tensors):
    """Writes arrays of float32 or float16 by name. The header is padded with spaces to a multiple of 8 bytes."""
    names = {np.dtype(np.float32): "F32", np.dtype(np.float16): "F16"}
    header, offset = {}, 0
    for name, array in tensors.items():
        header[name] = {
            "dtype": names[array.dtype],
            "shape": list(array.shape),
            "data_offsets": [offset, offset + array.nbytes],
        }
        offset += array.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for array in tensors.values():
            file.write(np.ascontiguousarray(array).tobytes())
