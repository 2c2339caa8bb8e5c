#include "sim/output/view/strategy_looks.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "sim/base/core/named.hpp"
#include "sim/plans/schedule/strategy.hpp"

namespace allreplay {

std::string strategy_label(std::string_view name) {
  const Strategy* row = row_named(strategies(), name);
  return std::string(row ? row->look.label : name);
}

std::vector<std::size_t> look_places(const std::vector<std::string>& series,
                                     const std::function<std::string(const std::string&)>& called) {
  std::map<std::string, std::size_t> own;
  for (const Strategy& row : strategies()) {
    const auto [one, fresh] = own.emplace(called(std::string(row.name)), row.look.place);
    if (!fresh) one->second = std::min(one->second, row.look.place);
  }
  std::set<std::size_t> taken;
  for (const std::string& name : series)
    if (const auto strategy = own.find(name); strategy != own.end()) taken.insert(strategy->second);
  std::vector<std::size_t> places;
  std::size_t next = 0;
  for (const std::string& name : series) {
    if (const auto strategy = own.find(name); strategy != own.end()) {
      places.push_back(strategy->second);
      continue;
    }
    while (taken.count(next) > 0) ++next;
    places.push_back(next++);
  }
  return places;
}

}  // namespace allreplay
