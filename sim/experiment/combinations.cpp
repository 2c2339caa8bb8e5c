#include "sim/experiment/combinations.hpp"

#include <utility>

namespace allreplay {

std::optional<std::vector<Request>> combinations(const Request& base,
                                                 const std::vector<std::vector<RequestSetting>>& lists,
                                                 std::size_t most) {
  std::vector<Request> all{base};
  for (const std::vector<RequestSetting>& list : lists) {
    if (!list.empty() && all.size() > most / list.size()) return std::nullopt;
    std::vector<Request> longer;
    for (const Request& before : all)
      for (const RequestSetting& set : list) {
        longer.push_back(before);
        set(longer.back());
      }
    all = std::move(longer);
  }
  return all;
}

}  // namespace allreplay
