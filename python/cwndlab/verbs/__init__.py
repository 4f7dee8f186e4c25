"""Verbs of the command line that have a file of their own; the last lines of `cwndlab.cli` name each."""
