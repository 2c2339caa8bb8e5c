"""Profiles, clusters, plans and other inputs in the formats of docs/formats.md, as read-only dicts."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Union

from ._errors import input_error


def _wrong_number(value: object, place: str) -> tuple[str, str] | None:
    """Returns the place (JSON pointer) and text of the first number that is not finite, which JSON cannot represent."""
    if isinstance(value, Mapping):
        members = ((f"{place}/{key}", one) for key, one in value.items())
    elif isinstance(value, (list, tuple)):
        members = ((f"{place}/{i}", one) for i, one in enumerate(value))
    else:
        return (place, str(value)) if isinstance(value, float) and not math.isfinite(value) else None
    return next((found for where, one in members if (found := _wrong_number(one, where))), None)


def _plain(value: object) -> object:
    """Converts NumPy values, documents and mappings to types that json writes; the `default` of json.dumps."""
    if isinstance(value, Document):
        return value.to_dict()
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"a {type(value).__name__} cannot be written as JSON")


def json_text(value: object, name: str) -> str:
    """Returns the value as JSON text. Raises InputError if JSON cannot represent it; `name` names the value in errors."""
    try:
        return json.dumps(value, allow_nan=False, default=_plain)
    except TypeError as error:
        raise input_error(name, "", str(error), "dicts, lists, text, numbers, True, False and None") from error
    except ValueError as error:
        plain = json.loads(json.dumps(value, default=_plain)) if not isinstance(error, RecursionError) else None
        place, number = _wrong_number(plain, "") or ("", str(error))
        raise input_error(name, place, f"{number} is not a number that can be simulated", "a finite number") from error


def _frozen(value: Any) -> Any:
    """Returns an immutable copy."""
    if isinstance(value, dict):
        return MappingProxyType({key: _frozen(one) for key, one in value.items()})
    return tuple(_frozen(one) for one in value) if isinstance(value, list) else value


class Document(Mapping[str, Any]):
    """The JSON of a file, with a name; immutable. to_dict() returns a copy that can be changed."""

    kind = "document"

    def __init__(self, contents: Mapping[str, Any] | str, name: str = "") -> None:
        #: Its name in results.
        self.name = name or f"<{self.kind}>"
        #: The text of its file.
        self.text = contents if isinstance(contents, str) else json_text(contents, self.name)
        self._parsed: Mapping[str, Any] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Returns a copy that can be changed."""
        parsed: dict[str, Any] = json.loads(self.text)
        return parsed

    def save(self, file: str | os.PathLike[str]) -> None:
        """Writes the JSON to a file that the program can read."""
        with open(file, "w", encoding="utf-8") as stream:
            stream.write(self.text if self.text.endswith("\n") else self.text + "\n")

    @property
    def _contents(self) -> Mapping[str, Any]:
        if self._parsed is None:
            self._parsed = _frozen(self.to_dict())
        return self._parsed

    def __getitem__(self, key: str) -> Any:
        return self._contents[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._contents)

    def __len__(self) -> int:
        return len(self._contents)

    def __copy__(self) -> Document:
        return self

    def __deepcopy__(self, _: Any) -> Document:
        return self

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Document):
            return self.to_dict() == other.to_dict()
        return isinstance(other, Mapping) and self.to_dict() == other

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return f"<allreplay.{type(self).__name__} {self.name}>"


class Profile(Document):
    """A model's layer-wise times: a trace, as docs/formats.md describes it."""

    kind = "profile"

    @property
    def notes(self) -> list[str]:
        """Notes of the importer, or of `estimate`."""
        return list(self._contents.get("details", {}).get("notes", []))

    def _repr_html_(self) -> str:
        from ._pages import table_page

        keys = ("model", "device", "framework", "batch_size", "precision", "origin", "source")
        facts = {key: self._contents[key] for key in keys if key in self._contents}
        if isinstance(facts.get("model"), dict):
            facts["model"] = facts["model"].get("name", "")
        return table_page([{"": key, self.name: value} for key, value in facts.items()]
                          + [{"": "layers", self.name: len(self._contents.get("layers", []))}])


class Cluster(Document):
    """Workers and their network: a cluster file, as docs/formats.md describes it."""

    kind = "cluster"


class Plan(Document):
    """A plan file, as docs/formats.md describes it: which bytes are sent together, and when."""

    kind = "plan"

    def _repr_html_(self) -> str:
        from ._pages import table_page

        return table_page([{"block": i, "slices": ", ".join(map(str, (
            one if isinstance(one, str) else one.get("tensor") for one in block["slices"])))}
            for i, block in enumerate(self._contents["blocks"])])


class Codec(Document):
    """The sizes and times of compressed gradients: a codec file, as docs/formats.md describes it."""

    kind = "codec"


class Collective(Document):
    """An algorithm as a list of rounds: a collective file, as docs/formats.md describes it."""

    kind = "collective"

    def __init__(self, contents: Mapping[str, Any] | str, name: str = "") -> None:
        # The program recognises a collective file by the ending .json, which is added to a name.
        super().__init__(contents, name or (str(contents.get("name", "")) if isinstance(contents, Mapping) else "") or "collective")


#: A profile, a cluster, a codec, a collective, a plan or a sweep: a name, a file, or the contents of a file.
Given = Union[str, "os.PathLike[str]", Mapping[str, Any]]
