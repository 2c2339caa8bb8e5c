"""Errors in inputs, and warnings of simulations."""

from __future__ import annotations


class InputError(ValueError):
    """Invalid input, as in the line that the program prints: where it is, what is wrong, and what would be right."""

    __module__ = "allreplay"  # as its users call it

    def __init__(self, text: str, file: str = "", place: str = "", wrong: str = "", remedy: str = "") -> None:
        super().__init__(text)
        self.file = file
        self.place = place
        self.wrong = wrong
        self.remedy = remedy

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (str(self), self.file, self.place, self.wrong, self.remedy)


def input_error(file: str, place: str, wrong: str, remedy: str) -> InputError:
    """An error of this package, in the same form."""
    where = f"{file}: {place}" if place else file
    return InputError(f"{where}: {wrong} ({remedy})", file, place, wrong, remedy)


class SimulationWarning(UserWarning):
    """A line that the program prints after "warning: "."""
