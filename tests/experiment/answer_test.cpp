#include "sim/experiment/answer.hpp"

#include "tests/catch.hpp"

using namespace allreplay;

TEST_CASE("a request travels whole between processes") {
  Request request;
  request.profile = "p.csv";
  request.forward_ratio = 0.5;
  request.cluster = "c.json";
  request.workers = 24;
  request.collective = "ring";
  request.fidelity = "fluid";
  request.codec = "fp16";
  request.strategy = "ddp";
  request.plan = "plan.json";
  request.options = {{"bucket_cap", "3 MB", {"command line", "--option"}}, {"alpha", "1 us", {"s.json", "/a/b"}}};
  request.changes = {{"bandwidth", "x4", {"command line", "--bandwidth"}}};
  request.reuse = false;
  int number = 0;
  for (Place* place : {&request.place_of_profile, &request.place_of_ratio, &request.place_of_workers,
                       &request.place_of_strategy, &request.place_of_collective, &request.place_of_fidelity,
                       &request.place_of_codec})
    *place = {"file " + std::to_string(++number), "/place/" + std::to_string(number)};
  Packer packer;
  pack(packer, request);
  Unpacker unpacker(packer.bytes());
  const Request there = unpack_request(unpacker);
  CHECK(unpacker.done());
  // The words that mean it name every field but the places; packed again, those have to be there, too.
  CHECK(run_flags(there) == run_flags(request));
  Packer again;
  pack(again, there);
  CHECK(again.bytes() == packer.bytes());
  CHECK(there.place_of_codec.file == "file 7");
  CHECK(there.options[1].place.path == "/a/b");
}

TEST_CASE("a row travels whole between processes, whatever its cells hold") {
  SweptRow row;
  std::size_t kind = 0;
  const Cell cells[] = {{},
                        std::string("a text, \"quoted\""),
                        std::int64_t{-7},
                        0.1,
                        NamedValues{{"bucket_cap", "25 MiB"}, {"window", "1"}},
                        NamedNumbers{{"parameters", 1e9}, {"activations", 0}}};
  static_assert(std::size(cells) == std::variant_size_v<Cell>);
  for (const ColumnRow& column : columns()) row.row.push_back({column.name, cells[kind++ % std::size(cells)]});
  row.warning = "beyond what was measured";
  Packer packer;
  pack(packer, row);
  Unpacker unpacker(packer.bytes());
  const SweptRow there = unpack_swept(unpacker);
  CHECK(unpacker.done());
  CHECK(to_csv(there.row) == to_csv(row.row));
  CHECK(to_json(there.row) == to_json(row.row));
  CHECK(there.warning == row.warning);
}
