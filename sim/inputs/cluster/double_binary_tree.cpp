#include <algorithm>

#include <fmt/format.h>

#include "sim/inputs/cluster/shapes.hpp"

namespace allreplay {

namespace {

NodeId parent(NodeId place) { return (place - 1) / 2; }

// The number of edges between two places of a heap-ordered tree. The larger number is never the higher one; it moves.
int distance(NodeId a, NodeId b) {
  int edges = 0;
  for (; a != b; ++edges) (a > b ? a : b) = parent(std::max(a, b));
  return edges;
}

class DoubleBinaryTree final : public Topology {
 public:
  DoubleBinaryTree(std::int64_t hosts, const LinkSpec& link) {
    hosts_ = hosts;
    // The link of place p > 0 to its parent has id 2(p − 1) up and 2(p − 1) + 1 down in tree 1; then tree 2.
    for (const bool mirrored : {false, true}) {
      for (NodeId place = 1; place < hosts; ++place) {
        const NodeId low = rank(place, mirrored), high = rank(parent(place), mirrored);
        add_link(low, high, link);
      }
    }
  }

  void route(NodeId from, NodeId to, std::vector<LinkId>& path) const override {
    const bool mirrored = distance(rank(from, true), rank(to, true)) < distance(from, to);
    const LinkId first = mirrored ? static_cast<LinkId>(2 * (hosts_ - 1)) : 0;
    NodeId a = rank(from, mirrored), b = rank(to, mirrored);
    std::size_t turn = path.size();  // the way down begins here; its links are inserted here, found from the bottom up
    while (a != b) {
      if (a > b) {
        path.insert(path.begin() + static_cast<std::ptrdiff_t>(turn++), first + 2 * (a - 1));
        a = parent(a);
      } else {
        path.insert(path.begin() + static_cast<std::ptrdiff_t>(turn), first + 2 * (b - 1) + 1);
        b = parent(b);
      }
    }
  }

  std::string name(NodeId node) const override { return fmt::format("h{}", node); }

 private:
  // The mirror is its own inverse: from rank to place and back.
  NodeId rank(NodeId place, bool mirrored) const { return mirrored ? static_cast<NodeId>(hosts_) - 1 - place : place; }
};

}  // namespace

std::unique_ptr<Topology> make_double_binary_tree(std::int64_t hosts, const LinkSpec& link) {
  return std::make_unique<DoubleBinaryTree>(hosts, link);
}

}  // namespace allreplay
