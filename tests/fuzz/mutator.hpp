// Texts changed as what they are: JSON by its values, keys and elements, tables and logs by their lines and words, all
// by their bytes now and then.
#pragma once

#include <string>
#include <vector>

#include "sim/core/random.hpp"

class Mutator {
 public:
  /// What the seeds hold is what texts are changed with.
  Mutator(const std::vector<std::string>& seeds, allreplay::Random& random);

  /// One to four changes.
  std::string operator()(std::string text);

 private:
  std::string changed_json(const std::string& text, int times);
  std::string changed_lines(std::string text);
  std::string changed_bytes(std::string text);
  const std::string& one_of(const std::vector<std::string>& all);

  allreplay::Random& random_;
  std::vector<std::string> keys_, values_, words_;  // values as JSON
};
