"""embed_formats.py PROGRAM - files of vectors, read by NumPy and by FAISS; run by embed_formats.sh in a folder with `lines`."""
import io
import json
import subprocess
import sys

import numpy as np

program, names = sys.argv[1], []


def embed(*more):
    out = subprocess.run([program, "embed", "-q", "-m", "model", *more], stdout=subprocess.PIPE, check=True).stdout
    return out


def check(name, got, expected):
    assert got.dtype == expected.dtype and got.shape == expected.shape, (name, got.dtype, got.shape, expected.shape)
    assert (got == expected).all(), name
    names.append(name)


def quantized(x, precision):
    """quantize_embeddings of sentence-transformers 6.2."""
    if precision.endswith("binary"):
        bits = np.packbits(x > 0, axis=-1)
        return bits if precision == "ubinary" else (bits.astype(np.int16) - 128).astype(np.int8)
    low, high = x.min(axis=0), x.max(axis=0)
    steps = (high - low) / np.float32(255)
    codes = np.clip(np.floor((x - low) / np.where(steps == 0, np.float32(1), steps)), 0, 255)
    return codes.astype(np.uint8) if precision == "uint8" else (codes - 128).astype(np.int8)


try:
    from sentence_transformers.util import quantize_embeddings as quantized  # noqa: F811
except ImportError:
    print("SKIPPED: no sentence-transformers: int8 and binary are compared with its formula")

embed("-o", "x.npy", "lines")
x = np.load("x.npy")
n, d = x.shape
check("npy on a pipe", np.load(io.BytesIO(embed("--format", "npy", "lines"))), x)
embed("-o", "x.f32", "lines")
check("f32", np.fromfile("x.f32", "<f4").reshape(n, d), x)
for precision, kind in (("f16", "<f2"), ("int8", "|i1"), ("uint8", "|u1"), ("binary", "|i1"), ("ubinary", "|u1")):
    embed("--precision", precision, "-o", "q.npy", "lines")
    check(precision, np.load("q.npy"), x.astype(kind) if precision == "f16" else quantized(x, precision))
    if precision in ("int8", "uint8"):
        check("ranges", np.load("q.npy.ranges.npy"), np.stack([x.min(axis=0), x.max(axis=0)]))

embed("-o", "x.fvecs", "lines")
rows = np.fromfile("x.fvecs", "<i4").reshape(n, d + 1)
assert (rows[:, 0] == d).all()
check("fvecs", rows[:, 1:].copy().view("<f4"), x)
for format, kind, expected in (("fbin", "<f4", x), ("u8bin", "|u1", quantized(x, "uint8")), ("i8bin", "|i1", quantized(x, "int8"))):
    embed("-o", "x." + format, "lines")
    assert list(np.fromfile("x." + format, "<u4", 2)) == [n, d], format
    check(format, np.fromfile("x." + format, kind, offset=8).reshape(n, d), expected)

for precision, expected in (("f32", x), ("f16", x.astype("f2")), ("binary", quantized(x, "binary")), ("ubinary", quantized(x, "ubinary"))):
    values = [json.loads(line) for line in embed("--format", "jsonl", "--precision", precision, "lines").splitlines()]
    check("jsonl " + precision, np.array(values, expected.dtype), expected)
for precision, expected in (("f32", x), ("f16", x.astype("f2"))):
    values = [json.loads(line) for line in embed("--format", "pgvector", "--precision", precision, "lines").splitlines()]
    check("pgvector " + precision, np.array(values, expected.dtype), expected)
bits = [[int(c) for c in line.decode()] for line in embed("--format", "pgvector", "--precision", "ubinary", "lines").splitlines()]
check("pgvector bits", np.array(bits, bool), x > 0)

for precision, kind in (("f32", "<f4"), ("f16", "<f2")):
    data = embed("--format", "safetensors", "--precision", precision, "lines")
    size = int.from_bytes(data[:8], "little")
    header, got = json.loads(data[8:8 + size]), []
    for i in range(n):
        begin, end = header[str(i + 1)]["data_offsets"]
        got.append(np.frombuffer(data[8 + size + begin:8 + size + end], kind))
    check("safetensors " + precision, np.stack(got), x.astype(kind))

try:
    import faiss
    for metric, kind in (("ip", faiss.METRIC_INNER_PRODUCT), ("l2", faiss.METRIC_L2)):
        embed("--metric", metric, "-o", "x.faiss", "lines")
        index = faiss.read_index("x.faiss")
        assert index.metric_type == kind and index.ntotal == n and index.is_trained
        check("faiss " + metric, index.reconstruct_n(0, n), x)
        with open("x.faiss", "rb") as f:
            written = f.read()
        flat = faiss.IndexFlatIP(d) if metric == "ip" else faiss.IndexFlatL2(d)
        flat.add(x)
        faiss.write_index(flat, "own.faiss")
        with open("own.faiss", "rb") as f:
            assert f.read() == written, "other bytes than those of FAISS"
except ImportError:
    print("SKIPPED: no FAISS: faiss was not read")
print(len(names), "checks")
