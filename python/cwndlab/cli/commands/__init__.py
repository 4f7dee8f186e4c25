"""The commands, one per file; `cwndlab.cli.app` registers them."""
