// A codec at work, as JSON.
#include "sim/output/report/codec_report.hpp"

#include "tests/catch.hpp"

#include "sim/base/core/json.hpp"
#include "sim/plans/schedule/codec.hpp"

using namespace allreplay;

// The timing model (sim/plans/schedule/codec.cpp) assumes what real codecs do.
TEST_CASE("codecs have the bytes, the feedback and the way of travelling that their timing assumes") {
  CHECK(codecs().size() == compressors().size());
  for (const Codec& codec : codecs()) {
    const CompressorKind& kind = find_compressor(codec.name, {"test", ""});
    CHECK(kind.error_feedback == codec.feedback);
    CHECK((kind.aggregation == Aggregation::AllReduce) == codec.collective.empty());
    CHECK((kind.aggregation == Aggregation::GTopKTree) == (codec.collective == "gtopk-tree"));
    for (const std::size_t n : {1, 2, 7, 8, 9, 63, 1499, 1500, 12'345})
      for (const double density : {0.001, 0.01, 1.0})
        for (std::int64_t bits = 1; bits <= 16; ++bits) {
          const std::vector<float> x(n, 1);
          const EncodedPayload payload = kind.make({.density = density, .bits = bits}, 0)->encode(x);
          CodecOptions options;
          options.density = density;
          options.bits = bits;
          REQUIRE(std::ssize(payload) == codec.wire_bytes(static_cast<double>(n), options));
        }
  }
}

TEST_CASE("the ratio is of fp32's bytes to those on the wire") {
  const CodecMeasurement half =
      measure_codec({.codec = &find_compressor("fp16", {"test", ""}), .elements = 1000, .repetitions = 1});
  CHECK(Json::parse(codec_json(half).dump(), "json").at("ratio").number() == 2);
}
