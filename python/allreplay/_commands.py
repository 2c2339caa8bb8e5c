"""Calls any command of the program: keyword arguments are its options, its JSON is the result.

`shard_group=4` is `--shard-group 4`; a keyword that is no option of the command but is in `allreplay list options` is passed as
`--option`; a trailing underscore is removed (`from_="kineto"`). Profiles, clusters, codecs, collectives, plans and sweeps may be
dicts with the contents of their files.
"""

from __future__ import annotations

import atexit
import os
import threading
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, NamedTuple

from . import _core
from ._documents import Cluster, Codec, Collective, Document, Given, Plan, Profile, json_text
from ._errors import SimulationWarning, input_error
from ._results import parsed


class Known(NamedTuple):
    """The program's description of a command."""

    help: str
    options: dict[str, str]  # by keyword: the option's name on the command line
    about: dict[str, str]  # by keyword: one line of help, with the default
    flags: frozenset[str]  # names of options without a value
    positional: str  # the positional argument; "": none


@lru_cache(maxsize=None)
def known() -> dict[str, Known]:
    """Returns the descriptions of all commands by name."""
    commands = {}
    for name, help_, options in _core.described():
        names = {_keyword(option): option for option, *_ in options if option != "--help"}
        about = {_keyword(option): help_ + (f" (default {default})" if default else "")
                 for option, help_, default, _, _ in options if option != "--help"}
        flags = frozenset(option for option, _, _, flag, _ in options if flag)
        positional = next((option for option, *_, first in options if first), "")
        commands[name] = Known(help_, names, about, flags, positional)
    return commands


@lru_cache(maxsize=None)
def _keys() -> frozenset[str]:
    """Returns the keys that --option takes."""
    return frozenset(_core.option_names())


def _keyword(option: str) -> str:
    return option.lstrip("-").replace("-", "_").lower()


class Call:
    """One call of a command: its arguments, and its files that exist only in memory."""

    def __init__(self, command: str) -> None:
        self.command = command
        self.options: list[tuple[str, list[str]]] = []
        self.inputs: list[tuple[str, str]] = []
        self.outputs: list[str] = []
        self.command_known = known()[command]

    def given(self, value: Given, kind: type[Document], place: str) -> str:
        """Returns the name by which the command finds the value: itself, or that of an added input file in memory."""
        if isinstance(value, str):
            return value
        if isinstance(value, os.PathLike):
            return os.fspath(value)
        if isinstance(value, Mapping):
            document = value if isinstance(value, Document) else kind(value)
            if isinstance(value, Document) and not isinstance(value, kind):
                raise input_error("command line", place, f"is a {value.kind}, not a {kind.kind}", f"a {kind.kind}")
            taken = {name for name, _ in self.inputs}
            name = document.name if document.name.startswith("<") else document.name + ".json"
            if (name, document.text) in self.inputs:
                return name
            while name in taken:
                name = f"{name}'"
            self.inputs.append((name, document.text))
            return name
        return _text(value, place)

    def sweep(self, value: Given) -> str:
        """Returns the name of a sweep. A dict's lists of profiles, clusters and plans may hold names or the contents of files."""
        if isinstance(value, Mapping):
            sweep = dict(value)
            for key, kind in (("profiles", Profile), ("clusters", Cluster), ("plans", Plan)):
                own = kind.kind
                if isinstance(sweep.get(key), (list, tuple)):
                    sweep[key] = [self._in_sweep(one, own, kind, f"/{key}/{i}") for i, one in enumerate(sweep[key])]
            self.inputs.append(("<sweep>", json_text(sweep, "<sweep>")))
            return "<sweep>"
        return self.given(value, Document, "file")

    def _in_sweep(self, entry: Any, key: str, kind: type[Document], place: str) -> Any:
        if isinstance(entry, Mapping) and key in entry and not isinstance(entry, Document):
            return {**entry, key: self.given(entry[key], kind, place)}
        if kind is Cluster and isinstance(entry, Mapping) and "nodes" in entry:
            return entry  # described by keys, not a file's contents
        return self.given(entry, kind, place)

    def add(self, option: str, value: Any) -> None:
        """Adds an option whose value is a Python value. Raises InputError for an unsuitable one."""
        if value is None or (value is False and option in self.command_known.flags):
            return
        if isinstance(value, (list, tuple)) and not value:
            raise input_error("command line", option, "has no value", "a value")
        if option in self.command_known.flags:
            if value is not True:
                raise input_error("command line", option, f"is a flag, but {value!r} is neither True nor False", "True")
            self.options.append((option, []))
        elif option in _KINDS:
            self.options.append((option, [self.given(one, _KINDS[option], option) for one in _several(value)]))
        elif option == "--option":
            pairs = value.items() if isinstance(value, Mapping) else (str(one).split("=", 1) for one in _several(value))
            self.options += [("--option", ["=".join((key, *map(lambda one: _text(one, f"--option {key}"), text))
                                                    )]) for key, *text in pairs]
        else:
            self.options.append((option, [_text(one, option) for one in _several(value)]))

    def add_all(self, options: Mapping[str, Any]) -> None:
        """Adds keyword arguments as options."""
        for keyword, value in options.items():
            name = keyword.rstrip("_")
            option = self.command_known.options.get(name)
            if option is not None:
                self.add(option, value)
            elif name in _keys() and "option" in self.command_known.options:
                if value is not None:
                    self.add("--option", {name: value})
            else:
                self.options.append(("--" + name.replace("_", "-"), ["?"]))  # so that the program rejects it, suggesting a similar name

    def words(self) -> list[str]:
        """Returns the words of the command line, without the program's name."""
        words, positionals = [self.command], []
        for option, values in self.options:
            if not option.startswith("-"):
                positionals += values
            elif option in self.command_known.flags:
                words.append(option)
            else:
                words += [f"{option}={value}" for value in values]
        return words + (["--", *positionals] if positionals else [])

    def run(self) -> _core.Answer:
        """Runs the command and returns its answer; its warnings become Python warnings, its notes go to the log."""
        with _running():
            answer = _core.call(self.words(), self.inputs, self.outputs)
        if answer.stderr_lines:
            _tell(answer.stderr_lines)
        return answer


_KINDS: dict[str, type[Document]] = {"--profile": Profile, "--cluster": Cluster, "--plan": Plan, "--codec": Codec,
                                      "--collective": Collective}


class _Calls:
    """Counts the calls that are running. The interpreter waits for them at exit, which would otherwise kill their threads."""

    def __init__(self) -> None:
        self.forget()
        os.register_at_fork(after_in_child=self.forget)  # a child process has only the thread that forked

    def forget(self) -> None:
        self.changed = threading.Condition()
        self.running = 0
        self.ending = False


_calls = _Calls()


@contextmanager
def _running() -> Iterator[None]:
    with _calls.changed:
        if threading.current_thread() is not threading.main_thread():
            _calls.changed.wait_for(lambda: not _calls.ending)  # blocks forever: a call that started now would be killed
        _calls.running += 1
    try:
        yield
    finally:
        with _calls.changed:
            _calls.running -= 1
            _calls.changed.notify_all()


@atexit.register
def _wait_for_calls() -> None:
    with _calls.changed:
        _calls.ending = True
        _calls.changed.wait_for(lambda: _calls.running == 0)


def _tell(lines: Iterable[str]) -> None:
    for line in lines:
        if line.startswith("warning: "):
            warnings.warn(line[len("warning: "):], SimulationWarning, stacklevel=_outside())
        else:
            import logging

            logging.getLogger("allreplay").info("%s", line)


def _outside() -> int:
    """Returns the stack level of the caller outside this package, for warnings.warn()."""
    import sys

    level, frame = 1, sys._getframe(1)
    here = os.path.dirname(__file__)
    while frame.f_back is not None and os.path.dirname(frame.f_code.co_filename) == here:
        frame = frame.f_back
        level += 1
    return level


def _several(value: Any) -> Iterable[Any]:
    return value if isinstance(value, (list, tuple)) else (value,)


def _text(value: Any, place: str) -> str:
    """Returns a value as text for the command line. Raises InputError for other types."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, os.PathLike):
        return str(os.fspath(value))
    if type(value).__module__ == "numpy" and getattr(value, "ndim", 1) == 0:
        return str(value.item())
    raise input_error("command line", place, f"a {type(value).__name__} is not a value", "text, a number, True or False")


def call(command: str, *positional: Given, **options: Any) -> Any:
    """Returns the parsed output of `allreplay COMMAND … --json`; the text if the command has no --json."""
    if command not in known():
        _core.call([command], [], [])  # raises InputError with similar names
    one = Call(command)
    for value in positional:
        one.add(one.command_known.positional, value)
    one.add_all(options)
    if "json" in one.command_known.options:
        one.options.append(("--json", []))
        return parsed(one.run().printed)
    return one.run().printed


def documented(command: str) -> str:
    """Returns a command's help and options as the text of a docstring."""
    lines = [known()[command].help + ".", ""]
    lines += [f"{keyword}: {about}" for keyword, about in known()[command].about.items() if keyword != "json"]
    return "\n".join(lines)
