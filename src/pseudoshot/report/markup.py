"""The few pieces of HTML that every section is made of. Text from outside goes through `text`."""

from __future__ import annotations

import html
import re
import zlib
from dataclasses import dataclass
from pathlib import Path

_SECTION = re.compile(r'<section id="([^"]+)">.*?</section>', re.DOTALL)


@dataclass(frozen=True)
class Section:
    """One part of the page; its id names its kind, then what it is about: "accuracy-1f2e3d4c"."""

    id: str
    html: str

    @property
    def kind(self) -> str:
        return self.id.partition("-")[0]


def text(value: object) -> str:
    """Anything as text that is safe between tags and inside quotes.

    >>> text('<b>&"')
    '&lt;b&gt;&amp;&quot;'
    """
    # a file name that is not Unicode has characters that no page can be written with
    return html.escape(str(value).encode(errors="replace").decode())


def short_name(data: str) -> str:
    """What a heading calls an image set: a folder by its last part, a named set by its name.

    >>> short_name("/home/ada/birds"), short_name("cub:test")
    ('birds', 'cub:test')
    """
    return Path(data).name or data


def section(kind: str, title: str, lead: str, body: str, about: str = "") -> Section:
    """A heading, a sentence that explains it, and a body; `title`, `lead` and `body` are HTML.

    Two sections of a kind that are about the same thing have the same id.
    """
    name = f"{kind}-{zlib.crc32(about.encode(errors='surrogatepass')):08x}" if about else kind
    return Section(
        name,
        f'<section id="{name}">\n<h2>{title}</h2>\n<p class="lead">{lead}</p>\n{body}\n</section>',
    )


def sections_of(page: str) -> list[Section]:
    """The sections of a page written earlier: sections do not nest, and text is escaped."""
    return [Section(found[1], found[0]) for found in _SECTION.finditer(page)]


def image(source: str, alt: str, style: str = "") -> str:
    """An image tag; `alt` is plain text and also shown on hovering."""
    label = text(alt)
    style = f' class="{style}"' if style else ""
    return f'<img{style} src="{source}" alt="{label}" title="{label}">'


def figure(picture: str, caption: str, style: str = "") -> str:
    style = f' class="{style}"' if style else ""
    return f"<figure{style}>{picture}<figcaption>{caption}</figcaption></figure>"
