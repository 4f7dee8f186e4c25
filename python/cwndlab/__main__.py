"""The command ``cwndlab``, and ``python -m cwndlab``: takes signals over before the command line is imported."""

from __future__ import annotations

import sys
from typing import NoReturn

from cwndlab import signals


def main() -> NoReturn:
    """Runs the command line; see `cwndlab.cli.main`."""
    signals.install()
    try:
        from cwndlab.cli import main as run
    except KeyboardInterrupt:
        sys.stderr.write("stopped\n")
        signals.leave(signals.status())
    run()


if __name__ == "__main__":
    main()
