#!/usr/bin/env python3
"""Small faults in the program, one at a time, and whether a test notices.

  cmake --preset check                                     # the build whose objects are linked; brought up to date first
  tests/mutation/mutate.py --seed 1 --count 300            # half a minute each; goes on where it was stopped
  tests/mutation/mutate.py --seed 1 --count 300 --share 1/2   # every second one of them, beside another that does 2/2
  tests/mutation/mutate.py --seed 1 --scripts              # the survivors, asked of the scripts that test the program end to end
  tests/mutation/mutate.py --seed 1 --count 300 --report   # what it has found so far
  tests/mutation/mutate.py --seed 1 --again                # the survivors, asked of the tests as they are now

By hand, not in CI; what was found: README.md. A fault is a token of a line of code in sim/ replaced by its neighbour: < by <=, + by -, a
number by the next, && by ||, true by false, min by max, or a statement left out. The seed decides which; places that only make words
(messages, tables for people) and what has no C++ tests of its own (command, python, main.cpp; of farm what speaks to MPI and Slurm) are
left out.

Nothing is written to the tree or to the build. The object with the fault, of a header every object that includes it, is compiled again,
without optimisation, and linked before the build's own libraries, into the C++ tests of its module and of those above it. What survives
them is linked into the program, for --scripts.
"killed" is a fault by a test that fails, crashes or takes five times the processor time, or by a compiler that refuses it; "alive"
otherwise. Results are lines of JSON in WORK/SEED.jsonl or WORK/SEED.SHARE.jsonl, one as soon as it is known; those of asking again and of
scripts, in WORK/SEED.again.jsonl and WORK/SEED.scripts.jsonl. The tree is read all the while: write tests in another checkout.

The survivors are read by a person: equivalent, or a test to write.
"""

import argparse
import json
import os
import random
import re
import resource
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LINKER = ["-Wl,-S", *(["-fuse-ld=gold"] if shutil.which("ld.gold") else [])]  # half of a fault's time is its link
# Of each module: the tests that may notice, the quick ones first; then those that replay most of the program.
TESTS = {
    "core": ["workload", "cluster", "interchange", "core"], "engine": ["engine", "network", "training", "jobs"],
    "workload": ["workload", "schedule", "interchange", "training"], "cluster": ["cluster", "collective", "report", "network"],
    "compression": ["compression", "report"], "collective": ["collective", "report", "network", "training"], "network": ["network", "report", "training", "jobs"],
    "schedule": ["schedule", "pipeline", "report", "search", "training", "interchange"], "pipeline": ["pipeline", "training", "search"], "estimate": ["estimate"],
    "training": ["training", "report", "search", "experiment", "jobs"],
    "search": ["search", "report", "experiment"], "interchange": ["interchange"], "picture": ["picture", "view", "html"],
    "results": ["results", "report", "experiment", "html"], "configs": ["configs"], "experiment": ["html", "report", "experiment"], "calibration": ["calibration", "report"], "farm": ["farm", "experiment"], "jobs": ["jobs"], "diagnosis": ["diagnosis"], "report": ["report", "html"], "view": ["view", "html"], "html": ["html"],
}
# And the scripts that may: less than a minute of processor time altogether.
SCRIPTS = {
    "core": ["validate", "compare", "cluster_words", "outputs", "screens", "tutorial"], "engine": ["compare", "sharding", "pictures", "tutorial"],
    "workload": ["validate", "compare", "models", "public_traces", "tutorial"], "estimate": ["schemas", "estimate_command", "tutorial"],
    "cluster": ["use_of_links", "compare", "cluster_words", "networks", "tutorial"], "compression": ["codec", "tutorial"],
    "collective": ["use_of_links", "compare", "networks", "tutorial"],
    "calibration": ["nccl_logs", "calibrate", "validate", "known_speed", "tutorial"],
    "network": ["use_of_links", "compare", "sharding", "networks", "public_traces", "tutorial"],
    "schedule": ["compare", "sharding", "public_traces", "plan", "tutorial"], "training": ["use_of_links", "compare", "sharding", "public_traces", "tutorial"],
    "pipeline": ["pipelines", "operations", "pipeline_jobs", "layouts", "tutorial"], "jobs": ["jobs_command", "jobs_sweep", "goodput", "pipeline_jobs", "tutorial"],
    "search": ["compare", "recommend", "plan", "tutorial"], "interchange": ["export", "import", "public_traces", "diagnose", "tutorial"],
    "picture": ["report_page", "plot", "pictures", "tutorial"], "experiment": ["compare", "report_page", "whatif", "recommend", "tutorial"],
    "results": ["compare", "report_page", "plot", "tutorial"], "configs": ["config"], "farm": ["shares"], "diagnosis": ["diagnose", "peer_diagnosis"], "report": ["validate", "use_of_links", "compare", "codec", "screens", "whatif", "tutorial"],
    "view": ["use_of_links", "report_page", "plot", "pictures", "tutorial"], "html": ["report_page", "tutorial"],
}
# clang++, where it is there, over a precompiled header: less than half of what g++ takes for a fault. The same bits come out (preset clang).
HEADERS = ["algorithm", "cmath", "cstdint", "filesystem", "functional", "limits", "map", "memory", "numeric", "optional", "set", "span", "stdexcept",
           "string", "string_view", "utility", "variant", "vector", "fmt/format.h"]
CLANG = shutil.which("clang++")
QUICK = ["-O0", "-w", "-fPIC", "-ffp-contract=off", "-fvisibility=hidden", "-fvisibility-inlines-hidden"]
MEMORY = 8 << 30  # bytes that a fault may ask for
ELSEWHERE = {"sim/base/farm/mpi.cpp", "sim/base/farm/mpi_transport.cpp", "sim/base/farm/slurm.cpp"}  # tested by scripts, on the real thing
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
        if relative.parts[2:3] == () or relative.parts[2] not in TESTS or str(relative) in ELSEWHERE:
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


class Build:
    """A build, brought up to date: what it compiles and links with, taken from it."""

    def __init__(self, build, work, scripts):
        self.build, self.work, self.scripts = build, work, scripts
        commands = json.loads((build / "compile_commands.json").read_text(encoding="utf-8"))
        self.compile = {one["file"]: shlex.split(one["command"]) for one in commands}
        self.known_times = work.parent / "times.json"  # of each test: processor seconds, without a fault
        self.times = json.loads(self.known_times.read_text(encoding="utf-8")) if self.known_times.exists() else {}
        self.links = {}  # of each test: the command that links it
        data = re.search(r"^ALLREPLAY_REFERENCE_DATA:PATH=(.*)$", (build / "CMakeCache.txt").read_text(encoding="utf-8"), re.MULTILINE)
        self.environment = {**os.environ, "ALLREPLAY_REFERENCE_DATA": data[1], "TMPDIR": str(work)}  # not another's files
        subprocess.run(["ninja", "-C", build, *self.targets(), *(["allreplay"] if scripts else [])], check=True, stdout=subprocess.DEVNULL)  # a dry run cannot say that all is up to date
        tests = subprocess.run(["ctest", "--show-only=json-v1"], cwd=build, check=True, stdout=subprocess.PIPE, text=True).stdout
        self.tests = {one["name"]: one.get("command") for one in json.loads(tests)["tests"]}  # none of what is not built
        found = subprocess.run(["ninja", "-C", build, "-t", "deps"], check=True, stdout=subprocess.PIPE, text=True).stdout
        self.includes = {}  # by object: the files that it is made of
        for line in found.splitlines():
            if line.startswith("    "):
                self.includes[current].add(os.path.normpath(build / line.strip()))
            elif line:
                current = line.split(":")[0]
                self.includes[current] = set()

    @staticmethod
    def targets():
        return sorted({f"test_{name}" for names in TESTS.values() for name in names})

    def link(self, target):
        """The command that links it, without what is done after that."""
        if target not in self.links:
            last = subprocess.run(["ninja", "-C", self.build, "-t", "commands", target], check=True, stdout=subprocess.PIPE, text=True).stdout
            self.links[target] = shlex.split(last.strip().splitlines()[-1].removeprefix(": && ").split(" && ")[0])
        return self.links[target]

    def run(self, command, seconds=3600.0, **how):
        """Exit status; -24 beyond so many seconds of processor time."""
        how = {"cwd": self.build, "env": self.environment, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL} | how
        def limit():
            resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 2))
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        return subprocess.run(command, check=False, preexec_fn=limit, **how).returncode

    def test(self, name, program, seconds=3600.0):
        """Runs a test; a C++ test is `program`, a script asks it."""
        if not self.scripts:
            return self.run([program, "--abort"], seconds)
        return self.run([sys.executable, *self.tests[name][1:], "-f"], seconds, env={**self.environment, "ALLREPLAY_PROGRAM": str(program)})

    def baseline(self, name):
        """The test passes as it is; how long it takes."""
        if name not in self.times:
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            if self.test(name, self.build / ("allreplay" if self.scripts else f"tests/test_{name}")) != 0:
                sys.exit(f"mutate.py: {name} fails without any fault")
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            self.times[name] = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            self.known_times.write_text(json.dumps(self.times), encoding="utf-8")
        return self.times[name]

    def sources(self, file, linked):
        """Those to compile for a fault in `file`: itself, or all that include it and are linked."""
        path = str(ROOT / file)
        if path in self.compile:
            return [path]
        outputs = {command[command.index("-o") + 1]: source for source, command in self.compile.items()}
        def is_linked(one):
            library = re.match(r"sim/CMakeFiles/(allreplay_\w+)\.dir/", one)
            return one in linked or (library and f"sim/lib{library[1]}.a" in linked)
        return [outputs[one] for one, files in self.includes.items() if path in files and one in outputs and is_linked(one)]

    def precompiled(self):
        """What to give to clang++, so that it need not read the headers of the standard library; made where it is not yet."""
        made = self.work / "headers.pch"
        if not made.exists():
            source = self.work / "headers.hpp"
            source.write_text("".join(f"#include <{name}>\n" for name in HEADERS), encoding="utf-8")
            subprocess.run([CLANG, *QUICK, "-x", "c++-header", "-std=c++20", "-DFMT_SHARED", source, "-o", made], check=True)
        return ["-include-pch", str(made)]

    def compile_one(self, command, overlay):
        """Whether a compiler takes it: clang++ first, then the build's own."""
        quick = CLANG and self.run([CLANG, f"-I{overlay}", *QUICK, *self.precompiled(), *command[1:]]) == 0
        return quick or self.run([command[0], f"-I{overlay}", "-O0", "-w", *command[1:]]) == 0

    def compile_into(self, made, file, linked):
        """Adds what is not made yet of what the fault changes, by object; whether the compiler takes it."""
        overlay = self.work / "overlay"
        for source in self.sources(file, linked):
            command = [word for word in self.compile[source] if word not in ("-g", "-O1", "-O2", "-O3", "-Werror")]
            command = command[next(i for i, word in enumerate(command) if re.search(r"(g\+\+|clang\+\+|c\+\+)[-\d.]*$", word)):]
            place = command.index("-o")
            if command[place + 1] in made:
                continue
            output = str(self.work / f"{len(made)}.o")
            made[command[place + 1]] = output
            command[place + 1] = output
            if source == str(ROOT / file):
                command[-1] = str(overlay / file)
            elif Path(source).parent.name == "Unity":  # it includes its module's files by their absolute paths
                together = self.work / "together.cpp"
                together.write_text(Path(source).read_text(encoding="utf-8").replace(f'"{ROOT / file}"', f'"{overlay / file}"'), encoding="utf-8")
                command[-1] = str(together)
            if not self.compile_one(command, overlay):
                return False
        return True

    def judge(self, fault):
        """"alive", or what killed it."""
        file, number, line, _ = fault
        copy = self.work / "overlay" / file
        copy.parent.mkdir(parents=True, exist_ok=True)
        lines = (ROOT / file).read_text(encoding="utf-8").splitlines()
        lines[number] = line
        copy.write_text("\n".join(lines) + "\n", encoding="utf-8")
        program = self.work / ("allreplay" if self.scripts else "test")
        try:
            made = {}  # by object of the build: the same with the fault
            for name in (SCRIPTS if self.scripts else TESTS)[Path(file).parts[2]]:
                limit = 2 + 5 * self.baseline(name)
                link = self.link("allreplay" if self.scripts else f"test_{name}")
                if not self.compile_into(made, file, set(link)):
                    return "compiler"
                own = [made.get(word, word) for word in link]
                place = own.index("-o")
                own[place + 1] = str(program)
                linked = [*own[:place], *(one for one in made.values() if one not in own), *own[place:], *LINKER]
                if not (self.scripts and program.exists()) and self.run(linked) != 0:  # one program for all scripts
                    return "compiler"
                status = self.test(name, program, limit)
                if status != 0:
                    return f"{name} ({'time' if status == -24 else status})"
            return "alive"
        finally:
            copy.unlink()
            program.unlink(missing_ok=True)


def again(build, survivors):
    """Asks the tests of today about what was alive, or the scripts; lines may have moved. Results as they come."""
    every = faults()
    for one in survivors:
        same = [fault for fault in every if (fault[0], fault[2], fault[3]) == (one["file"], one["text"], one["what"])]
        nearest = min(same, key=lambda fault: abs(fault[1] - one["line"]), default=None)
        result = build.judge(nearest) if nearest else "is no longer there"
        print(f"{result:>14}  {one['file']}:{one['line'] + 1}: {one['what']}", flush=True)
        yield {**one, "result": result}


def key(one):
    """A fault, in a list of results."""
    return (one["file"], one["line"], one["text"])


def read(log):
    """The results in a file, if it is there."""
    return [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()] if log.exists() else []


def still_alive(survivors, found):
    """Those that nothing is known to have caught."""
    return [one for one in survivors if found.get(key(one), "alive") == "alive"]


def append(log, result):
    """Adds a result, at once."""
    with log.open("a", encoding="utf-8") as out:
        out.write(json.dumps(result) + "\n")


def report(results, later):
    """Counts, and the survivors; `later`: what was found of them since, by who was asked."""
    killed = [one for one in results if one["result"] not in ("alive", "compiler")]
    survivors = [one for one in results if one["result"] == "alive"]
    compiled = len(killed) + len(survivors)
    share = f" ({100 * len(survivors) / compiled:.1f} % of those that compile)" if compiled else ""
    print(f"{len(results)} faults: {len(results) - compiled} refused by the compiler, {len(killed)} caught by a C++ test, {len(survivors)} alive{share}")
    for asked, found in later.items():
        known = [one for one in survivors if key(one) in found]
        alive = still_alive(survivors, found)
        if known:
            print(f"{len(known)} of these asked of {asked}: {len(survivors) - len(alive)} caught, {len(alive)} alive ({100 * len(alive) / compiled:.1f} %)")
        survivors = alive
    for one in survivors:
        print(f"{one['file']}:{one['line'] + 1}: {one['what']}\n    {one['text'].strip()}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "check", help="a build of this tree, tests and all")
    parser.add_argument("--work", type=Path, default=ROOT / "build" / "mutation", help="results, and what is compiled")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no fault after so long")
    parser.add_argument("--only", default="", help="files whose path contains this")
    parser.add_argument("--share", default="1/1", metavar="I/N", help="every Nth of the faults, from the Ith: for N beside each other")
    parser.add_argument("--again", action="store_true", help="ask about the survivors alone")
    parser.add_argument("--scripts", action="store_true", help="ask the scripts about the survivors")
    parser.add_argument("--report", action="store_true", help="print what is known, and do nothing")
    arguments = parser.parse_args()
    share, shares = map(int, arguments.share.split("/"))
    name = f"{arguments.seed}" if shares == 1 else f"{arguments.seed}.{share}"
    log = arguments.work / f"{name}.jsonl"
    later_logs = {"today's tests": arguments.work / f"{arguments.seed}.again.jsonl", "scripts": arguments.work / f"{arguments.seed}.scripts.jsonl"}
    results = [one for file in sorted(arguments.work.glob(f"{arguments.seed}.*jsonl")) if file not in later_logs.values() for one in read(file)]
    later = {asked: {key(one): one["result"] for one in read(file)} for asked, file in later_logs.items()}
    def build():
        work = arguments.work / (f"{name}.scripts" if arguments.scripts else name)
        work.mkdir(parents=True, exist_ok=True)
        return Build(arguments.build.resolve(), work.resolve(), arguments.scripts)
    if arguments.again or arguments.scripts:
        asked = "scripts" if arguments.scripts else "today's tests"
        survivors = [one for one in results if one["result"] == "alive" and arguments.only in one["file"]]
        if arguments.scripts:
            survivors = [one for one in still_alive(survivors, later["today's tests"]) if key(one) not in later["scripts"]]
        for one in again(build(), survivors[share - 1::shares]):
            later[asked][key(one)] = one["result"]
            append(later_logs[asked], one)
    elif not arguments.report:
        known = {key(one) for one in results}
        judges = build()
        end = time.monotonic() + 60 * arguments.minutes
        mine = drawn(arguments.seed, arguments.count)[share - 1::shares]
        for fault in sorted(mine, key=lambda one: one[0].endswith(".hpp")):  # headers last: they take the longest
            if fault[:3] in known or arguments.only not in fault[0]:
                continue
            if time.monotonic() > end:
                break
            results.append({"file": fault[0], "line": fault[1], "text": fault[2], "what": fault[3], "result": judges.judge(fault)})
            append(log, results[-1])
            print(f"{results[-1]['result']:>14}  {fault[0]}:{fault[1] + 1}: {fault[3]}", flush=True)
    report(results, later)


if __name__ == "__main__":
    main()
