#include "sim/replay/network/max_min.hpp"

#include <algorithm>

namespace allreplay {

namespace {

constexpr double not_settled = -1;

}  // namespace

std::span<const double> MaxMin::rates(std::span<const SharedFlow> flows) {
  put_on_links(flows);
  find_links_to_fill();
  while (open_ > 0) {
    const auto [level, l] = full_at_.front();
    const LinkState& link = links_[l];
    if (link.open > 0) {
      const double now = std::max(0.0, link.left) / link.growing;
      if (now > level) {
        replace_first({now, l});
        continue;
      }
      settle_flows_on(l, level, flows);
    }
    const Filling last = full_at_.back();
    full_at_.pop_back();
    if (!full_at_.empty()) replace_first(last);
  }
  return rates_;
}

void MaxMin::put_on_links(std::span<const SharedFlow> flows) {
  std::fill(links_.begin(), links_.end(), LinkState());
  std::size_t uses = 1;  // 0 is no flow's
  for (const SharedFlow& flow : flows) uses += flow.uses.size();
  if (on_links_.size() < uses) on_links_.resize(uses);
  rates_.assign(flows.size(), not_settled);
  open_ = flows.size();
  std::uint32_t place = 0;
  for (std::uint32_t f = 0; f < flows.size(); ++f) {
    const double count = flows[f].count, fastest = flows[f].fastest * count;
    if (flows[f].uses.empty()) rates_[f] = std::numeric_limits<double>::infinity(), --open_;
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
void MaxMin::find_links_to_fill() {
  full_at_.clear();
  for (LinkId l = 0; l < links_.size(); ++l) {
    LinkState& link = links_[l];
    link.left = capacities_[l];
    if (link.open > 0 && link.most >= capacities_[l] * (1 - 1e-9)) full_at_.push_back({link.left / link.growing, l});
  }
  std::make_heap(full_at_.begin(), full_at_.end(), [](const Filling& a, const Filling& b) { return b < a; });
}

// Replaces the heap's first entry.
void MaxMin::replace_first(Filling filling) {
  const std::size_t size = full_at_.size();
  std::size_t at = 0;
  for (std::size_t child = 1; child < size; child = 2 * at + 1) {
    if (child + 1 < size) child += full_at_[child + 1] < full_at_[child] ? 1 : 0;
    if (!(full_at_[child] < filling)) break;
    full_at_[at] = full_at_[child];
    at = child;
  }
  full_at_[at] = filling;
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
