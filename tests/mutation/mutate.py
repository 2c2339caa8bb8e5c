#!/usr/bin/env python3
"""Small faults in the program, one at a time, and whether a C++ test notices.

  tests/mutation/mutate.py --seed 1 --count 300            # about a minute each; goes on where it was stopped
  tests/mutation/mutate.py --seed 1 --count 300 --report   # what it has found so far

By hand, not in CI. A fault is a token of a line of code in sim/ replaced by its neighbour: < by <=, + by -, a number by the next, && by ||,
true by false, min by max, or a statement left out. The seed decides which; places that only make words (messages, tables for people) and
modules without C++ tests of their own (command, main.cpp) are left out. Each is built into a copy of the tree in --work and judged by the C++
tests of its module and of those above it: "killed" by a test that fails, runs ten times as long or crashes, or by a compiler that refuses
it; "alive" otherwise. Results are lines of JSON in WORK/SEED.jsonl, one as soon as it is known.

The survivors are read by a person: equivalent, or a test to write.
"""

import argparse
import json
import random
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Of each module: the tests that may notice. Those of the module first, then those that replay most of the program.
TESTS = {
    "core": ["core", "workload", "cluster"], "engine": ["engine", "network", "training"], "workload": ["workload", "training", "interchange"],
    "cluster": ["cluster", "collective", "network"], "compression": ["compression"], "collective": ["collective", "network", "training"],
    "network": ["network", "training"], "schedule": ["schedule", "training", "search"], "training": ["training", "search", "experiment"],
    "search": ["search", "experiment"], "interchange": ["interchange"], "picture": ["picture", "view"], "experiment": ["experiment", "html"],
    "report": ["report"], "view": ["view"], "html": ["html"],
}
SWAPS = [(r"(?<= )<(?= )", "<="), (r"<=(?!>)", "<"), (r"(?<= )>(?= )", ">="), (r">=", ">"), (r"==", "!="), (r"!=", "=="),
         (r"(?<= )\+(?= )", "-"), (r"(?<= )-(?= )", "+"), (r"(?<= )\*(?= )", "/"), (r"(?<= )/(?= )", "*"), (r"(?<= )%(?= )", "/"), (r"\+=", "-="),
         (r"-=", "+="), (r"&&", "||"), (r"\|\|", "&&"), (r"\btrue\b", "false"), (r"\bfalse\b", "true"), (r"\bstd::min\b", "std::max"),
         (r"\bstd::max\b", "std::min"), (r"(?<![\w.'])0(?![\w.'])", "1"), (r"(?<![\w.'])1(?![\w.'])", "2"), (r"(?<![\w.'])2(?![\w.'])", "3"),
         (r"\+\+(?=\w)", "--"), (r"--(?=\w)", "++"), (r"!(?=[\w(])", "")]
WORDS = re.compile(r"InputError|fmt::|fail\(|note\(|#include|//|constexpr std::string_view|static_assert|template|namespace|using |\"")
STATEMENT = re.compile(r"^\s+(?!return\b|const\b|auto\b|else\b|case\b|break\b|continue\b|throw\b)[\w.\[\]>\-]+(\(| [-+*/%]?= ).*;$")


def faults():
    """Every (file, line number, the line instead, what was done), in a fixed order."""
    found = []
    for path in sorted((ROOT / "sim").rglob("*.[ch]pp")):
        relative = path.relative_to(ROOT)
        if relative.parts[1] not in TESTS:
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
            if WORDS.search(line) or re.match(r"\s*(\*|///?)", line):
                continue
            for pattern, instead in SWAPS:
                for place in re.finditer(pattern, line):
                    found.append((str(relative), number, line[:place.start()] + instead + line[place.end():], f"{place[0]} -> {instead or 'nothing'}"))
            if STATEMENT.match(line):
                found.append((str(relative), number, re.match(r"\s*", line)[0] + ";", "left out"))
    return found


def drawn(seed, count):
    """The first `count` faults that a seed draws; more of the same seed begin with the same."""
    every = faults()
    order = list(range(len(every)))
    random.Random(seed).shuffle(order)
    return [every[place] for place in order[:count]]


def run(command, cwd, limit):
    """(exit status or "time", the end of what it said)."""
    try:
        done = subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=limit, check=False)
        return done.returncode, done.stdout.decode(errors="replace")[-400:]
    except subprocess.TimeoutExpired:
        return "time", ""


class Copy:
    """A copy of the tree, built once; then only what a fault touches."""

    def __init__(self, work, jobs):
        self.tree = work / "tree"
        self.build = self.tree / "build" / "mutation"
        self.jobs = jobs
        self.times = {}
        if not self.tree.exists():
            self.tree.mkdir(parents=True)
            listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], check=True, stdout=subprocess.PIPE).stdout
            for name in listed.decode().split("\0"):
                if name and (ROOT / name).is_file():
                    (self.tree / name).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy2(ROOT / name, self.tree / name)
        if not (self.build / "build.ninja").exists():
            subprocess.run(["cmake", "-S", self.tree, "-B", self.build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS_DEBUG=-O1",
                            f"-DALLREPLAY_REFERENCE_DATA={ROOT.parent / 'shared/data'}", "--log-level=WARNING"], check=True, stdout=subprocess.DEVNULL)

    def make(self, tests):
        return run(["ninja", "-C", str(self.build), "-j", str(self.jobs), *(f"test_{name}" for name in tests)], self.tree, 3600)

    def test(self, name, limit):
        return run([self.build / "tests" / f"test_{name}"], self.tree, limit)

    def baseline(self, tests):
        """The tests pass as they are; how long each takes."""
        for name in tests:
            if name not in self.times:
                start = time.monotonic()
                status, said = self.test(name, 1800)
                if status != 0:
                    sys.exit(f"mutate.py: test_{name} fails without any fault:\n{said}")
                self.times[name] = time.monotonic() - start

    def judge(self, fault):
        """"alive", or what killed it."""
        file, number, line, _ = fault
        tests = TESTS[Path(file).parts[1]]
        status, said = self.make(tests)
        if status != 0:
            sys.exit(f"mutate.py: does not build without any fault:\n{said}")
        self.baseline(tests)
        path = self.tree / file
        original = path.read_text(encoding="utf-8")
        lines = original.splitlines()
        lines[number] = line
        try:
            path.write_text("\n".join(lines) + "\n", encoding="utf-8")
            for name in tests:  # the module's own first: most end there
                status, _ = self.make([name])
                if status != 0:
                    return "compiler"
                status, _ = self.test(name, 20 + 10 * self.times[name])
                if status != 0:
                    return f"{name} ({status})"
            return "alive"
        finally:
            path.write_text(original, encoding="utf-8")


def report(results):
    """Counts, and the survivors."""
    killed = [one for one in results if one["result"] not in ("alive", "compiler")]
    alive = [one for one in results if one["result"] == "alive"]
    compiled = len(killed) + len(alive)
    print(f"{len(results)} faults: {len(results) - compiled} refused by the compiler, {len(killed)} caught by a test, {len(alive)} alive"
          + (f" ({100 * len(alive) / compiled:.1f} % of those that compile)" if compiled else ""))
    for one in alive:
        print(f"{one['file']}:{one['line'] + 1}: {one['what']}\n    {one['text'].strip()}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--jobs", type=int, default=2, help="of the compiler")
    parser.add_argument("--work", type=Path, default=ROOT / "build" / "mutation", help="the copy of the tree, and the results")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no fault after so long")
    parser.add_argument("--only", default="", help="files whose path contains this")
    parser.add_argument("--report", action="store_true", help="print what is known, and do nothing")
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    log = arguments.work / f"{arguments.seed}.jsonl"
    results = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()] if log.exists() else []
    if not arguments.report:
        known = {(one["file"], one["line"], one["text"]) for one in results}
        copy = Copy(arguments.work, arguments.jobs)
        end = time.monotonic() + 60 * arguments.minutes
        for fault in drawn(arguments.seed, arguments.count):
            if fault[:3] in known or arguments.only not in fault[0]:
                continue
            if time.monotonic() > end:
                break
            results.append({"file": fault[0], "line": fault[1], "text": fault[2], "what": fault[3], "result": copy.judge(fault)})
            with log.open("a", encoding="utf-8") as out:
                out.write(json.dumps(results[-1]) + "\n")
            print(f"{results[-1]['result']:>14}  {fault[0]}:{fault[1] + 1}: {fault[3]}", flush=True)
    report(results)


if __name__ == "__main__":
    main()
