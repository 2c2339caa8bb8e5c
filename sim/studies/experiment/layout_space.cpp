#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "sim/base/core/text.hpp"
#include "sim/replay/training/parallel_setup.hpp"
#include "sim/studies/experiment/layouts.hpp"

namespace allreplay {

ModelLayout layout_of(const Outcome& outcome) {
  const Scenario& scenario = outcome.scenario;
  const Degrees degrees = degrees_of(scenario);
  ModelLayout layout{.pp = degrees.pp, .tp = degrees.tp, .cp = degrees.cp, .ep = degrees.ep};
  const ParallelOptions& parallel = scenario.options.parallel;
  if (parallel.pipeline()) {
    layout.schedule = parallel.schedule;
    layout.ep_overlap = parallel.ep_overlap;
    layout.chunks = outcome.result.parallel->chunks.value_or(1);
  }
  layout.samples = scenario.profile->batch_size.value_or(1);
  layout.micro_batches = outcome.result.plan.sharding.accumulate;
  for (const auto& rule : recompute_rules)
    if (rule.name == scenario.profile->recompute) layout.recompute = rule.value;
  layout.strategy = scenario.strategy->name;
  return layout;
}

bool is_cut_by_a_framework(std::string_view strategy) { return strategy == "megatron" || strategy == "fsdp2"; }

namespace {

// Returns the requested degree, or the powers of two up to `most`.
std::vector<std::int64_t> degrees(const std::optional<std::int64_t>& asked, std::int64_t most) {
  if (asked) return {*asked};
  std::vector<std::int64_t> all;
  for (std::int64_t one = 1; one <= most; one *= 2) all.push_back(one);
  return all;
}

// Returns the requested degree, or those that divide the experts and the workers that hold the same layers.
std::vector<std::int64_t> degrees_of_experts(const LayoutSearch& search, std::int64_t pp, std::int64_t tp) {
  if (search.ep) return {*search.ep};
  std::vector<std::int64_t> all{1};
  const std::int64_t workers = search.workers % (pp * tp) == 0 ? search.workers / (pp * tp) : 1;
  for (std::int64_t one = 2; one <= search.model.experts.count; ++one)
    if (search.model.experts.count % one == 0 && workers % one == 0) all.push_back(one);
  return all;
}

// True if the layers, plus those that the first and the last chunk lack, divide evenly into chunks.
bool divides(std::int64_t layers, const ModelLayout& one) {
  const std::int64_t chunks = one.pp * one.chunks, less = one.first_less + one.last_less;
  if ((layers + less) % chunks != 0) return false;
  const std::int64_t each = (layers + less) / chunks;
  // Megatron-LM shortens the ends of interleaved stages by one layer at most (--account-for-…-in-pipeline-split).
  if (one.strategy == "megatron" && one.chunks > 1 && std::max(one.first_less, one.last_less) > 1) return false;
  return each > one.last_less && 2 * (each - one.last_less) >= each;  // at least half as long as the others
}

// Embedding and loss make the first and the last chunk longer, so these get fewer layers: as many fewer as make the
// rest divide evenly. If the number is odd, the last chunk lacks one more. Llama 3 405B (arXiv 2407.21783,
// section 3.3.2) trains 126 layers like this.
void shorten_ends(std::int64_t layers, ModelLayout& one) {
  if (one.pp == 1 || !is_cut_by_a_framework(one.strategy)) return;
  const std::int64_t chunks = one.pp * one.chunks, less = (chunks - layers % chunks) % chunks;
  one.first_less = less / 2;
  one.last_less = less - less / 2;
}

// Returns the framework's schedules with their chunks. torchtitan requires several chunks for every schedule that
// PyTorch treats as multi-stage, including InterleavedZeroBubble.
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

// Megatron-Core's transformer_config.py: interleaved stages, and no full recomputation.
bool may_overlap_exchange(const LayoutSearch& search, const ModelLayout& one) {
  const auto& given = search.base.options;
  const auto is_given = [](const OptionText& option) { return option.name == "ep_overlap"; };
  return one.strategy == "megatron" && one.schedule == "interleaved" && one.ep > 1 &&
         one.recompute != Recompute::Full && std::none_of(given.begin(), given.end(), is_given);
}

std::optional<Obstacle> obstacle(const LayoutSearch& search, const ModelLayout& one) {
  const Transformer& t = search.model;
  const std::int64_t group = one.pp * one.tp * one.cp, chunks = one.pp * one.chunks;
  const bool dense = t.experts.count == 0 || t.experts.dense_layers > 0;
  for (const auto& [count, what] : {std::pair(t.heads, "attention heads"),
                                    {t.kv_heads, "heads of keys and values"},
                                    {dense ? t.ffn : 0, "inner outputs"},
                                    {t.experts.ffn, "inner outputs of an expert"},
                                    {t.experts.shared_ffn, "inner outputs of shared experts"}})
    if (count % one.tp != 0)
      return Obstacle{0, "--tp", fmt::format("tp {} does not divide {} {}", one.tp, count, what)};
  if (one.ep > 1 && (t.experts.count == 0 || t.experts.count % one.ep != 0))
    return Obstacle{0, "--ep", fmt::format("ep {} does not divide {} experts", one.ep, t.experts.count)};
  if (one.cp > 1 && search.tokens % (2 * one.cp) != 0)
    return Obstacle{0, "--cp", fmt::format("{} parts do not divide {} tokens", 2 * one.cp, search.tokens)};
  if (one.tp > 1 && search.tokens / one.cp % one.tp != 0)
    return Obstacle{0, "--tp", fmt::format("tp {} does not divide {} tokens", one.tp, search.tokens / one.cp)};
  if (one.pp > 1 && (chunks > t.layers || (is_cut_by_a_framework(one.strategy) && !divides(t.layers, one))))
    return Obstacle{
        1, "--pp",
        fmt::format("{} layers cannot be divided into {} chunks, even if the first and the last are shorter", t.layers,
                    chunks)};
  if (search.workers % group != 0)
    return Obstacle{
        2, "--workers",
        fmt::format("pp {} x tp {} x cp {} does not divide {} workers", one.pp, one.tp, one.cp, search.workers)};
  if (search.workers / (one.pp * one.tp) % one.ep != 0)
    return Obstacle{2, "--ep",
                    fmt::format("ep {} does not divide {} workers that hold the same layers", one.ep,
                                search.workers / (one.pp * one.tp))};
  const std::int64_t at_once = search.workers / group * one.samples;
  if (search.global_batch % at_once != 0)
    return Obstacle{3, "--global-batch",
                    fmt::format("{} samples are not a multiple of {}: {} at a time on each of {} replicas",
                                search.global_batch, at_once, one.samples, search.workers / group),
                    fmt::format("a multiple of {}", at_once)};
  const std::int64_t batches = search.global_batch / at_once;
  if (one.strategy == "megatron" && one.chunks > 1 && batches % one.pp != 0)
    return Obstacle{3, "--global-batch",
                    fmt::format("{}, not a multiple of pp {}", counted(batches, "micro-batch"), one.pp),
                    fmt::format("a multiple of {}", at_once * one.pp)};
  if (one.strategy == "fsdp2" && one.schedule == "1f1b" && batches < one.pp)  // PyTorch's PipelineScheduleSingle
    return Obstacle{3, "--global-batch", fmt::format("{}, fewer than pp {}", counted(batches, "micro-batch"), one.pp),
                    fmt::format("at least {}", at_once * one.pp)};
  return std::nullopt;
}

// Records, for each value of each degree, if some layout has it, and else its nearest obstacle.
class TriedDegrees {
 public:
  void add(const ModelLayout& one, const std::optional<Obstacle>& wrong) {
    for (const auto& [name, degree] : {std::pair("pp", one.pp), {"tp", one.tp}, {"cp", one.cp}, {"ep", one.ep}}) {
      const auto [known, fresh] = tried_.try_emplace({name, degree}, wrong);
      auto& nearest = known->second;
      if (nearest && (!wrong || wrong->check > nearest->check)) nearest = wrong;
    }
  }

  // Returns "pp 64: …" for each value that is in no layout.
  std::vector<std::string> skipped() const {
    std::vector<std::string> texts;
    for (const auto& [degree, nearest] : tried_)
      if (nearest) texts.push_back(fmt::format("{} {}: {}", degree.first, degree.second, nearest->why));
    return texts;
  }

 private:
  std::map<std::pair<std::string, std::int64_t>, std::optional<Obstacle>> tried_;  // none: possible
};

}  // namespace

Layouts layouts_of(const LayoutSearch& search, std::int64_t node) {
  Layouts layouts;
  auto& [all, nearest, skipped] = layouts;
  TriedDegrees tried;
  std::vector<Recompute> recompute{Recompute::None, Recompute::Selective, Recompute::Full};
  if (search.recompute) recompute = {*search.recompute};
  std::vector<std::pair<std::int64_t, Recompute>> batches;
  for (const std::int64_t samples : degrees(search.samples, 8))
    for (const Recompute again : recompute) batches.emplace_back(samples, again);
  for (const std::string& strategy : search.strategies)
    for (const std::int64_t tp : degrees(search.tp, node))  // tensor groups stay inside a node
      for (const std::int64_t cp : degrees(search.cp, 8))
        for (const std::int64_t pp : degrees(search.pp, search.model.layers)) {
          auto schedules = schedules_of(search, strategy);
          if (pp == 1 && !schedules.empty()) schedules = {{"", 1}};
          for (const auto& [schedule, chunks] : schedules)
            for (const std::int64_t ep : degrees_of_experts(search, pp, tp))
              for (const auto& [samples, again] : batches) {
                if (strategy == "megatron" && again == Recompute::Selective && !search.recompute)
                  continue;  // its setting means attention only
                ModelLayout one{.pp = pp,
                                .tp = tp,
                                .cp = cp,
                                .ep = ep,
                                .schedule = schedule,
                                .chunks = chunks,
                                .samples = samples,
                                .recompute = again,
                                .strategy = strategy};
                shorten_ends(search.model.layers, one);
                const auto wrong = obstacle(search, one);
                tried.add(one, wrong);
                if (wrong) {
                  if (!nearest || wrong->check > nearest->check) nearest = wrong;
                  continue;
                }
                one.micro_batches = search.global_batch / (search.workers / (pp * tp * cp) * samples);
                all.push_back(one);
                if (!may_overlap_exchange(search, one)) continue;
                one.ep_overlap = true;
                all.push_back(std::move(one));
              }
        }
  skipped = tried.skipped();
  return layouts;
}

}  // namespace allreplay
