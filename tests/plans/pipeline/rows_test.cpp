// Files of rows: what is read, and what is refused by which word.
#include "sim/plans/pipeline/rows.hpp"

#include "tests/catch.hpp"
#include "tests/error_place.hpp"

using namespace allreplay;

namespace {

RowIndex index(const std::string& text, std::int64_t ranks = 2) {
  return index_of(parse_rows(text, "rows.csv"), ranks, {"rows.csv", ""});
}

std::string refusal(const std::string& text, std::int64_t ranks = 2) {
  return error_place([&] { index(text, ranks); });
}

std::string refusal_of_words(const std::string& text) {
  const ActionRows rows = parse_rows(text, "rows.csv");
  const RowIndex known = index_of(rows, 2, {"rows.csv", ""});
  return error_place([&] { require_parameter_words(rows, known, {"rows.csv", ""}); });
}

}  // namespace

TEST_CASE("cells are actions or empty") {
  const ActionRows rows = parse_rows("0F0,,(0F1;0B0)OVERLAP_F_B\n1RECV_F0,1UNSHARD\n", "rows.csv");
  REQUIRE(rows.size() == 2);
  CHECK(rows[0] == ActionRow{{Activity::Forward, 0, 0}, {Activity::Forward, 0, 1}, {Activity::Backward, 0, 0, true}});
  CHECK(rows[1] == ActionRow{{Activity::ReceiveForward, 1, 0}, {Activity::Unshard, 1}});
  for (const char* text : {"0F0,0X1\n", "0F\n", "F0\n", "0F0 \n", "(0F0;0B0)\n", "(0F0;0SEND_F0)OVERLAP_F_B\n"})
    CHECK(error_place([&] { parse_rows(text, "rows.csv"); }).starts_with("rows.csv: row 1, cell "));
}

TEST_CASE("rows are complete") {
  CHECK(index("0F0,0B0\n1F0,1B0\n").micro_batches == 1);
  CHECK(refusal("0F0,0B0\n1F0,1B0\n", 3) == "rows.csv");
  CHECK(refusal("0F0,0B0\n,\n") == "rows.csv");
  CHECK(refusal("0F0,0B0\n1F0,1I0\n") == "rows.csv");
  CHECK(refusal("0F0,0B0\n1F0\n") == "rows.csv");
  CHECK(refusal("0F0,0B0\n1B0,1F0\n") == "rows.csv");
  CHECK(refusal("0F0,0B0,0F0\n1F0,1B0\n") == "rows.csv");
  CHECK(refusal("0F0,0B0\n2F0,2B0\n") == "rows.csv");
  CHECK(refusal("0F0,0B0,1B0\n1F0\n") == "rows.csv");
  // 2F0 waits for 1F0, that for 0F0, and that stands behind 2F0.
  CHECK(refusal("2F0,0F0,2B0,0B0\n1F0,3F0,3B0,1B0\n") == "rows.csv");
}

TEST_CASE("sends appear once, after the action whose result they send") {
  const RowIndex sent = index("0F0,0F1,0SEND_F0,0SEND_F1,0B0,0B1\n1F0,1B0,1SEND_B0,1F1,1B1,1SEND_B1\n");
  CHECK(sent.forward_sends[sent.at(0, 0)] == ActionPlace{0, 1});  // behind 0F1
  CHECK(sent.backward_sends[sent.at(1, 0)] == ActionPlace{1, 1});
  CHECK(refusal("0F0,0SEND_F0,0B0\n1F0,1B0\n") == "rows.csv");
  CHECK(refusal("0F0,0SEND_F0,0SEND_F0,0B0\n1F0,1B0,1SEND_B0\n") == "rows.csv");
  CHECK(refusal("0SEND_F0,0F0,0B0\n1F0,1B0,1SEND_B0\n") == "rows.csv");
  CHECK(refusal("0F0,0SEND_F0,3F0,3SEND_B0,3B0,0B0\n1F0,1SEND_F0,2F0,2SEND_F0,2B0,1B0,1SEND_B0\n") ==
        "rows.csv");                                                    // before 3B0
  CHECK(refusal("0F0,1F0,0SEND_F0,1B0,0B0\n2F0,2B0\n") == "rows.csv");  // stays on its rank
}

TEST_CASE("parameters are gathered before a chunk computes, and reduced once") {
  CHECK(refusal_of_words("0UNSHARD,0F0,0B0,0RESHARD,0REDUCE_GRAD\n1UNSHARD,1F0,1B0,1REDUCE_GRAD\n").empty());
  CHECK(refusal_of_words("0UNSHARD,0F0,0RESHARD,0B0\n1UNSHARD,1F0,1B0\n") == "rows.csv");
  CHECK(refusal_of_words("0UNSHARD,0UNSHARD,0F0,0B0\n1UNSHARD,1F0,1B0\n") == "rows.csv");
  CHECK(refusal_of_words("0F0,0REDUCE_GRAD,0B0\n1F0,1B0,1REDUCE_GRAD\n") == "rows.csv");
  CHECK(refusal_of_words("0F0,0B0,0REDUCE_GRAD\n1F0,1B0\n") == "rows.csv");
}
