"""Sums in the same order whatever the number of cores: BLAS and OpenMP on one thread for a while."""

from contextlib import AbstractContextManager

from threadpoolctl import get_cached_controller  # type: ignore[import-untyped]


def one_thread() -> AbstractContextManager[object]:
    """Limit every pool of threads that is loaded to one thread, as a context manager.

    `threadpool_limits` would look through the libraries of the process each time, which takes milliseconds: longer than what
    samplers do between two answers. They are looked for again only when a module was imported since.
    """
    limited: AbstractContextManager[object] = get_cached_controller().limit(limits=1)
    return limited
