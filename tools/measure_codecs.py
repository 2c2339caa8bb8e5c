#!/usr/bin/env python3
"""Measure what codecs cost on this machine's processor, and write it as files that --codec takes.

`allreplay codec` encodes and decodes random normal gradients of 2^6 to 2^24 elements on one core. To each codec's times
a line base + per_element * x is fitted: least squares of log(line / time), so that 64 elements count as much as 16
million. By which factor the line misses the worst of the points goes into the file's source. Written are
CODEC_DEVICE.json, which `allreplay run --codec CODEC` takes for a profile of that device, and any run as --codec
CODEC_DEVICE.

Measure with a Release build, best on a quiet machine: times are processor time, but caches and memory are shared.

Examples:
  tools/measure_codecs.py                            all codecs into models/codecs/
  tools/measure_codecs.py --codecs topk,dgc --option density=0.01 --out .
"""

import argparse
import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = os.environ.get("ALLREPLAY_PROGRAM", str(ROOT / "build" / "release" / "allreplay"))
CODECS = ["topk", "gtopk", "dgc", "randk", "fp16", "qsgd", "signsgd", "ef-signsgd", "onebit", "signum"]


class InputError(Exception):
    """Bad input; the text is the line to print."""


class Line(NamedTuple):
    """base + per_element * x, in seconds; `worst` is the largest factor between it and a point."""
    base: float
    per_element: float
    worst: float


def fit(points):
    """The Line through (elements, seconds), least squares of log(line / time), base and per_element >= 0."""
    # With the ratio r = base / per_element given, log per_element is the mean of log t - log(r + x); r is searched, from a
    # base that does not count at the least size to a slope that does not count at the greatest.
    times = [math.log(t) for _, t in points]

    def line(ratio):
        shape = [math.log(ratio + x) for x, _ in points]
        scale = sum(t - s for t, s in zip(times, shape)) / len(points)
        residuals = [scale + s - t for t, s in zip(times, shape)]
        return (sum(e * e for e in residuals), math.exp(scale) * ratio, math.exp(scale),
                math.exp(max(map(abs, residuals))))

    first, last = min(x for x, _ in points) * 1e-4, max(x for x, _ in points) * 1e4
    for _ in range(6):  # each time closer around the best of 200
        grid = [first * (last / first) ** (i / 200) for i in range(201)]
        best = min(range(201), key=lambda i: line(grid[i])[0])
        first, last = grid[max(best - 1, 0)], grid[min(best + 1, 200)]
    return Line(*line(grid[best])[1:])


def duration(seconds):
    """As the file holds it: four digits and a unit."""
    for unit, size in (("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9)):
        if seconds >= size:
            return f"{seconds / size:.4g} {unit}"
    return f"{seconds / 1e-12:.4g} ps" if seconds > 0 else "0 s"


def device_name(processor):
    """'Intel(R) Xeon(R) Processor' -> 'cpu-intel-xeon-processor'."""
    words = re.sub(r"\((R|TM|r|tm)\)", " ", processor)
    return "cpu-" + re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")


def measure(program, codec, elements, options):
    """What `allreplay codec --json` says of one size."""
    command = [program, "codec", "--codec", codec, "--elements", str(elements), "--iterations", "1", "--repetitions", "9",
               "--json"]
    for option in options:
        command += ["--option", option]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise InputError(f"{program}: file: {error.strerror} (build it: cmake --build --preset release)") from error
    if done.returncode != 0:
        raise InputError(done.stderr.strip())
    return json.loads(done.stdout)


def measured_file(codec, results, device):
    """The text of the codec's file, from its results by size."""
    one = results[0]
    lines = {what: fit([(r["elements"], r[f"{what}_s"]) for r in results]) for what in ("encode", "decode")}
    options = "".join(f", {name} {value}" for name, value in one["options"].items())
    source = (f"tools/measure_codecs.py on {one['device']}, one core, {one['elements']} to {results[-1]['elements']} normal "
              f"elements{options}; the lines miss the worst point by a factor of {lines['encode'].worst:.2f} (encode) and "
              f"{lines['decode'].worst:.2f} (decode)")
    times = [f'  "{what}": {{"base": "{duration(line.base)}", "per_element": "{duration(line.per_element)}"}}'
             for what, line in lines.items()]
    head = [f'  "{key}": {json.dumps(value)}' for key, value in (
        ("codec", codec), ("device", device), ("origin", "measured"), ("source", source))]
    return "{\n" + ",\n".join(head + times) + "\n}\n"


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line."""

    def error(self, message):
        raise InputError(f"command line: {message} (see --help)")


def exponent(text):
    """A power of two that `allreplay codec` takes."""
    value = int(text)
    if not 0 <= value <= 27:
        raise ValueError
    return value


def parse():
    """The command line."""
    parser = Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--codecs", default=",".join(CODECS), metavar="A,B", help="which (default: all)")
    parser.add_argument("--from", dest="first", type=exponent, default=6, metavar="E", help="least elements, 2^E (6)")
    parser.add_argument("--to", dest="last", type=exponent, default=24, metavar="E", help="most elements, 2^E (24)")
    parser.add_argument("--option", action="append", default=[], metavar="KEY=VALUE", help="density=... or bits=...")
    parser.add_argument("--device", help="the name in the files (default: cpu-, and the processor's own)")
    parser.add_argument("--out", type=Path, default=ROOT / "models" / "codecs", metavar="FOLDER", help="default: models/codecs")
    parser.add_argument("--program", default=PROGRAM, help="allreplay (default: %(default)s)")
    options = parser.parse_args()
    if options.first >= options.last:
        parser.error("--to must be above --from")
    if not options.out.is_dir():
        raise InputError(f"{options.out}: file: no such folder (one that exists)")
    return options


def main():
    """Measure, fit, write."""
    options = parse()
    print(f"{'codec':<12}{'':<8}{'base':>12}{'per element':>14}{'worst':>8}")
    for codec in options.codecs.split(","):
        results = [measure(options.program, codec, 2**e, options.option) for e in range(options.first, options.last + 1)]
        device = options.device or device_name(results[0]["device"])
        for what in ("encode", "decode"):
            line = fit([(r["elements"], r[f"{what}_s"]) for r in results])
            print(f"{codec:<12}{what:<8}{duration(line.base):>12}{duration(line.per_element):>14}{line.worst:>8.2f}", flush=True)
        (options.out / f"{codec}_{device}.json").write_text(measured_file(codec, results, device), encoding="utf-8")


if __name__ == "__main__":
    try:
        main()
    except InputError as error:
        print(error, file=sys.stderr)
        sys.exit(2)
    except OSError as error:
        print(f"{error.filename}: file: {error.strerror} (a place that can be written)", file=sys.stderr)
        sys.exit(2)
