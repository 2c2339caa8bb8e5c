#include "sim/experiment/layouts.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/collective/network_change.hpp"
#include "sim/core/text.hpp"
#include "sim/experiment/side_by_side.hpp"
#include "sim/schedule/offer.hpp"
#include "sim/training/job.hpp"
#include "sim/training/memory.hpp"

namespace allreplay {

namespace {

constexpr std::size_t trials_at_once = 8;  // trials between two looks at what they leave worth trying

std::string_view word_of(Recompute recompute) { return name_of(recompute_rules, recompute); }

// --- what a framework calls it ---------------------------------------------------------------------------------------

std::string megatron_words(const LayoutSearch& search, const ModelLayout& one, const std::string& of_gradients) {
  std::vector<std::string> words;
  const auto add = [&](std::string_view flag, std::int64_t value, std::int64_t usual = 1) {
    if (value != usual) words.push_back(fmt::format("{} {}", flag, value));
  };
  add("--tensor-model-parallel-size", one.tp);
  if (one.tp > 1) words.emplace_back("--sequence-parallel");
  add("--context-parallel-size", one.cp);
  if (one.cp > 1) words.emplace_back("--cp-comm-type all_gather");
  add("--pipeline-model-parallel-size", one.pp);
  add("--num-virtual-stages-per-pipeline-rank", one.chunks);
  add("--micro-batch-size", one.samples, 0);
  add("--global-batch-size", search.global_batch, 0);
  if (one.recompute == Recompute::Full)
    words.emplace_back("--recompute-granularity full --recompute-method uniform --recompute-num-layers 1");
  words.push_back(of_gradients);
  return fmt::format("{}", fmt::join(words, " "));
}

std::string torchtitan_words(const LayoutSearch& search, const ModelLayout& one) {
  static const std::map<std::string, std::string, std::less<>> schedules{{"1f1b", "1F1B"},
                                                                         {"interleaved", "Interleaved1F1B"},
                                                                         {"zb-h1", "InterleavedZeroBubble"},
                                                                         {"zbv", "ZBVZeroBubble"}};
  const std::int64_t replicas = search.workers / (one.pp * one.tp * one.cp);
  std::string text = fmt::format(
      "--parallelism.data_parallel_shard_degree {} --parallelism.tensor_parallel_degree {} "
      "--parallelism.context_parallel_degree {} --parallelism.pipeline_parallel_degree {} ",
      replicas, one.tp, one.cp, one.pp);
  if (one.pp > 1)
    text += fmt::format(
        "--parallelism.pipeline_parallel_schedule {} --parallelism.pipeline_parallel_layers_per_stage {} "
        "--parallelism.pipeline_parallel_first_stage_less_layers 0 "
        "--parallelism.pipeline_parallel_last_stage_less_layers 0 "
        "--parallelism.pipeline_parallel_microbatch_size {} ",
        schedules.at(one.schedule), search.model.layers / (one.pp * one.chunks), one.samples);
  return text + fmt::format(
                    "--training.local_batch_size {} --training.global_batch_size {} --training.seq_len {} "
                    "--activation_checkpoint.mode {}",
                    one.pp > 1 ? one.samples * one.micro_batches : one.samples, search.global_batch, search.tokens,
                    word_of(one.recompute));
}

// --- which there are -------------------------------------------------------------------------------------------------

// Powers of two, as groups are formed of; or the one that is asked for.
std::vector<std::int64_t> degrees(const std::optional<std::int64_t>& asked, std::int64_t most) {
  if (asked) return {*asked};
  std::vector<std::int64_t> all;
  for (std::int64_t one = 1; one <= most; one *= 2) all.push_back(one);
  return all;
}

// Whose layers are cut as Megatron-LM and torchtitan cut them: equally many blocks in each chunk.
bool of_a_framework(const std::string& strategy) { return strategy == "megatron" || strategy == "fsdp2"; }

// Schedules that the framework has, with their chunks. torchtitan wants several of all that PyTorch counts among those
// of several stages, InterleavedZeroBubble among them.
std::vector<std::pair<std::string, std::int64_t>> schedules_of(const LayoutSearch& search,
                                                               const std::string& strategy) {
  std::vector<std::pair<std::string, std::int64_t>> all{{"1f1b", 1}, {"interleaved", 2}, {"interleaved", 4}};
  if (strategy != "megatron") all.insert(all.end(), {{"zb-h1", strategy == "fsdp2" ? 2 : 1}, {"zbv", 2}});
  if (search.chunks && *search.chunks > 1) all.emplace_back("interleaved", *search.chunks);
  std::erase_if(all, [&](const auto& one) {
    return (!search.schedule.empty() && one.first != search.schedule) ||
           (search.chunks && one.second != *search.chunks);
  });
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

// Why a layout is not possible. The checks go from the model to the samples: who fails at a later one comes nearer.
struct Obstacle {
  int check = 0;
  std::string flag, why;
};

std::optional<Obstacle> obstacle(const LayoutSearch& search, const ModelLayout& one) {
  const Transformer& t = search.model;
  const std::int64_t group = one.pp * one.tp * one.cp, chunks = one.pp * one.chunks;
  for (const auto& [count, what] :
       {std::pair(t.heads, "attention heads"), {t.kv_heads, "heads of keys and values"}, {t.ffn, "inner outputs"}})
    if (count % one.tp != 0)
      return Obstacle{0, "--tp", fmt::format("tp {} does not divide {} {}", one.tp, count, what)};
  if (one.cp > 1 && search.tokens % (2 * one.cp) != 0)
    return Obstacle{0, "--cp", fmt::format("{} parts do not divide {} tokens", 2 * one.cp, search.tokens)};
  if (one.tp > 1 && search.tokens / one.cp % one.tp != 0)
    return Obstacle{0, "--tp", fmt::format("tp {} does not divide {} tokens", one.tp, search.tokens / one.cp)};
  if (one.pp > 1 && (chunks > t.layers || (of_a_framework(one.strategy) && t.layers % chunks != 0)))
    return Obstacle{1, "--pp", fmt::format("{} layers cannot be divided into {} equal chunks", t.layers, chunks)};
  if (search.workers % group != 0)
    return Obstacle{
        2, "--workers",
        fmt::format("pp {} x tp {} x cp {} does not divide {} workers", one.pp, one.tp, one.cp, search.workers)};
  const std::int64_t at_once = search.workers / group * one.samples;
  if (search.global_batch % at_once != 0)
    return Obstacle{3, "--global-batch",
                    fmt::format("{} samples are not a multiple of {}: {} at a time on each of {} replicas",
                                search.global_batch, at_once, one.samples, search.workers / group)};
  const std::int64_t batches = search.global_batch / at_once;
  if (one.strategy == "megatron" && one.chunks > 1 && batches % one.pp != 0)
    return Obstacle{3, "--global-batch",
                    fmt::format("{}, not a multiple of pp {}", counted(batches, "micro-batch"), one.pp)};
  if (one.strategy == "fsdp2" && one.schedule == "1f1b" && batches < one.pp)  // PyTorch's PipelineScheduleSingle
    return Obstacle{3, "--global-batch", fmt::format("{}, fewer than pp {}", counted(batches, "micro-batch"), one.pp)};
  return std::nullopt;
}

struct Layouts {
  std::vector<ModelLayout> all;
  std::optional<Obstacle> nearest;  ///< of what is not possible that which comes nearest; none: nothing was asked
};

Layouts layouts_of(const LayoutSearch& search, std::int64_t node) {
  auto [all, nearest] = Layouts();
  std::vector<Recompute> recompute{Recompute::None, Recompute::Selective, Recompute::Full};
  if (search.recompute) recompute = {*search.recompute};
  for (const std::string& strategy : search.strategies)
    for (const std::int64_t tp : degrees(search.tp, node))  // tensor groups stay inside a node
      for (const std::int64_t cp : degrees(search.cp, 8))
        for (const std::int64_t pp : degrees(search.pp, search.model.layers)) {
          auto schedules = schedules_of(search, strategy);
          if (pp == 1 && !schedules.empty()) schedules = {{"", 1}};
          for (const auto& [schedule, chunks] : schedules)
            for (const std::int64_t samples : degrees(search.samples, 8))
              for (const Recompute again : recompute) {
                if (strategy == "megatron" && again == Recompute::Selective && !search.recompute)
                  continue;  // its word means attention alone
                ModelLayout one{pp, tp, cp, schedule, chunks, samples, 1, again, strategy};
                if (auto wrong = obstacle(search, one)) {
                  if (!nearest || wrong->check > nearest->check) nearest = std::move(wrong);
                  continue;
                }
                one.micro_batches = search.global_batch / (search.workers / (pp * tp * cp) * samples);
                all.push_back(std::move(one));
              }
        }
  return {std::move(all), std::move(nearest)};
}

[[noreturn]] void refuse_all(const LayoutSearch& search, const std::optional<Obstacle>& nearest, std::int64_t node) {
  if (!nearest)
    throw InputError({"command line", "--schedule"},
                     fmt::format("{} has no such schedule{}", fmt::join(search.strategies, ", "),
                                 search.chunks ? fmt::format(" of {}", counted(*search.chunks, "chunk")) : ""),
                     "another, or another of --strategies");
  throw InputError(
      {"command line", nearest->flag}, "no layout divides evenly; the nearest fails because " + nearest->why,
      fmt::format("numbers that powers of two divide, with tp up to {} (a node); give others by --pp, --tp, --cp",
                  node));
}

// --- what each comes to ----------------------------------------------------------------------------------------------

struct Forecast {
  double least_s = 0;      // computing, and what is sent inside layers: no schedule is faster
  double iteration_s = 0;  // with the bubble by formula, and what of the gradients no pass can hide
  double memory_bytes = 0;
};

class Search {
 public:
  Search(Library& library, const LayoutSearch& search) : library_(library), search_(search) {}

  LayoutAdvice answer() {
    const Scenario network = library_.resolve_network(search_.base);
    const std::int64_t node = node_workers_of(network.cluster.network);
    const auto [all, nearest] = layouts_of(search_, node);
    advice_.possible = all.size();
    if (all.empty()) refuse_all(search_, nearest, node);
    std::vector<std::pair<Forecast, std::size_t>> order;
    for (std::size_t i = 0; i < all.size(); ++i)
      if (const auto known = forecast(all[i])) order.emplace_back(*known, i);
    const double room = static_cast<double>(limit_.value_or(std::numeric_limits<Bytes>::max()));
    std::stable_sort(order.begin(), order.end(), [&](const auto& a, const auto& b) {
      const auto rank = [&](const Forecast& one) {
        const bool over = one.memory_bytes > room;  // of these the smallest may fit yet
        return std::tuple(over, over ? one.memory_bytes : 0, one.iteration_s);
      };
      return rank(a.first) < rank(b.first);
    });
    if (search_.begin) search_.begin(std::min(search_.budget, order.size()));
    try_all(all, order);
    if (trials_.empty()) throw wrong_.value_or(InputError({"command line", "--workers"}, "no layout is possible", ""));
    rank_trials();
    replay_in_parts();
    return std::move(advice_);
  }

 private:
  using ProfileKey = std::tuple<std::int64_t, std::int64_t, std::int64_t, Recompute>;
  struct Estimated {
    Shared<Profile> profile;
    std::vector<std::size_t> blocks;  // the first layer of each
    double compute_s = 0;             // of a micro-batch, with what is sent inside layers
    double update_s = 0, elements = 0, bytes = 0, activations = 0;
  };

  std::string name_of(const ModelLayout& one) const {
    std::string name = fmt::format("{}_{}_b{}", search_.model.name, search_.device.name, one.samples);
    if (one.tp > 1) name += fmt::format("_tp{}", one.tp);
    if (one.cp > 1) name += fmt::format("_cp{}", one.cp);
    if (one.recompute != Recompute::None) name += fmt::format("_{}", word_of(one.recompute));
    return name;
  }

  std::vector<std::string> estimate_words(const ModelLayout& one) const {
    std::vector<std::string> words{"--model",     search_.model_name,
                                   "--device",    search_.device_name,
                                   "--precision", search_.precision,
                                   "--batch",     std::to_string(one.samples),
                                   "--seq",       std::to_string(search_.tokens)};
    const auto add = [&](std::initializer_list<std::string> more) { words.insert(words.end(), more); };
    if (one.tp > 1) add({"--tp", std::to_string(one.tp), "--sequence-parallel"});
    if (one.cp > 1) add({"--cp", std::to_string(one.cp)});
    if (one.recompute != Recompute::None) add({"--recompute", std::string(word_of(one.recompute))});
    add({"--out", name_of(one) + ".json"});
    return words;
  }

  // The framework's own cut: equally many blocks in each chunk, what is before them in the first, and behind in the
  // last.
  StageCut cut_of(const ModelLayout& one) {
    const Estimated& worker = estimated(one);
    const std::size_t chunks = static_cast<std::size_t>(one.pp * one.chunks), each = worker.blocks.size() / chunks;
    StageCut cut{StageCut::By::Given};
    std::size_t begin = 0;
    for (std::size_t chunk = 1; chunk <= chunks; ++chunk) {
      const std::size_t end = chunk < chunks ? worker.blocks[chunk * each] : worker.profile->layers.size();
      cut.layers.push_back(static_cast<std::int64_t>(end - begin));
      begin = end;
    }
    return cut;
  }

  Request request_of(const ModelLayout& one) {
    Request request = search_.base;
    request.profile = name_of(one) + ".json";
    request.strategy = one.strategy;
    request.workers = search_.workers;
    set_option(request, "global_batch", std::to_string(search_.global_batch));
    if (one.pp > 1) {
      set_option(request, "pp", std::to_string(one.pp));
      set_option(request, "schedule", one.schedule);
      if (one.chunks > 1) set_option(request, "chunks", std::to_string(one.chunks));
      if (of_a_framework(one.strategy)) set_option(request, "stages", write_cut(cut_of(one)));
      // Megatron overlaps sends where it interleaves.
      if (one.strategy == "megatron" && one.schedule == "1f1b" && one.micro_batches >= one.pp)
        set_option(request, "p2p", "blocking");
    }
    return request;
  }

  // The times of one worker.
  const Estimated& estimated(const ModelLayout& one) {
    auto& kept = profiles_[{one.tp, one.cp, one.samples, one.recompute}];
    if (kept) return *kept;
    EstimateRequest request{
        .work = build(search_.model, search_.tokens, {"command line", "--seq"}, {one.tp, one.cp, one.tp > 1}),
        .device = search_.device,
        .precision = search_.precision,
        .batch = one.samples,
        .recompute = one.recompute};
    Profile profile = estimate(request).profile;
    profile.name = name_of(one);
    Estimated worker;
    for (std::size_t l = 0; l < request.work.layers.size(); ++l)
      if (request.work.layers[l].block == std::ssize(worker.blocks)) worker.blocks.push_back(l);
    worker.update_s = to_seconds(*profile.update);
    worker.elements = static_cast<double>(profile.elements());
    worker.bytes = static_cast<double>(profile.bytes());
    for (const Layer& layer : profile.layers) worker.activations += static_cast<double>(*layer.activation_bytes);
    worker.profile = std::move(profile);
    Request alone = search_.base;  // no pipeline, and one micro-batch
    alone.strategy = one.strategy;
    alone.workers = search_.workers;
    const Scenario scenario = library_.resolve(alone, worker.profile);
    const Profile whole = parallel_setup(scenario, collective_of(scenario)).profile;
    worker.compute_s = to_seconds(add(whole.forward(), whole.backward()));
    kept = std::make_shared<Estimated>(std::move(worker));
    return *kept;
  }

  // What it takes to reduce the gradients of a rank, alone.
  double reduction_s(const ModelLayout& one, const Estimated& worker) {
    const auto [known, fresh] = reductions_.try_emplace({one.tp, one.cp, one.pp}, 0.0);
    if (!fresh) return known->second;
    const Job job = job_of(library_.resolve(request_of(one), worker.profile));
    if (!limit_) limit_ = job.scenario.options.memory.limit;
    known->second = to_seconds(price_of_blocks(job)(static_cast<Bytes>(worker.bytes / static_cast<double>(one.pp))));
    return known->second;
  }

  // None where the layout is not possible.
  std::optional<Forecast> forecast(const ModelLayout& one) try {
    const Estimated& worker = estimated(one);
    const double ranks = static_cast<double>(one.pp), batches = static_cast<double>(one.micro_batches),
                 chunks = static_cast<double>(one.chunks),
                 shards = static_cast<double>(search_.workers / (one.pp * one.tp)), own = worker.elements / ranks;
    const bool fsdp = one.strategy == "fsdp2", sharded = fsdp && one.pp == 1;
    const double least = batches * worker.compute_s / ranks;
    // Of 1f1b's bubble, where its passes are alike (the schedules' own papers).
    const double part = one.schedule == "zb-h1" ? 1. / 3 / chunks : one.schedule == "zbv" ? 1. / 6 : 1 / chunks;
    const double bubble = one.pp > 1 ? (ranks - 1) / batches * part * least : 0;
    const double reduction = reduction_s(one, worker);
    const double sent = sharded ? std::max(0.0, batches * 1.5 * reduction - least)
                        : fsdp  ? reduction
                                : std::max(0.0, reduction - least / batches);
    Forecast result{least, least + bubble + sent + worker.update_s / ranks / shards, 0};
    // Weights and gradients in the precision that they travel in, and 12 bytes of state.
    const double each = worker.bytes / worker.elements;
    const double held =
        one.schedule == "interleaved" ? 1 + (ranks - 1) / (ranks * chunks) : std::min(ranks, batches) / ranks;
    result.memory_bytes =
        own * (sharded ? 2 * each / shards : 2 * each) + 12 * own / shards + worker.activations * held;
    return result;
  } catch (const InputError& error) {
    if (!wrong_) wrong_ = error;
    return std::nullopt;
  }

  void try_all(const std::vector<ModelLayout>& all, const std::vector<std::pair<Forecast, std::size_t>>& order) {
    double best = std::numeric_limits<double>::infinity();
    std::size_t tried = 0, next = 0;
    while (next < order.size() && tried < search_.budget) {
      std::vector<Scenario> scenarios;
      std::vector<std::size_t> which;
      for (; next < order.size() && scenarios.size() < trials_at_once && tried < search_.budget; ++next) {
        const auto& [known, place] = order[next];
        if (known.least_s > best * (1 + search_.rule.tie)) {
          ++advice_.too_slow;
          continue;
        }
        try {
          scenarios.push_back(library_.resolve(request_of(all[place]), estimated(all[place]).profile));
          scenarios.back().parts = search_.in_parts >= search_.budget;
          which.push_back(place);
          ++tried;
        } catch (const InputError& error) {
          if (!wrong_) wrong_ = error;
        }
      }
      std::vector<Attempt> attempts =
          run_side_by_side(scenarios, {.jobs = search_.jobs, .keep_timelines = false, .advance = search_.advance});
      for (std::size_t i = 0; i < attempts.size(); ++i) {
        if (!attempts[i].outcome) {
          if (!wrong_) wrong_ = *attempts[i].wrong;
          continue;
        }
        take(all[which[i]], std::move(*attempts[i].outcome));
        const Outcome& outcome = trials_.back().outcome;
        if (fits(outcome.scenario, outcome.result)) best = std::min(best, outcome.result.metrics.iteration_s);
      }
    }
    for (; next < order.size(); ++next)
      ++(order[next].first.least_s > best * (1 + search_.rule.tie) ? advice_.too_slow : advice_.left_over);
  }

  void take(const ModelLayout& layout, Outcome outcome) {
    LayoutTrial trial{.layout = layout, .outcome = std::move(outcome), .estimate = estimate_words(layout)};
    trial.run = run_flags(request_of(layout));
    const Scenario& scenario = trial.outcome.scenario;
    if (layout.strategy == "megatron") {
      trial.framework = "Megatron-LM";
      trial.settings =
          megatron_words(search_, layout, settings_of(*scenario.strategy, scenario.options.strategy, scenario.profile));
    } else if (layout.strategy == "fsdp2") {
      trial.framework = "torchtitan";
      trial.settings = torchtitan_words(search_, layout);
    }
    trials_.push_back(std::move(trial));
  }

  void rank_trials() {
    std::vector<Contender> contenders;
    for (const LayoutTrial& one : trials_) contenders.push_back(contender_of(one.outcome, search_.rule));
    // All have the same samples in an iteration, whoever holds the model.
    for (std::size_t i = 0; i < trials_.size(); ++i)
      contenders[i].iteration_s = trials_[i].outcome.result.metrics.iteration_s;
    const Ranking order = rank(contenders, search_.rule.tie);
    for (const std::size_t place : order.order) advice_.ranking.push_back(std::move(trials_[place]));
    advice_.tied = order.tied;
  }

  // Of pipelines that were replayed once: the rank needs no more.
  void replay_in_parts() {
    std::vector<Scenario> scenarios;
    std::vector<Outcome*> outcomes;
    for (std::size_t i = 0; i < std::min(search_.in_parts, advice_.ranking.size()); ++i) {
      Outcome& outcome = advice_.ranking[i].outcome;
      if (outcome.scenario.parts || !outcome.scenario.options.parallel.pipeline()) continue;
      outcomes.push_back(&outcome);
      scenarios.push_back(outcome.scenario);
      scenarios.back().parts = true;
    }
    std::vector<Attempt> attempts =
        run_side_by_side(scenarios, {.jobs = search_.jobs, .keep_timelines = false, .advance = {}});
    for (std::size_t i = 0; i < attempts.size(); ++i) *outcomes[i] = std::move(attempts[i].outcome.value());
  }

  Library& library_;
  const LayoutSearch& search_;
  std::map<ProfileKey, std::shared_ptr<Estimated>> profiles_;
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, double> reductions_;
  std::optional<Bytes> limit_;
  std::optional<InputError> wrong_;  // the first
  std::vector<LayoutTrial> trials_;
  LayoutAdvice advice_;
};

}  // namespace

LayoutAdvice search_layouts(Library& library, const LayoutSearch& search) { return Search(library, search).answer(); }

namespace {

// The flags that settle something of a layout.
std::vector<std::string> free_all(LayoutSearch& search) {
  std::vector<std::string> flags;
  const auto free = [&](auto& settled, const char* flag) {
    if (settled == std::remove_cvref_t<decltype(settled)>()) return;
    settled = {};
    flags.emplace_back(flag);
  };
  free(search.pp, "--pp");
  free(search.tp, "--tp");
  free(search.cp, "--cp");
  free(search.chunks, "--chunks");
  free(search.samples, "--batch");
  free(search.schedule, "--schedule");
  free(search.recompute, "--recompute");
  const std::vector<std::string> all = LayoutSearch().strategies;
  if (search.strategies != all) flags.emplace_back("--strategies");
  search.strategies = all;
  return flags;
}

// One that fits, among the few that are likeliest to.
std::optional<ModelLayout> fitting(Library& library, LayoutSearch search) try {
  search.budget = std::min<std::size_t>(search.budget, 40);
  search.in_parts = 0;
  const LayoutTrial best = std::move(search_layouts(library, search).ranking.front());
  return fits(best.outcome.scenario, best.outcome.result) ? std::optional(best.layout) : std::nullopt;
} catch (const InputError&) {  // the cluster has no room, or nothing divides
  return std::nullopt;
}

}  // namespace

std::optional<LayoutRemedy> remedy_of(Library& library, const LayoutSearch& search) {
  LayoutSearch free = search;
  LayoutRemedy remedy{.without = free_all(free)};
  if (!remedy.without.empty())
    if (const auto found = fitting(library, free)) return remedy.layout = *found, remedy;
  remedy.without.clear();
  constexpr std::int64_t most_times = 64;
  for (std::int64_t times = 2; times <= most_times && search.workers * times <= most_workers; times *= 2) {
    LayoutSearch more = search;
    more.workers = remedy.workers = times * search.workers;
    more.global_batch = times * search.global_batch;
    if (const auto found = fitting(library, more)) return remedy.layout = *found, remedy;
  }
  return std::nullopt;
}

}  // namespace allreplay
