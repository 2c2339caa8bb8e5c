"""Diagnosis of a measured job: a naive second implementation of docs/diagnosis.md, op by op.

It shares no code with the program, and uses dictionaries instead of arrays, memoised recursion instead of a topological
order, and replays every what-if from scratch. Times in seconds.
"""

import csv
import gzip
import math
import statistics
import sys
from collections import defaultdict
from functools import lru_cache

COMPUTE = ("forward-compute", "backward-compute", "gc", "optimizer")
PASSES = {"forward": "forward-compute", "backward": "backward-compute"}
DATA_PARALLEL = ("params-all-gather", "grads-reduce-scatter", "separate-grads-all-reduce")
PAIRED = {"forward-send": ("forward-recv", 1), "backward-send": ("backward-recv", -1)}


def shown(kind):
    """The name of a kind in what-ifs, where sends and receives of a direction are one."""
    return f"{kind.split('-')[0]}-pp-comm" if kind.endswith(("-send", "-recv")) else kind


class Job:
    """ops: {(step, replica, stage, kind, seq): (start, duration)}; chunk: {same key: its model chunk}."""

    def __init__(self, rows):
        self.ops, self.chunk, self.rank = {}, {}, {}
        for row in rows:
            key = (int(row["step"]), int(row["dp"]), int(row["stage"]), row["op"], int(row["seq"]))
            self.ops[key] = (float(row["start_us"]) * 1e-6, float(row["duration_us"]) * 1e-6)
            self.chunk[key] = int(row.get("chunk") or 0)
            self.rank[key[1:3]] = int(row["rank"]) if row.get("rank") else None
        self.steps = sorted({key[0] for key in self.ops})
        self.replicas = len({key[1] for key in self.ops})
        self.stages = len({key[2] for key in self.ops})
        self.workers = [(r, s) for s in range(self.stages) for r in range(self.replicas)]
        for number, worker in enumerate(self.workers):
            if self.rank[worker] is None:
                self.rank[worker] = number
        self.before = {stage: self.stage_order(stage) for stage in range(self.stages)}
        self.groups = defaultdict(list)
        for key in self.ops:
            self.groups[self.group(key)].append(key)
        self.own = {key: self.own_duration(key) for key in self.ops}
        by_kind = defaultdict(list)
        for key, duration in self.own.items():
            by_kind[key[3]].append(duration)
        self.ideal = {kind: (statistics.fmean if kind in COMPUTE else statistics.median)(sorted(all_of))
                      for kind, all_of in by_kind.items()}

    def stage_order(self, stage):
        """Returns {(kind, seq): the ops that it depends on} of a stage, from the first step of the first replica."""
        here = {key[3:]: key for key in self.ops if key[:3] == (self.steps[0], 0, stage)}
        order = sorted(here, key=lambda op: (self.ops[here[op]][0], op[1], op[0]))
        end = {op: sum(self.ops[here[op]]) for op in order}
        chunk = {op: self.chunk[here[op]] for op in order}
        before = defaultdict(list)

        def of(*kinds):
            return [op for op in order if op[0] in kinds]

        computes = of(*PASSES.values())
        chains = [computes, of("params-all-gather", "grads-reduce-scatter")]
        chains += [of(f"{direction}-{end_of}") for direction in PASSES for end_of in ("send", "recv")]
        for chain in chains:
            for first, then in zip(chain, chain[1:]):
                before[then].append(first)
        for direction, kind in PASSES.items():
            of_kind, sends, recvs = of(kind), of(f"{direction}-send"), of(f"{direction}-recv")
            for compute, send in zip(of_kind, sends):
                before[send].append(compute)
            for k, recv in enumerate(recvs):
                if k < len(of_kind):
                    before[of_kind[k]].append(recv)
                if k > 0 and k - 1 < len(of_kind):
                    before[recv].append(of_kind[k - 1])
        first_backward = next(i for i, op in enumerate(computes) if op[0] == "backward-compute")
        if first_backward >= 2:
            for kind in ("backward-recv", "backward-send"):
                for op in of(kind)[:1]:
                    before[op].append(computes[first_backward - 2])
        for one in sorted(set(chunk.values())):
            gathers = [op for op in of("params-all-gather") if chunk[op] == one]
            forwards = [op for op in of("forward-compute") if chunk[op] == one]
            if gathers and forwards:
                before[forwards[0]].append(gathers[-1])
        last = max(computes, key=lambda op: (end[op], order.index(op)))
        reductions = of("grads-reduce-scatter")
        overlaps = of("separate-grads-all-reduce") or any(self.ops[here[op]][0] < end[last] for op in reductions)
        front, bracket = of("gc"), reductions
        for one in front:
            before[one].append(last)
        front = front or [last]
        if overlaps:
            for one in sorted(set(chunk.values())):
                mine = [op for op in reductions if chunk[op] == one]
                backwards = [op for op in of("backward-compute") if chunk[op] == one]
                if mine and backwards:
                    before[mine[0]].append(backwards[-1])
            front, bracket = front + reductions[-1:], of("separate-grads-all-reduce")
        links = [front, of("layernorm-grads-all-reduce"), of("embedding-grads-all-reduce"), bracket,
                 of("optimizer-clip-main-grad"), of("optimizer")]
        links = [link for link in links if link]
        for earlier, later in zip(links, links[1:]):
            for op in later:
                before[op] += [one for one in earlier if one not in before[op]]
        return before

    def group(self, key):
        """Returns a key that is equal for ops that start together."""
        step, replica, stage, kind, seq = key
        if kind in PAIRED:
            other, way = PAIRED[kind]
            return (step, replica, (stage + way) % self.stages, other, seq)
        if kind.endswith("-recv"):
            return key
        if kind in DATA_PARALLEL:
            return (step, stage, kind, seq)
        if kind == "embedding-grads-all-reduce":
            return (step, replica, kind, seq)
        if kind == "optimizer-clip-main-grad":
            return (step, kind, seq)
        return key

    def own_duration(self, key):
        group = self.groups[self.group(key)]
        if len(group) == 1:
            return self.ops[key][1]
        own = sum(self.ops[key]) - max(self.ops[one][0] for one in group)
        return 0.0 if own < -0.01 else own

    def replay(self, step, keeps):
        """Returns (end of the step, {op: its end}, {op: the dependency that delayed its group}). An op keeps its own
        duration if keeps(op), else it takes the ideal of its kind."""

        @lru_cache(maxsize=None)
        def ready(key):
            return max((end(key[:3] + op) for op in self.before[key[2]][key[3:]]), default=0.0)

        @lru_cache(maxsize=None)
        def start(group):
            return max(ready(key) for key in self.groups[group])

        @lru_cache(maxsize=None)
        def end(key):
            return start(self.group(key)) + (self.own[key] if keeps(key) else self.ideal[key[3]])

        keys = [key for key in self.ops if key[0] == step]
        ends = {key: end(key) for key in keys}
        last = [key for key in keys if key[3] == "optimizer"] or keys
        latest = max(last, key=lambda key: ends[key])
        path = [latest]
        while True:
            comer = max(self.groups[self.group(path[-1])], key=ready)
            before = [comer[:3] + op for op in self.before[comer[2]][comer[3:]]]
            if not before:
                break
            path.append(max(before, key=lambda key: ends[key]))
        return ends[latest], ends, path

    def mean(self, keeps):
        return statistics.fmean(self.replay(step, keeps)[0] for step in self.steps)


def gaps(job):
    """Returns {worker: time from the end of a group's dependencies to its last start, on this worker}, all steps."""
    lost = dict.fromkeys(job.workers, 0.0)
    for group in job.groups.values():
        last = max(group, key=lambda key: job.ops[key][0])
        first = min(op[0] for key, op in job.ops.items() if key[0] == last[0])
        before = [sum(job.ops[key[:3] + op]) for key in group for op in job.before[key[2]][key[3:]]]
        lost[last[1:3]] += max(0.0, job.ops[last][0] - max(before, default=first))
    return lost


def correlation(job):
    pairs = [(key[2], job.own[key], job.own[key[:3] + ("backward-compute", key[4])]) for key in job.ops
             if key[3] == "forward-compute" and key[:3] + ("backward-compute", key[4]) in job.ops]
    columns = []
    for at in (1, 2):
        mean = {stage: statistics.fmean(pair[at] for pair in pairs if pair[0] == stage) for stage in {p[0] for p in pairs}}
        columns.append([pair[at] - mean[pair[0]] for pair in pairs])
        if math.sqrt(statistics.fmean(x * x for x in columns[-1])) < 1e-6 * statistics.fmean(p[at] for p in pairs):
            return 0.0
    product = sum(a * b for a, b in zip(*columns))
    return product / math.sqrt(sum(a * a for a in columns[0]) * sum(b * b for b in columns[1]))


def diagnose(rows):
    """Returns what `allreplay diagnose FILE --json` prints for these rows, except findings."""
    sys.setrecursionlimit(1_000_000)
    job = Job(rows)
    replays = [job.replay(step, lambda _: True) for step in job.steps]
    replayed = [one[0] for one in replays]
    ideals = [job.replay(step, lambda _: False)[0] for step in job.steps]
    measured = [max(sum(op) for key, op in job.ops.items() if key[0] == step) -
                min(op[0] for key, op in job.ops.items() if key[0] == step) for step in job.steps]
    total, ideal = statistics.fmean(replayed), statistics.fmean(ideals)

    def mended(of):
        return (total - job.mean(lambda key: not of(key))) / (total - ideal) if total > ideal * (1 + 1e-12) else 0.0

    kinds = sorted({shown(key[3]) for key in job.ops})
    by_kind = {kind: job.mean(lambda key: shown(key[3]) == kind) / ideal for kind in kinds}
    by_replica = {r: job.mean(lambda key: key[1] == r) / ideal for r in range(job.replicas)}
    by_stage = {s: job.mean(lambda key: key[2] == s) / ideal for s in range(job.stages)}
    by_worker = {(r, s): min(by_replica[r], by_stage[s]) for r, s in job.workers}
    worst = sorted(job.workers, key=lambda worker: (-by_worker[worker], job.rank[worker]))
    worst = worst[:math.ceil(len(worst) * 3 / 100)]
    m_worker = mended(lambda key: key[1:3] in worst)
    m_stage = mended(lambda key: key[2] == job.stages - 1) if job.stages > 1 else 0.0
    m_kind = {kind: mended(lambda key: shown(key[3]) == kind) for kind in kinds}
    share = defaultdict(float)
    for _, ends, path in replays:
        for op, before in zip(path, path[1:] + [None]):
            share[op[3]] += (ends[op] - (ends[before] if before else 0.0)) / sum(replayed)
    means = {s: {kind: statistics.fmean(job.own[key] for key in job.ops if key[2:4] == (s, kind))
                 for kind in PASSES.values()} for s in range(job.stages)}
    spread = {kind: statistics.fmean(statistics.pstdev([job.own[key] for key in job.ops if key[2:4] == (s, kind)]) /
                                     means[s][kind] for s in range(job.stages)) for kind in PASSES.values()}
    fb = correlation(job)
    suspects = []
    if total / ideal >= 1.03:
        suspects += ["worker"] if m_worker >= 0.5 else []
        suspects += ["last-stage"] if m_worker < 0.5 <= m_stage else []
        suspects += ["sequence-length"] if m_worker < 0.5 and fb >= 0.9 else []
        others = [kind for kind in kinds if kind not in PASSES.values()]
        worst_kind = max(others, key=lambda kind: m_kind[kind], default=None)
        suspects += [worst_kind] if worst_kind and m_kind[worst_kind] >= 0.25 else []
        suspects = suspects or ["spread"]
    return {"steps": job.steps, "replicas": job.replicas, "stages": job.stages, "measured_s": measured,
            "replayed_s": replayed, "ideal_s": ideals, "replay_error": 1 - total / statistics.fmean(measured),
            "launch_slowdown": statistics.fmean(measured) / total, "slowdown": total / ideal, "waste": 1 - ideal / total,
            "by_kind": by_kind, "by_replica": {str(r): s for r, s in by_replica.items()},
            "by_stage": {str(s): x for s, x in by_stage.items()},
            "by_worker": {f"{r},{s}": x for (r, s), x in by_worker.items()}, "worst_workers": [list(one) for one in worst],
            "M_W": m_worker, "M_S": m_stage, "M_kind": m_kind,
            "M_stage": {str(s): mended(lambda key, s=s: key[2] == s) if job.stages > 1 else 0.0 for s in range(job.stages)},
            "gap_share": {f"{r},{s}": lost / sum(measured) for (r, s), lost in gaps(job).items()}, "critical_share": dict(share),
            "stage_compute_s": {str(s): one for s, one in means.items()}, "microbatch_spread": spread, "fb_correlation": fb,
            "suspects": suspects or ["none"]}


def rows_of(file):
    """The rows of a CSV, gzipped or not."""
    with (gzip.open if str(file).endswith(".gz") else open)(file, "rt", encoding="utf-8") as text:
        return list(csv.DictReader(text))
