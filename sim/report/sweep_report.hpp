// What people read of a sweep: a table of any rows.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/experiment/row.hpp"
#include "sim/report/scenario_labels.hpp"
#include "sim/report/table.hpp"

namespace allreplay {

/// A line for each row, of a hundred thousand, too: of what rows have in common there is one copy.
class SweepTable {
 public:
  SweepTable() = default;
  SweepTable(const SweepTable&) = delete;
  SweepTable& operator=(const SweepTable&) = delete;

  /// Rows may come in any order; `place` is the line's. Each place once, and at the end all from 0.
  void add(std::size_t place, const Row& row);

  bool empty() const { return lines_.empty(); }

  /// REQUIRES: a row.
  std::string text(const Screen& screen = {}) const;

 private:
  static constexpr std::size_t names = std::size(named_by);
  using Word = std::uint32_t;  // a text's place in words_
  struct Line {
    std::array<Word, names> identity{};
    Word note = 0;
    std::vector<Word> options;
    Metrics metrics;
    double memory_bytes = 0;
    std::optional<bool> fits;  // into the memory that its options say there is
  };

  Word word(const std::string& text);
  std::vector<Word> options_of_all() const;
  std::string options_text(const Line& line, const std::vector<Word>& common) const;

  std::map<std::string, Word> known_;
  std::vector<const std::string*> words_;  // in known_
  std::vector<Line> lines_;
};

}  // namespace allreplay
