#!/usr/bin/env python3
"""docs/schema against the shipped files and the program. Run: python3 tests/tools/test_schemas.py

Every shipped file is valid; what the program refuses is not, but for what no schema can know; and the names that a schema lists
are the program's.
"""
import copy
import json
import re
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import program  # noqa: E402
from program import ROOT, needs_program  # noqa: E402

SCHEMAS = ROOT / "docs" / "schema"
FOLDERS = {"model": "models", "codec": "models/codecs", "device": "models/devices", "transformer": "models/transformers", "trace": "traces", "cluster": "topologies", "sweep": "configs"}
MANIFEST = ROOT / "traces" / "public.json"  # of tools/get_public_traces.sh; no trace

try:
    import jsonschema
except ImportError:
    jsonschema = None

sys.path.insert(0, str(ROOT / "tests" / "peer"))
import test_bad_input as bad  # pylint: disable=wrong-import-position
from test_bad_input import REMOVE, changed


def read(name):
    """A schema."""
    return json.loads((SCHEMAS / f"{name}.schema.json").read_text(encoding="utf-8"))


def bundle():
    """All schemas in one document, each under its name in $defs: how to find one beside another differs among versions of jsonschema."""
    def moved(value, name):
        if isinstance(value, list):
            return [moved(one, name) for one in value]
        if not isinstance(value, dict):
            return value
        value = {key: moved(one, name) for key, one in value.items() if key not in ("$id", "$schema")}
        if isinstance(value.get("$ref"), str):
            file, _, path = value["$ref"].partition("#")
            value["$ref"] = f"#/$defs/{file.split('.')[0] or name}{path}"
        return value
    names = [file.name.split(".")[0] for file in SCHEMAS.glob("*.json")]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$defs": {name: moved(read(name), name) for name in names}}


def validator(name, part=""):
    """What checks documents against a schema, or a part of it."""
    return jsonschema.Draft202012Validator({**bundle(), "$ref": f"#/$defs/{name}{part}"})


# What the program refuses and a schema cannot: it knows one value, one file, and no arithmetic.
BEYOND = {
    "trace": {
        "names of other files": [("/model", "no-such-model")],
        "names that stand twice": [("/model/layers/0/name", "b"), ("/model/layers/0/tensors/0/name", "b.w")],
        "one list in another": [("/layers/0/name", "c")],
        "products": [("/model/layers/0/tensors/0/shape", [10**11, 10**11])]},
    "cluster": {
        "one number in another": [("/stragglers/0/worker", 4)]},
    "measured": {"arithmetic": [("/network/measured/gamma", "9 us/B")]},
    "table": {"order": [("/network/table/1/bytes", "4 KiB"), ("/network/table/1/time", "1 ps")]},
    "sweep": {
        "names of other files": [("/profiles/0", "nowhere.json"), ("/clusters/0", "nowhere.json"), ("/codecs/0", "topkk"),
                                 ("/clusters/0", {"cluster": "cluster.json", "codecs": ["topkk"]})],
        "what one name means for another": [("/codecs/0", "topk")]},
}

TORUS = {"name": "t", "workers": 4, "network": {"alpha": "1 us", "topology": {
    "kind": "torus", "dimensions": [2, 2], "link": {"latency": "1 us", "bandwidth": "10 Gbit/s"}}}}
GRAPH = {"name": "g", "workers": 2, "network": {"alpha": "1 us", "topology": {
    "kind": "graph", "hosts": ["a", "b"], "switches": ["s"], "link": {"latency": "1 us", "bandwidth": "10 Gbit/s"},
    "links": [{"between": ["a", "s"]}, {"between": ["b", "s"], "latency": "3 us", "bandwidth": "1 Gbit/s"}]}}}
GPUS = {"name": "h", "workers": 4, "network": {"alpha": "1 us", "fidelity": "fluid", "topology": {
    "kind": "star", "link": {"latency": "1 us", "bandwidth": "10 Gbit/s"}, "gpus_per_host": 2,
    "inner": {"latency": "0 s", "bandwidth": "300 GB/s"}, "links": [{"between": ["h0", "s0"], "bandwidth": "1 Gbit/s"}]}}}
NODES = {"name": "n", "workers": 16, "network": {"node": {"workers": 8, "alpha": "1 us", "bandwidth": "370 GB/s"}, "alpha": "0 us", "bandwidth": "50 GB/s", "rails": 8,
         "collective": "nccl", "nccl": {"gpu": "h100", "link": "nvlink", "cpu": "amd", "channels": 16, "nvls": True, "ll128": False, "scale": {"node": {"bandwidth": 0.9}}}}}
RAIL = {"name": "r", "workers": 16, "network": {"alpha": "1 us", "topology": {
    "kind": "rail", "gpus_per_host": 8, "rails": 8, "oversubscription": 2, "pxn": False, "link": {"latency": "1 us", "bandwidth": "10 Gbit/s"},
    "inner": {"latency": "0 s", "bandwidth": "300 GB/s"}}}}
TABLES = {"name": "n", "workers": 4, "network": {"node": {"workers": 2}, "tables": [
    {"workers": size, "table": [{"bytes": "4 KiB", "time": "1 us"}, {"bytes": "1 MiB", "time": "1 ms"}]} for size in (2, 4)]}}
CODEC = json.loads((ROOT / "models" / "codecs" / "topk_p102-100.json").read_text(encoding="utf-8"))
OPTIONS = {"name": "o", "profiles": ["trace.json"], "clusters": ["plain.json"], "codecs": ["none", "topk"], "strategies": [
    "wfbp", {"name": "bytescheduler", "credit": [4, "16 MB"], "partition": ["1 MB", "4 MB"]},
    {"name": "us-byte", "second_phase": {"each": "random:{}", "from": 1, "to": 3}}, {"name": "mergecomp", "groups": 2, "stop": 0.05, "density": 0.01}]}

JOBS = {"name": "j", "cluster": {"name": "c", "network": {"alpha": "1 us", "topology": {"kind": "leaf-spine", "leaves": 2, "hosts_per_leaf": 2, "spines": 2,
                                              "link": {"latency": "1 us", "bandwidth": "10 Gbit/s"}}}}, "fidelity": "fluid", "warm_up": 0, "iterations": 2,
        "jobs": [{"name": "a", "profile": "trace.json", "workers": 2, "strategy": {"name": "ddp", "bucket_cap": "1 MB"}, "placement": "random:1", "start": "1 us",
                  "iterations": 3, "classes": [{"workers": 1, "batch": 2}, {"workers": 1}], "stragglers": [{"worker": 1, "slowdown": 2}]},
                 {"profile": "trace.json", "workers": 2, "placements": ["spread", ["h0", "h1"]], "balance": "speed", "batch": 9}],
        "background": [{"from": "h0", "to": "h3", "rate": "1 Gbit/s", "on": "1 ms", "off": "1 ms", "seed": 1}, {"link": ["leaf0", "spine0"], "rate": "1 Gbit/s"}],
        "events": [{"at": "1 us", "for": "1 ms", "link": ["leaf0", "spine1"], "bandwidth": "x0.5"}, {"at": "1 us", "node": "spine0", "down": True},
                   {"at": "0 s", "job": "a", "worker": 0, "slowdown": 2}, {"at": "0 s", "node": "h1", "stall": "1 us"}]}

TOPOLOGY = "/network/topology"
JOBS_SWEEP = {"jobs": [{**JOBS, "name": "two", "events": []}], "strategies": ["ddp"], "placements": ["packed", {"a": "random:2"}], "searches": [{}, {"stagger": 2, "minimise": "mean"}]}

MORE = {  # kind of file: document, what to change in it, each refused by both
    "cluster": [
        (NODES, [("/network/node", REMOVE), ("/network/node/workers", 0), ("/network/node/alpha", REMOVE), ("/network/node/bandwidth", REMOVE), ("/network/node/beta", "1 ns/B"),
                 ("/network/node/rails", 8), ("/network/bandwidth", REMOVE), ("/network/rails", 0), ("/network/nccl", {}), ("/network/nccl/gpu", "h200"), ("/network/nccl/link", "pci"),
                 ("/network/nccl/channels", 0), ("/network/nccl/nvls", 1), ("/network/nccl/scale/node/bandwidth", 0), ("/network/nccl/scale/inside", {}), ("/network/nccl/scale/node/alpha", 1)]),
        (TABLES, [("/network/tables", []), ("/network/tables/0/workers", 1), ("/network/tables/0/table", []), ("/network/tables/1/bytes", 1), ("/network/alpha", "1 us"),
                  ("/network/table", TABLES["network"]["tables"][0]["table"]), ("/network/rails", "two")]),
        (TORUS, [(f"{TOPOLOGY}/kind", "tours"), (f"{TOPOLOGY}/dimensions", [4]), (f"{TOPOLOGY}/dimensions", [2, 0]), (f"{TOPOLOGY}/dimensions", REMOVE),
                 (f"{TOPOLOGY}/ports", 4), (f"{TOPOLOGY}/link", REMOVE), (f"{TOPOLOGY}/link/bandwidth", "0 bit/s"), (f"{TOPOLOGY}/link/bandwidth", "1 us"),
                 (f"{TOPOLOGY}/link/latency", REMOVE), (f"{TOPOLOGY}/link/mtu", 1500), ("/network/alpha", REMOVE), (f"{TOPOLOGY}/inner", {"latency": "0 s", "bandwidth": "1 GB/s"}),
                 (f"{TOPOLOGY}/routing", "ecmp"), (f"{TOPOLOGY}/nics", 1), (f"{TOPOLOGY}/flows", 2), ("/network/collective", {}), ("/network/collective", {"scan": "ring"}),
                 ("/network/collective", {"all-gather": "rings"})]),
        (GRAPH, [(f"{TOPOLOGY}/hosts", []), (f"{TOPOLOGY}/hosts", ["a", "a"]), (f"{TOPOLOGY}/links", REMOVE), (f"{TOPOLOGY}/links/0/between", ["a"]),
                 (f"{TOPOLOGY}/links/0/between", ["a", "a"]), (f"{TOPOLOGY}/links/1/latency", 3), (f"{TOPOLOGY}/links/1/down", "yes"), (f"{TOPOLOGY}/n", 2), (f"{TOPOLOGY}/routing", "valiant"),
                 (f"{TOPOLOGY}/flows", 2), (f"{TOPOLOGY}/seed", -1), (f"{TOPOLOGY}/nics", 2)]),
        (RAIL, [(f"{TOPOLOGY}/rails", 0), (f"{TOPOLOGY}/rails", REMOVE), (f"{TOPOLOGY}/oversubscription", 0.5), (f"{TOPOLOGY}/pxn", 1), (f"{TOPOLOGY}/ports", 4),
                (f"{TOPOLOGY}/link", REMOVE), (f"{TOPOLOGY}/inner", REMOVE)]),
        (GPUS, [(f"{TOPOLOGY}/gpus_per_host", 0), (f"{TOPOLOGY}/inner", REMOVE), (f"{TOPOLOGY}/gpus_per_host", 1), (f"{TOPOLOGY}/links/0/down", True),
                (f"{TOPOLOGY}/links/0/bandwidth", REMOVE), (f"{TOPOLOGY}/links/0/between", ["h0", "h0"]), ("/network/bandwidth", 10),
                (f"{TOPOLOGY}/nics", 0), (f"{TOPOLOGY}/planes", 0),
                ("/network/sharing", "equal"), ("/network/servers", -1), ("/network/chunks", 0), ("/network/tree_bandwidth", 2), ("/network/line_rate", "0 bit/s")])],
    "jobs": [(JOBS, [("/cluster", REMOVE), ("/cluster", 3), ("/jobs", []), ("/fidelity", "alpha-beta"), ("/iterations", 0), ("/warm_up", -1), ("/jobs/0/profile", REMOVE),
                     ("/jobs/0/workers", 0), ("/jobs/0/placement", "random"), ("/jobs/0/placement", []), ("/jobs/0/start", "1"), ("/jobs/0/strategy", {}), ("/jobs/1/balance", "odd"),
                     ("/jobs/1/batch", 0), ("/jobs/1/placements", []), ("/jobs/0/classes/0/size", 1), ("/jobs/0/classes/0/workers", REMOVE), ("/background/0/on", REMOVE),
                     ("/background/0/to", REMOVE), ("/background/0/rate", "0 bit/s"), ("/background/1/from", "h0"), ("/background/1/seed", 1), ("/events/0/at", REMOVE),
                     ("/events/0/down", True), ("/events/0/bandwidth", "x0"), ("/events/0/node", "h0"), ("/events/1/down", False), ("/events/2/worker", REMOVE),
                     ("/events/2/slowdown", 0), ("/events/3/for", "1 us"), ("/events/0/worker", 1)])],
    "codec": [(CODEC, [("/codec", "topkk"), ("/origin", "guessed"), ("/encode/base", "1"), ("/encode/per_element", REMOVE), ("/encode/per_layer", "1 s"),
                       ("/decode", REMOVE), ("/device", 1), ("/unit", "us"), ("/decode/per_element_log2", 3)])],
    "sweep": [(OPTIONS, [("/strategies/1/credit", [0]), ("/strategies/1/credit", []), ("/strategies/1/partition", ["1 MB", "4 ms"]), ("/strategies/1/partition", "0 B"),
                         ("/strategies/2/second_phase", {"each": "random", "from": 1, "to": 3}), ("/strategies/2/second_phase", {"each": "random:{}", "from": 1}),
                         ("/strategies/2/second_phase", "backwards"), ("/strategies/3/groups", 0), ("/strategies/3/stop", 1), ("/strategies/3/density", 2),
                         ("/strategies/3/grouping", "odd"), ("/strategies/3/bits", 17), ("/strategies/3/encode", "5 B"), ("/strategies/3/codec_stream", "aside"),
                         ("/strategies/3/decode_at", "never"), ("/strategies/3/iterations", 0), ("/strategies/3/sharing", "no"), ("/strategies/3/first_bucket", 5),
                         ("/clusters/0", {"cluster": "plain.json", "worker": [2]}), ("/clusters/0", {"workers": [2]}), ("/clusters/0", {"cluster": "plain.json", "workers": [0]}),
                         ("/profiles/0", {"profile": "trace.json", "forward_ratio": "half"}), ("/profiles/0", {"profile": "trace.json", "forward_ratio": -1}),
                         ("/codecs", [1]), ("/placements", ["packed"]), ("/searches", [{}])]),
              (JOBS_SWEEP, [("/jobs", []), ("/jobs", REMOVE), ("/jobs/0", 3), ("/jobs/0/name", REMOVE), ("/jobs/0/cluster", REMOVE), ("/jobs/0/jobs/0/workers", 0),
                            ("/placements", []), ("/placements/0", "everywhere"), ("/placements/1/a", "random:x"), ("/searches", []), ("/searches/1", "place"),
                            ("/searches/1/stagger", 0), ("/searches/1/minimise", "most"), ("/searches/1/seed", 1), ("/strategies", []), ("/workers", [0])])],
}


@needs_program
class Schemas(program.Case):
    def setUp(self):
        super().setUp()
        for name, document in (("trace", bad.TRACE), ("cluster", bad.CLUSTER), ("plain", changed(bad.CLUSTER, "/jitter", REMOVE))):
            self.write(f"{name}.json", document)

    def program(self, kind, name):
        """What the program says when it reads a file of this kind."""
        run = ["run", "--profile", "trace.json", "--cluster", "plain.json", "--strategy", "wfbp"]
        arguments = {"trace": ["run", "--profile", name, *run[3:]], "codec": [*run, "--codec", name], "sweep": ["sweep", name], "jobs": ["jobs", name]}.get(
            kind, ["run", "--profile", "trace.json", "--cluster", name, "--strategy", "wfbp"])
        return self.run_program(*arguments)

    def program_says(self, *arguments):
        """On standard error."""
        run = ["run", "--profile", "trace.json", "--cluster", "plain.json", "--strategy", "wfbp"]
        return self.run_program(*run, *arguments).stderr

    def test_schemas_are_schemas(self):
        for file in SCHEMAS.glob("*.json"):
            with self.subTest(file.name):
                schema = json.loads(file.read_text(encoding="utf-8"))
                self.assertEqual(schema["$id"], file.name)
                jsonschema.Draft202012Validator.check_schema(schema)

    def test_references_lead_somewhere(self):
        def references(value):
            if isinstance(value, dict):
                yield from ([value["$ref"]] if isinstance(value.get("$ref"), str) else [])
            for one in value.values() if isinstance(value, dict) else value if isinstance(value, list) else []:
                yield from references(one)
        for file in SCHEMAS.glob("*.json"):
            for reference in references(json.loads(file.read_text(encoding="utf-8"))):
                other, _, path = reference.partition("#")
                target = json.loads((SCHEMAS / (other or file.name)).read_text(encoding="utf-8"))
                for step in path.strip("/").split("/") if path else []:
                    self.assertIn(step, target, f"{file.name}: {reference}")
                    target = target[step]

    def test_examples_are_valid(self):
        """Those of each schema, and of each part of it."""
        def check(name, schema, part):
            if isinstance(schema, dict):
                for example in schema["examples"] if isinstance(schema.get("examples"), list) else []:
                    self.assertEqual(list(validator(name, part).iter_errors(example)), [], f"{name}{part}: {example}")
                for key, value in schema.items():
                    if key != "examples":
                        check(name, value, f"{part}/{key}")
            elif isinstance(schema, list):
                for place, value in enumerate(schema):
                    check(name, value, f"{part}/{place}")
        for file in SCHEMAS.glob("*.json"):
            name = file.name.split(".")[0]
            check(name, read(name), "")

    def test_shipped_files_are_valid(self):
        for name, folder in FOLDERS.items():
            files = sorted((ROOT / folder).glob("*.json"))
            self.assertTrue(files, folder)
            for file in files:
                checker = validator("manifest" if file == MANIFEST else name)
                with self.subTest(str(file.relative_to(ROOT))):
                    error = jsonschema.exceptions.best_match(checker.iter_errors(json.loads(file.read_text(encoding="utf-8"))))
                    self.assertIsNone(error)

    def test_plans_are_valid(self):
        """Those by hand, and what the program writes."""
        check = validator("plan")
        for name in ("by_hand", "two_ranks"):
            check.validate(json.loads((ROOT / "docs" / "examples" / f"{name}.json").read_text(encoding="utf-8")))
        pipeline = ["--pp", 2, "--micro-batches", 4, "--option", "p2p_bytes=1kB"]
        for strategy in ("horovod", "fsdp2", "megatron", "ddp"):
            for schedule in ("1f1b", "zbv"):
                check.validate(program.answer("plan", "--profile", "lenet5_2xk40c_b128", "--cluster", "k80-10gbe", "--strategy", strategy,
                                              *pipeline, "--schedule", schedule))
        for strategy in ("horovod", "bytescheduler", "dear", "s-sgd"):
            check.validate(program.answer("plan", "--profile", "lenet5_2xk40c_b128", "--cluster", "k80-10gbe", "--strategy", strategy))
        self.assertFalse(check.is_valid({"blocks": [{"slices": []}]}))
        self.assertFalse(check.is_valid({"blocks": [{"slices": ["a"]}], "lanes": [{"name": "one"}]}))

    def test_the_good_documents_are_good(self):
        for kind, documents in {**{kind: [(bad.DOCUMENTS[kind][0], [])] for kind in bad.DOCUMENTS}, **MORE}.items():
            for document, _ in documents:
                schema = {"measured": "cluster", "table": "cluster"}.get(kind, kind)
                self.assertIsNone(jsonschema.exceptions.best_match(validator(schema).iter_errors(document)), kind)
                self.write("good.json", document)
                self.assertEqual(self.program(kind, "good.json").returncode, 0, self.program(kind, "good.json").stderr)

    def test_what_the_program_refuses_is_invalid(self):
        """Of the documents in tests/peer/test_bad_input.py, which has the program refuse each."""
        for kind, (document, unknown, missing, wrong) in bad.DOCUMENTS.items():
            checker = validator({"measured": "cluster", "table": "cluster"}.get(kind, kind))
            beyond = [case for cases in BEYOND.get(kind, {}).values() for case in cases]
            for path, value in [*((f"{parent}/{key}", value) for parent, _, key, value in unknown), *((path, REMOVE) for path in missing), *wrong]:
                with self.subTest(f"{kind}: {path} = {value!r}"):
                    self.assertEqual(checker.is_valid(changed(document, path, value)), (path, value) in beyond)
            for path, value in beyond:
                with self.subTest(f"beyond a schema: {kind}: {path} = {value!r}"):
                    self.write("bad.json", changed(document, path, value))
                    self.assertEqual(self.program(kind, "bad.json").returncode, 2)

    def test_more_that_both_refuse(self):
        for kind, documents in MORE.items():
            checker = validator(kind)
            for document, changes in documents:
                for path, value in changes:
                    with self.subTest(f"{kind}: {path} = {'removed' if value is REMOVE else value!r}"):
                        other = changed(document, path, value)
                        self.assertFalse(checker.is_valid(other), "the schema accepts it")
                        self.write("bad.json", other)
                        done = self.program(kind, "bad.json")
                        self.assertEqual(done.returncode, 2, f"the program accepts it: {done.stdout}")

    def test_required_keys(self):
        """A key that a schema requires is missed by the program, and one that it does not is not."""
        for kind, document in (("trace", bad.TRACE), ("codec", CODEC), ("sweep", OPTIONS), ("cluster", bad.CLUSTER)):
            for key in document:
                with self.subTest(f"{kind}: {key}"):
                    self.write("bad.json", changed(document, f"/{key}", REMOVE))
                    schema = read(kind)
                    # The first variant of either schema: a sweep without jobs, and times of a built-in codec.
                    required = (schema["required"] if "required" in schema else []) + (schema["oneOf"][0]["required"] if kind in ("sweep", "codec") else [])
                    self.assertEqual(self.program(kind, "bad.json").returncode == 2, key in required)

    def test_names(self):
        """Strategies, collectives, topologies, codecs and options are those of the program."""
        options = [name for name in read("options")["$defs"] if name not in ("count", "small_count", "phase")]
        self.assertEqual(sorted(options), sorted(program.listed("options")))
        sweep, cluster = read("sweep"), read("cluster")
        strategy = sweep["properties"]["strategies"]["items"]["oneOf"][1]
        also = [word for words in program.tool_named("write_tables").ALSO.values() for word in words]
        self.assertEqual(sorted(strategy["properties"]), sorted(["name", *options, *also]))
        self.assertEqual(sorted(sweep["$defs"]["strategy"]["enum"]), sorted(program.listed("strategies")))
        self.assertEqual(sorted(cluster["$defs"]["collective"]["enum"]), sorted(program.listed("collectives")))
        self.assertEqual(sorted(cluster["$defs"]["topology"]["properties"]["kind"]["enum"]), sorted(program.listed("topologies")))
        said = self.program_says("--fidelity", "nonsense")
        self.assertIn(f"(known: {', '.join(cluster['$defs']['fidelity']['enum'])})", said)
        methods = {json.loads(file.read_text(encoding="utf-8")).get("codec") for file in (ROOT / "models" / "codecs").glob("*.json")}
        self.assertEqual({*read("codec")["properties"]["codec"]["enum"], None}, methods)  # None: the bytes are a formula

    def test_option_help(self):
        """A description is what the program prints."""
        for line in program.output("list", "options", env=program.WIDE).splitlines()[2:]:
            name, about = line.split(None, 1)
            self.assertEqual(read("options")["$defs"][name]["description"], f"{about}.")

    def test_option_words(self):
        """The words that a schema allows are those of the program's table."""
        for name, value in re.findall(r"^\| `(\w+)` \| ([^|]*) \|", program.output("list", "options", "--markdown"), re.M):
            words = re.findall(r"`([^`]+)`", value)
            self.assertEqual(read("options")["$defs"][name].get("enum", []), words, name)

    def test_keys_of_plot(self):
        """Those that `allreplay plot` knows, with its kinds; what the schema refuses, the program refuses."""
        properties = read("sweep")["$defs"]["plot"]["properties"]
        keys = program.output("plot", "--help").partition("Keys of")[2].partition("\n\n")[0]
        self.assertEqual(list(properties), ["kind", *(key.replace("-", "_") for key in re.findall(r"^  --([a-z-]+) ", keys, re.M))])
        kinds = program.output("plot", "--help").partition("Kinds")[2].partition("\n\n")[0]
        self.assertEqual(properties["kind"]["anyOf"][0]["enum"], re.findall(r"^  ([a-z]+) {2,}\S", kinds, re.M))
        checker = validator("sweep")
        with tempfile.TemporaryDirectory() as folder:
            rows = Path(folder, "rows.csv")
            rows.write_text("profile,strategy,workers,speedup\na,wfbp,8,4\n", encoding="utf-8")
            for key, value in (("kind", "pie"), ("kind", ["bars", "speedup"]), ("colour", "red"), ("log", "yes"), ("scale", 0),
                               ("labels", {"a": 1}), ("panels", []), ("where", []), ("to", 0), ("width", 85), ("legend", "inside"), ("error", ["a", "b", "c"])):
                self.assertFalse(checker.is_valid({**copy.deepcopy(OPTIONS), "plot": {key: value}}), key)
                config = Path(folder, "sweep.json")
                config.write_text(json.dumps({"plot": {key: value}}), encoding="utf-8")
                done = program.run("plot", rows, "--config", config, "--out", Path(folder, "x.svg"))
                self.assertEqual((done.returncode, done.stderr.partition(": /")[0]), (2, str(config)), (key, value))


if __name__ == "__main__":
    if jsonschema is None:
        sys.exit(print("skipped: jsonschema is not installed (Debian: python3-jsonschema)"))
    unittest.main()
