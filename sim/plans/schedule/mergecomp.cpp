#include <algorithm>
#include <functional>
#include <numeric>

#include "sim/plans/schedule/gradients.hpp"
#include "sim/plans/schedule/planners.hpp"

namespace allreplay {

namespace {

// When the codec and the network have finished a group, given the groups before it.
struct Progress {
  Time encoded{0};
  Time arrived{0};
  std::size_t end = 0;     // one past the group's last gradient
  std::size_t before = 0;  // index of the previous group's progress
};

using Ends = std::vector<std::size_t>;

class Partitions {
 public:
  explicit Partitions(const PlanRequest& request)
      : list_(gradients(request.profile)),
        cost_(request.cost),
        forward_(request.profile.forward()),
        rest_(request.profile.backward() - list_.back().ready),
        bytes_before_(list_.size() + 1, 0) {
    std::transform_inclusive_scan(list_.begin(), list_.end(), bytes_before_.begin() + 1, std::plus<>(),
                                  [](const Gradient& gradient) { return gradient.bytes; });
  }

  const std::vector<Gradient>& list() const { return list_; }

  // Adds a group that ends before gradient `end`. On the compute stream, h(x) delays the backward pass; on a separate
  // stream, it waits for the gradients and the previous group.
  Progress with_group(const Progress& before, std::size_t end) const {
    const Bytes bytes = bytes_before_[end] - bytes_before_[before.end];
    const Time ready = list_[end - 1].ready, ready_before = before.end == 0 ? Time(0) : list_[before.end - 1].ready;
    const auto& codec = cost_.compression();
    const Time work = codec ? add(codec->encode(bytes), codec->decode(bytes)) : Time(0);
    const Time start = has_codec_stream() ? std::max(before.encoded, ready) : add(before.encoded, ready - ready_before);
    const Time encoded = add(start, work);
    return {encoded, add(std::max(before.arrived, encoded), cost_(bytes, end - before.end)), end, 0};
  }

  Time objective(const Ends& ends) const {
    Progress progress;
    for (const std::size_t end : ends) progress = with_group(progress, end);
    return iteration(progress);
  }

  // The exact argmin over X_y of F, for any h and g: a dynamic programme over (groups, gradients) that keeps all
  // Pareto-optimal pairs (encoded, arrived). If h is linear (Assumption 5), all partitions encode equally long (Lemma
  // 2) except for rounding, and about one pair remains: O(y·L²).
  Ends optimum(std::size_t groups) const {
    const std::size_t count = list_.size();
    std::vector<Progress> all{{}};
    std::vector<std::vector<std::size_t>> reached(count + 1);  // by number of gradients: indices into `all`
    reached[0] = {0};
    for (std::size_t group = 1; group <= groups; ++group) {
      std::vector<std::vector<std::size_t>> next(count + 1);
      const std::size_t first = group < groups ? group : count, last = count - (groups - group);
      for (std::size_t end = first; end <= last; ++end)
        for (std::size_t start = group - 1; start < end; ++start)
          for (const std::size_t before : reached[start]) {
            Progress candidate = with_group(all[before], end);
            candidate.before = before;
            keep(all, next[end], candidate);
          }
      reached = std::move(next);
    }
    std::size_t best = reached[count].front();
    for (const std::size_t one : reached[count])
      if (iteration(all[one]) < iteration(all[best])) best = one;
    Ends ends;
    for (; all[best].end > 0; best = all[best].before) ends.push_back(all[best].end);
    std::reverse(ends.begin(), ends.end());
    return ends;
  }

  // Algorithm 2 as printed, with Y = `most` and α = `stop`.
  Ends search(std::size_t most, double stop) const {
    Ends best = optimum(1);
    for (std::size_t groups = 2; groups <= most; ++groups) {
      Ends next = optimum(groups);
      const Time before = objective(best), now = objective(next);
      if (before < now) return best;
      best = std::move(next);
      if (to_seconds(before - now) < stop * to_seconds(before)) return best;
    }
    return best;
  }

  // The first N mod y groups have one more tensor (docs/models.md, "MergeComp").
  Ends even(std::size_t groups) const {
    Ends ends;
    for (std::size_t group = 0, end = 0; group < groups; ++group)
      ends.push_back(end += list_.size() / groups + (group < list_.size() % groups ? 1 : 0));
    return ends;
  }

 private:
  bool has_codec_stream() const { return cost_.compression() && cost_.compression()->stream() == CodecStream::Side; }

  // F for the progress after all groups. Unlike in the paper, the first layers may lack tensors and compute last.
  Time iteration(const Progress& all) const {
    const Time computed = has_codec_stream() ? add(list_.back().ready, rest_) : add(all.encoded, rest_);
    return add(std::max(all.arrived, computed), forward_);
  }

  static void keep(std::vector<Progress>& all, std::vector<std::size_t>& front, const Progress& candidate) {
    const auto beats = [](const Progress& a, const Progress& b) {
      return a.encoded <= b.encoded && a.arrived <= b.arrived;
    };
    for (const std::size_t one : front)
      if (beats(all[one], candidate)) return;
    std::erase_if(front, [&](std::size_t one) { return beats(candidate, all[one]); });
    front.push_back(all.size());
    all.push_back(candidate);
  }

  std::vector<Gradient> list_;
  const BlockCost& cost_;
  Time forward_, rest_;  // t_f; backward time after the last gradient
  std::vector<Bytes> bytes_before_;
};

}  // namespace

BucketSchedule schedule_mergecomp(const PlanRequest& request) {
  const Partitions partitions(request);
  const StrategyOptions& options = request.options;
  const std::size_t groups = std::min(static_cast<std::size_t>(options.groups), partitions.list().size());
  const Ends ends = options.grouping == Grouping::Search    ? partitions.search(groups, options.stop)
                    : options.grouping == Grouping::Optimal ? partitions.optimum(groups)
                                                            : partitions.even(groups);
  return merge("mergecomp", partitions.list(), ends);
}

Time mergecomp_objective(const PlanRequest& request, std::span<const std::size_t> ends) {
  return Partitions(request).objective({ends.begin(), ends.end()});
}

}  // namespace allreplay
