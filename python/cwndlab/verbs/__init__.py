"""Verbs of the command line, one module each; `cwndlab.cli` registers them."""
