"""Whether adapting a trained network to the images helped, as far as can be told without labels."""

from __future__ import annotations

from pseudoshot.report.markup import section, text
from pseudoshot.training.adapting import SAME, Verdict


def adapting_section(verdict: Verdict | None) -> str:
    """Nothing where no network was adapted."""
    if verdict is None:
        return ""
    lead = (
        "The training started from a network that was trained before. Its model is the network as "
        "it became, or the one it started from where the images do not show that it became better."
    )
    kept = {"end": "the adapted network", "start": "the network it started from"}[verdict.kept]
    rows = {
        f"right on held-out images, {_told(verdict)}: start": f"{verdict.start:.1f} %",
        "the same: end": f"{verdict.end:.1f} %",
        f"gain, which must be above {_mark(verdict)}": (
            f"{verdict.gain:+.1f} ± {verdict.interval:.1f}"
        ),
    }
    if verdict.neighbours_kept is not None:
        rows[f"nearest neighbours that stay, of which {SAME:.0f} % must"] = (
            f"{verdict.neighbours_kept:.0f} %"
        )
    body = "".join(
        f'<tr><th scope="row">{text(name)}</th><td class="number">{text(value)}</td></tr>'
        for name, value in rows.items()
    )
    told = f"<p>Kept: <strong>{kept}</strong>.</p><table><tbody>{body}</tbody></table>"
    return section("Did adapting help?", lead, told)


def _told(verdict: Verdict) -> str:
    return "told by those trained on" if verdict.by_labels else "without labels"


def _mark(verdict: Verdict) -> str:
    return "0" if verdict.neighbours_kept is None else "its 95 % interval"
