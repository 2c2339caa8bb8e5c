#include "sim/studies/results/column.hpp"

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "sim/replay/training/job.hpp"
#include "sim/studies/results/row.hpp"

namespace allreplay {

namespace {

using enum Column::Flag;

constexpr bool lower = true, higher = false;

using Getter = Cell (*)(const Record& record);

constexpr Column identifying(std::string_view key, std::string_view unit, std::string_view about, Getter get = nullptr,
                             unsigned flags = 0) {
  return {key, "", "", unit, ColumnRole::Identity, higher, about, get, flags};
}
constexpr Column detail(std::string_view key, std::string_view unit, std::string_view about, Getter get = nullptr,
                        unsigned flags = 0) {
  return {key, "", "", unit, ColumnRole::Detail, higher, about, get, flags};
}
constexpr Column deviation(std::string_view key, std::string_view axis, std::string_view about) {
  return {key, key, axis, "1", ColumnRole::Detail, higher, about, nullptr, 0};
}
constexpr Column duration(std::string_view key, std::string_view about, Getter get = nullptr, unsigned flags = 0) {
  return {key, "", "", "s", ColumnRole::Measure, lower, about, get, flags};
}
constexpr Column measure(std::string_view key, std::string_view title, std::string_view axis, std::string_view unit,
                         bool lower_is_better, std::string_view about, Getter get = nullptr, unsigned flags = 0) {
  return {key, title, axis, unit, ColumnRole::Measure, lower_is_better, about, get, flags};
}

template <auto member>
Cell metric(const Record& record) {
  return cell_of(record.result.metrics.*member);
}
template <auto member>
Cell per_gpu(const Record& record) {
  return cell_of(speed_per_gpu(record.scenario, record.result.metrics).*member);
}
template <auto member>
Cell degree(const Record& record) {
  return record.result.parallel ? Cell(record.result.parallel->degrees.*member) : Cell();
}
template <auto member>
Cell of_pipeline(const Record& record) {
  return record.result.parallel ? cell_of((*record.result.parallel).*member) : Cell();
}

constexpr unsigned if_parallel = may_be_empty | later | of_parallel;

// First the columns of `run`, `compare` and `sweep`, in the order in which they are written.
constexpr Column registry[] = {
    identifying("profile", "", "the name of the profile",
                [](const Record& r) -> Cell { return r.scenario.profile->name; }),
    identifying("cluster", "", "the name of the cluster",
                [](const Record& r) -> Cell { return r.scenario.cluster.name; }),
    identifying("strategy", "", "how communication is scheduled",
                [](const Record& r) -> Cell { return std::string(r.scenario.strategy->name); }),
    identifying("workers", "1", "number of workers", [](const Record& r) -> Cell { return r.scenario.workers; }),
    identifying("collective", "", "the collective that carries the gradients",
                [](const Record& r) -> Cell { return std::string(r.choice.algorithm->name); }),
    identifying("fidelity", "", "how communication is priced",
                [](const Record& r) -> Cell { return to_string(r.choice.fidelity); }),
    identifying(
        "codec", "", "the codec that compresses gradients; null (empty): none",
        [](const Record& r) { return r.scenario.codec ? Cell(r.scenario.codec->name) : Cell(); }, may_be_empty | later),
    identifying("origin", "", "of the profile: measured, imported, reconstructed, estimated",
                [](const Record& r) -> Cell { return to_string(r.scenario.profile->origin); }),
    measure("iteration_s", "iteration", "time per iteration", "s", lower,
            "from the start of a backward pass to that of the next; in jobs the mean of those together",
            metric<&Metrics::iteration_s>),
    duration("forward_s", "forward pass of a worker that is not slowed down", metric<&Metrics::forward_s>),
    duration("backward_s", "backward pass of a worker that is not slowed down", metric<&Metrics::backward_s>),
    measure("exposed_comm_s", "exposed comm.", "exposed communication", "s", lower,
            "iteration - stragglers - K (forward + backward) - update - codec; in jobs iteration - computation of the "
            "slowest class",
            metric<&Metrics::exposed_comm_s>),
    measure("comm_busy_s", "", "communication", "s", lower, "time of an iteration in which any block is in flight",
            metric<&Metrics::comm_busy_s>),
    measure("codec_s", "", "encoding and decoding", "s", lower, "encoding and decoding on the compute stream",
            metric<&Metrics::codec_s>),
    duration("update_s", "the optimizer on the compute stream", metric<&Metrics::update_s>, later),
    duration("copy_s", "copies on the compute stream", metric<&Metrics::copy_s>, later),
    duration("host_s",
             "time in which the GPU waits for its host: blocks that it computes faster than they are launched, steps",
             metric<&Metrics::host_s>, later),
    detail("collectives", "1", "collectives started per iteration", metric<&Metrics::collectives>),
    measure("speedup", "", "", "1", higher, "N (K (forward + backward) + update of all) / iteration",
            metric<&Metrics::speedup>),
    measure("efficiency", "", "", "1", higher, "speedup / N: relative to one worker", metric<&Metrics::efficiency>),
    measure("samples_per_s", "samples/s", "samples per second", "samples/s", higher,
            "null (empty) if the batch size is unknown", metric<&Metrics::samples_per_s>, may_be_empty),
    detail("lower_bound_s", "s", "lower bound for lossless plans with the same traffic; null (empty) with a codec",
           metric<&Metrics::lower_bound_s>, may_be_empty),
    measure(
        "memory_bytes", "memory", "memory of a worker", "B", lower, "peak memory of a worker",
        [](const Record& r) -> Cell { return r.result.memory.peak; }, later),
    detail(
        "memory", "B", "parts of the memory, each at its own peak; in CSV part=bytes;part=bytes",
        [](const Record& r) -> Cell { return parts_of(r.result.memory.parts); }, later | in_parts),
    identifying("options", "", "the options in use; in CSV key=value;key=value",
                [](const Record& r) -> Cell { return options_in_effect(r.scenario, r.choice); }),
    detail("events", "1", "events of the simulation, including those of the network", metric<&Metrics::events>),
    detail("network_events", "1",
           "of these, events of the network: rounds (fluid), messages (message), none (alpha-beta)",
           metric<&Metrics::network_events>, later),
    detail("wall_s", "s", "real time that the simulation took", [](const Record& r) -> Cell { return r.wall_s; }),
    measure("tokens_per_s_per_gpu", "tokens/s per GPU", "", "tokens/s", higher,
            "tokens per second / N; null (empty) if the profile has no tokens_per_sample",
            per_gpu<&SpeedPerGpu::tokens_per_s>, may_be_empty | later),
    measure("samples_per_s_per_gpu", "", "", "samples/s", higher,
            "samples per second / N; null (empty) if the batch size is unknown", per_gpu<&SpeedPerGpu::samples_per_s>,
            may_be_empty | later),
    measure("mfu", "MFU", "MFU", "1", higher,
            "model FLOPs/s of a worker / its device's dense peak; null (empty) if either is unknown",
            per_gpu<&SpeedPerGpu::mfu>, may_be_empty | later),
    detail("pp", "1", "ranks of the pipeline; this and the following: null (empty) with data parallelism only",
           degree<&Degrees::pp>, if_parallel),
    detail("tp", "1", "workers of a tensor-parallel group", degree<&Degrees::tp>, if_parallel),
    detail("cp", "1", "workers of a context-parallel group", degree<&Degrees::cp>, if_parallel),
    detail("ep", "1", "workers of an expert-parallel group", degree<&Degrees::ep>, if_parallel),
    detail("dp", "1", "replicas of the model", degree<&Degrees::dp>, if_parallel),
    detail("schedule", "", "schedule of the pipeline: a name, or a file", of_pipeline<&ParallelResult::schedule>,
           if_parallel),
    detail("chunks", "1", "chunks of the model on each rank; null (empty): unequal numbers",
           of_pipeline<&ParallelResult::chunks>, if_parallel),
    detail("micro_batches", "1", "micro-batches of an iteration", of_pipeline<&ParallelResult::micro_batches>,
           if_parallel),
    measure("bubble_s", "bubble", "", "s", lower,
            "time of an iteration in which a rank is idle, if sending took no time; mean over the ranks",
            of_pipeline<&ParallelResult::bubble_s>, if_parallel),
    duration("exposed_dp_s", "time that reductions and gathers add", of_pipeline<&ParallelResult::exposed_dp_s>,
             if_parallel),
    duration("exposed_p2p_s", "time that sends between ranks add", of_pipeline<&ParallelResult::exposed_p2p_s>,
             if_parallel),
    duration("layer_comm_s", "collectives inside layers; mean over the ranks",
             of_pipeline<&ParallelResult::layer_comm_s>, if_parallel),
    duration(
        "exposed_ep_s", "of layer_comm_s: time that token exchanges among experts add; null (empty) with ep 1",
        [](const Record& r) {
          return r.result.parallel && r.result.parallel->degrees.ep > 1 ? Cell(r.result.parallel->exposed_ep_s)
                                                                        : Cell();
        },
        if_parallel),
    detail(
        "fits", "",
        "true if memory_bytes fits into --memory, or the device's (with less than a tenth free it may fail); null "
        "(empty) without a limit",
        [](const Record& r) {
          const auto& limit = r.scenario.options.memory.limit;
          return limit ? Cell(r.result.memory.peak <= static_cast<double>(*limit)) : Cell();
        },
        may_be_empty | later),
    identifying(
        "routing", "", "routing of messages; null (empty) if neither the cluster's file nor --routing gives it",
        [](const Record& r) {
          const auto& topology = r.scenario.cluster.network.topology;
          return topology && topology->routing.given ? Cell(in_words(topology->routing)) : Cell();
        },
        may_be_empty | later | if_given),
    measure("straggler_s", "stragglers", "stragglers", "s", lower,
            "time of an iteration that stragglers, spread and jitter cost: iteration - that without them",
            metric<&Metrics::straggler_s>, later),
    detail("period_s", "s",
           "a round of local steps, null (empty) if every step reduces gradients; in jobs the time after which the run "
           "repeats, null (empty) if it is not steady",
           metric<&Metrics::period_s>, may_be_empty | later | if_given),
    duration("newton_schulz_s", "Muon's Newton-Schulz on the busiest worker, part of update_s; null (empty): no Muon",
             metric<&Metrics::newton_schulz_s>, may_be_empty | later | if_given),

    // Statistics over seeds (--seeds): `run`, `compare`, `sweep`, `collective`. least_s, p50_s and most_s: `jobs`, too.
    detail("seeds", "1", "number of seeds, over which the other numbers are means"),
    measure("sd_s", "std. dev.", "standard deviation", "s", lower,
            "over seeds, of iteration_s (`collective`: time_s); null (empty) with one seed"),
    measure("ci95_s", "± 95 %", "95 % confidence interval", "s", lower,
            "half of the 95 % confidence interval of the mean over seeds, by Student's t; null (empty) with one seed"),
    duration("p25_s", "lower quartile over seeds"),
    duration("p75_s", "upper quartile over seeds"),
    duration("p95_s", "95th percentile over seeds"),
    measure("over_best_s", "over fastest", "", "s", lower,
            "iteration_s minus that of the fastest row, mean of the differences at the same seeds"),
    measure("over_best_ci95_s", "± 95 %", "", "s", lower, "half of the 95 % confidence interval of over_best_s"),
    deviation("jitter", "jitter (relative deviation)", "relative deviation of the time of every task"),
    deviation("spread", "spread (relative deviation)", "relative deviation by which workers differ permanently"),

    // JSON of `run`, `compare`, `recommend` and `whatif`.
    measure("relative_efficiency", "scaling eff.", "", "1", higher,
            "throughput of a GPU relative to that on reference_workers"),
    detail("reference_workers", "1",
           "the fewest workers on which the winner fits; 1 if nothing fits, or memory has no limit"),
    detail("doubted_iteration_s", "s", "iteration_s with less bandwidth between nodes; null if it was not replayed"),
    measure("above_bound_share", "above bound", "", "1", lower, "iteration_s / lower_bound_s - 1"),
    measure("gap", "above bound", "", "1", lower, "iteration_s / bound_s - 1"),
    detail("bound_s", "s", "lower_bound_s, to which gap refers"),
    detail("bound_by", "", "what an iteration waits for most"),
    detail("exposed_by", "s", "exposed time by what it waits for", nullptr, in_parts),
    measure("untuned_iteration_s", "untuned", "", "s", lower, "iteration_s with default options"),
    detail("framework", "", "the framework that offers the strategy; null: none"),
    detail("settings", "", "the framework's settings for this row"),
    detail("tie", "1", "rows within this share of the fastest tie with it"),
    detail("run", "", "the arguments of `allreplay run` for this row"),

    // A whole training (--tokens, --samples): `run`, `compare`, `recommend`, `goodput`.
    measure("training_s", "training", "", "s", lower, "the whole training"),
    measure("gpu_hours", "GPU-hours", "", "h", lower, "workers times training_s"),
    measure("cost_usd", "cost", "", "USD", lower, "gpu_hours times --price"),
    measure("energy_kwh", "energy", "", "kWh", lower, "gpu_hours times the device's rated power and --pue"),
    detail("micro_batch", "1", "samples of a micro-batch"),
    detail("recompute", "", "activations that the backward pass recomputes"),
    detail("estimate", "", "the arguments of `allreplay estimate` for this row's profile"),
    detail("change", "", "what is changed"),
    measure("gain", "gain", "", "1", higher, "relative gain in samples per second; 0.25 is a quarter more"),
    detail("flags", "", "the command-line options that make the change"),

    // CSV of `sweep --tidy`.
    detail("nodes", "1", "nodes that the workers fill; this and the following: empty if the cluster has none", nullptr,
           Column::of_cluster),
    detail("gpus_per_node", "1", "workers of a node", nullptr, Column::of_cluster),
    detail("rails", "1", "network ports of a node", nullptr, Column::of_cluster),
    detail("bandwidth_GBps", "GB/s", "bandwidth of a port; empty if whole collectives were measured", nullptr,
           Column::of_cluster),

    // CSV of `tune`.
    detail("trial", "1", "number of the trial"),
    duration("best_so_far_s", "the shortest iteration of the trials so far"),

    // CSV of `validate`, after the columns of its input; in the unit of the measurements.
    detail("scored", "", "true if the row counts in the errors"),
    detail("predicted", "as measured", "the predicted value"),
    measure("error", "", "", "1", lower, "relative error of the prediction; positive if it is too fast"),
    detail("no_communication", "as measured", "prediction of the null model without communication"),
    detail("no_overlap", "as measured", "prediction of the null model without overlap"),
    detail("measured_loss", "1", "loss of scaling as measured: 1 - efficiency"),
    detail("predicted_loss", "1", "loss of scaling as predicted"),

    // `jobs`: a row for each job of a run.
    identifying("jobs", "", "the name of the jobs file"),
    identifying("job", "", "the name of the job in it"),
    identifying("placements", "",
                "placements of all jobs of the run in the sweep; null (empty) if those of the file are used"),
    identifying("search", "", "none, or the search: place;stagger=K;minimise=mean"),
    detail("placement", "", "the job's placement, as in the file or the sweep"),
    detail("iterations", "1", "measured iterations"),
    measure("alone_s", "isolated", "", "s", lower, "mean iteration of the job alone, on the same seats"),
    duration("p50_s", "median iteration; over seeds their median"),
    measure("p99_s", "p99", "", "s", lower, "99th percentile of the iterations"),
    duration("least_s", "shortest iteration; over seeds the least"),
    duration("most_s", "longest iteration; over seeds the most"),
    measure("slowdown", "slow-down", "", "1", lower,
            "mean iteration, divided by that of the job alone on the same seats"),
    duration("exposed_alone_s", "exposed_comm_s of the job alone"),
    detail("start_s", "s", "time until the job starts"),
    detail("end_s", "s", "time until the job ends; null (empty) if it does not"),
    duration("lost_s", "time more than the same iterations alone take; null (empty) if the run is steady"),
    detail("found_placement", "", "placement that the search found"),
    detail("offset_s", "s", "time by which the search delays the job's start"),
    measure("worst_slowdown", "", "", "1", lower, "largest slow-down of the jobs of the run"),
    measure("mean_slowdown", "", "", "1", lower, "mean slow-down of the jobs of the run"),
    measure("fairness", "", "", "1", higher, "Jain's index of the slow-downs of the run: 1 if all are equal"),
    duration("makespan_s", "time until the last job of the run ends, of those that end"),
    detail("runs", "1", "number of runs of the search"),
    detail("name", "", "the name of the job"),
    detail("hosts", "", "the hosts on which the job runs"),
    detail("batches", "1", "batch size of each worker"),
    detail("contention", "1",
           "by link, the share of the job's time in which it and another job both use the link and it is full", nullptr,
           in_parts),
    detail("each_s", "s", "each measured iteration", nullptr, in_parts),
    detail("goodput", "", "the throughput that failures and checkpoints leave (docs/goodput.md)"),

    // `collective`: a row for each message size.
    detail("bytes", "B", "size of the message"),
    measure("time_s", "time", "", "s", lower, "time of the collective alone"),
    measure("algbw_GBps", "algbw GB/s", "", "GB/s", higher, "bytes / time_s"),
    measure("busbw_GBps", "busbw GB/s", "", "GB/s", higher, "bus bandwidth, as nccl-tests defines it"),
    detail("operation", "", "the collective operation"),
    detail("messages", "1", "messages that were simulated"),
    detail("algorithm", "", "the algorithm that the library chooses"),
    detail("protocol", "", "the protocol that the library chooses"),
    detail("fastest", "", "true if its busbw is the largest at its size, cluster, workers and fidelity"),
};

}  // namespace

std::string Column::text() const {
  return std::string(about) + (unit.empty() || unit == "1" ? "" : " [" + std::string(unit) + "]");
}

std::span<const Column> all_columns() { return registry; }

std::span<const Column> columns() {
  static const std::span<const Column> some(
      std::begin(registry),
      std::find_if(std::begin(registry), std::end(registry), [](const Column& one) { return !one.get; }));
  return some;
}

std::vector<std::string_view> row_keys() {
  std::vector<std::string_view> keys;
  for (const Column& one : columns()) keys.push_back(one.key);
  return keys;
}

const Column* find_column(std::string_view key) {
  static const std::vector<const Column*> by_key = [] {
    std::vector<const Column*> all;
    for (const Column& one : registry) all.push_back(&one);
    std::ranges::sort(all, {}, &Column::key);
    return all;
  }();
  const auto found = std::ranges::lower_bound(by_key, key, {}, &Column::key);
  return found == by_key.end() || (*found)->key != key ? nullptr : *found;
}

const Column& column_of(std::string_view key) {
  if (const Column* found = find_column(key)) return *found;
  throw std::logic_error("no column " + std::string(key));
}

std::string axis_of(std::string_view key) {
  if (const Column* found = find_column(key); found && !found->axis.empty()) return std::string(found->axis);
  std::string name(key);
  if (name.ends_with("_per_s"))
    name += "econd";
  else if (name.ends_with("_s"))
    name.resize(name.size() - 2);
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

std::string_view unit_of(std::string_view key) {
  if (const Column* found = find_column(key)) return found->unit;
  return key.ends_with("_s") && !key.ends_with("_per_s") ? "s" : key.ends_with("_bytes") ? "B" : "";
}

bool is_percentage(std::string_view key) {
  return key.ends_with("efficiency") || key.ends_with("mfu") || key.ends_with("share");
}

std::string title_of(const Column& column) {
  return column.title.empty() ? axis_of(column.key) : std::string(column.title);
}

}  // namespace allreplay
