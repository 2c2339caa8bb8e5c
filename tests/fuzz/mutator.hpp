// Mutates texts by their structure: JSON by values, keys and elements, tables and logs by lines and words, and
// sometimes any text by bytes.
#pragma once

#include <string>
#include <vector>

#include "sim/base/core/random.hpp"

class Mutator {
 public:
  /// Mutations insert parts of the seeds.
  Mutator(const std::vector<std::string>& seeds, allreplay::Random& random);

  /// Returns the text with one to four changes.
  std::string operator()(std::string text);

 private:
  std::string changed_json(const std::string& text, int times);
  std::string changed_lines(std::string text);
  std::string changed_bytes(std::string text);
  const std::string& one_of(const std::vector<std::string>& all);

  allreplay::Random& random_;
  std::vector<std::string> keys_, values_, words_;  // values as JSON
  std::size_t longest_ = 1000;                      // of a text: longer ones are cut, or not taken
};
