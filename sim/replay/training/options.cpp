#include "sim/replay/training/options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/core/named.hpp"
#include "sim/inputs/cluster/cluster.hpp"
#include "sim/replay/training/option_values.hpp"

namespace allreplay {

namespace {

constexpr double kib = 1024, mib = 1024 * kib;

constexpr Word<Grouping> groupings[] = {
    {Grouping::Search, "search"}, {Grouping::Optimal, "optimal"}, {Grouping::Even, "even"}};
constexpr Word<CodecStream> streams[] = {{CodecStream::Compute, "compute"}, {CodecStream::Side, "side"}};
constexpr Word<DecodeAt> decodings[] = {{DecodeAt::Arrival, "arrival"}, {DecodeAt::Encode, "encode"}};
constexpr Word<Start> starts[] = {{Start::Together, "together"}, {Start::Ranks, "ranks"}};
constexpr Word<Sharing> sharings[] = {{Sharing::Serial, "serial"}, {Sharing::Fair, "fair"}};
constexpr Word<TreeBandwidth> tree_bandwidths[] = {{TreeBandwidth::Paper, "paper"},
                                                   {TreeBandwidth::Physical, "physical"}};

constexpr Word<ServerHosts> server_hosts[] = {{ServerHosts::Colocated, "colocated"},
                                              {ServerHosts::Dedicated, "dedicated"}};
constexpr Word<Barrier> barriers[] = {{Barrier::Iteration, "iteration"}, {Barrier::Layer, "layer"}};
constexpr Word<Release> releases[] = {{Release::Layer, "layer"}, {Release::Backward, "backward"}};
constexpr Word<P2p> p2ps[] = {{P2p::Overlap, "overlap"}, {P2p::Blocking, "blocking"}};
constexpr Word<UpdateBarrier> update_barriers[] = {{UpdateBarrier::All, "all"}, {UpdateBarrier::Stage, "stage"}};
constexpr Word<bool> reduce_grads[] = {{true, "wait"}, {false, "async"}};
constexpr Word<bool> yes_or_no[] = {{true, "true"}, {false, "false"}};
constexpr Word<Reshard> reshards[] = {{Reshard::ButLast, "but-last"}, {Reshard::All, "all"}, {Reshard::None, "none"}};
constexpr Word<Reduce> reduces[] = {
    {Reduce::Every, "every"}, {Reduce::ReplicasLast, "replicas-last"}, {Reduce::Last, "last"}};
constexpr Word<bool> reorders[] = {{true, "blocks"}, {false, "none"}};
constexpr Word<bool> syncs[] = {{false, "last"}, {true, "every"}};
constexpr Word<bool> outers[] = {{false, "no_shard"}, {true, "optim"}};
constexpr Word<bool> lane_choices[] = {{false, "shared"}, {true, "separate"}};
constexpr Word<BackwardPrefetch> backward_prefetches[] = {
    {BackwardPrefetch::Pre, "pre"}, {BackwardPrefetch::Post, "post"}, {BackwardPrefetch::None, "none"}};
constexpr Word<StepOptimizer> step_optimizers[] = {{StepOptimizer::AsProfiled, "profile"},
                                                   {StepOptimizer::Muon, "muon"}};
constexpr Word<MuonSpread> muon_spreads[] = {{MuonSpread::Gathered, "gathered"},
                                             {MuonSpread::Owned, "owned"},
                                             {MuonSpread::AllToAll, "all-to-all"},
                                             {MuonSpread::Replicated, "replicated"}};
constexpr Word<bool> backups[] = {{false, "host"}, {true, "device"}};
constexpr Word<bool> bucket_ops[] = {{true, "all-reduce"}, {false, "reduce-scatter"}};

// Returns the field of the options that a path of member pointers leads to.
template <auto... path>
auto& field(Options& options) {
  return (options.*....*path);
}
template <auto... path>
const auto& field(const Options& options) {
  return (options.*....*path);
}

// A size whose default depends on the strategy.
template <auto... path>
OptionRow optional_size(std::string_view name, std::string_view about, std::string (*default_text_of)(const Strategy&),
                        std::optional<Tuned> tuned = {}) {
  return {
      .name = name,
      .about = about,
      .default_text_of = default_text_of,
      .kind = OptionKind::Size,
      .set = [](Options& o, const std::string& v, const SourceLocation& p) { field<path...>(o) = positive_size(v, p); },
      .get = [](const Options& o) { return field<path...>(o) ? write_size(*field<path...>(o)) : std::string(); },
      .tuned = tuned};
}

template <std::int64_t least, std::int64_t most, auto... path>
OptionRow count(std::string_view name, std::string_view about, std::optional<Tuned> tuned = {},
                std::string_view reader = "") {
  return {.name = name,
          .about = about,
          .reader = reader,
          .kind = OptionKind::Count,
          .set = [](Options& o, const std::string& v,
                    const SourceLocation& p) { field<path...>(o) = parse_integer(v, least, most, p); },
          .get = [](const Options& o) { return std::to_string(field<path...>(o)); },
          .tuned = tuned};
}

template <bool all_is_one, auto... path>
OptionRow share(std::string_view name, std::string_view about) {
  return {.name = name,
          .about = about,
          .kind = OptionKind::Share,
          .set = [](Options& o, const std::string& v,
                    const SourceLocation& p) { field<path...>(o) = parse_share(v, p, all_is_one); },
          .get = [](const Options& o) { return fmt::format("{}", field<path...>(o)); }};
}

// The error for an unknown word.
template <const auto& words>
std::string refusal() {
  return fmt::format("'{{}}' is neither '{}'", fmt::join(names_of(words), "' nor '"));
}
template <>
std::string refusal<muon_spreads>() {
  return "'{}' is not a way to share matrices";
}
template <>
std::string refusal<dtype_words>() {
  return "'{}' is not a type that can be sent";
}
template <>
std::string refusal<groupings>() {
  return "'{}' is not a valid grouping";
}

template <const auto& words, auto... path>
OptionRow choice(std::string_view name, std::string_view about, std::string_view reader = "",
                 std::string (*default_text_of)(const Strategy&) = nullptr) {
  return {
      .name = name,
      .about = about,
      .reader = reader,
      .default_text_of = default_text_of,
      .kind = OptionKind::Choice,
      .words = names_of(words),
      .set = [](Options& o, const std::string& v,
                const SourceLocation& p) { field<path...>(o) = choose_by_name(words, v, p, refusal<words>()).value; },
      .get = [](const Options& o) -> std::string {
        const std::optional value = field<path...>(o);
        return value ? std::string(name_of(words, *value)) : "";
      }};
}

// A time that replaces one of the codec's file.
template <auto member>
OptionRow codec_time(std::string_view name, std::string_view about) {
  return {.name = name,
          .about = about,
          .reader = "with a codec",
          .default_text = "what the codec's file says",
          .kind = OptionKind::Duration,
          .set = [](Options& o, const std::string& v, const SourceLocation& p) { o.codec.*member = any_time(v, p); },
          .get = [](const Options& o) { return o.codec.*member ? write_duration(*(o.codec.*member)) : std::string(); }};
}

constexpr std::int64_t many = 1'000'000;
constexpr std::int64_t most_samples = 1'000'000'000;  // per iteration
constexpr std::int64_t most_elements = 1'000'000'000'000'000;

using S = StrategyOptions;
using F = FsdpOptions;
using Z = ZeroOptions;
using M = MegatronOptions;
using MF = MegatronFsdpOptions;
using P = ParallelOptions;
constexpr std::string_view in_pipelines = "with pp above 1";
constexpr std::string_view all_strategies = "all strategies";
constexpr std::string_view readers_of_muon = "fsdp2, megatron, and all strategies that make blocks";

// Sets the default in words, for options whose get() has none.
OptionRow with_default(OptionRow row, std::string_view default_text) {
  row.default_text = default_text;
  return row;
}

// But-last is the default of those that accept it.
bool takes_but_last(const Strategy& strategy) { return strategy.name == "fsdp2" || strategy.name == "simple-fsdp"; }
OptionRow reshard() {
  OptionRow row = choice<reshards, &Options::strategy, &S::fsdp, &F::reshard>(
      "reshard", "which units are freed after their forward pass", "", [](const Strategy& strategy) {
        return std::string(!reads(strategy, "reshard") ? "" : takes_but_last(strategy) ? "but-last" : "all");
      });
  row.takes = [](const Strategy& strategy, std::string_view word) {
    return takes_but_last(strategy) || word != name_of(reshards, Reshard::ButLast);
  };
  return row;
}

// Errors about qwz name the place where it was set.
OptionRow qwz() {
  OptionRow row = choice<yes_or_no, &Options::strategy, &S::zero, &Z::qwz>(
      "qwz", "ZeRO++: parameters are gathered as 8-bit numbers and scales");
  row.set = [](Options& o, const std::string& v, const SourceLocation& p) {
    o.strategy.zero.qwz = choose_by_name(yes_or_no, v, p, refusal<yes_or_no>()).value;
    o.strategy.zero.place_of_qwz = p;
  };
  return row;
}

OptionRow of_step(OptionRow row) {
  row.of_step = true;
  return row;
}

// A degree of parallelism.
template <auto member>
OptionRow degree(std::string_view name, std::string_view about) {
  return of_step(count<1, most_workers, &Options::parallel, member>(name, about, {}, all_strategies));
}

OptionRow called_also(OptionRow row, std::string_view other_name) {
  row.other_name = other_name;
  return row;
}

}  // namespace

std::span<const OptionRow> option_rows() {
  static const std::vector<OptionRow> rows{
      optional_size<&Options::strategy, &S::bucket_cap>(
          "bucket_cap", "a bucket closes once it holds this much",
          [](const Strategy&) { return std::string("25 MiB"); }, Tuned{mib, 256 * mib}),
      optional_size<&Options::strategy, &S::first_bucket>(
          "first_bucket", "the cap of the first bucket",
          [](const Strategy&) { return std::string("bucket_cap, or 1 MiB if that is not given"); }),
      optional_size<&Options::strategy, &S::threshold>(
          "threshold", "the largest size that is fused",
          [](const Strategy& s) { return s.threshold > 0 ? write_size(s.threshold) : std::string(); },
          Tuned{mib, 256 * mib}),
      {.name = "cycle",
       .about = "interval at which it looks for ready tensors",
       .kind = OptionKind::Duration,
       .set = [](Options& o, const std::string& v, const SourceLocation& p) { o.strategy.cycle = positive_time(v, p); },
       .get = [](const Options& o) { return write_duration(o.strategy.cycle); },
       .tuned = Tuned{0.1e-3, 20e-3}},
      optional_size<&Options::strategy, &S::partition>(
          "partition", "the size of slices",
          [](const Strategy& s) {
            if (s.partition.elements > 0) return fmt::format("{} elements", s.partition.elements);
            return s.partition.cuts() ? write_size(s.partition.bytes) : std::string();
          },
          Tuned{64 * kib, 64 * mib}),
      {.name = "credit",
       .about = "number of blocks, or of bytes, that may be in flight",
       .kind = OptionKind::CountOrSize,
       .set = [](Options& o, const std::string& v, const SourceLocation& p) { o.strategy.credit = parse_window(v, p); },
       .get =
           [](const Options& o) {
             const Window& credit = o.strategy.credit;
             return credit.bytes == Window::unlimited ? std::to_string(credit.count) : write_size(credit.bytes);
           },
       .tuned = Tuned{1, 64}},
      choice<releases, &Options::strategy, &S::release>(
          "release", "blocks are ready after their layer's backward pass (layer) or after the whole one (backward)"),
      {.name = "first_phase",
       .about = "greedy (Algorithm 2), sequential, random:SEED, or the tensors as 3/1/2, counted from the input",
       .default_text = "greedy",
       .kind = OptionKind::Order,
       .set = [](Options& o, const std::string& v,
                 const SourceLocation& p) { o.strategy.first_phase = parse_phase_order(v, p, "greedy"); },
       .get = [](const Options& o) { return write_phase_order(o.strategy.first_phase); }},
      {.name = "second_phase",
       .about = "sequential (Theorem 1), random:SEED, or the tensors as 3/1/2",
       .default_text = "sequential",
       .kind = OptionKind::Order,
       .set = [](Options& o, const std::string& v,
                 const SourceLocation& p) { o.strategy.second_phase = parse_phase_order(v, p, "sequential"); },
       .get = [](const Options& o) { return write_phase_order(o.strategy.second_phase); }},
      count<1, many, &Options::strategy, &S::groups>(
          "groups", "Y of Algorithm 2, the largest number of groups; their number if grouping is not search",
          Tuned{1, 64}),
      share<false, &Options::strategy, &S::stop>(
          "stop", "alpha of Algorithm 2, the smallest relative gain that justifies another group"),
      choice<groupings, &Options::strategy, &S::grouping>(
          "grouping", "Algorithm 2 (search), the best (optimal) or the even partition (even) into `groups`"),
      share<true, &Options::codec, &CodecOptions::density>("density", "share of the gradients that is sent"),
      count<1, 16, &Options::codec, &CodecOptions::bits>("bits", "bits per gradient, including its sign"),
      codec_time<&CodecOptions::encode>("encode", "time to encode a block"),
      codec_time<&CodecOptions::decode>("decode", "time to decode a block, all payloads together"),
      choice<streams, &Options::codec, &CodecOptions::stream>(
          "codec_stream", "it runs on the compute stream (compute) or on its own (side)", "with a codec"),
      choice<decodings, &Options::codec, &CodecOptions::decode_at>(
          "decode_at", "blocks are decoded on arrival (arrival), or together with the encoding (encode)",
          "with a codec", [](const Strategy& s) { return std::string(name_of(decodings, s.decode_at)); }),
      choice<sharings, &Options::sharing>(
          "sharing", "concurrent blocks are sent one after another (serial) or share the network equally (fair)",
          "alpha-beta"),
      choice<starts, &Options::start>(
          "start", "a collective starts when all workers are ready (together), or on each rank when it is (ranks)",
          "message, with stragglers or jitter"),
      count<0, most_workers, &Options::collective, &CollectiveOptions::servers>(
          "servers", "number of servers; 0 is one on every worker, or with local one on every node"),
      choice<server_hosts, &Options::collective, &CollectiveOptions::server_hosts>(
          "server_hosts", "servers run on the workers' hosts (colocated) or on their own (dedicated)",
          "parameter-server"),
      choice<yes_or_no, &Options::collective, &CollectiveOptions::local>(
          "local", "the GPUs of a node sum before they push", "parameter-server"),
      {.name = "launch",
       .about = "host time for each collective, before it reaches the network",
       .reader = all_strategies,
       .kind = OptionKind::Duration,
       .set = [](Options& o, const std::string& v, const SourceLocation& p) { o.launch = any_time(v, p); },
       .get = [](const Options& o) { return write_duration(o.launch); },
       .of_step = true},
      {.name = "launch_tensor",
       .about = "additional host time for each tensor, at its first launch",
       .reader = all_strategies,
       .kind = OptionKind::Duration,
       .set = [](Options& o, const std::string& v, const SourceLocation& p) { o.launch_tensor = any_time(v, p); },
       .get = [](const Options& o) { return write_duration(o.launch_tensor); },
       .of_step = true},
      choice<tree_bandwidths, &Options::collective, &CollectiveOptions::tree_bandwidth>(
          "tree_bandwidth", "b as printed in MG-WFBP's Table 2 (paper) or 2 beta + gamma (physical)"),
      {.name = "chunks",
       .about = "number of parts of each tree's bytes, in fluid and message; with pp above 1: of the model's parts on "
                "each rank of the pipeline (1; interleaved, zbv, dualpipe-v: 2)",
       .kind = OptionKind::Count,
       .set = [](Options& o, const std::string& v,
                 const SourceLocation& p) { o.parallel.chunks = o.collective.chunks = parse_integer(v, 1, many, p); },
       .get = [](const Options& o) { return std::to_string(o.collective.chunks); }},
      count<1, many, &Options::iterations>("iterations", "iterations over which the period is averaged", {},
                                           "with jitter"),
      called_also(of_step(count<1, many, &Options::strategy, &S::sharding, &ShardingConfig::accumulate>(
                      "accumulate", "K: micro-batches of an iteration", {}, all_strategies)),
                  "micro_batches"),
      {.name = "global_batch",
       .about = "samples of an iteration of all workers; sets the number of micro-batches",
       .reader = all_strategies,
       .default_text = "replicas x micro-batches x the profile's batch",
       .kind = OptionKind::Count,
       .set = [](Options& o, const std::string& v,
                 const SourceLocation& p) { o.global_batch = parse_integer(v, 1, most_samples, p); },
       .get = [](const Options& o) { return o.global_batch ? std::to_string(*o.global_batch) : std::string(); },
       .of_step = true},
      degree<&P::pp>("pp", "P: ranks of a pipeline, each with its part of the layers"),
      degree<&P::tp>("tp", "T: workers of a tensor-parallel group; the profile is one worker's"),
      degree<&P::cp>("cp", "C: workers of a context-parallel group; the profile is one worker's"),
      degree<&P::ep>("ep", "E: workers of an expert-parallel group"),
      {.name = "schedule",
       .about =
           "order in which the ranks of a pipeline run their chunks: a name of `list schedules`, or PyTorch's file",
       .reader = in_pipelines,
       .kind = OptionKind::Schedule,
       .set =
           [](Options& o, const std::string& v, const SourceLocation& p) {
             if (v.empty()) throw InputError(p, "is empty", "a name of `allreplay list schedules`, or a file");
             o.parallel.schedule = v;
           },
       .get = [](const Options& o) { return o.parallel.schedule; },
       .of_step = true},
      {.name = "stages",
       .about =
           "how layers are cut into chunks: by time (balanced), by number (equal), or by the layers of each, 3/4/3",
       .reader = in_pipelines,
       .kind = OptionKind::Cut,
       .set = [](Options& o, const std::string& v, const SourceLocation& p) { o.parallel.stages = parse_cut(v, p); },
       .get = [](const Options& o) { return write_cut(o.parallel.stages); },
       .of_step = true},
      {.name = "microbatch_group",
       .about = "G of interleaved: this many micro-batches pass a chunk before the next chunk runs",
       .reader = in_pipelines,
       .default_text = "micro-batches / rounds, as in PyTorch",
       .kind = OptionKind::Count,
       .set = [](Options& o, const std::string& v,
                 const SourceLocation& p) { o.parallel.microbatch_group = parse_integer(v, 1, many, p); },
       .get =
           [](const Options& o) {
             return o.parallel.microbatch_group ? std::to_string(*o.parallel.microbatch_group) : std::string();
           },
       .of_step = true},
      of_step(choice<p2ps, &Options::parallel, &P::p2p>(
          "p2p", "sends between ranks overlap computation (overlap) or block it (blocking)", in_pipelines)),
      {.name = "p2p_bytes",
       .about = "bytes of each send between ranks",
       .reader = in_pipelines,
       .default_text = "output_bytes of the last layer before the cut",
       .kind = OptionKind::Size,
       .set = [](Options& o, const std::string& v, const SourceLocation& p) { o.parallel.p2p_bytes = any_size(v, p); },
       .get = [](const Options& o) { return o.parallel.p2p_bytes ? write_size(*o.parallel.p2p_bytes) : std::string(); },
       .of_step = true},
      of_step(choice<yes_or_no, &Options::parallel, &P::p2p_split>(
          "p2p_split", "each worker of a tensor group sends its share of the bytes", in_pipelines)),
      of_step(choice<yes_or_no, &Options::parallel, &P::ep_overlap>(
          "ep_overlap",
          "tokens go to experts and back while another micro-batch computes: a forward and a backward pass side by "
          "side",
          "interleaved and dualpipe-v with ep above 1")),
      with_default(of_step(choice<update_barriers, &Options::parallel, &P::update_barrier>(
                       "update_barrier",
                       "a rank's update waits for all ranks (all, for a global norm), or only for its own (stage)",
                       in_pipelines)),
                   "all; with barrier=layer: stage"),
      of_step(count<0, 3, &Options::strategy, &S::sharding, &ShardingConfig::zero>(
          "zero", "ZeRO's stage under any plan of blocks: 0 all-reduces, 1 and 2 shard (3: best)", {},
          "all strategies that make blocks")),
      with_default(of_step(count<0, most_workers, &Options::strategy, &S::sharding, &ShardingConfig::shard_group>(
                       "shard_group", "G: the state is sharded among this many consecutive workers; 0: all", {},
                       "with zero, fsdp1, fsdp2, simple-fsdp, megatron, megatron-fsdp")),
                   "all workers"),
      with_default(of_step(choice<barriers, &Options::strategy, &S::barrier>(
                       "barrier", "the next forward pass waits for all blocks (iteration) or layer by layer (layer)",
                       "all strategies that make blocks")),
                   "the strategy's own"),
      {.name = "update",
       .about = "the optimizer's step of one worker that holds everything",
       .reader = all_strategies,
       .default_text = "the profile's",
       .kind = OptionKind::Duration,
       .set = [](Options& o, const std::string& v, const SourceLocation& p) { o.update = any_time(v, p); },
       .get = [](const Options& o) { return o.update ? write_duration(*o.update) : std::string(); },
       .of_step = true},
      {.name = "host_block",
       .about = "least time to launch a block's forward pass; backward in the profile's ratio, else 2, recomputing 3",
       .reader = all_strategies,
       .default_text = "the profile's",
       .kind = OptionKind::Duration,
       .set = [](Options& o, const std::string& v, const SourceLocation& p) { o.host_block = any_time(v, p); },
       .get = [](const Options& o) { return o.host_block ? write_duration(*o.host_block) : std::string(); },
       .of_step = true},
      {.name = "host_step",
       .about = "the host's part of a step, after the update",
       .reader = all_strategies,
       .default_text = "the profile's",
       .kind = OptionKind::Duration,
       .set = [](Options& o, const std::string& v, const SourceLocation& p) { o.host_step = any_time(v, p); },
       .get = [](const Options& o) { return o.host_step ? write_duration(*o.host_step) : std::string(); },
       .of_step = true},
      with_default(of_step(choice<dtype_words, &Options::dtypes, &Dtypes::gradient>(
                       "gradient_dtype", "type of gradients on the wire", all_strategies)),
                   "the profile's"),
      with_default(of_step(choice<dtype_words, &Options::dtypes, &Dtypes::parameter>(
                       "parameter_dtype", "type of parameters on the wire", all_strategies)),
                   "the profile's"),
      {.name = "state",
       .about = "the optimizer's state, bytes per element",
       .reader = all_strategies,
       .default_text = "12 if parameters have 2 bytes, else 8",
       .kind = OptionKind::Count,
       .set =
           [](Options& o, const std::string& v, const SourceLocation& p) {
             const double bytes = parse_number(v, p);
             if (!(bytes >= 0 && bytes <= 1000))
               throw InputError(p, fmt::format("{} is not a number of bytes per element", v), "0 to 1000, such as 8");
             o.memory.state = bytes;
           },
       .get = [](const Options& o) { return o.memory.state ? fmt::format("{}", *o.memory.state) : std::string(); },
       .of_step = true},
      {.name = "memory",
       .about = "memory of a worker; larger settings do not fit",
       .reader = all_strategies,
       .default_text = "that of the profile's device if the profile has activations, else no limit",
       .kind = OptionKind::Size,
       .set = [](Options& o, const std::string& v, const SourceLocation& p) { o.memory.limit = positive_size(v, p); },
       .get = [](const Options& o) { return o.memory.limit ? write_size(*o.memory.limit) : std::string(); },
       .of_step = true},
      {.name = "wrap",
       .about = "units: group (the profile's), layer, or layers up to a size",
       .default_text = "group if the profile has groups, else layer",
       .kind = OptionKind::Wrap,
       .set = [](Options& o, const std::string& v,
                 const SourceLocation& p) { o.strategy.fsdp.wrap = parse_wrap(v, p); },
       .get = [](const Options& o) { return write_wrap(o.strategy.fsdp.wrap); }},
      reshard(),
      choice<reduces, &Options::strategy, &S::fsdp, &F::reduce>(
          "reduce", "every micro-batch is reduced, or the last only (replicas-last: among shard groups)"),
      choice<lane_choices, &Options::strategy, &S::fsdp, &F::separate_lanes>(
          "lanes", "gathers and reductions have one communicator (shared) or one each (separate)"),
      count<1, many, &Options::strategy, &S::fsdp, &F::prefetch>("prefetch", "number of units gathered ahead",
                                                                 Tuned{1, 4}),
      count<1, many, &Options::strategy, &S::fsdp, &F::reduce_buffers>("reduce_buffers",
                                                                       "number of reductions that may lag behind"),
      {.name = "copy",
       .about = "speed of copies out of and into the buffers, in bytes per second, or none: they take no time",
       .default_text = "the device's",
       .kind = OptionKind::Rate,
       .set = [](Options& o, const std::string& v,
                 const SourceLocation& p) { o.strategy.fsdp.copy = v == "none" ? 0 : positive_rate(v, p); },
       .get =
           [](const Options& o) {
             const auto& copy = o.strategy.fsdp.copy;
             return !copy ? std::string() : *copy > 0 ? fmt::format("{} B/s", *copy) : "none";
           }},
      choice<reorders, &Options::strategy, &S::fsdp, &F::reorder>(
          "reorder", "the compiler buckets collectives by unit and moves them (blocks), or each tensor's stay (none)"),
      choice<backward_prefetches, &Options::strategy, &S::fsdp, &F::backward_prefetch>(
          "backward_prefetch",
          "the next unit is gathered before this one computes (pre), after (post), or late (none)"),
      count<1, many, &Options::strategy, &S::fsdp, &F::limit>("limit", "units gathered at once in the forward pass"),
      count<1, most_elements, &Options::strategy, &S::zero, &Z::reduce_bucket>(
          "reduce_bucket", "elements that are reduced together", Tuned{1e6, 1e9}),
      count<0, most_elements, &Options::strategy, &S::zero, &Z::allgather_bucket>(
          "allgather_bucket", "elements that are gathered together; 0: all"),
      choice<yes_or_no, &Options::strategy, &S::zero,
             &Z::overlap_comm>("overlap_comm", "the backward pass continues while buckets are reduced", "",
                               [](const Strategy& strategy) {
                                 return std::string(!reads(strategy, "overlap_comm") ? ""
                                                    : strategy.name == "zero-3"      ? "true"
                                                                                     : "false");
                               }),
      choice<bucket_ops, &Options::strategy, &S::zero, &Z::whole_buckets>(
          "bucket_op", "the collective that reduces a bucket of gradients"),
      count<0, most_elements, &Options::strategy, &S::zero, &Z::prefetch_bucket>(
          "prefetch_bucket", "elements that are gathered ahead", Tuned{1e6, 1e9}),
      count<0, most_elements, &Options::strategy, &S::zero, &Z::persistence>(
          "persistence", "tensors of at most this many elements are never freed"),
      count<0, most_elements, &Options::strategy, &S::zero, &Z::max_live>(
          "max_live", "largest number of elements gathered or being gathered", Tuned{1e8, 1e12}),
      count<0, most_elements, &Options::strategy, &S::zero, &Z::max_reuse>(
          "max_reuse", "parameters that are needed again within this many elements are not freed", Tuned{1e8, 1e12}),
      count<1, most_workers, &Options::strategy, &S::zero, &Z::hpz>(
          "hpz", "ZeRO++: freed parameters leave a second shard on this many consecutive workers; 1: none"),
      qwz(),
      choice<yes_or_no, &Options::strategy, &S::zero, &Z::qgz>(
          "qgz", "ZeRO++: gradients are reduced as 4-bit numbers, by all-to-alls in nodes and between nodes"),
      {.name = "quantise",
       .about = "ZeRO++: speed of quantising and dequantising, in bytes per second before quantising",
       .default_text = "they take no time",
       .kind = OptionKind::Rate,
       .set = [](Options& o, const std::string& v,
                 const SourceLocation& p) { o.strategy.zero.quantise = positive_rate(v, p); },
       .get =
           [](const Options& o) {
             return o.strategy.zero.quantise ? fmt::format("{} B/s", *o.strategy.zero.quantise) : std::string();
           }},
      of_step(choice<step_optimizers, &Options::strategy, &S::muon, &MuonOptions::optimizer>(
          "optimizer", "muon updates the matrices of blocks by Newton-Schulz (profile: the update is the profile's)",
          readers_of_muon)),
      with_default(of_step(choice<muon_spreads, &Options::strategy, &S::muon, &MuonOptions::spread>(
                       "muon",
                       "how ranks share Muon's matrices: each rank computes all (gathered, replicated) or its own "
                       "(owned, all-to-all)",
                       "with optimizer=muon")),
                   "gathered if the state is sharded, else replicated"),
      of_step(choice<yes_or_no, &Options::strategy, &S::muon, &MuonOptions::overlap>(
          "muon_overlap", "the next round's matrices travel during Newton-Schulz", "with muon=all-to-all")),
      count<1, many, &Options::strategy, &S::outer, &OuterOptions::sync_every>(
          "sync_every", "H: local steps of a round, after which all parameters have been averaged"),
      count<1, most_workers, &Options::strategy, &S::outer, &OuterOptions::replica>("replica", "workers of a replica"),
      count<1, many, &Options::strategy, &S::outer, &OuterOptions::fragments>(
          "fragments", "P: parts of the model that are averaged in turn, every H/P steps"),
      count<0, many, &Options::strategy, &S::outer, &OuterOptions::delay>(
          "delay", "steps from the launch of a fragment's average to its use"),
      {.name = "outer_update",
       .about = "the outer optimizer's step of the whole model",
       .kind = OptionKind::Duration,
       .set = [](Options& o, const std::string& v,
                 const SourceLocation& p) { o.strategy.outer.outer_update = any_time(v, p); },
       .get = [](const Options& o) { return write_duration(o.strategy.outer.outer_update); }},
      {.name = "bucket",
       .about = "size of a fragment's all-reduces, or tensor: each tensor separately",
       .default_text = "tensor",
       .kind = OptionKind::Bucket,
       .set =
           [](Options& o, const std::string& v, const SourceLocation& p) {
             o.strategy.outer.bucket = v == "tensor" ? std::nullopt : std::optional(positive_size(v, p));
           },
       .get =
           [](const Options& o) {
             return o.strategy.outer.bucket ? write_size(*o.strategy.outer.bucket) : std::string();
           }},
      choice<yes_or_no, &Options::strategy, &S::outer, &OuterOptions::quantize>(
          "quantize", "averages travel as 8-bit numbers, by an all-to-all and an all-gather"),
      choice<backups, &Options::strategy, &S::outer, &OuterOptions::backup_on_device>(
          "backup", "where the parameters of the last outer step are kept"),
      count<0, most_elements, &Options::strategy, &S::megatron, &M::bucket_size>(
          "bucket_size", "elements that close a bucket; 0: the larger of 40,000,000 and 1,000,000 per worker",
          Tuned{1e6, 1e9}),
      choice<yes_or_no, &Options::strategy, &S::megatron, &M::distributed_optimizer>(
          "distributed_optimizer", "the optimizer is sharded (the framework's default: false)"),
      choice<yes_or_no, &Options::strategy, &S::megatron, &M::overlap_grad_reduce>(
          "overlap_grad_reduce", "buckets are reduced during the backward pass (the framework's default: false)"),
      count<0, most_elements, &Options::strategy, &S::megatron_fsdp, &MF::unit_size>(
          "unit_size",
          "elements whose reductions may be pending; half of them are gathered ahead; 0: the larger of 1,000,000,000 "
          "and "
          "two mean units",
          Tuned{1e7, 1e10}),
      choice<yes_or_no, &Options::strategy, &S::megatron_fsdp, &MF::double_buffer>(
          "double_buffer", "one unit is gathered ahead, whatever unit_size says"),
      choice<syncs, &Options::strategy, &S::megatron_fsdp, &MF::sync_every>(
          "sync", "reductions and groups are waited for at the end of the last micro-batch (last) or of each (every)"),
      choice<outers, &Options::strategy, &S::megatron_fsdp, &MF::outer_optimizer>(
          "outer", "with shard_group: groups all hold the optimizer (no_shard), or share it too (optim)"),
      choice<yes_or_no, &Options::parallel, &P::align_grad_reduce>(
          "align_grad_reduce",
          "in pipelines with several chunks per rank, all ranks launch a chunk's buckets together"),
      choice<reduce_grads, &Options::parallel, &P::reduce_grad_waits>(
          "reduce_grad",
          "in pipelines the next action waits for a chunk's reductions (wait), or only the update does (async)"),
      {.name = "overlap_param_gather",
       .about = "buckets are gathered during the forward pass (the framework's default: false)",
       .default_text = "true if the other two are",
       .kind = OptionKind::Choice,
       .words = names_of(yes_or_no),
       .set =
           [](Options& o, const std::string& v, const SourceLocation& p) {
             o.strategy.megatron.overlap_param_gather = choose_by_name(yes_or_no, v, p, refusal<yes_or_no>()).value;
             o.strategy.megatron.place = p;
           },
       .get = [](const Options& o) -> std::string {
         const auto& value = o.strategy.megatron.overlap_param_gather;
         return value ? std::string(name_of(yes_or_no, *value)) : "";
       }},
  };
  return rows;
}

bool is_pipeline_option(std::string_view option) {
  const OptionRow* row = option_named(option);
  return row && row->reader == in_pipelines;
}

}  // namespace allreplay
