#include "sim/replay/training/option_values.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "sim/base/core/named.hpp"

namespace allreplay {

namespace {

constexpr Word<Wrap::By> wraps[] = {{Wrap::By::Group, "group"}, {Wrap::By::Layer, "layer"}};

}  // namespace

Wrap parse_wrap(const std::string& text, const SourceLocation& place) {
  if (const auto* word = row_named(wraps, text)) return {.by = word->value, .place = place};
  if (text.empty() || text.find_first_of("0123456789") == std::string::npos)
    throw InputError(place, fmt::format("'{}' is not a valid wrapping", text), "group, layer or a size such as 100MB");
  const Bytes bytes = parse_size(text, place);
  if (bytes <= 0) throw InputError(place, fmt::format("\"{}\" is not above zero", text), "a size above zero");
  return {.by = Wrap::By::Size, .size = bytes, .place = place};
}

std::string write_wrap(const Wrap& wrap) {
  if (wrap.by == Wrap::By::Default) return "";
  return wrap.by == Wrap::By::Size ? write_size(wrap.size) : std::string(name_of(wraps, wrap.by));
}

Bytes any_size(const std::string& text, const SourceLocation& place) {
  const Bytes bytes = parse_size(text, place);
  if (bytes < 0) throw InputError(place, fmt::format("\"{}\" is negative", text), "0B or more");
  return bytes;
}

Bytes positive_size(const std::string& text, const SourceLocation& place) {
  const Bytes bytes = parse_size(text, place);
  if (bytes <= 0)
    throw InputError(place, fmt::format("\"{}\" is not above zero", text), "a size above zero, such as \"25 MiB\"");
  return bytes;
}

double positive_rate(const std::string& text, const SourceLocation& place) {
  const double rate = parse_rate(text, place);
  if (!(rate >= 1e3)) throw InputError(place, fmt::format("\"{}\" is too slow", text), "1 kB/s or more");
  return rate;
}

Time any_time(const std::string& text, const SourceLocation& place) {
  try {
    return to_time(parse_duration(text, place));
  } catch (const TimeOverflow&) {
    throw InputError(place, fmt::format("\"{}\" is too long to simulate", text), "at most 106 days");
  }
}

Time positive_time(const std::string& text, const SourceLocation& place) {
  const Time time = any_time(text, place);
  if (time <= Time(0))
    throw InputError(place, fmt::format("\"{}\" is not a valid time", text),
                     "a duration of at least 1 ps, such as \"5 ms\"");
  return time;
}

double parse_share(const std::string& text, const SourceLocation& place, bool all_is_one) {
  const double value = parse_number(text, place);
  if (all_is_one ? !(value > 0 && value <= 1) : !(value >= 0 && value < 1))
    throw InputError(place, fmt::format("{} is not a valid share", text),
                     all_is_one ? "above 0, at most 1" : "0 to below 1");
  return value;
}

Window parse_window(const std::string& text, const SourceLocation& place) {
  if (text.find_first_not_of("0123456789+-. ") != std::string::npos)
    return {.count = Window::unlimited, .bytes = positive_size(text, place)};
  return {.count = parse_integer(text, 1, 1'000'000'000, place)};
}

PhaseOrder parse_phase_order(const std::string& text, const SourceLocation& place, std::string_view of_paper) {
  if (text == of_paper) return {};
  if (text == "sequential") return {.kind = PhaseOrder::Kind::Sequential};
  constexpr std::string_view random = "random:";
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  if (text.starts_with(random))
    return {.kind = PhaseOrder::Kind::Random,
            .seed = static_cast<std::uint64_t>(parse_integer(text.substr(random.size()), 0, most, place))};
  if (text.empty() || text.find_first_not_of("0123456789/") != std::string::npos)
    throw InputError(place, fmt::format("'{}' is not a valid order", text),
                     fmt::format("{}{}random:SEED, or the tensors as 3/1/2", of_paper,
                                 of_paper == "sequential" ? ", " : ", sequential, "));
  PhaseOrder order{.kind = PhaseOrder::Kind::Given, .place = place};
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find('/', start), text.size());
    order.tensors.push_back(
        static_cast<TensorId>(parse_integer(text.substr(start, end - start), 1, 1'000'000, place) - 1));
    start = end + 1;
  }
  return order;
}

std::string write_phase_order(const PhaseOrder& order) {
  switch (order.kind) {
    case PhaseOrder::Kind::Paper:
      return "";
    case PhaseOrder::Kind::Sequential:
      return "sequential";
    case PhaseOrder::Kind::Random:
      return fmt::format("random:{}", order.seed);
    case PhaseOrder::Kind::Given:
      break;
  }
  std::string text;
  for (const TensorId tensor : order.tensors) text += (text.empty() ? "" : "/") + std::to_string(tensor + 1);
  return text;
}

}  // namespace allreplay
