"""Files that other programs read: CSV, qlog, traces of ns-2, packet captures."""

from cwndlab.export.formats import FORMATS, export

__all__ = ["FORMATS", "export"]


def __dir__() -> list[str]:
    return __all__
