#!/usr/bin/env python3
"""Writes what pages and schemas repeat of the program's tables. Usage: tools/write_tables.py [PROGRAM]

In the pages, between `<!-- allreplay list WHAT --markdown -->` and `<!-- end -->`; in docs/schema, the names of strategies,
collectives and topologies, the descriptions of options, and how sweeps give them. A new option's own schema is written
by hand.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SCHEMAS = ROOT / "docs" / "schema"
ALSO = {"accumulate": ["micro_batches", "micro-batches"]}  # other names of options
TABLE = re.compile(r"(<!-- allreplay (list [\w-]+ --markdown) -->\n).*?(<!-- end -->\n)", re.S)
NAMES = {"sweep.schema.json": [("strategies", r'"strategy": \{\s*"enum": ')],
         "cluster.schema.json": [("collectives", r'"collective": \{\s*"enum": '), ("topologies", r'"properties": \{"kind": \{"description": "[^"]*", "enum": ')]}


def lines_of(program, *arguments):
    """What `allreplay list` prints, a line each."""
    wide = {**os.environ, "COLUMNS": "100000"}
    return subprocess.run([program, "list", *arguments], capture_output=True, text=True, check=True, env=wide).stdout.splitlines()


def page_of(text, program):
    """A page with the tables that the program writes."""
    return TABLE.sub(lambda match: match[1] + "".join(f"{line}\n" for line in lines_of(program, *match[2].split()[1:])) + match[3], text)


def names_of(text, program, wanted):
    """A schema with the program's names, in the way that its list is written: in one line, or each in its own."""
    for what, before in wanted:
        names = [json.dumps(name) for name in lines_of(program, what, "--names")]
        old = re.search(rf"{before}(\[[^]]*\])", text)
        indent = re.search(r"\n +", old[1])
        new = f"[{', '.join(names)}]" if indent is None else f"[{indent[0]}{(',' + indent[0]).join(names)}{indent[0][:-2]}]"
        text = text[:old.start(1)] + new + text[old.end(1):]
    return text


def helps(program):
    """By option, its help as a description."""
    for line in lines_of(program, "options")[2:]:
        name, about = line.split(None, 1)
        yield name, json.dumps(f"{about}.", ensure_ascii=False)


def options_of(text, program):
    """The schema of options with their help as descriptions."""
    for name, about in helps(program):
        text = re.sub(rf'(\n    "{name}": {{.*?"description": )"(?:[^"\\]|\\.)*"', lambda match, about=about: match[1] + about, text, count=1, flags=re.S)
    return text


def sweep_of(text, program):
    """The schema of sweeps with every option: one value, a range, or several."""
    several = {name: f"""    "one_or_more_{name}": {{
      "description": {about},
      "anyOf": [
        {{"$ref": "options.schema.json#/$defs/{name}"}},
        {{"$ref": "#/$defs/range"}},
        {{"type": "array", "minItems": 1, "items": {{"$ref": "#/$defs/one_or_more_{name}"}}}}
      ]
    }}""" for name, about in helps(program)}
    given = [f'              "{word}": {{"$ref": "#/$defs/one_or_more_{name}"}}' for name in several for word in (name, *ALSO.get(name, []))]
    text = re.sub(r'(?:^ +"[\w-]+": {"\$ref": "#/\$defs/one_or_more_\w+"},?\n)+', lambda _: ",\n".join(given) + "\n", text, flags=re.M)
    return re.sub(r'^    "one_or_more_.*?(?=^  },$)', lambda _: ",\n".join(several.values()) + "\n", text, flags=re.M | re.S)


def files(program):
    """(file, its text as it should be) of everything that repeats a table."""
    for page in sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]):
        yield page, page_of(page.read_text(encoding="utf-8"), program)
    for name, wanted in NAMES.items():
        text = names_of((SCHEMAS / name).read_text(encoding="utf-8"), program, wanted)
        yield SCHEMAS / name, sweep_of(text, program) if name == "sweep.schema.json" else text
    options = SCHEMAS / "options.schema.json"
    yield options, options_of(options.read_text(encoding="utf-8"), program)


def main(program=ROOT / "build" / "release" / "allreplay"):
    """Writes them all."""
    for file, text in list(files(program)):
        file.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
