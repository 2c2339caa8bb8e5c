#include "sim/replay/training/job.hpp"
#include "sim/replay/training/memory.hpp"
#include "sim/replay/training/memory_ledger.hpp"

namespace allreplay {

namespace {

class RankAccountant {
 public:
  RankAccountant(const Job& job, const Plan& plan, const Unrolled& unrolled, const Timeline& iteration,
                 std::uint32_t rank)
      : job_(job),
        profile_(job.parallel->profile),
        plan_(plan),
        unrolled_(unrolled),
        spans_(iteration.spans),
        rank_(rank),
        program_(plan.roles[rank].program),
        places_(program_) {}

  MemoryUse use() {
    MemoryUse use;
    use.parts = standing();
    if (profile_.has_activations()) use.parts.activations = 0;
    const double always = use.parts.parameters + use.parts.gradients + use.parts.optimizer;
    Ledger ledger;
    hold_gathered(ledger);
    hold_reductions(ledger);
    hold_activations(ledger);
    hold_step(ledger);
    ledger.settle(always, use);
    return use;
  }

 private:
  bool is_own(TensorId tensor) const {
    return job_.parallel->pipeline->rank_of(profile_.tensors[tensor].layer) == rank_;
  }

  MemoryParts standing() const {
    const auto holds = [this](TensorId tensor) { return is_own(tensor); };
    return standing_memory(job_.scenario, plan_, held_parameters(plan_, profile_, holds), 0,
                           static_cast<double>(job_.parallel->degrees.gradient_workers()));
  }

  const Span& span(std::size_t place) const { return spans_[unrolled_.work(rank_, place)]; }

  template <class Hold>
  void each_transfer(CollectiveOp op, Hold hold) const {
    for (std::uint32_t index = 0; index < plan_.transfers.size(); ++index)
      if (const Transfer& one = plan_.transfers[index];
          one.op == op && one.payload.block != Payload::just_bytes && plan_.rank_of(one) == rank_)
        hold(one, spans_[unrolled_.transfer(index)]);
  }

  void hold_gathered(Ledger& ledger) const {
    if (!plan_.sharding.shards_parameters()) return;
    each_transfer(CollectiveOp::AllGather, [&](const Transfer& one, const Span& gathered) {
      const TaskId last = unrolled_.end_of(unrolled_.work(rank_, one.held_until->place));
      ledger.hold(Ledger::Gathered, gathered.start, spans_[last].end,
                  static_cast<double>(plan_.block_of(one).bytes()) * profile_.parameter_share());
    });
  }

  // Returns the place of the work that computes the layer's gradients.
  std::size_t gradient_pass(LayerId layer, std::uint32_t micro_batch) const {
    const auto weights = places_.find({Activity::BackwardWeight, layer, micro_batch});
    return weights ? *weights : places_(Activity::Backward, layer, micro_batch);
  }

  void hold_reductions(Ledger& ledger) const {
    if (!plan_.sharding.shards_gradients() || plan_.memory_policy.whole_gradients) return;
    each_transfer(CollectiveOp::ReduceScatter, [&](const Transfer& one, const Span& reduced) {
      for (const Slice& slice : plan_.block_of(one).slices)
        ledger.hold(Ledger::InReduction,
                    span(gradient_pass(profile_.tensors[slice.tensor].layer, one.micro_batch)).start, reduced.end,
                    static_cast<double>(slice.bytes));
    });
  }

  void hold_activations(Ledger& ledger) const {
    for (std::size_t place = 0; place < program_.size(); ++place) {
      const Work& work = program_[place];
      if (work.kind != Activity::Forward || !profile_.layers[work.item].activation_bytes) continue;
      ledger.hold(Ledger::Activations, span(place).start, span(gradient_pass(work.item, work.micro_batch)).end,
                  static_cast<double>(*profile_.layers[work.item].activation_bytes));
    }
  }

  void hold_step(Ledger& ledger) const {
    const double shards =
        plan_.sharding.shards_optimizer() ? static_cast<double>(job_.parallel->degrees.gradient_workers()) : 1;
    for (const UpdatePlace& update : update_places(plan_, rank_, profile_)) {
      const Span& work = span(update.work);
      ledger.hold_step(work.start, update.takes_time ? work.end : work.start,
                       step_memory(job_.scenario, plan_, update.elements.shared_by(shards, plan_)));
    }
  }

  const Job& job_;
  const Profile& profile_;
  const Plan& plan_;
  const Unrolled& unrolled_;
  const std::vector<Span>& spans_;
  std::uint32_t rank_;
  const std::vector<Work>& program_;
  ProgramIndex places_;
};

}  // namespace

MemoryUse memory_of_rank(const Job& job, const Plan& plan, const Unrolled& unrolled, const Timeline& iteration,
                         std::uint32_t rank) {
  return RankAccountant(job, plan, unrolled, iteration, rank).use();
}

}  // namespace allreplay
