#include "sim/plans/collective/nccl.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "sim/plans/collective/two_level.hpp"

namespace allreplay {

namespace {

// The constants of NCCL 2.30's src/graph/tuning.cc, by protocol (LL, LL128, Simple) and by GPU (Volta, Ampere, Hopper,
// Blackwell). Times in us, bandwidths in GB/s.
enum Protocol : int { LL, LL128, Simple };  // in the order of NcclProtocol
constexpr std::array<std::string_view, 3> protocol_names = {"LL", "LL128", "Simple"};
using ByProtocol = std::array<double, 3>;
using ByGpu = std::array<double, 4>;

constexpr ByProtocol base_ring = {6.6, 14, 8.4}, base_tree = {6.8, 14, 8.4};
constexpr ByProtocol nvlink_ring = {0.6, 1.9, 3.4}, nvlink_tree = {0.6, 1.25, 4};
constexpr ByProtocol pcie_ring = {1, 2.5, 5.7}, pcie_tree = {1, 1.9, 4};
constexpr ByProtocol net_ring = {2.7, 4, 14}, net_tree = {5, 8.5, 14};
constexpr double nic_overhead_intel = 1, nic_overhead_amd = 2, nvls_latency = 25;
constexpr double unlimited = std::numeric_limits<double>::infinity();
// pat_net divides the network's latency; pat_bus is a fraction of the bus.
constexpr double pat_base = 8, pat_rank = 2.8, pat_net = 3.5, pat_bus = 0.75;

// For one node, for two, for more.
using ByNodes = std::array<ByGpu, 3>;
constexpr ByGpu ll_most_in_node = {39, 87.7, 141, 282};
constexpr std::array<double, 2> ll_most_intel = {39, 20.4}, ll_most_amd = {22.5, 19};  // two nodes, more
constexpr ByGpu ring_ll128 = {20, 20, 36.7, 40};
constexpr ByNodes tree_ll128 = {{{20, 20, 36.7, 55.6}, {20, 20, 36.7, 31.67}, {20, 20, 29, 20}}};
constexpr ByNodes tree_channel = {{{26.5, 24, 38.7, 70}, {18.5, 23.6, 41.4, 42.8}, {10, 17.8, 36, 24}}};
constexpr std::array<double, 5> nvls_speeds = {60, 50, 40, 30, 24};
constexpr ByGpu nvls_efficiency = {0, 0, 0.85, 0.74};
// Limits all channels together: a GPU's links carry each byte once up and once down, however few GPUs take part.
constexpr double nvls_most_hopper = 320;

// The fraction of its bandwidth that a tree reaches, by protocol and floor(log2(bytes / 64)).
constexpr std::array<std::array<double, 23>, 3> tree_correction = {{
    {1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1},
    {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1},
    {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9},
}};

double correction(int protocol, double bytes) {
  const auto& factors = tree_correction[static_cast<std::size_t>(protocol)];
  const double index = std::floor(std::log2(bytes / 64));
  return index >= 0 && index < static_cast<double>(factors.size()) ? factors[static_cast<std::size_t>(index)] : 1;
}

double at(const ByProtocol& values, int protocol) { return values[static_cast<std::size_t>(protocol)]; }
double at(const ByGpu& values, NcclSetup::Gpu gpu) { return values[static_cast<std::size_t>(gpu)]; }

double at(const ByNodes& values, double nodes, NcclSetup::Gpu gpu) {
  return at(values[nodes <= 1 ? 0 : nodes <= 2 ? 1 : 2], gpu);
}

double most_of_ll(const NcclSetup& setup, double nodes) {
  if (nodes <= 1) return at(ll_most_in_node, setup.gpu);
  return (setup.amd ? ll_most_amd : ll_most_intel)[nodes <= 2 ? 0 : 1];
}

constexpr CollectiveOptions usual{};

InNodes nodes_of_ranks(std::int64_t workers, const CollectiveOptions& options) {
  return options.in_nodes.empty() ? InNodes(static_cast<std::size_t>(workers), 1) : options.in_nodes;
}

Rounds chain_messages_of_nccl(std::int64_t workers, const CollectiveOptions& options, CollectiveOp,
                              const SourceLocation&) {
  return broadcast_chain_rounds(nodes_of_ranks(workers, options), static_cast<std::uint32_t>(options.rails),
                                usual.chunks);
}

Rounds tree_messages(std::int64_t workers, const CollectiveOptions& options, CollectiveOp op, const SourceLocation&) {
  return node_tree_rounds(nodes_of_ranks(workers, options), static_cast<std::uint32_t>(options.rails), usual.chunks, op,
                          Edges::Shared);
}

// NVLS: the bytes pass the node's switch, and no link of the topology.
Rounds switch_messages(std::int64_t workers, const CollectiveOptions&, CollectiveOp, const SourceLocation&) {
  return {.ranks = static_cast<Rank>(workers), .rounds = {{.sends = [](auto&&...) {}}}};
}

}  // namespace

Network nccl_levels(const Network& network) {
  Network levels = network;
  if (!network.node) {
    const TopologySpec& hosts = *network.topology;
    const double inside = hosts.gpus_per_host > 1 ? 1 / hosts.inner.bandwidth : 0;
    levels.node = NodeLevel{hosts.gpus_per_host, 0.0, inside, hosts.ports_of_host(), hosts.place};
    levels.beta = 1 / hosts.link.bandwidth;
  }
  levels.topology.reset();
  return levels;
}

NcclHops longest_hops(const NcclSetup& setup) {
  const auto& ring = setup.pcie ? pcie_ring : nvlink_ring;
  const auto& tree = setup.pcie ? pcie_tree : nvlink_tree;
  return {setup.node.latency * std::max(at(ring, Simple), at(tree, Simple)) * 1e-6,
          setup.network.latency * std::max(at(net_ring, Simple), at(net_tree, Simple)) * 1e-6};
}

namespace {

// The start-up of a small send, in LL: its base, and the part of the hop's latency that the links do not already have.
double send_start_up(const NcclSetup& setup, double hop, double latency_of_links) {
  return setup.node.latency * at(base_ring, LL) * 1e-6 + std::max(0.0, hop * 1e-6 - latency_of_links);
}

}  // namespace

double start_up_between(const Network& network) {
  const double alpha = network.alpha.value_or(0);
  if (alpha > 0 || !network.nccl) return alpha;
  const TopologySpec* const hosts = network.topology ? &*network.topology : nullptr;
  const std::int64_t gpus = network.node ? network.node->workers : hosts ? hosts->gpus_per_host : 1;
  const double links = hosts ? 2 * hosts->link.latency + (hosts->gpus_per_host > 1 ? 2 * hosts->inner.latency : 0) : 0;
  return send_start_up(*network.nccl, network.nccl->network.latency * at(gpus == 1 ? net_tree : net_ring, LL), links);
}

double start_up_inside(const Network& network, double otherwise) {
  const double alpha = network.node ? network.node->alpha.value_or(otherwise) : network.alpha.value_or(0);
  if (alpha > 0 || !network.nccl) return alpha;
  const TopologySpec* const hosts = network.topology ? &*network.topology : nullptr;
  const double links = hosts && hosts->gpus_per_host > 1 ? 2 * hosts->inner.latency : 0;
  const double hop = network.nccl->node.latency * at(network.nccl->pcie ? pcie_ring : nvlink_ring, LL);
  return send_start_up(*network.nccl, hop, links);
}

void require_nccl(const Network& network, std::string_view algorithm) {
  if (network.nccl) return;
  const bool laid_out = network.node || network.topology;
  throw InputError(network.place, fmt::format("does not describe the hardware of {}", algorithm),
                   laid_out ? R"(such as "nccl": {"gpu": "h100"}; see docs/models.md)"
                            : "\"nccl\", and \"node\" or \"topology\"; see docs/models.md");
}

bool is_nccl(const Call& call) {
  return call.algorithm && !call.algorithm->coefficients && !call.algorithm->from_file &&
         call.op != CollectiveOp::Send && call.op != CollectiveOp::AllToAll;
}

const Algorithm& nccl_algorithm(std::string_view chosen, CollectiveOp op) {
  static const Algorithm tree{.name = "tree", .rounds = tree_messages, .halves = Halves::None};
  static const Algorithm chain{
      .name = "chain", .operation = CollectiveOp::Broadcast, .rounds = chain_messages_of_nccl, .halves = Halves::None};
  static const Algorithm nvls{.name = "nvls", .rounds = switch_messages};
  if (chosen == tree.name) return tree;
  if (chosen == nvls.name) return nvls;
  return op == CollectiveOp::Broadcast ? chain : find_algorithm(chosen, {});
}

NcclPrice nccl_price(const Network& levels, const Call& call, std::int64_t workers) {
  const NodeLevel& node = *levels.node;
  return NcclPrice(levels, layout_of(call.group.of(workers), node.workers, node.place), call.op);
}

NcclPrice::NcclPrice(const Network& network, const NodeLayout& layout, CollectiveOp op)
    : setup_(*network.nccl), op_(op), workers_(static_cast<double>(layout.workers)) {
  // Groups that share a node share its ports.
  const double rails = static_cast<double>(network.node->rails) / static_cast<double>(layout.sharing);
  const double inside = 1e-9 / *network.node->beta, outside = 1e-9 * rails / *network.beta;
  nodes_ = static_cast<double>(layout.nodes);
  per_node_ = workers_ / nodes_;
  one_gpu_ = layout.per_node == 1;
  channels_ = setup_.channels ? static_cast<double>(*setup_.channels) : nodes_ > 1 ? rails : 12;
  node_bandwidth_ = inside;
  bus_ = nodes_ > 1 ? std::min(inside, outside) : inside;
  const double scaled = setup_.node.bandwidth * inside;
  links_ = {scaled, setup_.network.bandwidth * outside};
  scale_ = (nodes_ > 1 ? std::min(scaled, setup_.network.bandwidth * outside) : scaled) / bus_;
  alpha_ = network.alpha.value_or(0) * 1e6;
}

// Down the ring: one hop inside a node; with several nodes, one network hop per rank, without NIC overhead and alpha.
NcclChoice NcclPrice::broadcast(int protocol, double bytes) const {
  const double base = setup_.node.latency * at(base_ring, protocol);
  const double inside = setup_.node.latency * at(setup_.pcie ? pcie_ring : nvlink_ring, protocol);
  const double net = setup_.network.latency * at(protocol == Simple ? net_tree : net_ring, protocol);
  const double waits = rendezvous(bytes, 1);
  const bool several = nodes_ > 1;
  const double latency = several ? base + workers_ * net + (nodes_ - 1) * waits : base + inside;
  return {"ring",
          protocol_names[static_cast<std::size_t>(protocol)],
          latency * 1e-6,
          scale_ * ring_bus(protocol) * 1e9,
          on_links([&](double links) { return links * ring_fraction(protocol); }),
          base * 1e-6,
          (several ? net : inside) * 1e-6,
          (net + waits) * 1e-6};
}

double NcclPrice::ring_bus(int protocol) const {
  if (protocol == LL) return ll_factor() * std::min(most_of_ll(setup_, nodes_), bus_ / 2);
  return protocol == LL128 ? std::min(0.92 * bus_, channels_ * at(ring_ll128, setup_.gpu)) : bus_;
}

double NcclPrice::ring_fraction(int protocol) const {
  return protocol == LL ? ll_factor() / 2 : protocol == LL128 ? 0.92 : 1;
}

template <class BandwidthOf>
std::array<double, 2> NcclPrice::on_links(BandwidthOf of) const {
  return {of(links_[0]) * 1e9, of(links_[1]) * 1e9};
}

// Steps inside a node and between nodes; the latter have the network's latency and alpha (twice in Simple).
NcclChoice NcclPrice::ring(int protocol, double bytes) const {
  const double rounds = op_ == CollectiveOp::AllReduce ? 2 : 1;
  const double steps = rounds * (workers_ - 1), outside = nodes_ > 1 ? rounds * (nodes_ - 1) : 0;
  double inside = at(setup_.pcie ? pcie_ring : nvlink_ring, protocol);
  if (nodes_ > 1)
    inside = std::max(inside, (setup_.amd ? nic_overhead_amd : nic_overhead_intel) * (protocol == Simple ? 3 : 1));
  const double net = at(one_gpu_ ? net_tree : net_ring, protocol) + alpha_ * (protocol == Simple ? 2 : 1);
  double latency = setup_.node.latency * (at(base_ring, protocol) + (steps - outside) * inside) +
                   setup_.network.latency * outside * net;
  double longer = 1e-6;
  if (protocol == Simple && op_ == CollectiveOp::AllReduce && nodes_ > 1 && bytes / (2 * channels_ * workers_) >= 64) {
    latency *= setup_.gpu == NcclSetup::Gpu::Volta ? 1.9 : 1.4;
    longer *= setup_.gpu == NcclSetup::Gpu::Volta ? 1.9 : 1.4;
  }
  latency += rendezvous(bytes, outside);
  return {"ring",
          protocol_names[static_cast<std::size_t>(protocol)],
          latency * 1e-6,
          scale_ * ring_bus(protocol) * (workers_ / steps) * 1e9,
          on_links([&](double links) { return links * ring_fraction(protocol) * (workers_ / steps); }),
          setup_.node.latency * at(base_ring, protocol) * longer,
          setup_.node.latency * inside * longer,
          setup_.network.latency * net * longer + rendezvous(bytes, 1) * 1e-6};
}

NcclChoice NcclPrice::tree(int protocol, double bytes) const {
  const double inside = at(setup_.pcie ? pcie_tree : nvlink_tree, protocol);
  const double net = at(net_tree, protocol) + alpha_ * (protocol == Simple ? 2 : 1);
  const double hops = 2 * std::log2(nodes_);
  const double latency = setup_.node.latency * (at(base_tree, protocol) + 2 * (per_node_ - 1) * inside) +
                         setup_.network.latency * hops * net + rendezvous(bytes, hops);
  double bus = std::min(0.92 * bus_, channels_ * at(tree_channel, nodes_, setup_.gpu));
  if (protocol == LL) bus = std::min(bus / 3.8, most_of_ll(setup_, nodes_));
  if (protocol == LL128)
    bus = std::min(bus * (nodes_ > 1 ? 120.0 / 128 : 7.0 / 9), channels_ * at(tree_ll128, nodes_, setup_.gpu));
  return {"tree",
          protocol_names[static_cast<std::size_t>(protocol)],
          latency * 1e-6,
          tree_bandwidth(protocol, scale_, bus, links_[0], bytes) * 1e9,
          {tree_bandwidth(protocol, 1, links_[0] * tree_fraction(protocol), links_[0], bytes) * 1e9,
           tree_bandwidth(protocol, 1, links_[1] * tree_fraction(protocol), unlimited, bytes) * 1e9},
          setup_.node.latency * at(base_tree, protocol) * 1e-6,
          setup_.node.latency * inside * 1e-6,
          (setup_.network.latency * net + rendezvous(bytes, 1)) * 1e-6};
}

double NcclPrice::tree_fraction(int protocol) const {
  if (protocol == Simple) return 0.92;
  return protocol == LL ? 0.92 / 3.8 : 0.92 * (nodes_ > 1 ? 120.0 / 128 : 7.0 / 9);
}

double NcclPrice::tree_bandwidth(int protocol, double scale, double bus, double inside, double bytes) const {
  if (one_gpu_) bus *= 0.85;
  double reached = scale * bus * correction(protocol, bytes);
  // Each of two nodes holds the root of one of the two trees, which send half of the bytes of a ring.
  if (nodes_ == 2 && setup_.two_node_tree)
    reached = std::min(reached, inside / 2);
  else
    reached /= 2;
  if (protocol == LL) reached *= ll_factor();
  if (protocol != LL && nodes_ > 2) reached *= setup_.network.tree;
  return reached;
}

double NcclPrice::ll_factor() const { return nodes_ > 1 ? setup_.network.ll : 1; }

double NcclPrice::rendezvous(double bytes, double hops) const {
  const auto& known = setup_.rendezvous;
  return known && nodes_ > 1 && bytes > static_cast<double>(known->from) ? hops * known->time * 1e6 : 0;
}

double NcclPrice::nvls_speed() const {
  if (nodes_ > 1 || !setup_.nvls || at(nvls_efficiency, setup_.gpu) == 0) return 0;
  const auto* const speed = std::find_if(nvls_speeds.begin(), nvls_speeds.end(),
                                         [&](double one) { return one * workers_ <= node_bandwidth_ * (1 + 1e-12); });
  return speed == nvls_speeds.end() ? 0 : *speed;
}

// The switch reduces; there is one channel per GPU.
NcclChoice NcclPrice::nvls() const {
  const double most = setup_.gpu == NcclSetup::Gpu::Hopper ? nvls_most_hopper : std::numeric_limits<double>::infinity();
  double bus = std::min(workers_ * nvls_speed(), most) * at(nvls_efficiency, setup_.gpu) * (workers_ - 1) / workers_;
  if (op_ == CollectiveOp::AllReduce) bus *= 2;
  const double steps = (op_ == CollectiveOp::AllReduce ? 2 : 1) * (workers_ - 1);
  const double latency = setup_.node.latency * nvls_latency * 1e-6;
  const double bandwidth = scale_ * bus * workers_ / steps * 1e9;
  return {"nvls", "Simple", latency, bandwidth, {bandwidth, bandwidth}, latency};
}

// In Simple, on nodes of one GPU: a base that grows with the ranks, and log N messages with less latency than a ring's.
NcclChoice NcclPrice::pat(double bytes) const {
  const double base = setup_.node.latency * (pat_base + pat_rank * workers_);
  const double hops = std::floor(std::log2(nodes_));
  const double net = setup_.network.latency * (at(net_tree, Simple) + 2 * alpha_) / pat_net;
  return {"pat",
          protocol_names[Simple],
          (base + hops * net + rendezvous(bytes, hops)) * 1e-6,
          scale_ * pat_bus * bus_ * 1e9,
          on_links([](double links) { return links * pat_bus; }),
          base * 1e-6,
          0,
          (net + rendezvous(bytes, 1)) * 1e-6};
}

template <class Visit>
void NcclPrice::for_each_choice(double bytes, Visit visit) const {
  const bool ll128 = !setup_.pcie && (nodes_ <= 1 || setup_.ll128);
  const auto may_choose = [&](int protocol) { return !setup_.only || static_cast<int>(*setup_.only) == protocol; };
  for (const int protocol : {LL, LL128, Simple}) {
    if ((protocol == LL128 && !ll128) || !may_choose(protocol)) continue;
    visit(op_ == CollectiveOp::Broadcast ? broadcast(protocol, bytes) : ring(protocol, bytes));
    if (op_ == CollectiveOp::AllReduce) visit(tree(protocol, bytes));
  }
  if (!may_choose(Simple)) return;
  if (nvls_speed() > 0 && op_ != CollectiveOp::Broadcast) visit(nvls());
  const bool half = op_ == CollectiveOp::ReduceScatter || op_ == CollectiveOp::AllGather;
  if (setup_.pat && one_gpu_ && nodes_ > 1 && half) visit(pat(bytes));
}

std::vector<NcclChoice> NcclPrice::choices(double bytes) const {
  std::vector<NcclChoice> result;
  for_each_choice(bytes, [&](const NcclChoice& one) { result.push_back(one); });
  return result;
}

std::vector<std::string_view> NcclPrice::algorithms() const {
  std::vector<std::string_view> names;
  for (const NcclChoice& one : choices(1))
    if (std::find(names.begin(), names.end(), one.algorithm) == names.end()) names.push_back(one.algorithm);
  return names;
}

NcclChoice NcclPrice::choice(double bytes) const {
  NcclChoice best;
  double least = std::numeric_limits<double>::infinity();
  for_each_choice(bytes, [&](const NcclChoice& one) {
    const double time = one.start_up + bytes / one.bandwidth;
    if (time >= least) return;
    least = time;
    best = one;
  });
  return best;
}

SizePrice::Cost NcclPrice::of(double bytes) const {
  const NcclChoice best = choice(bytes);
  return {best.start_up + bytes / best.bandwidth, best.start_up};
}

// The least start-up and the largest bandwidth of any choice. Those for one byte have no correction of a tree's
// bandwidth, and no factor on a ring's start-up.
double NcclPrice::least(double bytes) const {
  double start_up = std::numeric_limits<double>::infinity(), bandwidth = 0;
  for_each_choice(1, [&](const NcclChoice& one) {
    start_up = std::min(start_up, one.start_up);
    bandwidth = std::max(bandwidth, one.bandwidth);
  });
  return start_up + bytes / bandwidth;
}

}  // namespace allreplay
