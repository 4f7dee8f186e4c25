"""Controls: what would make an outcome an artefact, asked of every claim before its outcome is published."""
