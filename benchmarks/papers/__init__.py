"""The five papers' figures and tables, as far as open data allow: `python -m benchmarks.papers`. Apart from what users run."""
