"""How far the measuring has come, on standard error."""

import sys
import time


class Progress:
    """On a terminal a line with the time left, rewritten; elsewhere, in a log, a line each half minute."""

    def __init__(self, what, total, stream=None, clock=time.monotonic):
        self.what, self.total, self.done = what, total, 0
        self.stream, self.clock = stream or sys.stderr, clock
        self.terminal = self.stream.isatty()
        self.start = self.last = clock()

    def advance(self):
        """One more is done."""
        self.done += 1
        now = self.clock()
        if now - self.last < (0.2 if self.terminal else 30) and not (self.terminal and self.done >= self.total):
            return
        self.last = now
        left = (now - self.start) / self.done * (self.total - self.done)
        text = f"{self.what}: {self.done} of {self.total}, {left:.0f} s left"
        print(f"\r\033[K{text}" if self.terminal else text, end="" if self.terminal else "\n", file=self.stream, flush=True)

    def over(self, items):
        """The items, each counted once it is done with; the terminal's line is cleared at the end."""
        for item in items:
            yield item
            self.advance()
        if self.terminal:
            print("\r\033[K", end="", file=self.stream, flush=True)
