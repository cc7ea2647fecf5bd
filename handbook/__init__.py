"""The site: `docs/` and what is written from the code when it is built (`make docs`).

The packages themselves never import it: it is not in the wheel.
"""
