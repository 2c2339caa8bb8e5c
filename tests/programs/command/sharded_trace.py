"""Makes the traces that ranks of a sharded job write, in libkineto's format, and the CSV of the same job.

Unit 0 is the root, which computes before and after all others. A gather is issued as the unit before it starts (one
ahead), in the backward pass all but the root's, which stays gathered; a reduction follows its unit's backward pass. Each
has a stream, and kernels are as the rules of docs/diagnosis.md order them.
"""

import json

FORWARD, BACKWARD, GATHER, REDUCE, REPLICATE, UPDATE = 100, 200, 60, 80, 40, 50  # us
ELEMENTS = 1_000_000  # of unit 0; unit u has u + 1 times as many, in bf16
PERIOD = 20_000       # us from step to step
COMPUTE, GATHERS, REDUCTIONS, REPLICAS = 7, 20, 22, 24  # streams
COLLECTIVES = {"unit-forward-gather": ("_allgather_base", "AllGather_RING_LL", GATHERS), "unit-backward-gather": ("_allgather_base", "AllGather_RING_LL", GATHERS),
               "unit-reduce": ("_reduce_scatter_base", "ReduceScatter_Sum_bf16_RING_LL", REDUCTIONS), "unit-replicate": ("allreduce", "AllReduce_Sum_bf16_RING_LL", REPLICAS)}


class Job:
    """`factors`: how many times as long each rank computes. `shard`: ranks of a shard group, if there are several (HSDP)."""

    def __init__(self, factors, units=4, batches=1, steps=2, shard=0, gap=0.0, gather=GATHER):
        self.factors, self.units, self.batches, self.steps, self.gap, self.gather = factors, units, batches, steps, gap, gather
        self.ranks = range(len(factors))
        self.shard = shard or len(factors)
        self.ops = []  # (step, rank, kind, unit, batch, part, start, end)
        free = [0.0] * len(factors)
        for step in range(steps):
            free = self.add_step(step + 3, [max(one, step * PERIOD) for one in free])

    def groups(self, kind):
        """Ranks that take part together."""
        if kind == "unit-replicate":
            return [[rank for rank in self.ranks if rank % self.shard == place] for place in range(self.shard)]
        return [list(range(first, first + self.shard)) for first in range(0, len(self.factors), self.shard)]

    def group(self, kind, rank):
        return next(group for group in self.groups(kind) if rank in group)

    def add_step(self, step, free):
        streams = {stream: list(free) for stream in (COMPUTE, GATHERS, REDUCTIONS, REPLICAS)}
        ready = {}  # what a rank's computing waits for, by unit
        begun = list(free)

        def collect(kind, unit, batch, since, length):
            stream, ends = streams[COLLECTIVES[kind][2]], list(free)
            for group in self.groups(kind):
                arrivals = {rank: max(since[rank], stream[rank]) for rank in group}
                end = max(arrivals.values()) + length
                for rank in group:
                    self.ops.append((step, rank, kind, unit, batch, 0, arrivals[rank], end))
                    stream[rank] = ends[rank] = end
            return ends

        def compute(kind, unit, batch, part, length):
            nonlocal begun
            begun = []
            for rank in self.ranks:
                start = max([streams[COMPUTE][rank], *(ends[rank] for ends in ready.pop((rank, unit), []))]) + self.gap
                begun.append(start)
                streams[COMPUTE][rank] = start + length * self.factors[rank]
                self.ops.append((step, rank, kind, unit, batch, part, start, streams[COMPUTE][rank]))

        def gather(kind, unit, batch, since):
            ends = collect(kind, unit, batch, since, self.gather)
            for rank in self.ranks:
                ready[rank, unit] = [ends]

        reduced = []
        for batch in range(self.batches):
            gather("unit-forward-gather", 0, batch, streams[COMPUTE])
            for unit in range(self.units):
                if unit + 1 < self.units:
                    gather("unit-forward-gather", unit + 1, batch, begun if unit else [max(a, b) for a, b in zip(begun, streams[GATHERS])])
                compute("forward-compute", unit, batch, 0, FORWARD)
            compute("forward-compute", 0, batch, 1, FORWARD)
            compute("backward-compute", 0, batch, 0, BACKWARD)
            gather("unit-backward-gather", self.units - 1, batch, begun)
            for unit in range(self.units - 1, 0, -1):
                compute("backward-compute", unit, batch, 0, BACKWARD)
                if unit > 1:
                    gather("unit-backward-gather", unit - 1, batch, begun)
                reduced.append(self.reduce(collect, unit, batch, streams))
            compute("backward-compute", 0, batch, 1, BACKWARD)
            reduced.append(self.reduce(collect, 0, batch, streams))
        ends = []
        for rank in self.ranks:
            start = max([streams[COMPUTE][rank], *(one[rank] for one in reduced)]) + self.gap
            self.ops.append((step, rank, "optimizer", 0, 0, 0, start, start + UPDATE))
            ends.append(start + UPDATE)
        return ends

    def reduce(self, collect, unit, batch, streams):
        ends = collect("unit-reduce", unit, batch, streams[COMPUTE], REDUCE)
        if self.shard == len(self.factors):
            return ends
        return collect("unit-replicate", unit, batch, ends, REPLICATE)

    def table(self):
        """The CSV of the job."""
        rows = ["step,dp,stage,op,seq,chunk,part,group,stream,start_us,duration_us"]
        for step, rank, kind, unit, batch, part, start, end in self.ops:
            computes = kind.endswith("compute")
            seq, chunk = (batch, unit) if computes else (unit, batch)
            group = stream = ""
            if kind in COLLECTIVES:
                stream = COLLECTIVES[kind][2]
                if self.shard < len(self.factors):
                    group = " ".join(map(str, self.group(kind, rank)))
            rows.append(f"{step},{rank},0,{kind},{seq},{chunk},{part},{group},{stream},{start},{end - start}")
        return "\n".join(rows) + "\n"

    def trace(self, rank, style="fsdp2", clock=0.0, drop=(), names_ranks=True):
        return Trace(self, rank, style, clock, drop, names_ranks).text()


class Trace:
    """A rank's trace. `style`: whose spans tell units apart: fsdp2, unnamed (FSDP2 without names of modules), fsdp1,
    deepspeed, or none. `drop`: kinds and units that are not recorded."""

    def __init__(self, job, rank, style, clock, drop, names_ranks):
        self.job, self.rank, self.style, self.clock, self.names_ranks = job, rank, style, clock, names_ranks
        self.events, self.correlation, self.external, self.now, self.sequence = [], 0, 0, 0.0, 0
        for step in sorted({op[0] for op in job.ops}):
            ops = [op for op in job.ops if op[:2] == (step, rank) and (op[2], op[3]) not in drop]
            self.add_step(step, ops)

    def add(self, category, name, thread, start, length, pid=None, **args):
        self.events.append({"ph": "X", "cat": category, "name": name, "pid": 4000 + self.rank if pid is None else pid, "tid": thread,
                            "ts": round(start + self.clock, 3), "dur": round(length, 3), "args": args})

    def operator(self, name, thread, start, length, **args):
        self.external += 1
        self.add("cpu_op", name, thread, start, length, **{"External id": self.external, **args})

    def kernel(self, name, thread, stream, op, **args):
        self.correlation += 1
        ids = {"External id": self.external, "correlation": self.correlation}
        self.add("cuda_runtime", "cudaLaunchKernel", thread, self.now, 0.1, cbid=211, **ids)
        self.add("kernel", name, stream, op[6] + 1000, op[7] - op[6], pid=0, device=0, context=1, stream=stream, **ids, **args)

    def span(self, name, thread, body):
        """An annotation around what `body` adds."""
        start = self.now
        self.now += 0.2
        body()
        self.now += 0.2
        if name:
            self.add("user_annotation", name, thread, start, self.now - start)

    def hook(self, what, unit):
        if self.style == "fsdp1":
            return f"FullyShardedDataParallel.{what}"
        if self.style == "deepspeed":
            return "PartitionedParameterCoordinator.fetch_sub_module" if "pre" in what else ""
        if self.style == "none":
            return ""
        fsdp2 = {"_pre_forward": "FSDP::pre_forward", "_pre_backward_hook": "FSDP::pre_backward", "_post_backward_hook": "FSDP::post_backward"}[what]
        return fsdp2 if self.style == "unnamed" or unit == 0 else f"{fsdp2} (layers.{unit - 1})"

    def collective(self, op, thread):
        kind, unit = op[2], op[3]
        name, kernel, stream = COLLECTIVES[kind]
        group = self.job.group(kind, self.rank)
        whole = ELEMENTS * (unit + 1)
        part = whole // len(group)
        sizes = {"Collective name": name, "In msg nelems": part if "gather" in kind else whole, "Out msg nelems": whole if "gather" in kind else part,
                 "Group size": len(group), "dtype": "BFloat16", "Process Group Name": f"{group[0]}x{len(group)}"}
        if self.names_ranks:
            sizes["Process Group Ranks"] = str(group)
        self.operator(f"c10d::{name}", thread, self.now, 0.3)
        self.now += 0.1
        self.kernel(f"ncclDevKernel_{kernel}(ncclDevKernelArgsStorage<4096ul>)", thread, stream, op, **sizes)
        self.now += 0.3

    def compute(self, op, forward):
        unit, part = op[3], op[5]
        number = 1000 * op[0] + 100 * op[4] + 2 * unit + part
        if forward:
            self.operator("aten::linear", 1, self.now, 1, **{"Sequence number": number, "Fwd thread id": 0, "Input Dims": [[8, 512], [512, 512]], "Input type": ["float"]})
            self.now += 0.5
            self.kernel("ampere_bf16_s16816gemm", 1, COMPUTE, op)
        else:
            backward = {"Sequence number": number, "Fwd thread id": 1}
            start = self.now
            self.operator("AddmmBackward0", 2, self.now + 0.1, 0.8, **backward)
            self.operator("autograd::engine::evaluate_function: AddmmBackward0", 2, start, 1, **backward)
            self.now += 0.5
            self.kernel("ampere_bf16_s16816gemm", 2, COMPUTE, op)
            if not (unit == 0 and part):
                self.operator("torch::autograd::AccumulateGrad", 2, start + 1.2, 0.1, **{"Input Dims": [[(unit + 1) * ELEMENTS // 1000, 1000]], "Input type": ["c10::BFloat16"]})
                self.operator("autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", 2, start + 1.1, 0.3)
        self.now += 1

    def add_step(self, step, ops):
        base = self.now = PERIOD * (step - 3) + 1.0
        by = {(op[2], op[3], op[4], op[5]): op for op in ops}
        units = self.job.units

        def gather(kind, unit, batch, thread):
            if (kind, unit, batch, 0) in by:
                self.collective(by[kind, unit, batch, 0], thread)

        def forward(unit, batch):
            # The gather of the next unit is launched in the hook of this one.
            def hooked():
                if unit == 0:
                    gather("unit-forward-gather", 0, batch, 1)
                if self.style != "fsdp2" and unit + 1 < units:
                    gather("unit-forward-gather", unit + 1, batch, 1)
                elif unit + 1 < units:
                    self.span(f"FSDP::all_gather (layers.{unit})", 1, lambda: gather("unit-forward-gather", unit + 1, batch, 1))
            self.span(self.hook("_pre_forward", unit), 1, hooked)
            self.compute(by["forward-compute", unit, batch, 0], True)
            if unit == 0:
                for inner in range(1, units):
                    wrapped(inner, batch)
                self.compute(by["forward-compute", 0, batch, 1], True)
            if self.style in ("fsdp2", "unnamed"):
                self.span(self.hook("_pre_forward", unit).replace("pre", "post"), 1, lambda: None)

        def wrapped(unit, batch):
            self.span("FullyShardedDataParallel.forward" if self.style == "fsdp1" else "", 1, lambda: forward(unit, batch))

        def node(body):
            start = self.now
            self.now += 0.2
            body()
            self.operator("autograd::engine::evaluate_function: SplitBackward0", 2, start, self.now + 0.1 - start)
            self.now += 0.3

        def reduce(unit, batch):
            def both():
                gather("unit-reduce", unit, batch, 2)
                gather("unit-replicate", unit, batch, 2)
            node(lambda: self.span(self.hook("_post_backward_hook", unit), 2, both))

        for batch in range(self.job.batches):
            wrapped(0, batch)
            # Autograd's sequence numbers: a part of the root ran last in the forward pass.
            last = units - 1
            self.compute_backward(by, 0, batch, 1, 0)
            node(lambda: self.span(self.hook("_pre_backward_hook", last), 2, lambda: gather("unit-backward-gather", last, batch, 2)))
            for unit in range(units - 1, 0, -1):
                self.compute_backward(by, unit, batch, 0, 0)
                if unit > 1:
                    node(lambda: self.span(self.hook("_pre_backward_hook", unit - 1), 2, lambda: gather("unit-backward-gather", unit - 1, batch, 2)))
                reduce(unit, batch)
            self.compute_backward(by, 0, batch, 0, 1)
            reduce(0, batch)
        update = self.now
        self.operator("aten::_foreach_add_", 1, update + 0.1, 1)
        self.now += 0.5
        self.kernel("void at::native::multi_tensor_apply_kernel", 1, COMPUTE, by["optimizer", 0, 0, 0])
        self.add("user_annotation", "Optimizer.step#AdamW.step", 1, update, 2)
        self.now = update + 3
        assert self.now < base + PERIOD - 2
        self.add("user_annotation", f"ProfilerStep#{step}", 1, base - 0.5, PERIOD - 1)

    def compute_backward(self, by, unit, batch, forward_part, part):
        op = by["backward-compute", unit, batch, part]
        self.compute((*op[:5], forward_part, *op[6:]), False)

    def text(self):
        return json.dumps({"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": self.rank, "world_size": len(self.job.factors)},
                           "deviceProperties": [{"id": 0, "name": "A GPU"}], "displayTimeUnit": "ms", "traceEvents": self.events})
