"""The few pieces of HTML that every section is made of. Text from outside goes through `text`."""

from __future__ import annotations

import html
from pathlib import Path


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


def section(title: str, lead: str, body: str) -> str:
    """A heading, a sentence that explains it, and a body; all three are HTML."""
    return f'<section>\n<h2>{title}</h2>\n<p class="lead">{lead}</p>\n{body}\n</section>'


def image(source: str, alt: str, style: str = "") -> str:
    """An image tag; `alt` is plain text and also shown on hovering."""
    label = text(alt)
    style = f' class="{style}"' if style else ""
    return f'<img{style} src="{source}" alt="{label}" title="{label}">'


def figure(picture: str, caption: str, style: str = "") -> str:
    style = f' class="{style}"' if style else ""
    return f"<figure{style}>{picture}<figcaption>{caption}</figcaption></figure>"
