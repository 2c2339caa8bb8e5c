// The bytes of a block under each codec, and codec files.
#include "sim/plans/schedule/codec.hpp"

#include "tests/catch.hpp"
#include "tests/error_place.hpp"

#include "sim/plans/collective/comm_cost.hpp"

using namespace allreplay;

namespace {

Compression compression(std::string_view codec, CodecOptions options = {}, std::int64_t payloads = 1) {
  // Encoding 100 us + 1 ns a gradient, decoding 30 us + 0.5 ns.
  CodecCosts costs{std::string(codec), &find_codec(codec, {}), "", "estimated", "", {100e-6, 1e-9}, {30e-6, 0.5e-9}};
  return {costs, options, payloads, 4};
}

std::string complaint(const std::string& text) {
  return error_place([&] { read_codec(Json::parse(text, "c.json"), "c"); });
}

}  // namespace

TEST_CASE("bytes on the wire of 1,000,003 gradients") {
  const Bytes dense = 4'000'012;
  const auto wire = [&](std::string_view codec, CodecOptions options = {}) {
    return compression(codec, options).wire_bytes(dense);
  };
  for (const char* sparse : {"topk", "gtopk", "dgc", "randk"}) {
    CHECK(wire(sparse) == 2 * 4 * 1000);  // round(0.001 · 1,000,003) = 1000 values, as many indices
    CHECK(wire(sparse, {.density = 0.01}) == 2 * 4 * 10'000);  // round(10,000.03)
    CHECK(wire(sparse, {.density = 1e-9}) == 2 * 4);           // at least one
  }
  CHECK(wire("fp16") == 2'000'006);
  CHECK(wire("qsgd") == 1'000'003 + 4);             // 8 bits each, and the norm
  CHECK(wire("qsgd", {.bits = 3}) == 375'002 + 4);  // ceil(3,000,009 / 8)
  CHECK(wire("signsgd") == 125'001);                // ceil(1,000,003 / 8)
  CHECK(wire("signum") == 125'001);
  CHECK(wire("ef-signsgd") == 125'001 + 4);
  CHECK(wire("onebit") == 125'001 + 8);
  for (const Codec& codec : codecs()) CHECK(compression(codec.name).wire_bytes(0) == 0);
}

TEST_CASE("encoding and decoding of a million gradients") {
  const Bytes dense = 4'000'000;
  CHECK(compression("qsgd").encode(dense) == to_time(1100e-6));              // 100 us + 1e6 · 1 ns
  CHECK(compression("qsgd").decode(dense) == to_time(530e-6));               // 30 us + 1e6 · 0.5 ns
  CHECK(compression("qsgd", {}, 8).decode(dense) == to_time(8 * 530e-6));    // a payload of each worker
  CHECK(compression("onebit", {}, 8).decode(dense) == to_time(9 * 530e-6));  // and its own, for the error feedback
  // Options replace a stage's whole time.
  const CodecOptions options{.encode = to_time(7e-6), .decode = Time(0)};
  CHECK(compression("onebit", options, 8).encode(dense) == to_time(7e-6));
  CHECK(compression("onebit", options, 8).decode(dense) == Time(0));
  // A selection by sorting: 2^20 · 20 · 0.1 ns.
  CHECK(CodecTime{0, 0, 0.1e-9}(1 << 20) == Approx(2097.152e-6));
  CHECK(CodecTime{1e-6, 0, 0.1e-9}(0.5) == 1e-6);  // part of a gradient has no logarithm below 0
}

TEST_CASE("the collectives that can carry each codec") {
  const auto can = [](std::string_view codec, std::string_view collective) {
    return carries(find_algorithm(collective, {}), find_codec(codec, {}));
  };
  CHECK(can("fp16", "ring"));
  CHECK_FALSE(can("fp16", "all-gather"));
  CHECK_FALSE(can("fp16", "gtopk-tree"));
  CHECK(can("topk", "topk-allgather"));
  CHECK_FALSE(can("topk", "ring"));
  CHECK_FALSE(can("topk", "gtopk-tree"));  // the tree selects
  CHECK(can("gtopk", "gtopk-tree"));
  CHECK(can("gtopk", "topk-allgather"));  // Algorithm 2
  for (const Codec& codec : codecs())
    if (!codec.collective.empty()) CHECK(can(codec.name, codec.collective));
}

TEST_CASE("planners price the wire bytes") {
  // a = 10 us, b = 1 ns/B: 4 MB of gradients are 8 kB on the wire, 18 us.
  const BlockCost cost(CommCost(10e-6, 1e-9), compression("topk"));
  CHECK(cost(4'000'000) == to_time(18e-6));
  CHECK(cost.transfer(4'000'000) == to_time(8e-6));
  CHECK(BlockCost(CommCost(10e-6, 1e-9))(4'000'000) == to_time(4010e-6));
}

// gTop-k, Table I with its constants (docs/models.md, "gTop-k's constants"): α = 0.436 ms, β = 9e-6 ms/B, 100 MB at a
// density of 0.001. In ms, to a tenth.
TEST_CASE("the gTop-k paper's costs, from gradients to time") {
  Network network;
  network.alpha = 0.436e-3;
  network.beta = 9e-9;
  const auto ms = [&](std::string_view codec, std::int64_t workers) {
    const Algorithm& algorithm = find_algorithm(find_codec(codec, {}).collective, {});
    return 1e3 *
           to_seconds(BlockCost(price(network, algorithm, workers, workers, {}), compression(codec))(100'000'000));
  };
  const struct {
    std::int64_t workers;
    double topk, gtopk;
  } printed[] = {{2, 2.2, 4.5}, {4, 6.3, 8.9}, {8, 13.9, 13.4}, {16, 28.7, 17.9}, {32, 58.0, 22.4}, {64, 116, 26.8}};
  for (const auto& [workers, topk, gtopk] : printed) {
    CHECK(std::abs(ms("topk", workers) - topk) < (topk > 100 ? 0.5 : 0.05));
    CHECK(std::abs(ms("gtopk", workers) - gtopk) < 0.05);
  }
  // Exactly: k = 100,000 B of values, so log P·α + 2(P−1)kβ = 5·0.436 + 62·0.9, and 2·5·0.436 + 4·5·0.9.
  CHECK(ms("topk", 32) == Approx(57.98));
  CHECK(ms("gtopk", 32) == Approx(22.36));
}

TEST_CASE("codec files") {
  const std::string good = R"({"codec": "dgc", "device": "V100", "origin": "estimated", "source": "s",
    "encode": {"base": "0.1 ms", "per_element": "0.05 ns"}, "decode": {"base": "30 us", "per_element": "0 s"}})";
  const CodecCosts costs = read_codec(Json::parse(good, "c.json"), "c");
  CHECK(costs.codec->name == "dgc");
  CHECK(costs.encode(1000) == Approx(100.05e-6));
  CHECK(costs.decode(1000) == Approx(30e-6));
  const auto with = [&](const std::string& from, const std::string& to) {
    return std::string(good).replace(good.find(from), from.size(), to);
  };
  CHECK(complaint(with("dgc", "dcg")) == "c.json: /codec");
  CHECK(complaint(with("estimated", "guessed")) == "c.json: /origin");
  CHECK(complaint(with("0.1 ms", "0.1 MB")) == "c.json: /encode/base");
  CHECK(complaint(with("30 us", "-30 us")) == "c.json: /decode/base");
  CHECK(complaint(with("\"base\": \"0.1 ms\", ", "")) == "c.json: /encode");
  CHECK(complaint(with("\"device\"", "\"gpu\"")) == "c.json: /gpu");
}
