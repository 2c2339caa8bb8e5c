#include "sim/replay/network/max_min.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace allreplay {

namespace {

constexpr double not_settled = -1, never_full = std::numeric_limits<double>::infinity();

}  // namespace

MaxMin::MaxMin(std::vector<double> capacities)
    : capacities_(std::move(capacities)),
      links_(capacities_.size()),
      leaves_(std::bit_ceil(capacities_.size())),
      level_(2 * leaves_, never_full) {}

std::span<const double> MaxMin::rates(std::span<const SharedFlow> flows) {
  put_on_links(flows);
  find_levels();
  while (open_ > 0) {
    const double level = level_[1];
    if (level == never_full) {
      std::replace(rates_.begin(), rates_.end(), not_settled, never_full);
      break;
    }
    const LinkId first = first_to_fill();
    const LinkState& link = links_[first];
    if (link.open > 0) {
      const double now = std::max(0.0, link.left) / link.growing;
      if (now > level) {
        set_level(first, now);
        continue;
      }
      settle_flows_on(first, level, flows);
    }
    set_level(first, never_full);
  }
  return rates_;
}

void MaxMin::put_on_links(std::span<const SharedFlow> flows) {
  std::fill(links_.begin(), links_.end(), LinkState());
  std::size_t uses = 1;  // the first place, 0, is left free
  for (const SharedFlow& flow : flows) uses += flow.uses.size();
  if (on_links_.size() < uses) on_links_.resize(uses);
  rates_.assign(flows.size(), not_settled);
  open_ = flows.size();
  std::uint32_t place = 0;
  for (std::uint32_t f = 0; f < flows.size(); ++f) {
    const double count = flows[f].count, fastest = flows[f].fastest * count;
    if (flows[f].uses.empty()) rates_[f] = never_full, --open_;
    for (const LinkUse& use : flows[f].uses) {
      LinkState& link = links_[use.link];
      link.growing += count * use.amount;
      link.most += fastest * use.amount;
      ++link.open;
      on_links_[++place] = {f, link.last};
      link.last = place;
    }
  }
}

// Omits links that are never full: they are not bottlenecks. With large collectives these are most links.
void MaxMin::find_levels() {
  for (LinkId l = 0; l < links_.size(); ++l) {
    LinkState& link = links_[l];
    link.left = capacities_[l];
    const bool may_fill = link.most >= capacities_[l] * (1 - 1e-9);
    level_[leaves_ + l] = may_fill && link.open > 0 ? link.left / link.growing : never_full;
  }
  for (std::size_t node = leaves_ - 1; node > 0; --node)
    level_[node] = std::min(level_[2 * node], level_[2 * node + 1]);
}

// The first one of the links that fill next.
LinkId MaxMin::first_to_fill() const {
  std::size_t node = 1;
  while (node < leaves_) node = 2 * node + (level_[2 * node] > level_[1] ? 1 : 0);
  return static_cast<LinkId>(node - leaves_);
}

void MaxMin::set_level(LinkId link, double level) {
  std::size_t node = leaves_ + link;
  level_[node] = level;
  for (; node > 1; node /= 2) {
    level = std::min(level, level_[node ^ 1]);
    level_[node / 2] = level;
  }
}

// Settles the open flows of a link that is full at this level, in their order.
void MaxMin::settle_flows_on(LinkId full, double level, std::span<const SharedFlow> flows) {
  together_.clear();
  for (std::uint32_t place = links_[full].last; place != 0; place = on_links_[place].before) {
    const std::uint32_t f = on_links_[place].flow;
    if (rates_[f] != not_settled) continue;
    rates_[f] = level;
    together_.push_back(f);  // the last one first
  }
  open_ -= together_.size();
  if (open_ == 0) return;
  for (std::size_t i = together_.size(); i-- > 0;) {
    const SharedFlow& flow = flows[together_[i]];
    const double count = flow.count, rate = level * count;
    for (const LinkUse& use : flow.uses) {
      LinkState& link = links_[use.link];
      link.left -= rate * use.amount;
      link.growing -= count * use.amount;
      --link.open;
    }
  }
}

}  // namespace allreplay
