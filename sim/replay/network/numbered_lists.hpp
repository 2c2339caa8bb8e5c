// Gives equal lists of numbers the same number.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/replay/network/number_table.hpp"

namespace allreplay {

class NumberedLists {
 public:
  /// 0 is the empty list; a new list has the next number.
  std::uint32_t number(std::span<const std::uint32_t> list) {
    if (list.empty()) return 0;
    const std::uint32_t hash = hash_of(list);
    const auto is_it = [&](std::uint32_t number) { return std::ranges::equal((*this)[number], list); };
    if (const std::uint32_t known = table_.find(hash, is_it)) return known;
    const auto number = static_cast<std::uint32_t>(size());
    values_.insert(values_.end(), list.begin(), list.end());
    ends_.push_back(values_.size());
    table_.add(hash, number);
    return number;
  }

  std::span<const std::uint32_t> operator[](std::uint32_t number) const {
    if (number == 0) return {};
    return std::span(values_).subspan(ends_[number - 1], ends_[number] - ends_[number - 1]);
  }

  /// With the empty list.
  std::size_t size() const { return ends_.size(); }

  double bytes() const {
    return static_cast<double>(values_.capacity() * sizeof(std::uint32_t) + ends_.capacity() * sizeof(std::size_t)) +
           table_.bytes();
  }

 private:
  // Fowler, Noll and Vo's hash, a number at a time.
  static std::uint32_t hash_of(std::span<const std::uint32_t> list) {
    std::uint64_t hash = 0xcbf29ce484222325;
    for (const std::uint32_t number : list) hash = (hash ^ number) * 0x100000001b3;
    return static_cast<std::uint32_t>(hash ^ hash >> 32);
  }

  std::vector<std::uint32_t> values_;  // of one list after the other
  std::vector<std::size_t> ends_{0};   // by number
  NumberTable table_;
};

}  // namespace allreplay
