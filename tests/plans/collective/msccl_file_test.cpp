// Algorithms in MSCCL's XML: ring, all pairs and tree are the built-in ones; what cannot be read names its line.
#include <algorithm>
#include <functional>
#include <tuple>

#include <fmt/format.h>

#include "tests/catch.hpp"
#include "tests/error_place.hpp"

#include "sim/plans/collective/collective_file.hpp"

using namespace allreplay;

namespace msccl_file_test {

namespace {

std::string step(int number, const std::string& type, const std::string& source, const std::string& target,
                 int wait_block = -1, int wait_step = -1) {
  return fmt::format(
      R"(<step s="{}" type="{}" srcbuf="{}" srcoff="{}" dstbuf="{}" dstoff="{}" cnt="1" depid="{}" deps="{}" hasdep="0"/>)"
      "\n",
      number, type, source[0], source.substr(1), target[0], target.substr(1), wait_block, wait_step);
}

std::string block(int id, int send, int recv, const std::string& steps) {
  return fmt::format("<tb id=\"{}\" send=\"{}\" recv=\"{}\" chan=\"0\">\n{}</tb>\n", id, send, recv, steps);
}

std::string algorithm(const std::string& collective, int ranks, int chunks,
                      const std::function<std::string(int rank)>& blocks, int scratch = 0, int in_place = 1) {
  std::string text = fmt::format(
      "<algo name=\"mine\" proto=\"Simple\" nchannels=\"1\" nchunksperloop=\"{}\" ngpus=\"{}\" coll=\"{}\" "
      "inplace=\"{}\">\n",
      chunks, ranks, collective, in_place);
  for (int rank = 0; rank < ranks; ++rank)
    text += fmt::format("<gpu id=\"{}\" i_chunks=\"{}\" o_chunks=\"0\" s_chunks=\"{}\">\n{}</gpu>\n", rank, chunks,
                        scratch, blocks(rank));
  return text + "</algo>\n";
}

std::string chunk(int number, int ranks) { return fmt::format("i{}", (number % ranks + ranks) % ranks); }

// A rank sends its chunk, passes on the sums of the others, then the results.
std::string ring(int n) {
  return algorithm("allreduce", n, n, [n](int rank) {
    std::string steps;
    for (int i = 0; i < 2 * n - 1; ++i) {
      const char* type = i == 0 ? "s" : i < n - 1 ? "rrs" : i == n - 1 ? "rrcs" : i < 2 * n - 2 ? "rcs" : "r";
      steps += step(i, type, chunk(rank - i, n), chunk(rank - i, n));
    }
    return block(0, (rank + 1) % n, (rank + n - 1) % n, steps);
  });
}

// Chunk r of all ranks goes to the scratch of rank r, which adds them up in threadblock 0, and sends the sum to all.
std::string all_pairs(int n) {
  const auto blocks = [n](int rank) {
    std::string sums, text;
    const std::string own = chunk(rank, n);
    int id = 0;
    for (int peer = 0; peer < n; ++peer) {
      if (peer == rank) continue;
      const std::string scratch = fmt::format("s{}", id);
      sums += step(id, "re", scratch, own, id + 1, 1);
      ++id;
      text += block(id, peer, peer,
                    step(0, "s", chunk(peer, n), "s0") + step(1, "r", own, scratch) + step(2, "s", own, own, 0, n - 2) +
                        step(3, "r", chunk(peer, n), chunk(peer, n)));
    }
    return block(0, -1, -1, sums) + text;
  };
  return algorithm("allreduce", n, n, blocks, n - 1);
}

// Up a binomial tree, and down: a rank sends to one child after another, the largest subtree first.
std::string tree(int n) {
  return algorithm("allreduce", n, 1, [n](int rank) {
    std::string text;
    int id = 0, last_block = -1;
    int parent = -1;
    std::vector<int> children;
    for (int distance = 1; distance < n && parent < 0; distance *= 2)
      if (rank % (2 * distance) == distance)
        parent = rank - distance;
      else if (rank + distance < n)
        children.push_back(rank + distance);
    for (const int child : children) {  // receipts follow each other, the smallest subtree first
      text += block(id, -1, child, step(0, "rrc", "i0", "i0", last_block, last_block < 0 ? -1 : 0));
      last_block = id++;
    }
    if (parent >= 0) {
      text += block(id, parent, parent,
                    step(0, "s", "i0", "i0", last_block, last_block < 0 ? -1 : 0) + step(1, "r", "i0", "i0"));
      last_block = id++;
    }
    for (std::size_t i = children.size(); i-- > 0;) {
      const bool is_first = i + 1 == children.size();
      text += block(id, children[i], -1, step(0, "s", "i0", "i0", last_block, is_first && parent >= 0 ? 1 : 0));
      last_block = id++;
    }
    return text;
  });
}

std::shared_ptr<const CollectiveFile> file_of(const std::string& text) { return read_msccl(text, "FILE.xml"); }

std::string complaint(const std::string& text) {
  return error_place([&] { file_of(text); });
}

// By round: from, to, pieces, reduced.
using Messages = std::vector<std::vector<std::tuple<Rank, Rank, std::int64_t, bool>>>;

Messages messages_of(const Rounds& rounds) {
  Messages all;
  for (const Round& round : rounds.rounds)
    for (std::int64_t turn = 0; turn < round.repeat; ++turn) {
      all.emplace_back();
      for (Rank from = 0; from < rounds.ranks; ++from) {
        std::vector<Send> sends;
        round.sends(from, turn, sends);
        for (const Send& send : sends) all.back().emplace_back(from, send.to, send.count, send.reduce);
      }
      std::sort(all.back().begin(), all.back().end());
    }
  return all;
}

std::string with(std::string text, const std::string& what, const std::string& instead) {
  return text.replace(text.find(what), what.size(), instead);
}

}  // namespace

TEST_CASE("MSCCL: a ring, all pairs and a tree are ring, parameter-server and binary-tree") {
  for (const int n : {2, 3, 4, 8})
    for (const auto& [text, name] :
         {std::pair(ring(n), "ring"), std::pair(all_pairs(n), "parameter-server"), std::pair(tree(n), "binary-tree")}) {
      if (n == 3 && name == std::string("binary-tree"))
        continue;  // rank 2, with nothing to wait for, sends a round earlier
      INFO(name << " among " << n);
      const Algorithm& built_in = find_algorithm(name, {});
      const auto file = file_of(text);
      CHECK(file->name == "mine");
      const Rounds rounds = rounds_of(file->algorithm, n, {}, CollectiveOp::AllReduce, {});
      const Rounds known = rounds_of(built_in, n, {}, CollectiveOp::AllReduce, {});
      CHECK(messages_of(rounds) == messages_of(known));
      CHECK(rounds.piece_share == known.piece_share);
      CHECK(rounds.streams == known.streams);
      if (n == 3) continue;  // closed forms take the logarithm of N as it is
      const Coefficients a = built_in.coefficients(n, {}), b = file->algorithm.coefficients(n, {});
      CHECK(b.alpha == Approx(a.alpha));
      CHECK(b.beta == Approx(a.beta));
      CHECK(b.gamma == Approx(a.gamma));
    }
}

TEST_CASE("MSCCL: all-gather, reduce-scatter, all-to-all and broadcast") {
  const auto peer = [](int rank) { return 1 - rank; };
  // In place, rank r's input is chunk r of the output.
  const auto gather = [&](int rank) {
    return block(0, peer(rank), peer(rank),
                 step(0, "s", "i0", fmt::format("o{}", rank)) + step(1, "r", "i0", fmt::format("o{}", peer(rank))));
  };
  const auto file = file_of(algorithm("allgather", 2, 2, gather));
  CHECK(file->algorithm.operation == CollectiveOp::AllGather);
  CHECK(file->algorithm.coefficients(2, {}).beta == 0.5);
  // Out of place, rank r's own chunk has to be copied.
  CHECK(complaint(algorithm("allgather", 2, 2, gather, 0, 0)) == "FILE.xml");
  const auto copied = [&](int rank) {
    return gather(rank) + block(1, -1, -1, step(0, "cpy", "i0", fmt::format("o{}", rank)));
  };
  CHECK_NOTHROW(file_of(algorithm("allgather", 2, 2, copied, 0, 0)));
  // Rank r's output is chunk r of its input.
  const auto scatter = [&](int rank) {
    return block(0, peer(rank), peer(rank),
                 step(0, "s", fmt::format("i{}", peer(rank)), "o0") + step(1, "rrc", fmt::format("i{}", rank), "o0"));
  };
  CHECK(file_of(algorithm("reduce_scatter", 2, 2, scatter))->algorithm.coefficients(2, {}).gamma == 0.5);
  CHECK_NOTHROW(file_of(algorithm("reduce_scatter", 2, 2, scatter, 0, 0)));
  const auto exchange = [&](int rank) {
    const std::string own = fmt::format("{}", rank), other = fmt::format("{}", peer(rank));
    return block(0, peer(rank), peer(rank),
                 step(0, "s", "i" + other, "o" + own) + step(1, "r", "i" + own, "o" + other)) +
           block(1, -1, -1, step(0, "cpy", "i" + own, "o" + own));
  };
  const auto pairs = file_of(algorithm("alltoall", 2, 2, exchange, 0, 0));
  CHECK(messages_of(rounds_of(pairs->algorithm, 2, {}, CollectiveOp::AllToAll, {})) ==
        messages_of(rounds_of(find_algorithm("all-to-all", {}), 2, {}, CollectiveOp::AllToAll, {})));
  CHECK_NOTHROW(file_of(algorithm("broadcast", 2, 1, [&](int rank) {
    return rank == 0 ? block(0, 1, -1, step(0, "s", "i0", "i0")) : block(0, -1, 0, step(0, "r", "i0", "i0"));
  })));
}

TEST_CASE("MSCCL: threadblocks that do not wait for each other are streams") {
  // Two rings of two, on half of the bytes each.
  const auto blocks = [](int rank) {
    std::string text;
    for (int k = 0; k < 2; ++k) {
      const std::string half = fmt::format("i{}", k);
      text += with(block(k, 1 - rank, 1 - rank,
                         rank == k ? step(0, "s", half, half) + step(1, "r", half, half) : step(0, "rrcs", half, half)),
                   "chan=\"0\"", fmt::format("chan=\"{}\"", k));
    }
    return text;
  };
  const Rounds rounds =
      rounds_of(file_of(algorithm("allreduce", 2, 2, blocks))->algorithm, 2, {}, CollectiveOp::AllReduce, {});
  CHECK(rounds.streams == 2);
  CHECK(messages_of(rounds) == Messages{{{0, 1, 1, true}, {1, 0, 1, true}}, {{0, 1, 1, false}, {1, 0, 1, false}}});
}

TEST_CASE("MSCCL: what cannot be read names its line") {
  const std::string good = ring(2);  // <algo>, <gpu>, <tb>, three steps from line 4 on, …
  CHECK_NOTHROW(file_of(good));
  CHECK(complaint("hello") == "FILE.xml: line 1");
  CHECK(complaint(good.substr(0, good.size() / 2)).starts_with("FILE.xml: line "));
  CHECK(complaint("<graph/>") == "FILE.xml: line 1");
  CHECK(complaint(with(good, "allreduce", "custom")) == "FILE.xml: line 1");
  CHECK(complaint(with(good, "ngpus=\"2\"", "")) == "FILE.xml: line 1");
  CHECK(complaint(with(good, "ngpus=\"2\"", "ngpus=\"3\"")) == "FILE.xml: line 1");
  CHECK(complaint(with(good, "<tb id=\"0\"", "<tb id=\"1\"")) == "FILE.xml: line 3");
  CHECK(complaint(with(good, "send=\"1\"", "send=\"0\"")) == "FILE.xml: line 3");
  CHECK(complaint(with(good, "type=\"s\"", "type=\"put\"")) == "FILE.xml: line 4");
  CHECK(complaint(with(good, "srcoff=\"0\"", "srcoff=\"2\"")) == "FILE.xml: line 4");
  CHECK(complaint(with(good, "cnt=\"1\"", "cnt=\"2\"")) == "FILE.xml: line 12");  // received as one
  CHECK(complaint(with(good, "depid=\"-1\" deps=\"-1\"", "depid=\"3\" deps=\"0\"")) == "FILE.xml: line 4");
  CHECK(complaint(with(good, "<step s=\"1\"", "<step s=\"2\"")) == "FILE.xml: line 5");
  CHECK(complaint(with(good, "type=\"rrcs\"", "type=\"rcs\"")) == "FILE.xml");  // a rank's part is lost
  const std::string silent = with(with(good, "type=\"s\"", "type=\"nop\""), "type=\"s\"", "type=\"nop\"");
  CHECK(complaint(silent) == "FILE.xml: line 5");  // waits for ever
  CHECK(complaint(with(good, "type=\"rrcs\"", "type=\"rrc\"")) == "FILE.xml: line 13");
}

}  // namespace msccl_file_test
