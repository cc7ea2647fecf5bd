"""What mkdocs calls while it builds: pages from the code, files from the root, the order of sections."""

import re
from pathlib import Path
from typing import Any

from handbook import commands, dependencies, jsonfields, registries
from handbook.markdown import plain_pipes, spaced

ROOT = Path(__file__).parent.parent
_SHIM = "https://unpkg.com/iframe-worker/shim"  # what the offline plugin would load
GENERATED = {
    "reference/commands.md": commands.page,
    "reference/json.md": jsonfields.page,
    "reference/methods.md": registries.methods,
    "reference/job-file.md": registries.job,
    "reference/files.md": registries.stored,
    "reference/arrays-and-tables.md": registries.arrays,
    "reference/python.md": registries.python,
    "reference/dependencies.md": dependencies.page,
}
PROJECT = {  # files of the root that pages link to
    "CHANGELOG.md": "project/changes.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "CODE_OF_CONDUCT.md": "project/code-of-conduct.md",
    "SECURITY.md": "project/security.md",
}
MOVED = {"papers.html": "evidence/papers.html"}  # where pages that are cited by an older address lie now
SECTIONS = {
    "tutorials": "Tutorials",
    "how-to": "How to",
    "explanation": "Explanation",
    "reference": "Reference",
    "evidence": "Evidence",
    "project": "Project",
}


def on_config(config: Any) -> Any:
    """Name the pages of each section: those that somebody adds come in by themselves."""
    docs = ROOT / "docs"
    pages = [str(path.relative_to(docs)) for path in docs.rglob("*.md")]
    pages += [*GENERATED, *(place for name, place in PROJECT.items() if (ROOT / name).exists())]
    nav: list[Any] = ["index.md"]
    for folder, title in SECTIONS.items():
        inside = sorted((page for page in pages if page.startswith(f"{folder}/")), key=_first_the_index)
        nav += [{title: inside}] if inside else []
    nav += [page for page in sorted(pages) if "/" not in page and page != "index.md"]
    config["nav"] = nav
    return config


def _first_the_index(page: str) -> tuple[bool, str]:
    return (not page.endswith("index.md"), page)


def on_files(files: Any, config: Any) -> Any:
    from mkdocs.structure.files import File

    for place, write in GENERATED.items():
        files.append(File.generated(config, place, content=write()))
    for name, place in PROJECT.items():
        if (ROOT / name).exists():
            files.append(File.generated(config, place, content=from_root((ROOT / name).read_text())))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    return spaced(plain_pipes(to_project(markdown, page.file.src_uri)))


def on_post_page(output: str, page: Any, **_: Any) -> str:
    """Take the script that lets search work from a disk from the site itself."""
    return output.replace(_SHIM, "../" * page.file.dest_uri.count("/") + "assets/iframe-worker.js")


def on_post_template(output: str, template_name: str, **_: Any) -> str:
    """A server's page for what it does not have would name files by places that only some servers have: there is none."""
    return "" if template_name == "404.html" else output.replace(_SHIM, "assets/iframe-worker.js")


def on_post_build(config: Any) -> None:
    """Leave at the old address of a page that has moved a page that leads to it."""
    for old, now in MOVED.items():
        leads = f'<!doctype html><meta http-equiv="refresh" content="0; url={now}"><a href="{now}">{now}</a>\n'
        (Path(config["site_dir"]) / old).write_text(leads)


def from_root(text: str) -> str:
    """Links of a file of the root, as they are seen from `project/`.

    >>> from_root("[a](docs/how-to/review.md) [b](SECURITY.md)")
    '[a](../how-to/review.md) [b](security.md)'
    """
    text = text.replace("](docs/", "](../")
    for name, place in PROJECT.items():
        text = text.replace(f"]({name}", f"]({place.removeprefix('project/')}")
    return text


def to_project(text: str, page: str) -> str:
    """Links out of `docs/` to a file of the root, as they are on the site.

    >>> to_project("[a](../../SECURITY.md)", "evidence/attack.md")
    '[a](../project/security.md)'
    """
    up = "../" * page.count("/")

    def link(found: re.Match[str]) -> str:
        return f"]({up}{PROJECT[found[1]]}" if found[1] in PROJECT else found[0]

    return re.sub(r"\]\((?:\.\./)+([A-Z_]+\.md)", link, text)
