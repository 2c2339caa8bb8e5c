#!/usr/bin/env python3
"""docs/examples/first_hour.ipynb: each cell runs, in order, and gives what the notebook shows. --update writes that anew.

Cells run as in a kernel: in one namespace, and the value of a last expression is shown, as text and as a drawing if it is one.
"""

import ast
import contextlib
import io
import json
import os
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from program import Case, ROOT  # noqa: E402

NOTEBOOK = ROOT / "docs" / "examples" / "first_hour.ipynb"
UPDATE = sys.argv[1:] == ["--update"]


def lines(text):
    """A text as notebooks keep it."""
    return text.splitlines(keepends=True)


def shown(value):
    """How a notebook shows a value: the kinds that do not depend on the versions of other packages."""
    data = {"text/plain": lines(repr(value))}
    drawing = getattr(value, "_repr_svg_", lambda: None)()
    if drawing:
        data["image/svg+xml"] = lines(drawing)
    return data


def outputs_of(source, number, names):
    """What a cell gives, as the format of notebooks has it. `names`: what earlier cells defined."""
    tree = ast.parse(source)
    last = ast.Expression(tree.body.pop().value) if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, f"cell {number}", "exec"), names)  # pylint: disable=exec-used
        value = eval(compile(last, f"cell {number}", "eval"), names) if last else None  # pylint: disable=eval-used
    outputs = []
    if printed.getvalue():
        outputs.append({"name": "stdout", "output_type": "stream", "text": lines(printed.getvalue())})
    if value is not None:
        outputs.append({"data": shown(value), "execution_count": number, "metadata": {}, "output_type": "execute_result"})
    return outputs


def executed(notebook):
    """The notebook with what its cells give now."""
    names = {"__name__": "__main__"}
    cells, number = [], 0
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            number += 1
            cell = {**cell, "execution_count": number, "outputs": outputs_of("".join(cell["source"]), number, names)}
        cells.append(cell)
    return {**notebook, "cells": cells}


def in_a_folder(do):
    """Runs it in an empty folder, as the notebook's files would be there."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            return do()
        finally:
            os.chdir(before)


class Notebook(Case):
    maxDiff = None

    def setUp(self):
        super().setUp()
        try:
            import pandas  # noqa: F401
        except ImportError as missing:
            self.skipTest(f"skipped: {missing}")
        self.kept = json.loads(NOTEBOOK.read_text(encoding="utf-8"))

    def test_each_cell_gives_what_is_shown(self):
        now = in_a_folder(lambda: executed(self.kept))
        self.assertGreater(sum(cell["cell_type"] == "code" for cell in now["cells"]), 5)
        for cell, kept in zip(now["cells"], self.kept["cells"], strict=True):
            with self.subTest(cell="".join(cell["source"])):
                self.assertEqual(cell, kept)

    def test_it_is_a_notebook(self):
        """nbformat's schema, or, without it, what version 4.5 requires."""
        try:
            import nbformat
        except ImportError:
            self.assertEqual((self.kept["nbformat"], self.kept["nbformat_minor"]), (4, 5))
            self.assertEqual(set(self.kept), {"cells", "metadata", "nbformat", "nbformat_minor"})
            self.assertEqual(len({cell["id"] for cell in self.kept["cells"]}), len(self.kept["cells"]))
            for cell in self.kept["cells"]:
                also = {"execution_count", "outputs"} if cell["cell_type"] == "code" else set()
                self.assertEqual(set(cell), {"cell_type", "id", "metadata", "source"} | also)
        else:
            nbformat.validate(self.kept)


if __name__ == "__main__":
    if UPDATE:
        written = in_a_folder(lambda: executed(json.loads(NOTEBOOK.read_text(encoding="utf-8"))))
        NOTEBOOK.write_text(json.dumps(written, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    else:
        unittest.main()
