"""A report as a test sees it: parsed by the standard library, checked while it is read."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

_VOID = {"meta", "img"}


@dataclass
class Page:
    headings: list[str] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)
    figures: list[str] = field(default_factory=list)  # the class of each figure, in order
    alts: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    tags: set[str] = field(default_factory=set)
    text: str = ""


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.page = Page()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        assert len(given) == len(attrs), f"<{tag}> has an attribute twice"
        self.page.tags.add(tag)
        if tag not in _VOID:
            self.open.append(tag)
        if tag == "img":
            self.page.sources.append(given["src"] or "")
            self.page.alts.append(given["alt"] or "")
        if tag == "figure":
            self.page.figures.append(given.get("class") or "")
        self.page.links += [given[name] or "" for name in ("href", "srcset") if name in given]

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag, f"</{tag}> closes another tag"

    def handle_data(self, data: str) -> None:
        if self.open[-1:] == ["style"]:
            assert "url(" not in data
            assert "@import" not in data
            return
        self.page.text += data
        if self.open[-1:] in (["h1"], ["h2"]):
            self.page.headings.append(data)


def read(html: str) -> Page:
    """The page, every tag of which is closed in order."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    assert reader.open == []
    return reader.page
