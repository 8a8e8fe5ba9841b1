"""A progress bar on standard error, without dependencies."""
from __future__ import annotations

import sys
import time
from typing import Optional


class Progress:
    """Shows how many of `total` (None: unknown) are done, at most ten times a second."""

    def __init__(self, total: Optional[int], shown: bool, what: str = "texts") -> None:
        self.total, self.shown, self.what = total, shown, what
        self.done, self.begin, self.last = 0, time.monotonic(), 0.0

    def add(self, n: int) -> None:
        self.done += n
        now = time.monotonic()
        if self.shown and now - self.last >= 0.1:
            self.last = now
            self._show("\r")

    def _show(self, begin: str, end: str = "") -> None:
        seconds = max(time.monotonic() - self.begin, 1e-9)
        of = "/%d (%3.0f %%)" % (self.total, 100.0 * self.done / max(self.total, 1)) if self.total is not None else ""
        sys.stderr.write("%s%d%s %s, %.0f/s%s" % (begin, self.done, of, self.what, self.done / seconds, end))
        sys.stderr.flush()

    def close(self) -> None:
        if self.shown:
            self._show("\r", "\n")
