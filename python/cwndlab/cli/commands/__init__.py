"""The commands of the command line, one per file; `cwndlab.cli.app` registers them."""
