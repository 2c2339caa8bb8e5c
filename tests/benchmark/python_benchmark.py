#!/usr/bin/env python3
"""What the Python module costs: a call beside its simulation, importing it, threads, memory over many calls.

Run by hand, with PYTHONPATH=build/release/python; docs/dev/performance.md has the numbers.
"""

import os
import resource
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

import allreplay

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples"
SIX, EIGHT = str(EXAMPLES / "six_layers.json"), str(EXAMPLES / "eight_workers.json")


def of_calls(count, call):
    """Medians: microseconds of a call, of the simulation in it, and of the rest."""
    times = []
    for _ in range(count):
        start = time.perf_counter()
        result = call()
        took = time.perf_counter() - start
        times.append((took, result.wall_s, took - result.wall_s))
    return [1e6 * statistics.median(column) for column in zip(*times)]


def of_import():
    """Milliseconds that an import adds to Python's own start."""
    def start(code):
        times = []
        for _ in range(20):
            begin = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], check=True)
            times.append(time.perf_counter() - begin)
        return min(times)
    return 1e3 * (start("import allreplay") - start("pass"))


def of_threads(count, runs):
    """Seconds for `runs` simulations on each of `count` threads."""
    def work():
        for _ in range(runs):
            allreplay.run("resnet50_k80_b16", "fat-tree-16", "wfbp", workers=16, fidelity="message", no_reuse=True)
    threads = [threading.Thread(target=work) for _ in range(count)]
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.perf_counter() - start


def resident():
    """MiB that this process holds now."""
    with open("/proc/self/statm", encoding="ascii") as stream:
        return int(stream.read().split()[1]) * resource.getpagesize() / 2**20


def main():
    profile = allreplay.Profile(Path(SIX).read_text(encoding="utf-8"), "six")
    for what, call in [("files", lambda: allreplay.run(SIX, EIGHT, "wfbp")),
                       ("names", lambda: allreplay.run("googlenet_k80_b32", "k80-10gbe", "wfbp")),
                       ("a Profile", lambda: allreplay.run(profile, EIGHT, "wfbp")),
                       ("a large model", lambda: allreplay.run("resnet152_v100_b32", "k80-10gbe", "mg-wfbp"))]:
        call()
        print("a call by {}: {:.0f} us, the simulation {:.0f} us, the rest {:.0f} us".format(what, *of_calls(2000, call)))
    print(f"import allreplay: {of_import():.1f} ms")
    alone = of_threads(1, 20)
    for count in (2, 4):
        took = of_threads(count, 20)
        print(f"{count} threads on {len(os.sched_getaffinity(0))} cores: {count * alone / took:.2f} times one thread's rate")
    for calls in (1000, 100_000):
        for i in range(calls):
            result = allreplay.run(profile, EIGHT, "wfbp", workers=2 + i % 30)
            if i % 10 == 0:
                result.timeline.start, result.plan  # pylint: disable=pointless-statement
            if i % 100 == 0:
                allreplay.strategy("mine")(lambda needs, prices: [needs])
                allreplay.run(allreplay.Profile(profile.text + " " * (i % 977), "other"), EIGHT, "mine")
                try:
                    allreplay.run(SIX, EIGHT, "nothing")
                except allreplay.InputError:
                    pass
        print(f"after {calls} calls: {resident():.1f} MiB")


if __name__ == "__main__":
    main()
