"""Runs of independent peers (ns-2, ns-3, Linux) that cwndlab is validated against."""
