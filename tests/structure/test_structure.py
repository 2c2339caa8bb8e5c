#!/usr/bin/env python3
"""The architecture, checked: who may include whom, and where each package may be used (docs/design.md)."""
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SIM = ROOT / "sim"

USES = {  # directly; what those use may be used, too
    "core": [],
    "engine": ["core"],
    "workload": ["core"],
    "estimate": ["workload"],
    "cluster": ["core"],
    "compression": ["core"],
    "collective": ["cluster"],
    "network": ["engine", "collective"],
    "schedule": ["workload", "collective"],
    "training": ["network", "schedule"],
    "search": ["training"],
    "interchange": ["training"],
    "picture": ["core"],
    "experiment": ["search", "interchange"],
    "report": ["experiment", "compression"],
    "view": ["report", "picture"],
    "html": ["view"],
    "command": ["html", "estimate"],
    "main.cpp": ["command"],
}
PACKAGES = {  # the modules whose sources may include a package's headers; only fmt's may stand in headers
    "fmt": set(USES),
    "nlohmann": {"core", "interchange", "experiment", "report", "view", "html"},
    "rapidjson": {"workload", "interchange"},
    "chakra": {"interchange"},  # what protoc makes of chakra.proto
    "google": {"interchange"},
    "boost": {"core", "cluster"},
    "Eigen": {"collective", "compression", "search"},
    "oneapi": {"experiment"},
    "CLI": {"command", "main.cpp"},
    "cairo": {"picture"},
}


def reachable(module):
    seen, todo = set(), [module]
    while todo:
        one = todo.pop()
        if one not in seen:
            seen.add(one)
            todo += USES[one]
    return seen


def sources():
    for path in sorted(SIM.rglob("*.[ch]pp")):
        relative = path.relative_to(SIM)
        yield path, relative.parts[0], re.findall(r'^#include [<"]([^>"]+)[>"]', path.read_text(), re.M)


class Structure(unittest.TestCase):
    def test_modules_include_what_they_may(self):
        for path, module, includes in sources():
            for include in includes:
                if include.startswith("sim/"):
                    self.assertIn(include.split("/")[1], reachable(module), f"{path.relative_to(ROOT)} includes {include}")

    def test_packages_stand_where_they_belong(self):
        for path, module, includes in sources():
            for include in includes:
                package = re.match(r"\w+", include).group()
                if package in PACKAGES:
                    self.assertIn(module, PACKAGES[package], f"{path.relative_to(ROOT)} includes {include}")
                    if path.suffix == ".hpp":
                        self.assertEqual(package, "fmt", f"{path.relative_to(ROOT)} brings {include} into a header")

    def test_cmake_links_the_same_table(self):
        text = (SIM / "CMakeLists.txt").read_text()
        for module, body in re.findall(r"allreplay_module\((\w+)(.*?)\)", text, re.S):
            uses = re.search(r"USES ([\w ]+)", body)
            self.assertEqual(uses.group(1).split() if uses else [], USES[module], module)

    def test_every_source_is_listed(self):
        text = (SIM / "CMakeLists.txt").read_text()
        for path in SIM.rglob("*.cpp"):
            self.assertRegex(text, rf"\b{re.escape(path.name)}\b", str(path.relative_to(ROOT)))


if __name__ == "__main__":
    unittest.main()
