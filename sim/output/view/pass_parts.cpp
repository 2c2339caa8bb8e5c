#include "sim/output/view/pass_parts.hpp"

#include <algorithm>

namespace allreplay {

std::vector<PassPart> parts_of(const Job& job, const Unrolled& unrolled, TaskId task, const Span& span) {
  std::vector<PassPart> parts{{unrolled.labels[task].kind, span.start, span.end}};
  const Label& label = unrolled.labels[task];
  const Time all = inside_layers(job, label), nominal = unrolled.nominal[task];
  if (all <= Time(0) || nominal <= Time(0)) return parts;
  const Time exchange = label.in_pair ? Time(0) : exchanges_of(job, label);  // in a pair it has a lane of its own
  const double stretch = static_cast<double>((span.end - span.start).count()) / static_cast<double>(nominal.count());
  const auto add = [&](Activity what, Time time) {
    if (time <= Time(0)) return;
    const Time start = parts.back().end;
    parts.push_back({what, start, std::min(start + scaled(time, stretch), span.end)});
  };
  parts[0].end = std::max(span.start, span.end - scaled(all, stretch));
  add(Activity::LayerCollective, all - exchange);
  add(Activity::Exchange, exchange);
  parts.back().end = span.end;  // whatever was rounded
  return parts;
}

std::vector<Bytes> bytes_inside(const Job& job, const Label& pass, Activity part) {
  const Degrees& degrees = job.parallel->degrees;
  const auto ranks = [&](LayerCollective::Among group) {
    return group == LayerCollective::Among::Tensor    ? degrees.tp
           : group == LayerCollective::Among::Context ? degrees.cp
                                                      : degrees.ep;
  };
  std::vector<Bytes> all;
  for (const LayerCollective& one : job.parallel->layers_alone->layers[pass.item].collectives)
    if (one.backward == (pass.kind != Activity::Forward) && ranks(one.group) > 1 &&
        (one.group == LayerCollective::Among::Expert) == (part == Activity::Exchange) && one.bytes > 0)
      all.push_back(one.bytes);
  return all;
}

}  // namespace allreplay
