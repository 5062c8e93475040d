"""A comparison as one HTML file that needs nothing else: no network, no script, no font.

The page forbids itself everything but its own style sheet (Content-Security-Policy, by the
sheet's digest), so that text from outside could do nothing even if it were not escaped.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import lru_cache
from pathlib import PurePosixPath

from jinja2 import Environment, PackageLoader, StrictUndefined

from regress.record.comparison import SuiteComparison
from regress.report import charts
from regress.report.tables import tables
from regress.report.words import MARKS


def render(comparison: SuiteComparison) -> str:
    """Write the answer as a page: verdict first, then all it rests on."""
    tested = [c for c in comparison.comparisons if c.role == "gate" and c.verdict != "incomparable"]
    limit = charts.strip_limit(tested, min_change=comparison.min_change)
    return page(
        "report.html.j2",
        ("report.css",),
        table=tables(comparison),
        marks=MARKS,
        charts=charts,
        limit=limit,
        min_change=comparison.min_change,
        link=_link,
    )


def page(template: str, sheets: Sequence[str], **given: object) -> str:
    """Fill in a template; it finds its style sheet as ``style`` and the page's policy as ``policy``."""
    templates = _templates()
    style = "".join(templates.get_template(sheet).render() for sheet in sheets)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    return templates.get_template(template).render(style=style, policy=policy, **given)


def _link(log: str) -> str:
    """Give the address of a log that can be opened from disk; empty for any other."""
    path = PurePosixPath(log)
    return path.as_uri() if path.is_absolute() and ".." not in path.parts else ""


@lru_cache
def _templates() -> Environment:
    return Environment(
        loader=PackageLoader("regress.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
