"""The command ``cwndlab``, and ``python -m cwndlab``: installs signal handlers before the command line is imported."""

from __future__ import annotations

import sys
from typing import NoReturn

from cwndlab.cli import signals


def main() -> NoReturn:
    """Runs the command line; see `cwndlab.cli.app.main`."""
    signals.install()
    try:
        # After the handlers are in place: the import takes long enough for a Ctrl-C.
        from cwndlab.cli.app import main as run
    except KeyboardInterrupt:
        sys.stderr.write("stopped\n")
        signals.leave(signals.status())
    run()


if __name__ == "__main__":
    main()
