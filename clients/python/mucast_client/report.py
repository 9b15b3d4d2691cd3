"""The HTML report of a job."""

from __future__ import annotations

import html
import os
from pathlib import Path

HEIGHT = 800


class Report:
    """A page that needs no network. A notebook shows it; `save` writes it to a file."""

    def __init__(self, text: str) -> None:
        self.html = text

    def __repr__(self) -> str:
        return f"<Report: {len(self.html) / 1e6:.1f} MB of HTML>"

    def _repr_html_(self) -> str:
        # Without allow-same-origin, the page's scripts cannot reach the notebook.
        page = html.escape(self.html, quote=True)
        style = f"width: 100%; height: {HEIGHT}px; border: 0"
        return f'<iframe sandbox="allow-scripts" style="{style}" srcdoc="{page}"></iframe>'

    def save(self, path: os.PathLike[str] | str) -> Path:
        """Writes the page, and returns its path."""
        target = Path(path)
        target.write_text(self.html, encoding="utf-8", newline="")
        return target
