"""What a Chakra trace (.et) says, as protoc decodes it, and how long it takes whoever feeds it as ASTRA-sim 2 does."""

import heapq
import itertools
import shutil
import subprocess
from pathlib import Path

SCHEMA = Path(__file__).resolve().parent / "et_def.proto"
PROTOC = shutil.which("protoc")


def tagged(data):
    """The messages of a file, each with its length before it, as the fields of one message."""
    tag, out = b"\x0a", bytearray()
    at = 0
    while at < len(data):
        start, length, shift = at, 0, 0
        while True:
            byte = data[at]
            at += 1
            length |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        out += tag + data[start:at + length]
        at += length
        tag = b"\x12"
    return bytes(out)


def value_of(text):
    if text[0] == '"':
        return text[1:-1].encode("latin-1", "backslashreplace").decode("unicode_escape").encode("latin-1").decode("utf-8")
    if text in ("true", "false"):
        return text == "true"
    try:
        return int(text)
    except ValueError:
        return text  # a word of an enum


def parse(lines):
    """A message of protoc's text format: name -> list of values."""
    message = {}
    for line in lines:
        line = line.strip()
        if line == "}":
            break
        if line.endswith(" {"):
            message.setdefault(line[:-2], []).append(parse(lines))
        else:
            name, value = line.split(": ", 1)
            assert not name.isdigit(), f"a field that the schema has not: {line}"
            message.setdefault(name, []).append(value_of(value))
    return message


def attributes(message):
    """name -> (the type that carries it, value)"""
    found = {}
    for one in message.get("attr", []):
        (kind, values), = ((key, value) for key, value in one.items() if key.endswith(("_val", "_list")))
        found[one["name"][0]] = (kind, values[0])
    return found


def decode(file):
    """(metadata, nodes in the file's order) of an .et file"""
    done = subprocess.run([PROTOC, f"--proto_path={SCHEMA.parent}", "--decode=File", SCHEMA.name], check=True, capture_output=True,
                          input=tagged(file.read_bytes()))
    whole = parse(iter(done.stdout.decode("utf-8").splitlines()))
    nodes = [{"id": node.get("id", [0])[0], "name": node["name"][0], "type": node["type"][0], "data_deps": node.get("data_deps", []),
              "duration_micros": node.get("duration_micros", [0])[0], "attr": attributes(node)} for node in whole["node"]]
    return whole["metadata"][0], nodes


def replay(nodes, price):
    """Seconds of one worker: of the free nodes the lowest id, one compute node and one collective at a time; `price` of a node is the
    seconds that its collective takes. A compute node without a duration takes a nanosecond."""
    by_id = {node["id"]: node for node in nodes}
    missing = {node["id"]: len(set(node["data_deps"])) for node in nodes}
    children = {node["id"]: [] for node in nodes}
    for node in nodes:
        for before in set(node["data_deps"]):
            children[before].append(node["id"])
    free = {"COMP_NODE": [], "COMM_COLL_NODE": []}
    busy = dict.fromkeys(free, False)
    running, count, now = [], itertools.count(), 0.0

    def offer(one):
        heapq.heappush(free[by_id[one]["type"]], one)

    def issue():
        for kind, ids in free.items():
            if ids and not busy[kind]:
                node = by_id[heapq.heappop(ids)]
                busy[kind] = True
                takes = price(node) if kind == "COMM_COLL_NODE" else node["duration_micros"] * 1e-6 or 1e-9
                heapq.heappush(running, (now + takes, next(count), node["id"]))

    for one, left in missing.items():
        if left == 0:
            offer(one)
    issue()
    done = 0
    while running:
        now, _, one = heapq.heappop(running)
        done += 1
        busy[by_id[one]["type"]] = False
        for after in children[one]:
            missing[after] -= 1
            if missing[after] == 0:
                offer(after)
        issue()
    assert done == len(nodes), "not all nodes ran"
    return now
