"""png.py — makes pictures of pages small: a palette of at most 256 colors. Python's standard library only."""
import struct
import zlib

MAGIC = b"\x89PNG\r\n\x1a\n"


def chunks(data):
    at = len(MAGIC)
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        yield kind, data[at + 8:at + 8 + size]
        at += size + 12


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def paeth(a, b, c):
    p = a + b - c
    pa, pb, pc = abs(p - a), abs(p - b), abs(p - c)
    return a if pa <= pb and pa <= pc else b if pb <= pc else c


def unfilter(kind, row, above, n):
    for i in range(len(row)):
        left, up = row[i - n] if i >= n else 0, above[i]
        if kind == 1:
            row[i] = (row[i] + left) & 255
        elif kind == 2:
            row[i] = (row[i] + up) & 255
        elif kind == 3:
            row[i] = (row[i] + (left + up) // 2) & 255
        elif kind == 4:
            row[i] = (row[i] + paeth(left, up, above[i - n] if i >= n else 0)) & 255


def pixels(data):
    """Rows of (red, green, blue) of a picture with 8 bits a channel."""
    parts = {}
    for kind, content in chunks(data):
        parts[kind] = parts.get(kind, b"") + content
    width, height, depth, color = struct.unpack(">IIBB", parts[b"IHDR"][:10])
    if depth != 8 or color not in (2, 6):
        raise SystemExit(f"png: expected 8 bits of RGB or RGBA, got depth {depth}, color type {color}")
    n = 3 if color == 2 else 4
    raw, above, rows = zlib.decompress(parts[b"IDAT"]), bytearray(width * n), []
    for y in range(height):
        at = y * (width * n + 1)
        row = bytearray(raw[at + 1:at + 1 + width * n])
        unfilter(raw[at], row, above, n)
        rows.append(list(zip(row[0::n], row[1::n], row[2::n])))
        above = row
    return rows


def palette_of(rows):
    """The most frequent colors, and for each color its nearest one."""
    count = {}
    for row in rows:
        for p in row:
            count[p] = count.get(p, 0) + 1
    kept = sorted(count, key=lambda p: (-count[p], p))[:256]
    near = {p: min(range(len(kept)), key=lambda i: sum((a - b) ** 2 for a, b in zip(kept[i], p))) for p in count}
    return kept, near


def smaller(data):
    rows = pixels(data)
    kept, near = palette_of(rows)
    raw = b"".join(b"\0" + bytes(near[p] for p in row) for row in rows)
    header = struct.pack(">IIBBBBB", len(rows[0]), len(rows), 8, 3, 0, 0, 0)
    return MAGIC + chunk(b"IHDR", header) + chunk(b"PLTE", bytes(c for p in kept for c in p)) + \
        chunk(b"IDAT", zlib.compress(raw, 9)) + chunk(b"IEND", b"")
