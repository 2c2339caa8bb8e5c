#include "sim/schedule/pytorch_buckets.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace allreplay {

namespace {

// Autograd's node that accumulates a parameter's gradient is the one place that every PyTorch lets one hook with public
// calls (2.1 has a name for it: register_post_accumulate_grad_hook).
constexpr std::string_view class_of_buckets = R"(class Buckets:
    """In the place of DistributedDataParallel: averages gradients bucket by bucket during the backward pass."""

    def __init__(self, model, sizes, micro_batches=1):
        self.micro_batches, self.buckets, self.nodes = micro_batches, [], []
        parameters = [p for p in model.parameters() if p.requires_grad]
        for size in sizes:
            bucket = []
            while parameters and sum(p.numel() for p in bucket) < size:
                bucket.append(parameters.pop())
            if sum(p.numel() for p in bucket) != size:
                raise ValueError(f"no {size} elements of whole parameters: is this the model of the trace?")
            self.buckets.append(bucket)
        if parameters:
            raise ValueError(f"{len(parameters)} parameters are in no bucket: is this the model of the trace?")
        for tensor in [*model.parameters(), *model.buffers()]:
            dist.broadcast(tensor.detach(), 0)
        for i, bucket in enumerate(self.buckets):
            for p in bucket:
                node = p.expand_as(p).grad_fn.next_functions[0][0]
                node.register_hook(lambda *_, i=i: self.ready(i))
                self.nodes.append(node)  # a node that nobody holds is forgotten, and its hook with it
        self.start()

    def start(self):
        self.missing = [len(bucket) * self.micro_batches for bucket in self.buckets]
        self.sent = []

    def ready(self, i):
        self.missing[i] -= 1
        while len(self.sent) < len(self.buckets) and self.missing[len(self.sent)] == 0:  # in the same order everywhere
            flat = torch.cat([p.grad.flatten() for p in self.buckets[len(self.sent)]]).div_(dist.get_world_size())
            self.sent.append((flat, dist.all_reduce(flat, async_op=True)))

    def wait(self):
        """Call it before optimizer.step()."""
        if len(self.sent) < len(self.buckets):
            raise RuntimeError("some parameters have no gradient yet")
        for bucket, (flat, work) in zip(self.buckets, self.sent):
            work.wait()
            for p, part in zip(bucket, flat.split([p.numel() for p in bucket])):
                p.grad.copy_(part.view_as(p.grad))
        self.start()
)";

bool is_sent_by_hooks(const Plan& plan) {
  if (!plan.travel || plan.step.zero > 0) return false;
  const Travel& travel = *plan.travel;
  return travel.order != Order::Priority && travel.window.count == 1 && travel.window.bytes == Window::unlimited &&
         travel.barrier == Barrier::Iteration && travel.release == Release::Layer && travel.tick == Time(0) &&
         !travel.split;
}

}  // namespace

std::optional<std::vector<std::int64_t>> pytorch_buckets(const Plan& plan, const Profile& profile) {
  if (!is_sent_by_hooks(plan)) return {};
  std::vector<std::int64_t> buckets;
  std::size_t left = profile.tensors.size();
  for (const Block& block : plan.blocks) {
    buckets.push_back(0);
    for (const Slice& slice : block.slices) {
      if (left == 0 || slice.tensor != --left || slice.bytes != profile.tensors[left].bytes) return {};
      buckets.back() += profile.tensors[left].elements;
    }
  }
  return left == 0 ? std::optional(buckets) : std::nullopt;
}

std::string pytorch_code(const Plan& plan, const std::vector<std::int64_t>& buckets) {
  const std::int64_t micro_batches = plan.step.accumulate;
  return fmt::format(R"(# {} bucket{} of whole parameters: `allreplay plan --strategy {} --pytorch`
import torch
import torch.distributed as dist

sizes = [{}]  # elements, the model's last parameters first

{}
buckets = Buckets(model, sizes{})  # buckets.wait() comes before optimizer.step())",
                     buckets.size(), buckets.size() == 1 ? "" : "s", plan.strategy, fmt::join(buckets, ", "),
                     class_of_buckets, micro_batches > 1 ? fmt::format(", micro_batches={}", micro_batches) : "");
}

}  // namespace allreplay
