#include <fmt/format.h>

#include "tests/catch.hpp"
#include "tests/output/picture/legible.hpp"
#include "tests/replay/training/scenario.hpp"

#include "sim/output/report/collective_report.hpp"
#include "sim/output/view/pictures.hpp"

using namespace allreplay;

namespace {

PricedCollective collective(const std::string& name, std::initializer_list<double> busbw) {
  Profile profile;
  profile.name = "p";
  profile.layers.push_back({"l", to_time(1e-3), to_time(2e-3)});
  profile.tensors.push_back({"t", 1000, 4000, 0});
  PricedCollective one{.scenario = scenario_of(profile, "ddp", 8, 1e-6, 1e-9)};
  one.scenario.collective = name;
  Bytes bytes = 1 << 20;
  for (const double rate : busbw) {
    one.pricing.rows.push_back({.bytes = bytes, .time_s = 1, .algbw_GBps = rate, .busbw_GBps = rate});
    bytes *= 16;
  }
  return one;
}

}  // namespace

TEST_CASE("the sizes from which another collective is the fastest have the units of the axis") {
  // The lines from 1 to 16 MiB meet in the middle of the logarithmic axis, at 4 MiB.
  const std::vector<PricedCollective> all{collective("ring", {1, 4}), collective("halving-doubling", {4, 1})};
  const Drawing drawing = busbw_picture(all, "a title");
  require_legible(drawing);
  std::string words;
  for (const Shape& shape : drawing.shapes)
    if (const auto* text = std::get_if<Text>(&shape)) words += text->text + "; ";
  CHECK(words.find("ring from 4 MiB") != std::string::npos);
  CHECK(words.find(" MB") == std::string::npos);
  // The table explains its sign.
  CHECK(rendered(collectives_view(), collectives_json(all)).find("*: the largest bus bandwidth") != std::string::npos);
  CHECK(rendered(collectives_view(), collectives_json({all.front()})).find('*') == std::string::npos);
}
