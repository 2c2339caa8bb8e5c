// Options of strategies that shard, of Muon and of local steps (sharding_options.hpp).
#include "sim/replay/training/option_makers.hpp"

namespace allreplay::make_option {

namespace {

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
constexpr Word<bool> reduce_grads[] = {{true, "wait"}, {false, "async"}};
constexpr Word<bool> backups[] = {{false, "host"}, {true, "device"}};
constexpr Word<bool> bucket_ops[] = {{true, "all-reduce"}, {false, "reduce-scatter"}};

}  // namespace

template <>
std::string refusal<step_optimizers>() {
  return "'{}' is no optimizer of a step; `allreplay estimate --optimizer` makes profiles with adam or sgd";
}

template <>
std::string refusal<muon_spreads>() {
  return "'{}' is not a way to share matrices";
}

namespace {

constexpr std::int64_t most_elements = 1'000'000'000'000'000;

using S = StrategyOptions;
using F = FsdpOptions;
using Z = ZeroOptions;
using M = MegatronOptions;
using MF = MegatronFsdpOptions;
using P = ParallelOptions;

constexpr std::string_view readers_of_muon = "fsdp2, megatron, and all strategies that make blocks";

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

// Errors about overlap_param_gather name the place where it was set.
OptionRow overlap_param_gather() {
  OptionRow row = with_default(
      choice<yes_or_no, &Options::strategy, &S::megatron, &M::overlap_param_gather>(
          "overlap_param_gather", "buckets are gathered during the forward pass (the framework's default: false)"),
      "true if the other two are");
  row.set = [](Options& o, const std::string& v, const SourceLocation& p) {
    o.strategy.megatron.overlap_param_gather = choose_by_name(yes_or_no, v, p, refusal<yes_or_no>()).value;
    o.strategy.megatron.place = p;
  };
  return row;
}

}  // namespace

std::vector<OptionRow> sharding_rows() {
  return {
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
      count<1, many, &Options::strategy, &S::fsdp, &F::limit>("limit", "units gathered together in the forward pass"),
      count<1, most_elements, &Options::strategy, &S::zero, &Z::reduce_bucket>(
          "reduce_bucket", "elements that are reduced together", Tuned{1e6, 1e9}),
      count<0, most_elements, &Options::strategy, &S::zero, &Z::allgather_bucket>(
          "allgather_bucket", "elements that are gathered together; 0: all"),
      choice<yes_or_no, &Options::strategy, &S::zero, &Z::overlap_comm>(
          "overlap_comm", "the backward pass continues while buckets are reduced", "",
          [](const Strategy& strategy) {
            return std::string(!reads(strategy, "overlap_comm") ? "" : strategy.name == "zero-3" ? "true" : "false");
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
      duration<&Options::strategy, &S::outer, &OuterOptions::outer_update>(
          "outer_update", "the outer optimizer's step of the whole model"),
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
          "and two mean units",
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
      overlap_param_gather(),
  };
}

}  // namespace allreplay::make_option
