"""The papers: a file each, ``PAPER.toml``, and what of it is code.

``PAPER_paths.py`` builds its scenarios, ``PAPER_measures.py`` reduces records to numbers and curves, and
``PAPER_figures.py`` has the charts and tables that the file cannot state.
"""
