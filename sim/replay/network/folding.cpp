#include "sim/replay/network/folding.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <unordered_map>

namespace allreplay {

namespace {

using Colour = std::uint64_t;

constexpr int most_refinements = 24;
constexpr std::size_t worth_folding = 4;  // the least mean size of a class

// SplitMix64
Colour mix(Colour value) {
  value += 0x9E3779B97F4A7C15;
  value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9;
  value = (value ^ value >> 27) * 0x94D049BB133111EB;
  return value ^ value >> 31;
}
Colour mix(Colour one, Colour other) { return mix(mix(one) ^ other); }
Colour bits(double value) { return std::bit_cast<Colour>(value); }

// Refines the colours of the slots of all collectives, and of the links that they share.
class Folding {
 public:
  Folding(std::span<const std::shared_ptr<const RoutedRounds>> collectives, std::span<const Link> links)
      : collectives_(collectives), links_(links) {
    for (const Link& link : links) link_.push_back(mix(bits(link.bandwidth)));
    items_ = links.size();
    for (std::size_t call = 0; call < collectives.size(); ++call) {
      slots_.emplace_back(collectives[call]->slots, mix(call));
      items_ += collectives[call]->slots;
    }
  }

  bool refine() {
    std::size_t before = 0;
    for (int times = 0; times < most_refinements; ++times) {
      const std::size_t classes = refine_once();
      if (classes == before) return true;
      if (classes * worth_folding > items_) return false;  // the number of classes never decreases
      before = classes;
    }
    return false;
  }

  FoldedRounds folded() const;

 private:
  Colour colour(std::size_t call, std::size_t round, std::uint32_t from, const RoutedMessage& message) const {
    Colour route = 0;  // does not depend on the order of links
    for (const LinkId link : collectives_[call]->route(message)) route += mix(link_[link]);
    Colour result = mix(mix(call, round), mix(bits(message.share), message.reduce ? 1 : 0));
    result = mix(result, mix(bits(message.start_up), message.between ? 1 : 0));
    return mix(mix(result, slots_[call][from]), mix(slots_[call][message.into], route));
  }

  template <class Visit>
  void for_each_message(std::size_t call, const Visit& visit) const {
    const RoutedRounds& rounds = *collectives_[call];
    for (std::size_t round = 0; round < rounds.rounds.size(); ++round)
      for (std::uint32_t slot = 0; slot < rounds.slots; ++slot)
        for (std::uint32_t i = rounds.rounds[round].first[slot]; i < rounds.rounds[round].first[slot + 1]; ++i)
          visit(round, slot, rounds.rounds[round].messages[i]);
  }

  std::size_t refine_once() {
    std::vector<Colour> on_link(link_.size(), 0), all;
    for (std::size_t call = 0; call < collectives_.size(); ++call) {
      std::vector<Colour> at_slot(slots_[call].size(), 0);
      for_each_message(call, [&](std::size_t round, std::uint32_t slot, const RoutedMessage& message) {
        const Colour one = colour(call, round, slot, message);
        at_slot[slot] += mix(one, 1);
        at_slot[message.into] += mix(one, 2);
        for (const LinkId link : collectives_[call]->route(message)) on_link[link] += mix(one, 3);
      });
      next_.resize(collectives_.size());
      next_[call] = std::move(at_slot);
    }
    for (std::size_t call = 0; call < collectives_.size(); ++call)
      for (std::size_t slot = 0; slot < slots_[call].size(); ++slot)
        all.push_back(slots_[call][slot] = mix(slots_[call][slot], next_[call][slot]));
    for (LinkId link = 0; link < link_.size(); ++link) all.push_back(link_[link] = mix(link_[link], on_link[link]));
    std::sort(all.begin(), all.end());
    return static_cast<std::size_t>(std::unique(all.begin(), all.end()) - all.begin());
  }

  std::span<const std::shared_ptr<const RoutedRounds>> collectives_;
  std::span<const Link> links_;
  std::size_t items_ = 0;  // slots and links
  std::vector<Colour> link_;
  std::vector<std::vector<Colour>> slots_, next_;  // by call
};

// Numbers the colours by first occurrence. `of`: by item, its class. `first`: by class, its first item.
struct Classes {
  explicit Classes(const std::vector<Colour>& colours) {
    std::unordered_map<Colour, std::uint32_t> numbers;
    for (std::uint32_t item = 0; item < colours.size(); ++item) {
      const auto [known, fresh] = numbers.emplace(colours[item], static_cast<std::uint32_t>(first.size()));
      if (fresh) first.push_back(item);
      of.push_back(known->second);
    }
  }
  std::vector<std::uint32_t> of, first;
};

FoldedRounds Folding::folded() const {
  FoldedRounds result;
  const Classes links(link_);
  for (const std::uint32_t link : links.first) result.links.push_back(links_[link]);
  for (std::size_t call = 0; call < collectives_.size(); ++call) {
    const RoutedRounds& rounds = *collectives_[call];
    const Classes slots(slots_[call]);
    // By colour of messages: their number, and their number on a link of each class.
    std::unordered_map<Colour, std::int64_t> copies;
    std::unordered_map<Colour, std::map<LinkId, std::uint32_t>> on_links;
    for_each_message(call, [&](std::size_t round, std::uint32_t slot, const RoutedMessage& message) {
      const Colour one = colour(call, round, slot, message);
      ++copies[one];
      for (const LinkId link : rounds.route(message))
        if (links.first[links.of[link]] == link) ++on_links[one][links.of[link]];
    });
    RoutedRounds folded = rounds.without_messages(static_cast<std::uint32_t>(slots.first.size()));
    for (std::size_t round = 0; round < rounds.rounds.size(); ++round) {
      const RoutedRound& from = rounds.rounds[round];
      RoutedRound laid{.repeat = from.repeat, .receives = std::vector(slots.first.size(), 0U)};
      laid.first.push_back(0);
      for (const std::uint32_t slot : slots.first) {
        std::vector<Colour> known;
        for (std::uint32_t i = from.first[slot]; i < from.first[slot + 1]; ++i) {
          RoutedMessage message = from.messages[i];
          const Colour one = colour(call, round, slot, message);
          if (std::find(known.begin(), known.end(), one) != known.end()) continue;
          known.push_back(one);
          message.into = slots.of[message.into];
          message.copies = copies[one];
          message.route = static_cast<std::uint32_t>(folded.links.size());
          for (const auto& [link, count] : on_links[one]) {
            folded.links.push_back(link);
            folded.crowds.push_back(count);
          }
          message.hops = static_cast<std::uint32_t>(folded.links.size() - message.route);
          laid.messages.push_back(message);
          ++laid.receives[message.into];
        }
        laid.first.push_back(static_cast<std::uint32_t>(laid.messages.size()));
      }
      folded.deliveries += laid.repeat * static_cast<std::int64_t>(laid.messages.size());
      folded.rounds.push_back(std::move(laid));
    }
    result.collectives.push_back(std::make_shared<RoutedRounds>(std::move(folded)));
  }
  return result;
}

}  // namespace

std::optional<FoldedRounds> fold(std::span<const std::shared_ptr<const RoutedRounds>> collectives,
                                 std::span<const Link> links) {
  std::size_t slots = 0, classes = 0;
  for (const auto& one : collectives) {
    if (one->channels > 0 || one->in_parts()) return std::nullopt;
    slots += one->slots;
  }
  Folding folding(collectives, links);
  if (!folding.refine()) return std::nullopt;
  FoldedRounds folded = folding.folded();
  for (const auto& one : folded.collectives) classes += one->slots;
  if (classes * worth_folding > slots) return std::nullopt;
  return folded;
}

}  // namespace allreplay
