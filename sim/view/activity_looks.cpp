#include "sim/view/activity_looks.hpp"

#include "sim/core/collective_op.hpp"
#include "sim/picture/style.hpp"

namespace allreplay {

std::string to_string(Activity activity) {
  switch (activity) {
    case Activity::Backward:
      return "backward";
    case Activity::BackwardInput:
      return "input gradient";
    case Activity::BackwardWeight:
      return "weight gradient";
    case Activity::Forward:
      return "forward";
    case Activity::Update:
      return "update";
    case Activity::Copy:
      return "copy";
    case Activity::Encode:
      return "encode";
    case Activity::Decode:
      return "decode";
    case Activity::Codec:
      return "encode and decode";
    case Activity::Collective:
      return "collective";
    case Activity::AllReduce:
      return to_string(CollectiveOp::AllReduce);
    case Activity::ReduceScatter:
      return to_string(CollectiveOp::ReduceScatter);
    case Activity::AllGather:
      return to_string(CollectiveOp::AllGather);
    case Activity::Send:
      return to_string(CollectiveOp::Send);
  }
  return "";
}

Look look_of(Activity activity) {
  switch (activity) {
    case Activity::Backward:
      return {.fill = style::blue};
    case Activity::BackwardInput:
      return {.fill = style::sky};
    case Activity::BackwardWeight:
      return {.fill = colour(0x003A5C)};
    case Activity::Forward:
      return {.fill = style::pale_blue};
    case Activity::Update:
      return {.fill = style::green};
    case Activity::Copy:
      return {.fill = colour(0x9A9A9A)};
    case Activity::Encode:
    case Activity::Codec:
      return {.fill = style::black};
    case Activity::Decode:
      return {.fill = style::purple};
    case Activity::Collective:
    case Activity::AllReduce:
      return {.fill = style::orange};
    case Activity::ReduceScatter:
      return {.fill = style::pale_green};
    case Activity::AllGather:
      return {.fill = style::yellow};
    case Activity::Send:
      return {.fill = style::purple};
  }
  return {};
}

Colour ink_on(Activity activity) {
  switch (activity) {
    case Activity::Backward:
    case Activity::BackwardWeight:
    case Activity::Encode:
    case Activity::Codec:
      return colour(0xFFFFFF);
    default:
      return style::ink;
  }
}

Look look_of_waiting() {
  return {.fill = colour(0xFFFFFF),
          .hatch = Hatch::Rising,
          .hatch_colour = style::vermilion,
          .line = style::vermilion,
          .width = 0.6};
}

Look look_of_stragglers() {
  return {.fill = colour(0xFFFFFF), .hatch = Hatch::Rising, .hatch_colour = colour(0x6B6B6B), .line = colour(0x6B6B6B)};
}

Look look_of_idle() { return {.fill = colour(0xF1F1F1)}; }

Look look_of_exposed() { return {.hatch = Hatch::Rising, .hatch_colour = colour(0x8A3B00)}; }

}  // namespace allreplay
