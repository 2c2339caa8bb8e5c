#include "sim/studies/experiment/row.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/base/core/csv.hpp"
#include "sim/base/core/json_value.hpp"
#include "sim/base/core/units.hpp"
#include "sim/replay/training/job.hpp"
#include "sim/studies/search/candidate.hpp"

namespace allreplay {

namespace {

using namespace std::string_view_literals;

// Returns the options that the scenario uses with this collective, with their values.
NamedValues effective_options(const Scenario& scenario, const CollectiveChoice& choice) {
  NamedValues values;
  Options options = scenario.options;
  options.collective = choice.options;
  options.strategy = with_defaults(*scenario.strategy, options.strategy, scenario.profile);
  const bool pipeline = options.parallel.pipeline();
  if (pipeline && scenario.strategy->name == "fsdp2") {  // PyTorch's pipeline runtime sets these
    options.strategy.fsdp.reshard = Reshard::None;
    options.strategy.fsdp.reduce = Reduce::Last;
  }
  const auto append = [&](std::string_view name) {
    if (pipeline ? name == "prefetch" || name == "reduce_buffers"
                 : name == "reduce_grad" || name == "align_grad_reduce")
      return;
    const std::string value = options.get(name);
    if (!value.empty()) values.emplace_back(name, value);
  };
  const auto named = [&](std::string_view name) {
    return std::any_of(values.begin(), values.end(), [&](const auto& one) { return one.first == name; });
  };
  // Appends the options that were given for the strategies from which `best` starts its search.
  const auto append_given = [&] {
    for (const Scenario& other : others(scenario))
      for (const std::string_view name : other.strategy->options)
        if (options.places.contains(std::string(name)) && !named(name)) append(name);
  };
  const bool searched = scenario.strategy->searched() && !scenario.given;
  // If parameters are sharded, `best` does not start from plans of blocks and ignores their options.
  if (!searched || !options.strategy.sharding.shards_parameters())
    for (const std::string_view name : scenario.strategy->options) append(name);
  if (searched) append_given();
  for (const std::string_view name : step_options())
    if (options.get(name) != Options().get(name)) append(name);
  if (options.parallel.pipeline() && options.parallel.chunks)
    values.emplace_back("chunks", std::to_string(*options.parallel.chunks));
  else
    for (const std::string_view name : options_of(choice)) append(name);
  if (scenario.codec)
    for (const std::string_view name :
         {scenario.codec->codec->option, "encode"sv, "decode"sv, "codec_stream"sv, "decode_at"sv})
      append(name);
  if (scenario.stragglers.jitter) append("iterations");
  if (choice.fidelity == Fidelity::Message && scenario.options.places.contains("start")) append("start");
  return values;
}

}  // namespace

NamedNumbers parts_of(const MemoryParts& parts) {
  NamedNumbers all{{"parameters", parts.parameters},
                   {"gradients", parts.gradients},
                   {"optimizer", parts.optimizer},
                   {"gathered", parts.gathered},
                   {"in_reduction", parts.in_reduction},
                   {"activations", parts.activations.value_or(0)},
                   {"step", parts.step}};
  for (const auto& [name, bytes] :
       {std::pair("secondary", parts.secondary), std::pair("matrices", parts.matrices),
        std::pair("pseudo_gradients", parts.pseudo_gradients), std::pair("outer", parts.outer)})
    if (bytes > 0) all.emplace_back(name, bytes);
  return all;
}

namespace {

Cell optional_cell(const std::optional<double>& value) { return value ? Cell(*value) : Cell(); }
Cell text_cell(std::string_view text) { return std::string(text); }

constexpr ColumnKind words = ColumnKind::Text, number = ColumnKind::Number;
constexpr bool identifies = true, may_be_empty = true, later = true;

// Cells and columns that are empty with data parallelism only.
template <auto member>
Cell degree_cell(const Record& record) {
  return record.parallel ? Cell(record.parallel->degrees.*member) : Cell();
}
template <auto member>
Cell parallel_cell(const Record& record) {
  return record.parallel ? Cell(record.parallel->*member) : Cell();
}
constexpr Column of_parallel(std::string_view name, std::string_view about, Cell (*get)(const Record&),
                             ColumnKind kind = number) {
  return {name, about, get, kind, !identifies, may_be_empty, later, true};
}

constexpr Column all[] = {
    {"profile", "the name of the profile", [](const Record& r) -> Cell { return r.scenario.profile->name; }, words,
     identifies},
    {"cluster", "the name of the cluster", [](const Record& r) -> Cell { return r.scenario.cluster.name; }, words,
     identifies},
    {"strategy", "how communication is scheduled", [](const Record& r) { return text_cell(r.scenario.strategy->name); },
     words, identifies},
    {"workers", "number of workers", [](const Record& r) -> Cell { return r.scenario.workers; }, number, identifies},
    {"collective", "the collective that carries the gradients",
     [](const Record& r) { return text_cell(r.choice.algorithm->name); }, words, identifies},
    {"fidelity", "how communication is priced", [](const Record& r) -> Cell { return to_string(r.choice.fidelity); },
     words, identifies},
    {"codec", "the codec that compresses gradients; null (empty): none",
     [](const Record& r) { return r.scenario.codec ? Cell(r.scenario.codec->name) : Cell(); }, words, identifies,
     may_be_empty, later},
    {"origin", "of the profile: measured, imported, reconstructed",
     [](const Record& r) -> Cell { return to_string(r.scenario.profile->origin); }, words, identifies},
    {"iteration_s", "seconds from the start of a backward pass to that of the next",
     [](const Record& r) -> Cell { return r.metrics.iteration_s; }},
    {"forward_s", "seconds, of a worker that is not slowed down",
     [](const Record& r) -> Cell { return r.metrics.forward_s; }},
    {"backward_s", "seconds, of a worker that is not slowed down",
     [](const Record& r) -> Cell { return r.metrics.backward_s; }},
    {"exposed_comm_s", "seconds: iteration - stragglers - K (forward + backward) - update - codec",
     [](const Record& r) -> Cell { return r.metrics.exposed_comm_s; }},
    {"comm_busy_s", "seconds of an iteration in which any block is in flight",
     [](const Record& r) -> Cell { return r.metrics.comm_busy_s; }},
    {"codec_s", "seconds of encoding and decoding on the compute stream",
     [](const Record& r) -> Cell { return r.metrics.codec_s; }},
    {"update_s", "seconds of the optimizer on the compute stream",
     [](const Record& r) -> Cell { return r.metrics.update_s; }, number, !identifies, !may_be_empty, later},
    {"copy_s", "seconds of copies on the compute stream", [](const Record& r) -> Cell { return r.metrics.copy_s; },
     number, !identifies, !may_be_empty, later},
    {"host_s",
     "seconds in which the GPU waits for its host: blocks that it computes faster than they are launched, steps",
     [](const Record& r) -> Cell { return r.metrics.host_s; }, number, !identifies, !may_be_empty, later},
    {"collectives", "collectives started per iteration", [](const Record& r) -> Cell { return r.metrics.collectives; }},
    {"speedup", "N (K (forward + backward) + update of all) / iteration",
     [](const Record& r) -> Cell { return r.metrics.speedup; }},
    {"efficiency", "speedup / N", [](const Record& r) -> Cell { return r.metrics.efficiency; }},
    {"samples_per_s", "samples/s; null (empty) if the batch size is unknown",
     [](const Record& r) { return optional_cell(r.metrics.samples_per_s); }, number, !identifies, may_be_empty},
    {"lower_bound_s", "lower bound for lossless plans with the same traffic; null (empty) with a codec",
     [](const Record& r) { return optional_cell(r.metrics.lower_bound_s); }, number, !identifies, may_be_empty},
    {"memory_bytes", "peak memory of a worker", [](const Record& r) -> Cell { return r.memory.peak; }, number,
     !identifies, !may_be_empty, later},
    {"memory", "parts of the memory, each at its own peak; in CSV part=bytes;part=bytes",
     [](const Record& r) -> Cell { return parts_of(r.memory.parts); }, ColumnKind::Parts, !identifies, !may_be_empty,
     later},
    {"options", "the options in use; in CSV key=value;key=value",
     [](const Record& r) -> Cell { return effective_options(r.scenario, r.choice); }, ColumnKind::Options, identifies},
    {"events", "events of the simulation, including those of the network",
     [](const Record& r) -> Cell { return r.metrics.events; }},
    {"network_events", "of these, events of the network: rounds (fluid), messages (message), none (alpha-beta)",
     [](const Record& r) -> Cell { return r.metrics.network_events; }, number, !identifies, !may_be_empty, later},
    {"wall_s", "seconds that the simulation took", [](const Record& r) -> Cell { return r.wall_s; }},
    {"tokens_per_s_per_gpu", "tokens/s / N; null (empty) if the profile has no tokens_per_sample",
     [](const Record& r) { return optional_cell(speed_per_gpu(r.scenario, r.metrics).tokens_per_s); }, number,
     !identifies, may_be_empty, later},
    {"samples_per_s_per_gpu", "samples/s / N; null (empty) if the batch size is unknown",
     [](const Record& r) { return optional_cell(speed_per_gpu(r.scenario, r.metrics).samples_per_s); }, number,
     !identifies, may_be_empty, later},
    {"mfu", "model FLOPs/s of a worker / its device's dense peak; null (empty) if either is unknown",
     [](const Record& r) { return optional_cell(speed_per_gpu(r.scenario, r.metrics).mfu); }, number, !identifies,
     may_be_empty, later},
    of_parallel("pp", "ranks of the pipeline; this and the following: null (empty) with data parallelism only",
                degree_cell<&Degrees::pp>),
    of_parallel("tp", "workers of a tensor-parallel group", degree_cell<&Degrees::tp>),
    of_parallel("cp", "workers of a context-parallel group", degree_cell<&Degrees::cp>),
    of_parallel("ep", "workers of an expert-parallel group", degree_cell<&Degrees::ep>),
    of_parallel("dp", "replicas of the model", degree_cell<&Degrees::dp>),
    of_parallel("schedule", "schedule of the pipeline: a name, or a file", parallel_cell<&ParallelResult::schedule>,
                words),
    of_parallel("chunks", "chunks of the model on each rank; null (empty): unequal numbers",
                [](const Record& r) { return r.parallel && r.parallel->chunks ? Cell(*r.parallel->chunks) : Cell(); }),
    of_parallel("micro_batches", "micro-batches of an iteration", parallel_cell<&ParallelResult::micro_batches>),
    of_parallel("bubble_s",
                "seconds of an iteration in which a rank is idle, if sending took no time; mean over the ranks",
                parallel_cell<&ParallelResult::bubble_s>),
    of_parallel("exposed_dp_s", "seconds that reductions and gathers add",
                parallel_cell<&ParallelResult::exposed_dp_s>),
    of_parallel("exposed_p2p_s", "seconds that sends between ranks add", parallel_cell<&ParallelResult::exposed_p2p_s>),
    of_parallel("layer_comm_s", "seconds of collectives inside layers; mean over the ranks",
                parallel_cell<&ParallelResult::layer_comm_s>),
    of_parallel("exposed_ep_s",
                "of layer_comm_s: seconds that token exchanges among experts add; null (empty) with ep 1",
                [](const Record& r) {
                  return r.parallel && r.parallel->degrees.ep > 1 ? Cell(r.parallel->exposed_ep_s) : Cell();
                }),
    {"fits",
     "whether memory_bytes fits into --memory, or the device's (with less than a tenth free it may fail); null (empty) "
     "without a limit",
     [](const Record& r) {
       const auto& limit = r.scenario.options.memory.limit;
       return limit ? Cell(r.memory.peak <= static_cast<double>(*limit)) : Cell();
     },
     words, !identifies, may_be_empty, later},
    {"routing", "routing of messages; null (empty) if neither the cluster's file nor --routing gives it",
     [](const Record& r) {
       const auto& topology = r.scenario.cluster.network.topology;
       return topology && topology->routing.given ? Cell(in_words(topology->routing)) : Cell();
     },
     words, identifies, may_be_empty, later, false, true},
    {"straggler_s", "seconds of an iteration that stragglers, spread and jitter cost: iteration - that without them",
     [](const Record& r) -> Cell { return r.metrics.straggler_s; }, number, !identifies, !may_be_empty, later},
    {"period_s", "seconds of a round of local steps; null (empty) if every step reduces gradients",
     [](const Record& r) { return optional_cell(r.metrics.period_s); }, number, !identifies, may_be_empty, later, false,
     true},
    {"newton_schulz_s",
     "seconds of Muon's Newton-Schulz on the busiest worker, part of update_s; null (empty): no Muon",
     [](const Record& r) { return optional_cell(r.metrics.newton_schulz_s); }, number, !identifies, may_be_empty, later,
     false, true},
};

Row row_of(const Record& record, bool identity_only) {
  Row row;
  for (const Column& column : all)
    if (column.identifies || !identity_only) row.push_back({column.name, column.get(record)});
  return row;
}

JsonValue to_value(const Cell& cell) {
  return std::visit(
      [](const auto& value) -> JsonValue {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, std::monostate>)
          return nullptr;
        else if constexpr (std::is_same_v<T, NamedValues> || std::is_same_v<T, NamedNumbers>) {
          auto object = JsonValue::object();
          for (const auto& [name, one] : value) object[name] = one;
          return object;
        } else
          return value;
      },
      cell);
}

}  // namespace

JsonValue json_of(const NamedValues& values) { return to_value(values); }

std::span<const Column> columns() { return all; }

SpeedPerGpu speed_per_gpu(const Scenario& scenario, const Metrics& metrics) {
  SpeedPerGpu speed;
  if (!metrics.samples_per_s) return speed;
  const Profile& profile = scenario.profile;
  const double rate = *metrics.samples_per_s / static_cast<double>(scenario.workers);
  speed.samples_per_s = rate;
  if (profile.tokens_per_sample) speed.tokens_per_s = rate * static_cast<double>(*profile.tokens_per_sample);
  if (profile.flops_per_sample && scenario.peak) speed.mfu = rate * *profile.flops_per_sample / *scenario.peak;
  return speed;
}

NamedValues options_in_effect(const Scenario& scenario) { return effective_options(scenario, collective_of(scenario)); }

NamedValues named_values(std::string_view text) {
  NamedValues values;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find(';', start), text.size());
    const std::string_view one = text.substr(start, end - start);
    const std::size_t equals = std::min(one.find('='), one.size());
    values.emplace_back(one.substr(0, equals), one.substr(std::min(equals + 1, one.size())));
    start = end + 1;
  }
  return values;
}

std::optional<bool> fits_by(const NamedValues& options, double memory_bytes, const SourceLocation& place) {
  for (const auto& [name, value] : options)
    if (name == "memory") return memory_bytes <= static_cast<double>(parse_size(value, place));
  return std::nullopt;
}

Row identity(const Scenario& scenario) {
  return row_of({scenario, collective_of(scenario), Metrics(), MemoryUse()}, true);
}

Row make_row(const Scenario& scenario, const Metrics& metrics, const MemoryUse& memory, double wall_s,
             const ParallelResult* parallel) {
  return row_of({scenario, collective_of(scenario), metrics, memory, wall_s, parallel}, false);
}

JsonValue json_of(const Row& row) {
  const NamedCell* degree = row_named(row, "pp");
  const bool parallel = degree && !std::holds_alternative<std::monostate>(degree->cell);
  auto object = JsonValue::object();
  for (const NamedCell& column : row) {
    const Column* kind = row_named(all, column.name);
    const bool left_out = kind && (kind->if_given || (kind->of_parallel && !parallel));
    if (left_out && std::holds_alternative<std::monostate>(column.cell)) continue;
    object[std::string(column.name)] = to_value(column.cell);
  }
  return object;
}

std::string unquoted_text(const Cell& cell) {
  return std::visit(
      [](const auto& value) -> std::string {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, std::monostate>)
          return "";
        else if constexpr (std::is_same_v<T, NamedValues> || std::is_same_v<T, NamedNumbers>) {
          std::string text;
          for (const auto& [name, one] : value) text += fmt::format("{}{}={}", text.empty() ? "" : ";", name, one);
          return text;
        } else
          return fmt::format("{}", value);  // the shortest text that reads back as the same double
      },
      cell);
}

std::string csv_header() {
  std::vector<std::string_view> names;
  for (const Column& column : all) names.push_back(column.name);
  return csv_header(names);
}

std::string csv_header(std::span<const std::string_view> names) {
  std::string line;
  for (const std::string_view name : names) line += (line.empty() ? "" : ",") + csv_field(std::string(name));
  return line;
}

std::string to_csv(const Row& row) {
  std::string line;
  for (const NamedCell& column : row)
    line += (&column == row.data() ? "" : ",") + csv_field(unquoted_text(column.cell));
  return line;
}

}  // namespace allreplay
