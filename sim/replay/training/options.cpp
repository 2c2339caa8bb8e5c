#include "sim/replay/training/options.hpp"

#include <fmt/format.h>

#include "sim/base/core/named.hpp"
#include "sim/inputs/cluster/cluster.hpp"
#include "sim/replay/training/option_makers.hpp"

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

}  // namespace

// Errors for lists whose words would be too many for one line.
namespace make_option {

template <>
std::string refusal<dtype_words>() {
  return "'{}' is not a type that can be sent";
}
template <>
std::string refusal<groupings>() {
  return "'{}' is not a valid grouping";
}

}  // namespace make_option

namespace {

constexpr std::int64_t most_samples = 1'000'000'000;  // per iteration

using S = StrategyOptions;
using P = ParallelOptions;
constexpr std::string_view codec_times = "what the codec's file says";
constexpr std::string_view in_pipelines = "with pp above 1";
constexpr std::string_view all_strategies = "all strategies";

// A degree of parallelism.
template <auto member>
OptionRow degree(std::string_view name, std::string_view about) {
  using namespace make_option;
  return of_step(count<1, most_workers, &Options::parallel, member>(name, about, {}, all_strategies));
}

}  // namespace

std::span<const OptionRow> option_rows() {
  using namespace make_option;
  static const std::vector<OptionRow> rows = [] {
    std::vector<OptionRow> all{
        optional_size<positive_size, &Options::strategy, &S::bucket_cap>(
            "bucket_cap", "a bucket closes once it holds this much", "",
            [](const Strategy&) { return std::string("25 MiB"); }, Tuned{mib, 256 * mib}),
        optional_size<positive_size, &Options::strategy, &S::first_bucket>(
            "first_bucket", "the cap of the first bucket", "",
            [](const Strategy&) { return std::string("bucket_cap, or 1 MiB if that is not given"); }),
        optional_size<positive_size, &Options::strategy, &S::threshold>(
            "threshold", "the largest size that is fused", "",
            [](const Strategy& s) { return s.threshold > 0 ? write_size(s.threshold) : std::string(); },
            Tuned{mib, 256 * mib}),
        {.name = "cycle",
         .about = "interval at which it looks for ready tensors",
         .kind = OptionKind::Duration,
         .set = [](Options& o, const std::string& v,
                   const SourceLocation& p) { o.strategy.cycle = positive_time(v, p); },
         .get = [](const Options& o) { return write_duration(o.strategy.cycle); },
         .tuned = Tuned{0.1e-3, 20e-3}},
        optional_size<positive_size, &Options::strategy, &S::partition>(
            "partition", "the size of slices", "",
            [](const Strategy& s) {
              if (s.partition.elements > 0) return fmt::format("{} elements", s.partition.elements);
              return s.partition.cuts() ? write_size(s.partition.bytes) : std::string();
            },
            Tuned{64 * kib, 64 * mib}),
        {.name = "credit",
         .about = "number of blocks, or of bytes, that may be in flight",
         .kind = OptionKind::CountOrSize,
         .set = [](Options& o, const std::string& v,
                   const SourceLocation& p) { o.strategy.credit = parse_window(v, p); },
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
        count<1, 1'000'000, &Options::codec, &CodecOptions::rank>("rank", "rank of a codec file's low-rank factors", {},
                                                                  "codecs from files"),
        duration<&Options::codec, &CodecOptions::encode>("encode", "time to encode a block", "with a codec",
                                                         codec_times),
        duration<&Options::codec, &CodecOptions::decode>("decode", "time to decode a block, all payloads together",
                                                         "with a codec", codec_times),
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
        of_step(duration<&Options::launch>("launch", "host time for each collective, before it reaches the network",
                                           all_strategies)),
        of_step(duration<&Options::launch_tensor>(
            "launch_tensor", "additional host time for each tensor, at its first launch", all_strategies)),
        choice<tree_bandwidths, &Options::collective, &CollectiveOptions::tree_bandwidth>(
            "tree_bandwidth", "b as printed in MG-WFBP's Table 2 (paper) or 2 beta + gamma (physical)"),
        {.name = "chunks",
         .about =
             "number of parts of each tree's bytes, in fluid and message; with pp above 1: of the model's parts on "
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
        with_default(of_step(count<1, most_samples, &Options::global_batch>(
                         "global_batch", "samples of an iteration of all workers; sets the number of micro-batches", {},
                         all_strategies)),
                     "replicas x micro-batches x the profile's batch"),
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
        with_default(
            of_step(count<1, many, &Options::parallel, &P::microbatch_group>(
                "microbatch_group", "G of interleaved: this many micro-batches pass a chunk before the next chunk runs",
                {}, in_pipelines)),
            "micro-batches / rounds, as in PyTorch"),
        of_step(choice<p2ps, &Options::parallel, &P::p2p>(
            "p2p", "sends between ranks overlap computation (overlap) or block it (blocking)", in_pipelines)),
        with_default(of_step(optional_size<any_size, &Options::parallel, &P::p2p_bytes>(
                         "p2p_bytes", "bytes of each send between ranks", in_pipelines)),
                     "output_bytes of the last layer before the cut"),
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
        of_step(duration<&Options::update>("update", "the optimizer's step of one worker that holds everything",
                                           all_strategies, "the profile's")),
        of_step(duration<&Options::host_block>(
            "host_block",
            "least time to launch a block's forward pass; backward in the profile's ratio, else 2, recomputing 3",
            all_strategies, "the profile's")),
        of_step(duration<&Options::host_step>("host_step", "the host's part of a step, after the update",
                                              all_strategies, "the profile's")),
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
        with_default(of_step(optional_size<positive_size, &Options::memory, &MemoryOptions::limit>(
                         "memory", "memory of a worker; larger settings do not fit", all_strategies)),
                     "that of the profile's device if the profile has activations, else no limit"),
    };
    for (OptionRow& row : make_option::sharding_rows()) all.push_back(std::move(row));
    return all;
  }();
  return rows;
}

bool is_pipeline_option(std::string_view option) {
  const OptionRow* row = option_named(option);
  return row && row->reader == in_pipelines;
}

}  // namespace allreplay
