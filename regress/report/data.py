"""An answer for programs."""

from __future__ import annotations

import json

from regress.record.codec import plain


def render(record: object) -> str:
    """Write a record as JSON: one object, ending in a newline.

    What was not measured is ``null``. It is plain ASCII, so that any text of a failed program survives.
    """
    return json.dumps(plain(record), allow_nan=False, indent=1) + "\n"
