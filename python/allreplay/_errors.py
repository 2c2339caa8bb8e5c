"""Errors in inputs, and warnings of simulations."""

from __future__ import annotations


class InputError(ValueError):
    """Invalid input: the place, what is wrong, and a remedy, as in the line that the program prints."""

    __module__ = "allreplay"  # the public name, in tracebacks

    def __init__(self, text: str, file: str = "", place: str = "", wrong: str = "", remedy: str = "") -> None:
        super().__init__(text)
        self.file = file
        self.place = place
        self.wrong = wrong
        self.remedy = remedy

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (str(self), self.file, self.place, self.wrong, self.remedy)


def input_error(file: str, place: str, wrong: str, remedy: str) -> InputError:
    """Returns an error found by this package, with a message in the program's form."""
    where = f"{file}: {place}" if place else file
    return InputError(f"{where}: {wrong} ({remedy})", file, place, wrong, remedy)


class SimulationWarning(UserWarning):
    """A warning that the program would print after "warning: "."""
