#include "sim/plans/schedule/muon.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "sim/plans/schedule/units.hpp"

namespace allreplay {

std::vector<TensorId> muon_matrices(const Profile& profile) {
  std::vector<bool> in_block(profile.layers.size(), true);
  if (has_groups(profile)) {
    const auto set = [&](const auto& is) {
      for (LayerId layer = 0; layer < profile.layers.size(); ++layer) in_block[layer] = is(profile.layers[layer].group);
    };
    set([](const std::string& group) { return is_numbered(group); });
    if (std::find(in_block.begin(), in_block.end(), true) == in_block.end())
      set([](const std::string& group) { return !group.empty(); });
  }
  std::vector<TensorId> matrices;
  for (TensorId id = 0; id < profile.tensors.size(); ++id)
    if (profile.tensors[id].shape.size() == 2 && in_block[profile.tensors[id].layer] && !profile.is_frozen(id))
      matrices.push_back(id);
  return matrices;
}

std::optional<Complaint> unsuitable_spread(const MuonOptions& options, bool shards) {
  if (!options.spread) return std::nullopt;
  const bool replicated = *options.spread == MuonSpread::Replicated;
  if (shards && replicated)
    return Complaint{"muon=replicated needs whole gradients, but the strategy leaves shards of them",
                     "gathered, owned or all-to-all"};
  if (!shards && !replicated)
    return Complaint{"every worker has whole gradients, so that nothing is gathered",
                     "muon=replicated, or a strategy that shards the optimizer"};
  return std::nullopt;
}

double operations_of(const Tensor& matrix) { return newton_schulz_operations(matrix.shape, matrix.fused); }

namespace {

// Inserts works after the plan's update, and transfers before those that wait for it.
class Muon {
 public:
  Muon(Plan plan, const PlanRequest& request)
      : plan_(std::move(plan)), profile_(request.profile), options_(request.options.muon) {
    const std::vector<Work>& program = plan_.program();
    update_ = static_cast<std::size_t>(std::find(program.begin(), program.end(), Work{Activity::Update, everything}) -
                                       program.begin());
    for (const TensorId id : muon_matrices(profile_)) {
      matrices_.push_back({id, add_block({id})});
      plan_.memory_policy.single_moment += profile_.tensors[id].elements;
    }
    ranks_ = plan_.sharding.shards(request.workers);
    find_lane();
  }

  Plan make() {
    const bool shards = plan_.sharding.shards_optimizer();
    switch (options_.spread.value_or(shards ? MuonSpread::Gathered : MuonSpread::Replicated)) {
      case MuonSpread::Replicated:
        for (const Matrix& one : matrices_) compute(one.block);
        break;
      case MuonSpread::Gathered:
        gather();
        break;
      case MuonSpread::Owned:
        to_owners();
        break;
      case MuonSpread::AllToAll:
        exchange();
        break;
    }
    if (!last_.empty()) {
      works_.push_back({Activity::Mark, 0});
      for (const std::size_t sent : last_) gates_.push_back({own(sent), own_work(works_.size() - 1)});
    }
    insert();
    plan_.queueing.reset();  // the short form of a plan has no Newton-Schulz
    return std::move(plan_);
  }

 private:
  struct Matrix {
    TensorId tensor;
    std::uint32_t block;
  };

  std::uint32_t add_block(const std::vector<TensorId>& tensors) {
    Block block;
    for (const TensorId id : tensors) block.slices.push_back({id, 0, profile_.tensors[id].bytes});
    plan_.blocks.push_back(std::move(block));
    return static_cast<std::uint32_t>(plan_.blocks.size() - 1);
  }

  // Finds the lane of gathers, and the first transfer of it that waits for the update, or the end of the list.
  void find_lane() {
    const auto named = std::find_if(plan_.lanes.begin(), plan_.lanes.end(),
                                    [](const Lane& one) { return one.name.starts_with("gather"); });
    lane_ = static_cast<std::uint32_t>(named - plan_.lanes.begin());
    first_ = plan_.transfers.size();
    for (const Gate& gate : plan_.gates) {
      const WorkPoint* from = gate.work_before();
      const TransferPoint* sends = gate.transfer_after();
      if (from && sends && from->place == update_ && plan_.transfers[sends->index].lane == lane_)
        first_ = std::min<std::size_t>(first_, sends->index);
    }
  }

  // Ends of gates inside the inserted part, which insert() moves to their places.
  PlanPoint own(std::size_t sent) const { return transfer(first_ + sent); }
  PlanPoint own_work(std::size_t place) const { return work(update_ + 1 + place); }
  PlanPoint so_far() const { return works_.empty() ? work(update_) : own_work(works_.size() - 1); }

  std::size_t compute(std::uint32_t block) {
    works_.push_back({Activity::NewtonSchulz, block});
    return works_.size() - 1;
  }

  std::size_t send(CollectiveOp op, std::uint32_t block, std::uint32_t lane) {
    Transfer one{.op = op, .group = group_shard, .payload = {Payload::Kind::Matrices, block}, .lane = lane};
    one.bytes = static_cast<double>(plan_.blocks[block].bytes());
    if (op == CollectiveOp::AllToAll) one.bytes = one.bytes / static_cast<double>(ranks_);
    sent_.push_back(one);
    return sent_.size() - 1;
  }

  // Every rank computes every matrix. A gather starts with the previous matrix's Newton-Schulz, hence when the one
  // before that ends.
  void gather() {
    PlanPoint before = work(update_);
    for (const Matrix& one : matrices_) {
      const std::size_t arrived = send(CollectiveOp::AllGather, one.block, lane_);
      gates_.push_back({before, own(arrived)});
      before = so_far();
      gates_.push_back({own(arrived), own_work(compute(one.block))});
    }
  }

  // From the largest matrix on, each goes to the rank with the least work so far. A rank gathers, computes and scatters
  // one matrix after another.
  void to_owners() {
    std::vector<Matrix> order = matrices_;
    const auto operations = [&](const Matrix& one) { return operations_of(profile_.tensors[one.tensor]); };
    std::stable_sort(order.begin(), order.end(),
                     [&](const Matrix& a, const Matrix& b) { return operations(a) > operations(b); });
    const auto lanes = static_cast<std::uint32_t>(plan_.lanes.size());
    plan_.lanes.push_back({"matrices", Order::FirstReady, {}, Time(0)});
    const auto owners = std::min<std::size_t>(static_cast<std::size_t>(ranks_), order.size());
    std::vector<double> busy(owners, 0);
    last_.assign(owners, 0);
    std::vector<bool> owns(owners, false);
    for (std::size_t rank = 0; rank < owners; ++rank) {
      plan_.lanes.push_back({fmt::format("rank {}", rank), Order::AsListed, {}, Time(0)});
      plan_.lanes.back().stream = true;
    }
    for (const Matrix& one : order) {
      const auto rank = static_cast<std::size_t>(std::min_element(busy.begin(), busy.end()) - busy.begin());
      busy[rank] += operations(one);
      const std::size_t arrived = send(CollectiveOp::Gather, one.block, lanes),
                        computed = send(CollectiveOp::Send, one.block, lanes + 1 + static_cast<std::uint32_t>(rank)),
                        returned = send(CollectiveOp::Scatter, one.block, lanes);
      sent_[computed].computes = Activity::NewtonSchulz;
      gates_.push_back({owns[rank] ? own(last_[rank]) : work(update_), own(arrived)});
      gates_.push_back({own(arrived), own(computed)});
      gates_.push_back({own(computed), own(returned)});
      last_[rank] = returned;
      owns[rank] = true;
    }
  }

  // Sends as many matrices as ranks at a time, one to each rank, and their updates back.
  void exchange() {
    std::vector<std::uint32_t> rounds;
    for (std::size_t first = 0; first < matrices_.size(); first += static_cast<std::size_t>(ranks_)) {
      std::vector<TensorId> round;
      for (std::size_t i = first; i < std::min(matrices_.size(), first + static_cast<std::size_t>(ranks_)); ++i)
        round.push_back(matrices_[i].tensor);
      rounds.push_back(add_block(round));
    }
    std::vector<std::size_t> arrived;  // by round
    const auto bring = [&](const PlanPoint& after) {
      arrived.push_back(send(CollectiveOp::AllToAll, rounds[arrived.size()], lane_));
      gates_.push_back({after, own(arrived.back())});
    };
    bring(work(update_));
    for (std::size_t round = 0; round < rounds.size(); ++round) {
      const PlanPoint before = so_far();
      // The next round's matrices come as soon as this round's Newton-Schulz starts, or once its updates are back.
      const bool more = round + 1 < rounds.size();
      if (more && options_.overlap) {
        bring(before);
        gates_.push_back({own(arrived[round]), own(arrived.back())});
      }
      const std::size_t place = compute(rounds[round]);
      gates_.push_back({own(arrived[round]), own_work(place)});
      const std::size_t sent_back = send(CollectiveOp::AllToAll, rounds[round], lane_);
      gates_.push_back({own_work(place), own(sent_back)});
      last_.push_back(sent_back);
      if (more && !options_.overlap) bring(own(sent_back));
    }
  }

  void insert() {
    const auto works = static_cast<std::uint32_t>(works_.size());
    const std::size_t sent = sent_.size();
    const auto moved = [&](PlanPoint& point, bool waits_for_update) {
      if (auto* one = std::get_if<WorkPoint>(&point)) {
        if (one->place > update_ || (one->place == update_ && waits_for_update)) one->place += works;
      } else if (auto* other = std::get_if<TransferPoint>(&point)) {
        if (other->index >= first_) other->index += static_cast<std::uint32_t>(sent);
      }
    };
    for (Gate& gate : plan_.gates) {  // parameters are gathered after the last work
      moved(gate.before, true);
      moved(gate.after, false);
    }
    for (Transfer& one : plan_.transfers)
      if (one.ticks_from && one.ticks_from->place > update_) one.ticks_from->place += works;
    std::vector<Work>& program = plan_.program();
    program.insert(program.begin() + static_cast<std::ptrdiff_t>(update_) + 1, works_.begin(), works_.end());
    plan_.transfers.insert(plan_.transfers.begin() + static_cast<std::ptrdiff_t>(first_), sent_.begin(), sent_.end());
    plan_.gates.insert(plan_.gates.end(), gates_.begin(), gates_.end());
  }

  Plan plan_;
  const Profile& profile_;
  const MuonOptions& options_;
  std::size_t update_ = 0, first_ = 0;  // place of the update; index of the first transfer after it
  std::uint32_t lane_ = 0;
  std::int64_t ranks_ = 1;
  std::vector<Matrix> matrices_;
  std::vector<Work> works_;
  std::vector<Transfer> sent_;
  std::vector<Gate> gates_;
  std::vector<std::size_t> last_;  // transfers that end the update
};

}  // namespace

std::optional<Complaint> muon_uncovered(const Plan& plan, const Profile& profile, const TransferBounds& bounds) {
  if (!plan.sharding.shards_optimizer()) return std::nullopt;
  const std::vector<Work>& program = plan.program();
  const ProgramIndex places(program);
  const std::size_t update = places(Activity::Update, everything, 0);
  std::map<std::uint32_t, std::uint32_t> step;  // by block: the computation in a lane
  for (std::uint32_t index = 0; index < plan.transfers.size(); ++index)
    if (plan.transfers[index].computes == Activity::NewtonSchulz) step[plan.transfers[index].payload.block] = index;
  std::map<std::uint32_t, std::vector<std::uint32_t>> before, after;  // by block: what its step waits for; that waits
  for (const Gate& gate : plan.gates) {
    const auto *sent = gate.transfer_before(), *sends = gate.transfer_after();
    if (const auto* place = gate.work_after(); sent && place && program[place->place].kind == Activity::NewtonSchulz)
      before[program[place->place].item].push_back(sent->index);
    if (const auto* place = gate.work_before(); sends && place && program[place->place].kind == Activity::NewtonSchulz)
      after[program[place->place].item].push_back(sends->index);
    if (sent && sends && plan.transfers[sends->index].computes == Activity::NewtonSchulz)
      before[plan.transfers[sends->index].payload.block].push_back(sent->index);
    if (sent && sends && plan.transfers[sent->index].computes == Activity::NewtonSchulz)
      after[plan.transfers[sent->index].payload.block].push_back(sends->index);
  }
  const auto carries = [&](std::uint32_t index, std::uint32_t block) {
    const Transfer& one = plan.transfers[index];
    return one.travels() && one.payload.kind == Payload::Kind::Matrices && one.payload.block == block;
  };
  const auto check = [&](std::uint32_t block) -> std::optional<Complaint> {
    const auto brings = std::find_if(before[block].begin(), before[block].end(),
                                     [&](std::uint32_t index) { return carries(index, block); });
    if (brings == before[block].end())
      return Complaint{
          fmt::format("the Newton-Schulz of {} does not wait for its matrices", describe(plan, block, profile)),
          "a gather of them before it"};
    if (bounds.earliest[*brings] <= update)
      return Complaint{
          fmt::format("{} may start before the update has ended", describe_transfer(plan, *brings, profile)),
          "after the update"};
    if (plan.transfers[*brings].op == CollectiveOp::AllGather) return std::nullopt;  // every rank has the result
    const auto returns = std::find_if(after[block].begin(), after[block].end(),
                                      [&](std::uint32_t index) { return carries(index, block); });
    if (returns == after[block].end() || bounds.latest[*returns] >= program.size())
      return Complaint{fmt::format("the update of {} does not return to all ranks", describe(plan, block, profile)),
                       "a transfer back, and a work that waits for it"};
    return std::nullopt;
  };
  for (const Work& work : program)
    if (work.kind == Activity::NewtonSchulz)
      if (auto wrong = check(work.item)) return wrong;
  for (const auto& [block, index] : step)
    if (auto wrong = check(block)) return wrong;
  return std::nullopt;
}

Plan with_muon(Plan plan, const PlanRequest& request) { return Muon(std::move(plan), request).make(); }

}  // namespace allreplay
