"""Tables as plain text: what rich prints into a string."""

from __future__ import annotations

import io
from collections.abc import Iterable

from rich.console import Console, Group, RenderableType


def text_of(parts: Iterable[RenderableType], *, width: int, color: bool) -> str:
    """Print into a string; no line is longer than ``width`` cells, none ends in blanks.

    Text from outside must come as `rich.text.Text` or `str`: nothing in it is markup.
    """
    out = io.StringIO()
    console = Console(
        file=out,
        width=width,
        height=1000,
        force_terminal=color,
        color_system="standard" if color else None,
        no_color=not color,
        legacy_windows=False,
        markup=False,
        emoji=False,
        highlight=False,
    )
    console.print(Group(*parts))
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"
