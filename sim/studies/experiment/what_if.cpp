#include "sim/studies/experiment/what_if.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include <fmt/format.h>

#include "sim/base/farm/batch.hpp"
#include "sim/plans/collective/network_change.hpp"
#include "sim/plans/schedule/offer.hpp"
#include "sim/replay/training/memory.hpp"
#include "sim/replay/training/parallel_setup.hpp"
#include "sim/replay/training/sharding.hpp"
#include "sim/studies/experiment/cluster_words.hpp"
#include "sim/studies/experiment/recommend.hpp"
#include "sim/studies/experiment/sweep_rows.hpp"
#include "sim/studies/experiment/tuning.hpp"
#include "sim/studies/experiment/wire_format.hpp"

namespace allreplay {

namespace {

constexpr std::size_t most_combined = 6;  // changes that are combined, in pairs and triples

// The kind of a change. Two changes of one kind cannot be combined.
enum class Kind : std::uint8_t {
  Bandwidth,
  Latency,
  Inner,
  Node,
  Rails,
  Placement,
  Stragglers,
  HostBlock,
  HostStep,
  Dtype,
  Accumulate,
  Reduce,
  Batch,
  Degree,
  Schedule,
  Exchange,
  Recompute,
  Strategy,
  Best,
  Workers
};

struct Question {
  Kind kind;
  std::string name;
  std::function<void(Request&)> change;
  bool is_level = false;  ///< makes a level of the network twice as fast
};

Question option(Kind kind, const std::string& what, const std::string& name, const std::string& value) {
  return {kind, what, [=](Request& request) { set_option(request, name, value); }};
}

Question change(Kind kind, const std::string& what, const std::string& name, const std::string& value) {
  return {kind, what, [=](Request& request) {
            request.changes.push_back({name, value, {"command line", "--" + name}});
          }};
}

// Changes the strategy and its ZeRO stage. Other given options stay, and may rule the strategy out.
Question strategy(Kind kind, const std::string& what, const std::string& name, const std::string& zero = "") {
  return {kind, what, [=](Request& request) {
            request.strategy = name;
            set_option(request, "zero", zero);
          }};
}

// Sets a framework's strategy. It keeps the requested ZeRO stage unless it shards in its own way.
void set_strategy(Request& request, const Strategy& strategy) {
  request.strategy = strategy.name;
  if (strategy.shards()) set_option(request, "zero", "");
}

// The fastest port (ConnectX-8, 800 Gbit/s) and the largest node (HGX boards, 8 GPUs) on the market.
constexpr double fastest_port = 1e11;  // bytes per second
constexpr std::int64_t largest_node = 8;

// Returns the bandwidth of a port between nodes; nothing if the network was measured as a whole.
std::optional<double> port_bandwidth(const Network& network) {
  if (network.topology) return network.topology->link.bandwidth;
  return network.beta && *network.beta > 0 ? std::optional(1 / *network.beta) : std::nullopt;
}

// Returns a level of the network with its bandwidth: "inside nodes 370.8 GB/s".
std::string limit_of(Kind kind, const Network& network) {
  if (kind != Kind::Inner) return fmt::format("a port's {:.4g} GB/s", port_bandwidth(network).value_or(0) / 1e9);
  const std::optional<double> beta = network.node ? network.node->beta : std::nullopt;
  const double inside = beta && *beta > 0 ? 1 / *beta : network.topology ? network.topology->inner.bandwidth : 0;
  return fmt::format("inside nodes {:.4g} GB/s", inside / 1e9);
}

void append_network(std::vector<Question>& all, const Scenario& scenario) {
  const Network& network = scenario.cluster.network;
  for (const int times : {2, 4})
    if (port_bandwidth(network).value_or(0) * times <= 1.001 * fastest_port) {
      all.push_back(
          change(Kind::Bandwidth, fmt::format("network bandwidth x{}", times), "bandwidth", fmt::format("x{}", times)));
      all.back().is_level = times == 2;
    }
  all.push_back(change(Kind::Bandwidth, "network bandwidth /2", "bandwidth", "x0.5"));
  all.push_back(change(Kind::Latency, "network latency /2", "latency", "x0.5"));
  if (network.topology && !network.topology->placement.packed())
    all.push_back(change(Kind::Placement, "ranks packed", "placement", "packed"));
  const std::int64_t workers = node_workers_of(network);
  const bool by_links = !network.measured && network.table.empty() && network.tables.empty();
  if (workers == 1 || !by_links) return;
  all.push_back(change(Kind::Inner, "bandwidth inside nodes x2", "inner-bandwidth", "x2"));
  all.back().is_level = true;
  if (2 * workers <= std::min(scenario.workers, largest_node))
    all.push_back(change(Kind::Node, fmt::format("nodes of {} instead of {}", 2 * workers, workers), "node",
                         std::to_string(2 * workers)));
  if (network.node && 2 * network.node->rails <= workers)
    all.push_back(change(Kind::Rails,
                         fmt::format("{} ports per node instead of {}", 2 * network.node->rails, network.node->rails),
                         "rails", std::to_string(2 * network.node->rails)));
}

void append_training(std::vector<Question>& all, const Outcome& base) {
  const Scenario& scenario = base.scenario;
  if (scenario.stragglers.any())
    all.push_back(change(Kind::Stragglers, "half the stragglers' slowness", "stragglers", "x0.5"));
  const HostFloors& host = scenario.profile->host;
  if (host.of_blocks())
    all.push_back(option(Kind::HostBlock, "no host floor (CUDA graphs, compilation)", "host_block", "0 s"));
  if (host.step > Time(0))
    all.push_back(option(Kind::HostStep, "half the step's overhead", "host_step", write_duration(host.step / 2)));
  if (scenario.profile->bytes() > 2 * scenario.profile->elements())
    all.push_back(option(Kind::Dtype, "fp16 gradients", "gradient_dtype", "fp16"));
  const std::int64_t batches = base.result.plan.sharding.accumulate;
  for (const std::int64_t more : {2 * batches, 4 * batches})
    if (!scenario.options.global_batch)
      all.push_back(option(Kind::Accumulate, fmt::format("{} micro-batches instead of {}", more, batches), "accumulate",
                           std::to_string(more)));
  const StrategyOptions& options = scenario.options.strategy;
  if (scenario.strategy->name == "fsdp2" && !scenario.options.parallel.pipeline() && batches > 1 &&
      options.sharding.shard_group > 0 && options.fsdp.reduce == Reduce::Every)
    all.push_back(
        option(Kind::Reduce, "all-reduces among groups in the last micro-batch only", "reduce", "replicas-last"));
  if (scenario.strategy->name == "megatron-fsdp" && options.sharding.shard_group > 0 &&
      !options.megatron_fsdp.outer_optimizer)
    all.push_back(option(Kind::Reduce, "the optimizer shared among groups as well", "outer", "optim"));
  if (scenario.profile->batch_size)
    all.push_back(
        change(Kind::Batch,
               fmt::format("batch {} instead of {}", 2 * *scenario.profile->batch_size, *scenario.profile->batch_size),
               "batch", "x2"));
  all.push_back({Kind::Workers, fmt::format("{} workers instead of {}", 2 * scenario.workers, scenario.workers),
                 [more = 2 * scenario.workers](Request& request) {
                   request.workers = more;
                   if (!request.cluster_words.empty()) make_room(request.cluster_words, more);
                 }});
}

// Changes the number of pipeline ranks, with the same samples per iteration.
void append_degree(std::vector<Question>& all, const Outcome& base, std::int64_t ranks) {
  const std::int64_t now = base.scenario.options.parallel.pp, batches = base.result.plan.sharding.accumulate;
  if (batches * ranks % now != 0) return;
  const bool follows = base.scenario.options.global_batch.has_value();
  all.push_back({Kind::Degree, fmt::format("pp {} instead of {}", ranks, now),
                 [=, more = batches * ranks / now](Request& request) {
                   set_option(request, "pp", std::to_string(ranks));
                   if (!follows) set_option(request, "accumulate", std::to_string(more));
                 }});
}

// Changes the size of the groups of experts, unless the profile fixes it. Each worker keeps its experts, so that the
// model has more or fewer of them.
void append_experts(std::vector<Question>& all, const Outcome& base) {
  const Degrees degrees = degrees_of(base.scenario);
  const auto& taken = base.scenario.profile->degrees;
  if (degrees.ep == 1 || base.scenario.given || (taken && taken->ep)) return;
  std::vector<std::int64_t> sizes{2 * degrees.ep};
  if (degrees.ep % 2 == 0) sizes.push_back(degrees.ep / 2);
  for (const std::int64_t workers : sizes)
    if (degrees.gradient_workers() % workers == 0)
      all.push_back(option(Kind::Degree,
                           fmt::format("ep {} instead of {}, with as many experts per worker", workers, degrees.ep),
                           "ep", std::to_string(workers)));
}

void append_parallelism(std::vector<Question>& all, const Outcome& base) {
  const Profile& profile = base.scenario.profile;
  const ParallelOptions& parallel = base.scenario.options.parallel;
  const auto hands_on = [](const Layer& layer) { return layer.output_bytes.has_value(); };
  if (!parallel.given && (parallel.p2p_bytes || std::any_of(profile.layers.begin(), profile.layers.end(), hands_on))) {
    append_degree(all, base, 2 * parallel.pp);
    if (parallel.pp % 2 == 0) append_degree(all, base, parallel.pp / 2);
  }
  append_experts(all, base);
  const bool pairs = parallel.schedule == "interleaved" || parallel.schedule == "dualpipe-v";
  if (parallel.pipeline() && parallel.ep > 1 && !parallel.given && pairs && parallel.p2p == P2p::Overlap &&
      base.scenario.options.get("ep_overlap") != "true")
    all.push_back(option(Kind::Exchange, "token exchange that overlaps", "ep_overlap", "true"));
  for (const char* schedule : {"1f1b", "interleaved", "zb-h1", "zbv"})
    if (parallel.pipeline() && !parallel.given && parallel.schedule != schedule)
      all.push_back({Kind::Schedule, fmt::format("schedule {} instead of {}", schedule, parallel.schedule),
                     [=](Request& request) {
                       set_option(request, "schedule", schedule);
                       for (const char* own : {"chunks", "p2p", "microbatch_group"}) set_option(request, own, "");
                     }});
  if (!profile.layers.front().group.empty() && profile.has_activations())
    all.push_back(change(Kind::Recompute, "units recomputed", "recompute", "full"));
}

void append_strategies(std::vector<Question>& all, const Outcome& base) {
  const std::string_view now = base.scenario.strategy->name;
  const std::int64_t stage = base.result.plan.sharding.zero;
  if (now != "ddp" || stage != 0) all.push_back(strategy(Kind::Strategy, "DDP", "ddp"));
  if (now != "ddp" || stage != 1)
    all.push_back(strategy(Kind::Strategy, "DDP with a sharded optimizer (ZeRO-1)", "ddp", "1"));
  if (now != "fsdp2") all.push_back(strategy(Kind::Strategy, "FSDP", "fsdp2"));
  if (now != "best")
    all.push_back(
        strategy(Kind::Best,
                 (base.scenario.options.parallel.pipeline() ? "the best data-parallel strategy" : "the best schedule") +
                     (stage > 0 ? fmt::format(" of ZeRO stage {}", stage) : ""),
                 "best", stage > 0 ? std::to_string(stage) : ""));
}

RecommendRequest advice_wanted(const WhatIfRequest& how) { return {how.budget, how.seed, how.jobs}; }

// The kind of work that another process of a farm does.
enum class FarmWork : std::uint8_t { Run, Advice };

FarmJob job_of(FarmWork what, const Request& request, const Scenario& scenario) {
  Packer packer;
  pack(packer.add(what), request);
  return {packer.bytes(), expected_cost(scenario)};
}

class WhatIfSearch {
 public:
  WhatIfSearch(Library& library, const WhatIfRequest& how, Farm* farm) : library_(library), how_(how), farm_(farm) {}

  WhatIf answer(Request request) {
    base_ = std::move(request);
    choose_strategy();
    result_.base.change = "as it is";
    std::vector<Question> all;
    const Outcome& base = result_.base.outcome;
    append_network(all, base.scenario);
    append_training(all, base);
    append_parallelism(all, base);
    append_strategies(all, base);
    append_frameworks(all);
    std::vector<Request> requests;
    for (const Question& one : all) requests.push_back(with({&one}));
    std::vector<std::optional<WhatIfRow>> rows = run_all(requests, all);
    find_limits(all, rows);
    combine(all, rows);
    for (auto& row : rows)
      if (row) result_.rows.push_back(std::move(*row));
    std::stable_sort(result_.rows.begin(), result_.rows.end(), [](const WhatIfRow& a, const WhatIfRow& b) {
      return a.fits != b.fits ? a.fits : a.gain > b.gain;
    });
    add_efficiencies();
    result_.bound_s = base.result.metrics.lower_bound_s;
    if (result_.bound_s) result_.bound_gain = base.result.metrics.iteration_s / *result_.bound_s - 1;
    return std::move(result_);
  }

 private:
  void choose_strategy() {
    const bool free = base_.strategy.empty();
    if (free) base_.strategy = "ddp";
    take_base();
    if (!free || result_.base.fits) return;
    const Request ddp = base_;
    base_.strategy = "fsdp2";
    if (!is_compatible(library_.resolve(base_))) base_ = ddp;
    take_base();
  }

  void take_base() {
    const Scenario base = library_.resolve(base_);
    result_.base = row_from("", base_, run(base));
    result_.base.gain = 0;
  }

  WhatIfRow row_from(const std::string& name, const Request& request, Outcome outcome) const {
    outcome.result.episodes.clear();
    outcome.result.unrolled = {};
    WhatIfRow row{name, run_flags(request), std::move(outcome)};
    row.fits = fits(row.outcome.scenario, row.outcome.result);
    row.gain = speed(row.outcome) / speed(result_.base.outcome) - 1;
    return row;
  }

  // Returns samples per second, with a batch size of 1 if it is unknown.
  static double speed(const Outcome& outcome) {
    const auto& [scenario, result, wall_s] = outcome;
    if (result.metrics.iteration_s == 0) return 1;
    return static_cast<double>(degrees_of(scenario).dp * result.plan.sharding.accumulate *
                               scenario.profile->batch_size.value_or(1)) /
           result.metrics.iteration_s;
  }

  // Compares samples per second and GPU, so that recomputation and other micro-batches do not count as work.
  void add_efficiencies() {
    const Outcome& base = result_.base.outcome;
    result_.reference = scaling_reference(base);
    std::map<std::string, std::optional<double>> known{{base.scenario.cluster.name, result_.reference.efficiency}};
    const auto there = [&](const Cluster& cluster) -> std::optional<double> {
      try {
        return reference_on(cluster, base, result_.reference).efficiency;
      } catch (const InputError&) {
        return std::nullopt;
      }
    };
    const auto per_gpu = [](const Outcome& one) { return speed(one) / static_cast<double>(one.scenario.workers); };
    const double alone = per_gpu(base) / base.result.metrics.efficiency;  // samples per second on one worker
    const auto add = [&](WhatIfRow& row) {
      const Cluster& cluster = row.outcome.scenario.cluster;
      if (!known.contains(cluster.name)) known[cluster.name] = there(cluster);
      if (const auto efficiency = known[cluster.name])
        row.relative_efficiency = per_gpu(row.outcome) / (alone * *efficiency);
    };
    add(result_.base);
    for (auto* rows : {&result_.rows, &result_.together})
      for (WhatIfRow& row : *rows) add(row);
  }

  // Adds the fastest strategy of each maintained framework, tuned.
  void append_frameworks(std::vector<Question>& all) {
    std::vector<Request> requests;
    std::vector<Scenario> scenarios;
    std::vector<std::string_view> offering;  // the framework of each request
    for (const Framework& framework : frameworks())
      for (const Strategy* one : framework.strategies) {
        if (one->local_steps || !one->offer.maintained()) continue;
        Request request = base_;
        set_strategy(request, *one);
        Scenario scenario = library_.resolve(request);
        if (!is_compatible(scenario)) continue;
        requests.push_back(std::move(request));
        scenarios.push_back(std::move(scenario));
        offering.push_back(framework.name);
      }
    std::vector<Answered> answers = advice_on(requests, scenarios);
    for (std::size_t first = 0, end = 0; first < answers.size(); first = end) {
      while (end < answers.size() && offering[end] == offering[first]) ++end;
      const auto part = [&](auto& list) {
        return std::vector(std::make_move_iterator(list.begin() + static_cast<std::ptrdiff_t>(first)),
                           std::make_move_iterator(list.begin() + static_cast<std::ptrdiff_t>(end)));
      };
      append_fastest(offering[first], part(answers), part(scenarios), all);
    }
  }

  void append_fastest(std::string_view framework, std::vector<Answered> answers, const std::vector<Scenario>& scenarios,
                      std::vector<Question>& all) try {
    std::vector<RuledOut> ruled_out;
    const std::vector<Advice> ranking = ranked(std::move(answers), scenarios, WinningRule{}, ruled_out);
    for (const RuledOut& one : ruled_out)
      result_.left_out.push_back(fmt::format("{}: {}: {}", framework, one.strategy, one.why));
    const Scenario& tuned = ranking.front().tuned.scenario;
    const auto given = std::find_if(scenarios.begin(), scenarios.end(),
                                    [&](const Scenario& one) { return one.strategy == tuned.strategy; });
    const auto options = changed_options(*given, tuned);
    result_.trials = how_.budget;
    all.push_back({Kind::Strategy, fmt::format("{}'s best: {}", framework, tuned.strategy->name),
                   [strategy = tuned.strategy, options](Request& request) {
                     set_strategy(request, *strategy);
                     for (const auto& [key, value] : options) set_option(request, key, value);
                   }});
  } catch (const InputError& error) {
    result_.left_out.push_back(fmt::format("{}: {}", framework, error.what()));
  }

  std::vector<Answered> advice_on(const std::vector<Request>& requests, const std::vector<Scenario>& scenarios) {
    std::vector<Answered> answers(requests.size());
    const Batch one_at_a_time{1, farm_};  // the trials of one scenario already run in parallel
    one_at_a_time.run(
        {.count = requests.size(),
         .here = [&](std::size_t i) { answers[i] = advise(scenarios[i], advice_wanted(how_)); },
         .asked = [&](std::size_t i) { return job_of(FarmWork::Advice, requests[i], scenarios[i]); },
         .take = [&](std::size_t i, const std::string& bytes) { answers[i] = unpacked_advice(scenarios[i], bytes); }});
    return answers;
  }

  Request with(std::initializer_list<const Question*> questions) const {
    Request request = base_;
    for (const Question* one : questions) one->change(request);
    return request;
  }

  // Runs the requests. Impossible changes give no row and are added to left_out.
  std::vector<std::optional<WhatIfRow>> run_all(const std::vector<Request>& requests,
                                                const std::vector<Question>& questions) {
    std::vector<std::string> names, wrong(requests.size());
    for (const Question& one : questions) names.push_back(one.name);
    auto rows = run_all(requests, names, wrong);
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (!rows[i]) result_.left_out.push_back(fmt::format("{}: {}", names[i], wrong[i]));
    return rows;
  }

  // Runs the requests in parallel. The library is not thread-safe, so resolves them first.
  std::vector<std::optional<WhatIfRow>> run_all(const std::vector<Request>& requests,
                                                const std::vector<std::string>& names,
                                                std::vector<std::string>& wrong) const {
    std::vector<Scenario> scenarios;
    std::vector<std::size_t> possible;  // index of each scenario's request
    for (std::size_t i = 0; i < requests.size(); ++i) try {
        scenarios.push_back(library_.resolve(requests[i]));
        possible.push_back(i);
      } catch (const InputError& error) {
        wrong[i] = error.what();
      }
    std::vector<std::optional<WhatIfRow>> rows(requests.size());
    const auto take = [&](std::size_t i, Outcome outcome) {
      rows[i] = row_from(names[i], requests[i], std::move(outcome));
    };
    const Batch batch{how_.jobs, farm_};
    batch.run({.count = possible.size(),
               .here =
                   [&](std::size_t job) {
                     try {
                       take(possible[job], run(std::move(scenarios[job])));
                     } catch (const InputError& error) {
                       wrong[possible[job]] = error.what();
                     }
                   },
               .asked = [&](std::size_t job) { return job_of(FarmWork::Run, requests[possible[job]], scenarios[job]); },
               .take =
                   [&](std::size_t job, const std::string& bytes) {
                     Unpacker unpacker(bytes);
                     if (const auto line = take_error(unpacker))
                       wrong[possible[job]] = *line;
                     else
                       take(possible[job], unpack(unpacker, std::move(scenarios[job])));
                   }});
    return rows;
  }

  // Finds levels of the network that gain nothing because another one binds, by trying the two together.
  void find_limits(const std::vector<Question>& all, const std::vector<std::optional<WhatIfRow>>& rows) {
    constexpr double nothing = 0.002, something = 0.01;
    std::vector<std::size_t> levels;
    for (std::size_t i = 0; i < all.size(); ++i)
      if (rows[i] && all[i].is_level) levels.push_back(i);
    std::vector<std::pair<std::size_t, std::size_t>> pairs;  // a level that gains nothing, and another level
    std::vector<Request> requests;
    std::vector<std::string> names;
    for (const std::size_t one : levels)
      for (const std::size_t other : levels)
        if (all[one].kind != all[other].kind && rows[one]->gain < nothing) {
          pairs.emplace_back(one, other);
          requests.push_back(with({&all[one], &all[other]}));
          names.push_back(all[one].name);
        }
    std::vector<std::string> wrong(requests.size());
    const std::vector<std::optional<WhatIfRow>> both = run_all(requests, names, wrong);
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      const auto& [one, other] = pairs[i];
      if (both[i] && both[i]->gain > std::max(rows[other]->gain, 0.0) + something)
        result_.held_back.push_back({all[one].name,
                                     limit_of(all[other].kind, result_.base.outcome.scenario.cluster.network),
                                     all[other].name, both[i]->gain});
    }
  }

  // Takes the best change of each kind, and combines the best few of these in pairs and triples.
  void combine(const std::vector<Question>& all, const std::vector<std::optional<WhatIfRow>>& rows) {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < all.size(); ++i)
      if (rows[i] && rows[i]->gain > 1e-3 && all[i].kind != Kind::Workers && all[i].kind != Kind::Best)
        order.push_back(i);
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return rows[a]->fits != rows[b]->fits ? rows[a]->fits : rows[a]->gain > rows[b]->gain;
    });
    for (const std::size_t i : order)
      if (rows[i]->fits) best_gain_ = std::max(best_gain_, rows[i]->gain);
    std::set<Kind> taken;
    std::vector<const Question*> few;
    for (const std::size_t i : order)
      if (few.size() < most_combined && taken.insert(all[i].kind).second) few.push_back(&all[i]);
    std::vector<Request> twos, threes;
    std::vector<std::string> names_of_twos, names_of_threes;
    for (std::size_t a = 0; a < few.size(); ++a)
      for (std::size_t b = a + 1; b < few.size(); ++b) {
        twos.push_back(with({few[a], few[b]}));
        names_of_twos.push_back(few[a]->name + " + " + few[b]->name);
        for (std::size_t c = b + 1; c < few.size(); ++c) {
          threes.push_back(with({few[a], few[b], few[c]}));
          names_of_threes.push_back(names_of_twos.back() + " + " + few[c]->name);
        }
      }
    append_best_combination(2, twos, names_of_twos);
    append_best_combination(3, threes, names_of_threes);
  }

  void append_best_combination(int changes, const std::vector<Request>& requests,
                               const std::vector<std::string>& names) {
    std::vector<std::string> wrong(requests.size());
    std::optional<WhatIfRow> most;
    for (auto& row : run_all(requests, names, wrong))
      if (row && (!most || (row->fits != most->fits ? row->fits : row->gain > most->gain))) most = std::move(row);
    const bool helps = most && (most->fits || !result_.base.fits) && most->gain > best_gain_ + 1e-3;
    if (most) most->changes = changes;
    if (helps) best_gain_ = most->gain;
    if (helps) result_.together.push_back(std::move(*most));
  }

  Library& library_;
  const WhatIfRequest& how_;
  Farm* farm_;
  Request base_;
  WhatIf result_;
  double best_gain_ = 0;  // largest gain of changes that fit: single ones first, then combined ones
};

}  // namespace

WhatIf what_if(Library& library, Request request, const WhatIfRequest& how, Farm* farm) {
  return WhatIfSearch(library, how, farm).answer(std::move(request));
}

Farm::Answer answer_questions(const Inputs& inputs, const WhatIfRequest& how) {
  return [wanted = advice_wanted(how), library = std::make_shared<Library>(inputs)](const std::string& work) {
    Unpacker unpacker(work);
    const auto asked = unpacker.take<FarmWork>();
    const Scenario scenario = library->resolve(unpack_request(unpacker));
    if (asked == FarmWork::Advice) return packed_advice(scenario, wanted);
    return pack_or_error([&](Packer& packer) { pack(packer, run(scenario)); });
  };
}

}  // namespace allreplay
