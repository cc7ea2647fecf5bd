"""How long work tells how far it is, whoever shows it: a bar of the command line, or nothing. Light to import."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager

# (what, total, unit) -> a context that gives a function of the number done so far
Progressing = Callable[[str, int, str], AbstractContextManager[Callable[[int], None]]]


@contextmanager
def silent(what: str, total: int, unit: str) -> Iterator[Callable[[int], None]]:  # noqa: ARG001
    """Show nothing."""
    yield lambda _: None


@contextmanager
def when_needed(progress: Progressing, what: str, unit: str) -> Iterator[Callable[[int, int], None]]:
    """Give a function of (done, total) that shows progress from its first call on: for work that may prove unnecessary."""
    with ExitStack() as shown:
        updates: list[Callable[[int], None]] = []

        def report(done: int, total: int) -> None:
            if not updates:
                updates.append(shown.enter_context(progress(what, total, unit)))
            updates[0](done)

        yield report
