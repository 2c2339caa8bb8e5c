#include "sim/output/view/activity_looks.hpp"

#include <algorithm>

#include "sim/output/picture/style.hpp"

namespace allreplay {

namespace {

// The fill of an activity and the colour of text on it: white on dark fills.
struct ActivityLook {
  Activity activity;
  Colour fill;
  Colour letters = style::ink;
};
constexpr Colour white = colour(0xFFFFFF);
constexpr ActivityLook activity_looks[] = {
    {Activity::Backward, style::blue, white},
    {Activity::BackwardInput, style::sky},
    {Activity::BackwardWeight, colour(0x003A5C), white},
    {Activity::Forward, style::pale_blue},
    {Activity::Update, style::green},
    {Activity::HostStep, style::vermilion, white},
    {Activity::CopyOut, colour(0x9A9A9A)},
    {Activity::NewtonSchulz, colour(0x00664B), white},
    {Activity::OuterUpdate, colour(0x7A5200), white},
    {Activity::Quantise, colour(0x4D4D4D), white},
    {Activity::Dequantise, style::purple},
    {Activity::Encode, style::black, white},
    {Activity::Codec, style::black, white},
    {Activity::Decode, style::purple},
    {Activity::Transfer, style::orange},
    {Activity::AllReduce, style::orange},
    {Activity::ReduceScatter, style::pale_green},
    {Activity::AllGather, style::yellow},
    {Activity::AllToAll, style::vermilion},
    {Activity::Send, style::purple},
    {Activity::Exchange, style::vermilion, white},
    {Activity::LayerCollective, style::purple},
};

const ActivityLook& row_of_look(Activity activity) {
  return *std::ranges::find(activity_looks, activity, &ActivityLook::activity);
}

}  // namespace

Look look_of(Activity activity) { return {.fill = row_of_look(activity).fill}; }
Colour ink_on(Activity activity) { return row_of_look(activity).letters; }

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
