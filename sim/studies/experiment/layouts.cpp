#include "sim/studies/experiment/layouts.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/core/text.hpp"
#include "sim/plans/collective/network_change.hpp"
#include "sim/plans/schedule/offer.hpp"
#include "sim/replay/training/job.hpp"
#include "sim/replay/training/memory.hpp"
#include "sim/studies/experiment/doubt.hpp"
#include "sim/studies/experiment/estimated_profile.hpp"
#include "sim/studies/experiment/side_by_side.hpp"

namespace allreplay {

namespace {

constexpr std::size_t trials_at_once = 8;  // trials between two updates of the best iteration time

std::string_view word_of(Recompute recompute) { return name_of(recompute_rules, recompute); }

[[noreturn]] void refuse_search(const LayoutSearch& search, const std::optional<Obstacle>& nearest, std::int64_t node) {
  if (!nearest)
    throw InputError({"command line", "--schedule"},
                     fmt::format("{} has no such schedule{}", fmt::join(search.strategies, ", "),
                                 search.chunks ? fmt::format(" of {}", counted(*search.chunks, "chunk")) : ""),
                     "another, or another of --strategies");
  throw InputError(
      {"command line", nearest->flag}, "no layout is possible; the nearest fails because " + nearest->why,
      !nearest->right.empty()
          ? nearest->right
          : fmt::format(
                "numbers that powers of two divide, with tp up to {} (a node); give others by --pp, --tp, --cp, --ep",
                node));
}

// --- forecasts -------------------------------------------------------------------------------------------------------

struct Forecast {
  double least_s = 0;      // computation and communication inside layers: no schedule is faster
  double iteration_s = 0;  // plus the bubble by formula, and the part of the reduction that no pass hides
  double memory_bytes = 0;
};

class Search {
 public:
  Search(Library& library, const LayoutSearch& search) : library_(library), search_(search) {}

  LayoutAdvice answer() {
    const Scenario network = library_.resolve_network(search_.base);
    const std::int64_t node = node_workers_of(network.cluster.network);
    auto [all, nearest, skipped] = layouts_of(search_, node);
    advice_.possible = all.size();
    advice_.skipped = std::move(skipped);
    if (all.empty()) refuse_search(search_, nearest, node);
    std::vector<std::pair<Forecast, std::size_t>> order;
    for (std::size_t i = 0; i < all.size(); ++i)
      if (const auto known = forecast(all[i])) order.emplace_back(*known, i);
    const double room = static_cast<double>(limit_.value_or(std::numeric_limits<Bytes>::max()));
    std::stable_sort(order.begin(), order.end(), [&](const auto& a, const auto& b) {
      const auto rank = [&](const Forecast& one) {
        const bool over = one.memory_bytes > room;  // the smallest of these are most likely to fit after all
        return std::tuple(over, over ? one.memory_bytes : 0, one.iteration_s);
      };
      return rank(a.first) < rank(b.first);
    });
    if (search_.begin) search_.begin(std::min(search_.budget, order.size()));
    try_all(all, order);
    if (trials_.empty()) throw wrong_.value_or(InputError({"command line", "--workers"}, "no layout is possible", ""));
    add_own();
    rank_trials();
    std::vector<std::size_t> best(std::min(search_.in_parts, advice_.ranking.size()));
    std::iota(best.begin(), best.end(), std::size_t{0});
    replay_in_parts(advice_, best, search_.jobs);
    return std::move(advice_);
  }

 private:
  using ProfileKey = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t, Recompute, std::string>;
  struct Estimated {
    Shared<Profile> profile;
    std::vector<std::size_t> blocks;  // first layer of each transformer block
    double compute_s = 0;             // of a micro-batch, with communication inside layers
    double exchange_s = 0;            // the part of it that exchanges tokens
    double update_s = 0, elements = 0, experts = 0, activations = 0;  // `experts`: elements of these
    double gradients = 0, parameters = 0;                             // bytes, in the types in which they are sent
  };

  std::string name_of(const ModelLayout& one) const {
    return name_of_estimate(search_.model.name, search_.device.name, one.samples,
                            {.tp = one.tp, .cp = one.cp, .ep = one.ep}, one.recompute);
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
    if (one.ep > 1) add({"--ep", std::to_string(one.ep)});
    if (one.recompute != Recompute::None) add({"--recompute", std::string(word_of(one.recompute))});
    if (search_.efficiency) add({"--efficiency", in_words(*search_.efficiency)});
    add({"--out", name_of(one) + ".json"});
    return words;
  }

  // Cuts like the framework: equally many blocks in each chunk, but fewer in the first and the last if they do not
  // divide evenly. Layers before the blocks are in the first chunk, layers after them in the last.
  StageCut cut_of(const ModelLayout& one) {
    const Estimated& worker = estimated(one);
    const auto chunks = static_cast<std::size_t>(one.pp * one.chunks);
    const auto first_less = static_cast<std::size_t>(one.first_less),
               last_less = static_cast<std::size_t>(one.last_less);
    const std::size_t each = (worker.blocks.size() + first_less + last_less) / chunks;
    StageCut cut{StageCut::By::Given};
    std::size_t begin = 0;
    for (std::size_t chunk = 1; chunk <= chunks; ++chunk) {
      const std::size_t end = chunk < chunks ? worker.blocks[chunk * each - first_less] : worker.profile->layers.size();
      cut.layers.push_back(static_cast<std::int64_t>(end - begin));
      begin = end;
    }
    return cut;
  }

  // Sets the framework's default type of gradients, unless the user chose one.
  void set_types(Request& request, const std::string& strategy) const {
    const auto reduced = reduction_type(strategy, search_.precision);
    const auto is_chosen = [&](std::string_view name) {
      return std::any_of(request.options.begin(), request.options.end(),
                         [&](const OptionText& one) { return one.name == name; });
    };
    if (!reduced || is_chosen("gradient_dtype")) return;
    set_option(request, "gradient_dtype", std::string(*reduced));
  }

  Request request_of(const ModelLayout& one) {
    Request request = search_.base;
    request.profile = name_of(one) + ".json";
    request.strategy = one.strategy;
    request.workers = search_.workers;
    set_option(request, "global_batch", std::to_string(search_.global_batch));
    set_types(request, one.strategy);
    if (one.pp > 1) {
      set_option(request, "pp", std::to_string(one.pp));
      set_option(request, "schedule", one.schedule);
      if (one.ep_overlap) set_option(request, "ep_overlap", "true");
      if (one.chunks > 1) set_option(request, "chunks", std::to_string(one.chunks));
      if (is_cut_by_a_framework(one.strategy)) set_option(request, "stages", write_cut(cut_of(one)));
      // Megatron overlaps sends only in interleaved schedules.
      if (one.strategy == "megatron" && one.schedule == "1f1b" && one.micro_batches >= one.pp)
        set_option(request, "p2p", "blocking");
    }
    return request;
  }

  // Returns the time of a micro-batch's passes, with communication inside layers.
  static double seconds_of(const Scenario& scenario) {
    const Profile whole = parallel_setup(scenario, collective_of(scenario)).profile;
    return to_seconds(add(whole.forward(), whole.backward()));
  }

  static Shared<Profile> without_exchange(const Estimated& worker) {
    Profile profile = *worker.profile;
    for (Layer& layer : profile.layers)
      std::erase_if(layer.collectives,
                    [](const LayerCollective& sent) { return sent.group == LayerCollective::Among::Expert; });
    return profile;
  }

  // Estimates the profile of one worker.
  const Estimated& estimated(const ModelLayout& one) {
    auto& kept = profiles_[{one.tp, one.cp, one.ep, one.samples, one.recompute, one.strategy}];
    if (kept) return *kept;
    EstimateRequest request{
        .work =
            build(search_.model, search_.tokens, {"command line", "--seq"},
                  {.tp = one.tp, .cp = one.cp, .sequence_parallel = one.tp > 1, .ep = one.ep, .batch = one.samples}),
        .device = search_.device,
        .precision = search_.precision,
        .batch = one.samples,
        .recompute = one.recompute,
        .efficiency = search_.efficiency};
    Profile profile = estimate(request).profile;
    profile.name = name_of(one);
    Estimated worker;
    for (std::size_t l = 0; l < request.work.layers.size(); ++l)
      if (request.work.layers[l].block == std::ssize(worker.blocks)) worker.blocks.push_back(l);
    worker.update_s = to_seconds(*profile.update);
    worker.elements = static_cast<double>(profile.elements());
    for (const Tensor& tensor : profile.tensors)
      if (profile.layers[tensor.layer].expert) worker.experts += static_cast<double>(tensor.elements);
    for (const Layer& layer : profile.layers) worker.activations += static_cast<double>(*layer.activation_bytes);
    worker.profile = std::move(profile);
    Request alone = search_.base;  // no pipeline, and one micro-batch
    alone.strategy = one.strategy;
    alone.workers = search_.workers;
    set_types(alone, one.strategy);
    const Scenario scenario = library_.resolve(alone, worker.profile);
    worker.gradients = static_cast<double>(scenario.profile->bytes());
    worker.parameters = worker.gradients * scenario.profile->parameter_share();
    worker.compute_s = seconds_of(scenario);
    if (one.ep > 1)
      worker.exchange_s = worker.compute_s - seconds_of(library_.resolve(alone, without_exchange(worker)));
    kept = std::make_shared<Estimated>(std::move(worker));
    return *kept;
  }

  // Returns the time to reduce the gradients of a rank, without overlap. Those of experts, which fewer workers share,
  // are taken to be as fast; if a single worker has them, none are sent.
  double reduction_s(const ModelLayout& one, const Estimated& worker) {
    const bool single = one.ep * one.pp * one.tp == search_.workers;
    const auto [known, fresh] = reductions_.try_emplace({one.tp, one.cp, one.pp, one.ep, one.strategy}, 0.0);
    if (!fresh) return known->second;
    const Job job = job_of(library_.resolve(request_of(one), worker.profile));
    if (!limit_) limit_ = job.scenario.options.memory.limit;
    const double share = single ? 1 - worker.experts / worker.elements : 1;
    known->second =
        to_seconds(price_of_blocks(job)(static_cast<Bytes>(share * worker.gradients / static_cast<double>(one.pp))));
    return known->second;
  }

  // Returns none if the layout is not possible.
  std::optional<Forecast> forecast(const ModelLayout& one) try {
    const Estimated& worker = estimated(one);
    const double ranks = static_cast<double>(one.pp), batches = static_cast<double>(one.micro_batches),
                 chunks = static_cast<double>(one.chunks),
                 shards = static_cast<double>(search_.workers / (one.pp * one.tp)), own = worker.elements / ranks;
    // The part of sharded tensors that a worker holds: experts are shared among fewer workers.
    const double share = (1 + static_cast<double>(one.ep - 1) * worker.experts / worker.elements) / shards;
    const bool fsdp = one.strategy == "fsdp2", sharded = fsdp && one.pp == 1;
    const double busy =
        one.ep_overlap ? std::max(worker.compute_s - worker.exchange_s, worker.exchange_s) : worker.compute_s;
    const double least = batches * busy / ranks;
    // Size of the bubble relative to 1f1b's, if all passes take equally long (by the schedules' papers).
    const double part = one.schedule == "zb-h1" ? 1. / 3 / chunks : one.schedule == "zbv" ? 1. / 6 : 1 / chunks;
    const double bubble = one.pp > 1 ? (ranks - 1) / batches * part * least : 0;
    const double reduction = reduction_s(one, worker);
    // Sharded: a reduce-scatter of gradients and two gathers of parameters, each half as long as an all-reduce.
    const double gathers = worker.parameters / worker.gradients;
    const double sent = sharded ? std::max(0.0, batches * (0.5 + gathers) * reduction - least)
                        : fsdp  ? reduction
                                : std::max(0.0, reduction - least / batches);
    Forecast result{least, least + bubble + sent + worker.update_s / ranks * share, 0};
    // Parameters and gradients in the types in which they are sent, and 12 bytes of optimizer state per parameter.
    const double each = (worker.parameters + worker.gradients) / worker.elements;
    const double held = one.schedule == "interleaved" ? 1 + (ranks - 1 + (one.ep_overlap ? 1 : 0)) / (ranks * chunks)
                                                      : std::min(ranks, batches) / ranks;
    result.memory_bytes = own * (sharded ? each * share : each) + 12 * own * share + worker.activations * held;
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
    std::tie(trial.framework, trial.settings) = framework_words(search_, layout, trial.outcome.scenario);
    trials_.push_back(std::move(trial));
  }

  // Marks the user's own layout among the trials, or adds it to them.
  void add_own() {
    if (!search_.own) return;
    const auto is_same = [&](const LayoutTrial& one) {
      constexpr double same = 1e-6;  // other options change the time by more
      const auto key = [](const ModelLayout& l) {
        return std::tie(l.pp, l.tp, l.cp, l.ep, l.ep_overlap, l.schedule, l.chunks, l.samples, l.recompute, l.strategy);
      };
      const auto seconds = [](const LayoutTrial& trial) { return trial.outcome.result.metrics.iteration_s; };
      return key(one.layout) == key(search_.own->layout) && std::abs(seconds(one) / seconds(*search_.own) - 1) <= same;
    };
    const auto known = std::find_if(trials_.begin(), trials_.end(), is_same);
    (known == trials_.end() ? trials_.emplace_back(*search_.own) : *known).is_own = true;
  }

  void rank_trials() {
    std::vector<Outcome*> race;
    for (LayoutTrial& one : trials_) race.push_back(&one.outcome);
    add_doubts(race, search_.rule, true);
    std::vector<Contender> contenders;
    for (const LayoutTrial& one : trials_) {
      contenders.push_back(contender_by_iteration(one.outcome, search_.rule));
      if (search_.own && search_.own->layout.strategy == search_.rule.runs_now) contenders.back().runs_now = one.is_own;
    }
    const Ranking order = rank(contenders, search_.rule);
    for (const std::size_t place : order.order) advice_.ranking.push_back(std::move(trials_[place]));
    advice_.tied = order.tied;
  }

  Library& library_;
  const LayoutSearch& search_;
  std::map<ProfileKey, std::shared_ptr<Estimated>> profiles_;
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::string>, double> reductions_;
  std::optional<Bytes> limit_;
  std::optional<InputError> wrong_;  // the first error
  std::vector<LayoutTrial> trials_;
  LayoutAdvice advice_;
};

}  // namespace

LayoutAdvice search_layouts(Library& library, const LayoutSearch& search) { return Search(library, search).answer(); }

void replay_in_parts(LayoutAdvice& advice, const std::vector<std::size_t>& places, int jobs) {
  std::vector<Scenario> scenarios;
  std::vector<Outcome*> outcomes;
  for (const std::size_t place : places) {
    Outcome& outcome = advice.ranking[place].outcome;
    if (outcome.scenario.parts) continue;
    outcomes.push_back(&outcome);
    scenarios.push_back(outcome.scenario);
    scenarios.back().parts = true;
  }
  std::vector<Attempt> attempts = run_side_by_side(scenarios, {.jobs = jobs, .keep_timelines = false, .advance = {}});
  for (std::size_t i = 0; i < attempts.size(); ++i) {
    const std::optional<double> doubted = outcomes[i]->result.doubted_s;
    *outcomes[i] = std::move(attempts[i].outcome.value());
    outcomes[i]->result.doubted_s = doubted;
  }
}

namespace {

// Clears all fixed values. Returns their flags.
std::vector<std::string> clear_fixed_values(LayoutSearch& search) {
  std::vector<std::string> flags;
  const auto free = [&](auto& settled, const char* flag) {
    if (settled == std::remove_cvref_t<decltype(settled)>()) return;
    settled = {};
    flags.emplace_back(flag);
  };
  free(search.pp, "--pp");
  free(search.tp, "--tp");
  free(search.cp, "--cp");
  free(search.ep, "--ep");
  free(search.chunks, "--chunks");
  free(search.samples, "--batch");
  free(search.schedule, "--schedule");
  free(search.recompute, "--recompute");
  const std::vector<std::string> all = LayoutSearch().strategies;
  if (search.strategies != all) flags.emplace_back("--strategies");
  search.strategies = all;
  return flags;
}

// Returns a layout that fits, among the most promising few.
std::optional<ModelLayout> fitting(Library& library, LayoutSearch search) try {
  search.own.reset();
  search.budget = std::min<std::size_t>(search.budget, 40);
  search.in_parts = 0;
  const LayoutTrial best = std::move(search_layouts(library, search).ranking.front());
  return fits(best.outcome.scenario, best.outcome.result) ? std::optional(best.layout) : std::nullopt;
} catch (const InputError&) {  // the cluster is too small, or nothing divides evenly
  return std::nullopt;
}

}  // namespace

std::optional<LayoutRemedy> remedy_of(Library& library, const LayoutSearch& search) {
  LayoutSearch free = search;
  LayoutRemedy remedy{.without = clear_fixed_values(free)};
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
