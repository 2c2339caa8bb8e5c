"""HTML tables for notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def table_page(rows: Iterable[Mapping[str, Any]]) -> str:
    """Returns an HTML table; the keys of the first row are its header."""
    from html import escape

    rows = list(rows)
    head = list(rows[0]) if rows else []

    def line(cells: Iterable[Any], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(_text(cell))}</{tag}>" for cell in cells) + "</tr>"

    return ("<table>\n" + line(head, "th") + "\n"
            + "\n".join(line((row.get(key) for key in head), "td") for row in rows) + "\n</table>")


def _text(cell: Any) -> str:
    if isinstance(cell, float):
        return f"{cell:.6g}"
    if isinstance(cell, Mapping):
        return ", ".join(f"{key}={_text(value)}" for key, value in cell.items())
    return "" if cell is None else str(cell)
