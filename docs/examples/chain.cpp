// Everything from rank to rank, summed on the way, down to rank 0; then the sum back up.
Rounds chain_rounds(std::int64_t workers, const CollectiveOptions&, CollectiveOp op, const SourceLocation&) {
  Rounds result{.ranks = static_cast<Rank>(workers)};
  const auto hop = [&](Rank giver, Rank taker, bool reduce) {
    result.rounds.push_back({.sends = [=](Rank from, std::int64_t, std::vector<Send>& out) {
      if (from == giver) out.push_back({.to = taker, .reduce = reduce});
    }});
  };
  if (op != CollectiveOp::AllGather)
    for (Rank rank = result.ranks; --rank > 0;) hop(rank, rank - 1, true);
  if (op != CollectiveOp::ReduceScatter)
    for (Rank rank = 1; rank < result.ranks; ++rank) hop(rank - 1, rank, false);
  return result;
}

Coefficients chain(double n, const CollectiveOptions&) { return {2 * (n - 1), 2 * (n - 1), n - 1}; }

const Algorithm chain_row = {"linear",    "all bytes down a chain of ranks, and back",
                             "2(N−1)α",   "(N−1)(2β + γ)",
                             "any",       "",
                             "",          chain,
                             nullptr,     CollectiveOp::AllReduce,
                             chain_rounds};
