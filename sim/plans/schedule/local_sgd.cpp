#include "sim/plans/schedule/local_sgd.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/plans/schedule/gradients.hpp"
#include "sim/plans/schedule/plan_builder.hpp"
#include "sim/plans/schedule/planners.hpp"
#include "sim/plans/schedule/quantising.hpp"
#include "sim/plans/schedule/units.hpp"

namespace allreplay {

namespace {

// The works of one local step, as all workers run them.
std::vector<Work> works_of_step(std::uint32_t step, const ShardingConfig& sharding, const Profile& profile) {
  const auto layers = static_cast<LayerId>(profile.layers.size());
  const auto micro_batches = static_cast<std::uint32_t>(sharding.accumulate);
  std::vector<Work> works;
  for (std::uint32_t i = 0; i < micro_batches; ++i) {
    const std::uint32_t micro_batch = step * micro_batches + i;
    for (LayerId layer = 0; layer < layers; ++layer) works.push_back({Activity::Forward, layer, micro_batch});
    for (LayerId layer = layers; layer-- > 0;) works.push_back({Activity::Backward, layer, micro_batch});
  }
  works.push_back({Activity::Update, everything, step});
  return works;
}

class LocalSteps {
 public:
  // `outer`: DiLoCo's options, or those of local SGD, which is a single fragment without an outer optimizer.
  LocalSteps(std::string_view name, const PlanRequest& request, const OuterOptions& outer)
      : profile_(request.profile), outer_(outer), build_(name, local(request.options.sharding, outer), profile_) {
    lane_ = build_.add_lane("outer");
    build_.plan().outer_update = outer.outer_update;
    const std::vector<Unit> units = units_of(profile_, request.options.fsdp.wrap);
    const auto count = static_cast<std::size_t>(outer.fragments);
    for (std::size_t fragment = 0; fragment < count; ++fragment)
      add_fragment(units[fragment * units.size() / count].first, units[(fragment + 1) * units.size() / count - 1].last);
  }

  PlanBuilder& build() { return build_; }

  Plan make() {
    const std::int64_t every = outer_.sync_every / outer_.fragments;
    for (std::int64_t step = 1; step <= outer_.sync_every; ++step) {
      for (const Work& one : works_of_step(static_cast<std::uint32_t>(step - 1), build_.plan().sharding, profile_))
        build_.add(one);
      if ((step + outer_.delay) % every == 0) launch((step + outer_.delay) / every - 1);
      if (step % every == 0) use(step / every - 1);
    }
    return build_.take();
  }

 private:
  struct Fragment {
    std::uint32_t block;
    std::vector<std::uint32_t> buckets;  // blocks that are averaged one after another
    std::vector<PlanPoint> averaged;
  };

  static ShardingConfig local(ShardingConfig sharding, const OuterOptions& outer) {
    sharding.sync_every = outer.sync_every;
    sharding.delay = outer.delay;
    return sharding;
  }

  void add_fragment(LayerId first, LayerId last) {
    const Block all = without_frozen(block_of_layers({first, last}, profile_), profile_);
    Fragment fragment{build_.add(all), {}, {}};
    for (Block& bucket : outer_.bucket ? cut(all, *outer_.bucket) : block_per_slice(all))
      fragment.buckets.push_back(build_.add(std::move(bucket)));
    fragments_.push_back(std::move(fragment));
  }

  static std::vector<Block> block_per_slice(const Block& all) {
    std::vector<Block> blocks;
    for (const Slice& slice : all.slices) blocks.push_back({{slice}});
    return blocks;
  }

  // Buckets of this many bytes of parameters.
  std::vector<Block> cut(const Block& all, Bytes size) const {
    const double parameter = static_cast<double>(bytes_of_gradient(profile_)) * profile_.parameter_share();
    const auto most = static_cast<std::int64_t>(static_cast<double>(size) / parameter);
    return cut_into_pieces(all, std::max<std::int64_t>(1, most), profile_);
  }

  void launch(std::int64_t number) {
    Fragment& fragment = fragments_[static_cast<std::size_t>(number)];
    const PlanPoint update = build_.so_far();
    for (const std::uint32_t bucket : fragment.buckets) {
      const auto send = [&](CollectiveOp op) {
        Payload payload{Payload::Kind::PseudoGradient, bucket};
        if (outer_.quantize) payload.wire = int8_values;
        const PlanPoint sent = build_.send(op, group_all, payload, lane_, 0);
        build_.gate(update, sent);
        return sent;
      };
      if (!outer_.quantize) {
        fragment.averaged.push_back(send(CollectiveOp::AllReduce));
        continue;
      }
      const PlanPoint exchanged = send(CollectiveOp::AllToAll);
      fragment.averaged.push_back(send(CollectiveOp::AllGather));
      build_.gate(exchanged, fragment.averaged.back());
    }
  }

  void use(std::int64_t number) {
    const Fragment& fragment = fragments_[static_cast<std::size_t>(number)];
    const PlanPoint update = work(build_.add(Work{Activity::OuterUpdate, fragment.block}));
    build_.gate(fragment.averaged, update);
  }

  const Profile& profile_;
  OuterOptions outer_;
  PlanBuilder build_;
  std::uint32_t lane_ = 0;
  std::vector<Fragment> fragments_;
};

}  // namespace

std::optional<Complaint> unsuitable_round(const OuterOptions& options, std::size_t units) {
  if (options.sync_every % options.fragments != 0)
    return Complaint{fmt::format("{} fragments do not divide {} steps", options.fragments, options.sync_every),
                     "a divisor of sync_every"};
  const std::int64_t every = options.sync_every / options.fragments;
  if (options.delay >= every)
    return Complaint{fmt::format("a delay of {} steps, but a fragment is averaged every {}", options.delay, every),
                     fmt::format("fewer than {}", every)};
  if (static_cast<std::size_t>(options.fragments) > units)
    return Complaint{fmt::format("{} fragments of {} units", options.fragments, units),
                     "at most one fragment per unit, or a finer wrap"};
  return std::nullopt;
}

Plan plan_local_sgd(const PlanRequest& request) {
  OuterOptions outer;
  outer.sync_every = request.options.outer.sync_every;
  return LocalSteps("local-sgd", request, outer).make();
}

Plan plan_diloco(const PlanRequest& request) {
  const OuterOptions& outer = request.options.outer;
  LocalSteps planner("diloco", request, outer);
  const Bytes parameter = std::max<Bytes>(
      1,
      static_cast<Bytes>(static_cast<double>(bytes_of_gradient(request.profile)) * request.profile.parameter_share()));
  // An fp32 momentum, and the parameters of the last outer step unless they are on the host.
  planner.build().plan().memory_policy.outer = 4 + (outer.backup_on_device ? parameter : 0);
  return planner.make();
}

std::vector<Need> needs_of_round(const ShardingConfig& sharding) {
  return {{.op = CollectiveOp::AllReduce,
           .group = group_all,
           .payload = Payload::Kind::PseudoGradient,
           .after = Activity::Update,
           .before = Activity::OuterUpdate,
           .every = sharding.steps(),
           .staleness = sharding.delay}};
}

std::optional<Complaint> not_a_round(const Plan& plan, const Profile& profile) {
  const ShardingConfig& sharding = plan.sharding;
  const Complaint wrong{
      "the program is not one round",
      fmt::format("the passes of {} steps in turn, an update after each, and outer updates after updates",
                  sharding.steps())};
  std::vector<Work> wanted, found;
  for (std::int64_t step = 0; step < sharding.steps(); ++step)
    for (const Work& one : works_of_step(static_cast<std::uint32_t>(step), sharding, profile)) wanted.push_back(one);
  const std::vector<Work>& program = plan.program();
  for (std::size_t place = 0; place < program.size(); ++place) {
    const Work& one = program[place];
    if (one.kind != Activity::OuterUpdate) {
      found.push_back(one);
      continue;
    }
    const Activity before = place > 0 ? program[place - 1].kind : Activity::Forward;
    if (one.item >= plan.blocks.size() || (before != Activity::Update && before != Activity::OuterUpdate)) return wrong;
  }
  return found == wanted ? std::nullopt : std::optional(wrong);
}

namespace {

class RoundCoverage {
 public:
  RoundCoverage(const Plan& plan, const Profile& profile, const TransferGates& gates)
      : plan_(plan), profile_(profile), bounds_(plan, gates), precedence_(plan, gates, bounds_) {}

  std::optional<Complaint> complaint() {
    std::vector<std::size_t> updates;                    // places, by step
    std::vector<int> times(profile_.tensors.size(), 0);  // by tensor: outer updates
    for (std::size_t place = 0; place < plan_.program().size(); ++place) {
      const Work& one = plan_.program()[place];
      if (one.kind == Activity::Update) updates.push_back(place);
      if (one.kind != Activity::OuterUpdate) continue;
      for (const Slice& slice : plan_.blocks[one.item].slices) ++times[slice.tensor];
      if (auto wrong = unaveraged(place, updates.size() - 1, updates)) return wrong;
    }
    for (TensorId id = 0; id < profile_.tensors.size(); ++id)
      if (times[id] != 1 && !profile_.is_frozen(id))
        return Complaint{fmt::format("'{}' has {} outer updates in a round", profile_.tensors[id].name, times[id]),
                         "one"};
    return std::nullopt;
  }

 private:
  struct Piece {
    Slice slice;
    std::uint32_t transfer;
  };

  // Checks the averages of the fragment that the outer update at `place` reads, after the update of step `step`.
  std::optional<Complaint> unaveraged(std::size_t place, std::size_t step, const std::vector<std::size_t>& updates) {
    const auto delay = static_cast<std::size_t>(plan_.sharding.delay);
    const std::size_t since = updates[step - std::min(step, delay)];
    std::vector<std::vector<Piece>> arrived(profile_.tensors.size()), exchanged(arrived);
    std::vector<bool> own(profile_.tensors.size(), false);
    for (const Slice& slice : plan_.blocks[plan_.program()[place].item].slices) own[slice.tensor] = true;
    for (std::uint32_t index = 0; index < plan_.transfers.size(); ++index) {
      const Transfer& one = plan_.transfers[index];
      if (one.payload.kind != Payload::Kind::PseudoGradient || !own[plan_.block_of(one).slices.front().tensor])
        continue;
      const std::string name = fmt::format("step {}: {}", step + 1, describe_transfer(plan_, index, profile_));
      if (one.group != group_all) return Complaint{name + " is not among all workers", "no axis"};
      if (bounds_.earliest[index] <= since)
        return Complaint{name + " may start before the update whose result it averages",
                         fmt::format("after the update of step {}", step + 1 - std::min(step, delay))};
      if (bounds_.latest[index] > place)
        return Complaint{name + " may end after the outer update has started", "before it"};
      for (const Slice& slice : plan_.block_of(one).slices)
        (is_gathering(one.op) ? arrived : exchanged)[slice.tensor].push_back({slice, index});
    }
    for (auto* pieces : {&arrived, &exchanged})
      for (std::vector<Piece>& one : *pieces)
        std::stable_sort(one.begin(), one.end(),
                         [](const Piece& a, const Piece& b) { return a.slice.offset < b.slice.offset; });
    for (TensorId id = 0; id < profile_.tensors.size(); ++id)
      if (own[id])
        if (auto wrong = incomplete(id, step, arrived[id], exchanged[id])) return wrong;
    return std::nullopt;
  }

  // Checks that every byte arrives once, and is summed before it is gathered.
  std::optional<Complaint> incomplete(TensorId id, std::size_t step, const std::vector<Piece>& arrived,
                                      const std::vector<Piece>& exchanged) {
    Bytes sent = 0;
    std::optional<Bytes> wrong;  // the first byte that is missing, or comes again
    for (const Piece& piece : arrived) {
      if (piece.slice.offset != sent && !wrong) wrong = std::min(piece.slice.offset, sent);
      sent += piece.slice.bytes;
    }
    if (!wrong && sent != profile_.tensors[id].bytes) wrong = sent;
    if (wrong)
      return Complaint{fmt::format("step {}: byte {} of '{}' is not averaged, or twice", step + 1, *wrong,
                                   profile_.tensors[id].name),
                       "every byte of a fragment in one all-reduce"};
    for (const Piece& piece : arrived)
      if (const auto unsummed = first_unsummed(piece, exchanged))
        return Complaint{
            fmt::format("step {}: {} sends byte {} of '{}', which no transfer before it has summed", step + 1,
                        describe_transfer(plan_, piece.transfer, profile_), *unsummed, profile_.tensors[id].name),
            "an all-to-all or a reduce-scatter of the same bytes before it"};
    return std::nullopt;
  }

  // The first byte of an all-gather's slice that no earlier exchange carries.
  std::optional<Bytes> first_unsummed(const Piece& gathered, const std::vector<Piece>& exchanged) {
    if (is_reduction(plan_.transfers[gathered.transfer].op)) return std::nullopt;
    Bytes summed = gathered.slice.offset;
    const Bytes end = summed + gathered.slice.bytes;
    for (const Piece& one : exchanged)
      if (one.slice.offset <= summed && one.slice.offset + one.slice.bytes > summed &&
          precedence_.waits(gathered.transfer, one.transfer) == true)
        summed = one.slice.offset + one.slice.bytes;
    return summed < end ? std::optional(summed) : std::nullopt;
  }

  const Plan& plan_;
  const Profile& profile_;
  TransferBounds bounds_;
  TransferPrecedence precedence_;
};

}  // namespace

std::optional<Complaint> uncovered_round(const Plan& plan, const Profile& profile, const TransferGates& gates) {
  return RoundCoverage(plan, profile, gates).complaint();
}

}  // namespace allreplay
