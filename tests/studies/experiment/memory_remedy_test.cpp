// The first change with which a training fits is named, and it fits.
#include "sim/studies/experiment/memory_remedy.hpp"

#include <cmath>
#include <string>

#include "tests/catch.hpp"

#include "sim/studies/experiment/run.hpp"

using namespace allreplay;

namespace memory_remedy_test {

namespace {

Request llama(const std::string& strategy, double memory = 0) {
  Request request;
  request.profile = "llama3-8b_h100_b1_bf16";
  request.cluster = "h100x8-8x400gbps";
  request.strategy = strategy;
  request.workers = 8;
  if (memory > 0) set_option(request, "memory", std::to_string(std::llround(memory)) + " B");
  return request;
}

Request recomputed(Request request, std::int64_t workers) {
  request.changes.push_back({"recompute", "full", {}});
  request.workers = workers;
  return request;
}

double bytes_of(Library& library, const Request& request) { return run(library.resolve(request)).result.memory.peak; }

std::vector<std::string> flags_of(Library& library, const Request& request) {
  const auto remedy = memory_remedy(library, request);
  return remedy ? remedy->flags : std::vector<std::string>();
}

using Flags = std::vector<std::string>;

}  // namespace

TEST_CASE("what is not sharded is sharded first") {
  Library library;
  // 8.03 billion parameters of 16 bytes are 128 GB, more than the 85 GB of an H100; an eighth of them are 16 GB.
  const auto remedy = memory_remedy(library, llama("ddp"));
  REQUIRE(remedy);
  CHECK(remedy->flags == Flags{"--strategy", "fsdp2"});
  CHECK(remedy->bytes == bytes_of(library, llama("fsdp2")));
}

TEST_CASE("then units are recomputed, and then there are more workers") {
  Library library;
  const Request plain = llama("fsdp2");
  const double whole = bytes_of(library, plain), less = bytes_of(library, recomputed(plain, 8)),
               on_more = bytes_of(library, recomputed(plain, 16));
  REQUIRE(on_more < less);
  REQUIRE(less < whole);
  CHECK(flags_of(library, llama("fsdp2", (less + whole) / 2)) == Flags{"--recompute", "full"});
  // The batch is a single sample.
  CHECK(flags_of(library, llama("fsdp2", (on_more + less) / 2)) == Flags{"--recompute", "full", "--workers", "16"});
  CHECK(flags_of(library, llama("ddp", (on_more + less) / 2)) ==
        Flags{"--strategy", "fsdp2", "--recompute", "full", "--workers", "16"});
}

TEST_CASE("the largest of the halved batches that fits is taken") {
  Library library;
  Request request;
  request.profile = "resnet50_a100_b256_bf16";
  request.cluster = "h100x8-8x400gbps";
  request.workers = 8;
  request.strategy = "fsdp2";
  const auto of_batch = [&](const std::string& batch) {
    Request other = request;
    other.changes.push_back({"batch", batch, {}});
    return bytes_of(library, other);
  };
  const double limit = (of_batch("64") + of_batch("128")) / 2;
  REQUIRE(of_batch("128") > limit);
  set_option(request, "memory", std::to_string(std::llround(limit)) + " B");
  CHECK(flags_of(library, request) == Flags{"--batch", "64"});
}

TEST_CASE("where nothing fits there is no remedy") {
  Library library;
  CHECK_FALSE(memory_remedy(library, llama("fsdp2", 1e6)));
}

}  // namespace memory_remedy_test
