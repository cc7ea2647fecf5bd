"""Somebody at the page: sees what is shown, presses keys, and remembers what they meant."""

from playwright.sync_api import Page, expect

VALUES = {"s": 1.0, "1": 1.0, "d": 0.0, "2": 0.0, "u": None, "3": None, "Space": None}
PATIENCE = 20_000  # milliseconds: machines that run tests are busy


class Person:
    """Drives a page. `problems` gathers whatever the browser complains about."""

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.url = url
        self.meant: dict[tuple[str, ...], float | None] = {}
        self.order: list[tuple[str, ...]] = []
        self.problems: list[str] = []
        self.foreign: list[str] = []
        page.set_default_timeout(PATIENCE)
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.on("console", lambda message: self.problems.append(message.text) if message.type == "error" else None)
        page.on("request", lambda request: self._note(request.url))

    def _note(self, address: str) -> None:
        if not address.startswith((self.url, "data:", "blob:", "file:")):
            self.foreign.append(address)

    def visit(self, path: str = "/") -> None:
        self.page.goto(self.url + path)
        self.page.locator("#stage img, #login:not([hidden])").first.wait_for()

    def sees(self) -> tuple[str, ...]:
        """The names of the items that are shown, once their pictures are there: before, nobody can answer."""
        self.page.locator("#stage:not([data-loading=true])").wait_for()
        names = self.page.locator("#stage .name").all_inner_texts()
        assert names, "nothing is shown"
        return tuple(names)

    def press(self, key: str) -> tuple[str, ...]:
        """Answer the pair that is shown, and wait until the next one is there."""
        shown = self.sees()
        self.page.keyboard.press(key)
        self.meant[shown] = VALUES[key]
        self.order.append(shown)
        self.waits_for_another_than(shown)
        return shown

    def undoes(self) -> tuple[str, ...]:
        last = self.order.pop()
        del self.meant[last]
        self.page.keyboard.press("Backspace")
        self.page.wait_for_function(_SHOWN_IS, arg=list(last))
        return last

    def waits_for_another_than(self, shown: tuple[str, ...]) -> None:
        self.page.wait_for_function(f"shown => !({_SHOWN_IS})(shown) && document.querySelector('#stage .name')", arg=list(shown))

    def has_sheets_ahead(self, count: int) -> None:
        """Wait until so many sheets lie in the browser behind the one that is shown, all with their pictures."""
        self.page.locator("#stage:not([data-loading=true])").wait_for()
        self.page.wait_for_function("count => Number(document.querySelector('#main').dataset.ahead) >= count", arg=count)

    def everything_is_saved(self) -> None:
        expect(self.page.locator("#saved")).to_have_text("All saved", timeout=PATIENCE)


_SHOWN_IS = """
names => JSON.stringify([...document.querySelectorAll('#stage .name')].map(e => e.textContent)) === JSON.stringify(names)
"""
