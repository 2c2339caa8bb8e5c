#include "sim/replay/network/full_links.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace allreplay {

namespace {

constexpr std::uint32_t nobody = 0xffffffff;

}  // namespace

FullLinks::FullLinks(std::span<const std::shared_ptr<const RoundLoads>> collectives,
                     std::span<const std::uint32_t> job_of_call, const Shapes& shapes, Meetings& meetings)
    : meetings_(&meetings), job_of_shape_(shapes.size(), nobody), uses_(shapes.size()), moves_(shapes.size(), 0) {
  for (std::size_t call = 0; call < collectives.size(); ++call)
    for (const RoundLoad& round : collectives[call]->rounds) job_of_shape_[round.shape] = job_of_call[call];
  using Row = std::vector<std::pair<std::uint32_t, double>>;  // the shapes that use a link, and how much
  std::map<LinkId, Row> rows;
  for (std::uint32_t shape = 0; shape < shapes.size(); ++shape)
    for (const LinkUse& use : shapes.whole(shape)) rows[use.link].emplace_back(shape, use.amount);
  std::map<Row, LinkId> numbers;
  for (const auto& [link, row] : rows) {
    std::vector<std::uint32_t> of_jobs;
    for (const auto& [shape, amount] : row)
      if (job_of_shape_[shape] != nobody) of_jobs.push_back(shape);
    const auto by_job = [&](std::uint32_t a, std::uint32_t b) { return job_of_shape_[a] < job_of_shape_[b]; };
    std::stable_sort(of_jobs.begin(), of_jobs.end(), by_job);
    if (of_jobs.empty() || job_of_shape_[of_jobs.front()] == job_of_shape_[of_jobs.back()]) continue;
    const auto [known, fresh] = numbers.emplace(row, static_cast<LinkId>(alike_.size()));
    if (fresh) {
      alike_.push_back({{}, of_jobs});
      for (const auto& [shape, amount] : row) uses_[shape].push_back({known->second, amount});
    }
    alike_[known->second].links.push_back(link);
  }
  used_.resize(alike_.size());
}

Meetings::Id FullLinks::meeting_of(std::span<const AlikeRounds> together) {
  constexpr double full = 1 - 1e-9;
  std::fill(used_.begin(), used_.end(), 0.0);
  for (const auto& [shape, count, speed] : together) {
    for (const LinkUse& use : uses_[shape]) used_[use.link] += use.amount * speed * count;
    moves_[shape] = 1;
  }
  places_.clear();
  for (std::size_t i = 0; i < used_.size(); ++i) {
    if (used_[i] < full) continue;
    jobs_.clear();
    for (const std::uint32_t shape : alike_[i].shapes) {
      const std::uint32_t job = job_of_shape_[shape];
      if (moves_[shape] && (jobs_.empty() || jobs_.back() != job)) jobs_.push_back(job);
    }
    if (jobs_.size() < 2) continue;
    for (const LinkId link : alike_[i].links) places_.push_back(meetings_->place(link, jobs_));
  }
  for (const AlikeRounds& rounds : together) moves_[rounds.shape] = 0;
  std::sort(places_.begin(), places_.end());
  return meetings_->number(places_);
}

}  // namespace allreplay
