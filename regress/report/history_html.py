"""A history as one HTML file that needs nothing else; see `regress.report.html`."""

from __future__ import annotations

from regress.record.history import History
from regress.report import history_charts
from regress.report.history import tables
from regress.report.html import page


def render(answer: History) -> str:
    """Write the answer as a page: verdict first, then what needs a look, the rest folded away."""
    return page(
        "history.html.j2",
        ("report.css", "history.css"),
        table=tables(answer),
        answer=answer,
        chart=history_charts.series,
    )
