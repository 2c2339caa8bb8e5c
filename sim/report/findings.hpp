// What a sweep says: findings as data, and what they are in words.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/report/sweep_result.hpp"

namespace allreplay {

/// Who wins at sizes that follow each other.
struct WinnerFinding {
  std::int64_t from = 0, to = 0;  ///< workers
  std::string series;             ///< "": nothing fits
  std::vector<std::string> ties;  ///< who is within the tie, at some of them
  bool fastest = true;            ///< at all of them; else one of those is faster, but not as simple to run
};

/// What is found of one group.
struct CaseFinding {
  std::string about;  ///< profile, cluster, collective, fidelity
  std::vector<WinnerFinding> winners;
  std::int64_t largest = 0;                  ///< workers
  std::optional<std::size_t> best, slowest;  ///< rows of that size, of what fits; the second if it is slower
  bool per_sample = false;                   ///< iterations of that size have other numbers of samples
  std::map<std::int64_t, std::vector<std::string>> below_half;  ///< series by the size from which less than half scales
  std::vector<std::string> never_below;                         ///< at any size
};

struct Wins {
  std::string series;
  std::size_t cases = 0;
};

/// Where one profile is fastest, with so many workers: a row for each cluster (or collective), the fastest first.
struct PlaceFinding {
  std::int64_t workers = 0;
  Rows winners;
  bool per_sample = false;  ///< their iterations have other numbers of samples
};

struct SweepFindings {
  std::vector<CaseFinding> cases;
  std::vector<Wins> wins;     ///< of the cases at their largest sizes, the most first; none where nothing was to choose
  std::size_t none_fits = 0;  ///< cases in which nothing fits
  std::vector<double>
      margins;              ///< of each case whose winner has a next that is no tie: how many times as long that takes
  bool ties = false;        ///< some win was a tie
  bool per_sample = false;  ///< some race compares samples per second
  std::vector<std::int64_t> sizes;  ///< at which they were won, each once
  std::vector<PlaceFinding> places;
};

SweepFindings find(const SweepResult& result);

// In words.
struct Summary {
  std::string overview;              ///< how many rows, of what
  std::string warning;               ///< which profiles are reconstructed; "" if none is
  std::vector<std::string> verdict;  ///< what holds across the groups; empty if there is one
  struct Case {
    std::string about;
    std::vector<std::string> sentences;  ///< who is fastest; how fast; where efficiency falls below one half
  };
  std::vector<Case> cases;
};

Summary summarize(const SweepResult& result);

}  // namespace allreplay
