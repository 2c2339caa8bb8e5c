#include "sim/plans/schedule/pytorch_buckets.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/plans/schedule/gradients.hpp"

namespace allreplay {

namespace {

// Hooks the autograd node that accumulates a parameter's gradient: every version of PyTorch has public calls for that
// (2.1 named it register_post_accumulate_grad_hook). Lines are short, so that an indented report of 80 columns does not
// break comments.
constexpr std::string_view class_of_buckets = R"(class Buckets:
    """In place of DistributedDataParallel: means, in buckets."""

    def __init__(self, model, sizes, micro_batches=1):
        self.micro_batches, self.buckets, self.nodes = micro_batches, [], []
        left = [p for p in model.parameters() if p.requires_grad]
        for size in sizes:
            bucket = []
            while left and sum(p.numel() for p in bucket) < size:
                bucket.append(left.pop())
            if sum(p.numel() for p in bucket) != size:
                raise ValueError("is this the model of the profile?")
            self.buckets.append(bucket)
        if left:
            raise ValueError("is this the model of the profile?")
        for tensor in [*model.parameters(), *model.buffers()]:
            dist.broadcast(tensor.detach(), 0)
        for i, bucket in enumerate(self.buckets):
            for p in bucket:  # a node that nobody holds forgets its hook
                node = p.expand_as(p).grad_fn.next_functions[0][0]
                node.register_hook(lambda *_, i=i: self.ready(i))
                self.nodes.append(node)
        self.start()

    def start(self):
        self.missing = [len(b) * self.micro_batches for b in self.buckets]
        self.sent = []

    def ready(self, i):
        self.missing[i] -= 1
        # In the same order everywhere.
        while len(self.sent) < len(self.buckets):
            if self.missing[len(self.sent)] > 0:
                break
            bucket = self.buckets[len(self.sent)]
            flat = torch.cat([p.grad.flatten() for p in bucket])
            flat.div_(dist.get_world_size())
            self.sent.append((flat, dist.all_reduce(flat, async_op=True)))

    def wait(self):
        """Before optimizer.step()."""
        if len(self.sent) < len(self.buckets):
            raise RuntimeError("some parameters have no gradient yet")
        for bucket, (flat, work) in zip(self.buckets, self.sent):
            work.wait()
            parts = flat.split([p.numel() for p in bucket])
            for p, part in zip(bucket, parts):
                p.grad.copy_(part.view_as(p.grad))
        self.start()
)";

bool is_sent_by_hooks(const Plan& plan) {
  if (!plan.queueing || plan.sharding.shards_optimizer() || plan.sharding.has_expert_groups()) return false;
  const QueueingPolicy& travel = *plan.queueing;
  return travel.order != Order::Priority && travel.window.count == 1 && travel.window.bytes == Window::unlimited &&
         travel.barrier == Barrier::Iteration && travel.release == Release::Layer && travel.tick == Time(0) &&
         !travel.split;
}

}  // namespace

std::optional<std::vector<std::int64_t>> pytorch_buckets(const Plan& plan, const Profile& profile) {
  if (!is_sent_by_hooks(plan)) return {};
  std::vector<std::int64_t> buckets;
  const std::vector<Gradient> list = gradients(profile);
  std::size_t next = 0;
  for (const Block& block : plan.blocks) {
    buckets.push_back(0);
    for (const Slice& slice : block.slices) {
      if (next == list.size() || slice.tensor != list[next].tensor || slice.bytes != list[next].bytes) return {};
      buckets.back() += profile.tensors[list[next++].tensor].elements;
    }
  }
  return next == list.size() ? std::optional(buckets) : std::nullopt;
}

std::string pytorch_code(const Plan& plan, const std::vector<std::int64_t>& buckets) {
  const std::int64_t micro_batches = plan.sharding.accumulate;
  return fmt::format(R"(# {} bucket{} of parameters: `allreplay plan -s {} --pytorch`
import torch
import torch.distributed as dist

# Elements, the model's last parameters first.
sizes = [{}]

{}
# And buckets.wait() before optimizer.step().
buckets = Buckets(model, sizes{}))",
                     buckets.size(), buckets.size() == 1 ? "" : "s", plan.strategy, fmt::join(buckets, ", "),
                     class_of_buckets, micro_batches > 1 ? fmt::format(", micro_batches={}", micro_batches) : "");
}

}  // namespace allreplay
