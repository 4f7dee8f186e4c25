"""Figures in files: whether something is drawn."""

from __future__ import annotations

import re
import zlib
from pathlib import Path

#: Operators of a path in a PDF's page: move, line, curve (ISO 32000-1, 8.5.2).
_PATH = re.compile(rb"[-0-9.]+ [-0-9.]+ [mlc]\b|[-0-9.]+ [-0-9.]+ [-0-9.]+ [-0-9.]+ re\b")


def is_blank(path: Path) -> bool:
    """Whether an image shows nothing but its frame: fewer than three colours, or fewer than 20 paths."""
    match path.suffix:
        case ".png":
            from PIL import Image

            with Image.open(path) as image:
                return len(image.convert("RGB").getcolors(maxcolors=1 << 24) or ()) < 3
        case ".svg":
            from xml.etree import ElementTree

            found = list(ElementTree.parse(path).iter())  # fails where it is no XML
            return sum(one.tag.rpartition("}")[2] in ("path", "use", "rect", "line", "text") for one in found) < 20
        case ".pdf":
            body = path.read_bytes()
            assert body.startswith(b"%PDF-")
            streams = re.findall(rb"stream\r?\n(.*?)\r?\nendstream", body, re.DOTALL)
            pages = [_inflated(stream) for stream in streams]
            return sum(len(_PATH.findall(page)) for page in pages) < 20
    raise AssertionError(f"{path} is not an image")


def _inflated(stream: bytes) -> bytes:
    try:
        return zlib.decompress(stream)
    except zlib.error:
        return stream
