// Rank 0 gets everybody's part, from all at once.
constexpr auto Gather = static_cast<CollectiveOp>(std::size(operation_rows));  // the next of the enumeration

constexpr OperationRow gather_operation{Gather, "gather", "direct", [](double n) { return (n - 1) / n; }};

Rounds direct_rounds(std::int64_t workers, const CollectiveOptions&, CollectiveOp, const SourceLocation&) {
  Rounds result{.ranks = static_cast<Rank>(workers), .pieces = workers};
  result.piece_share = 1 / static_cast<double>(workers);
  result.rounds.push_back({.sends = [](Rank from, std::int64_t, std::vector<Send>& out) {
    if (from > 0) out.push_back({.to = 0, .first = from});
  }});
  return result;
}

Coefficients direct(double n, const CollectiveOptions&) { return {1, (n - 1) / n, 0}; }

const Algorithm direct_row{.name = "direct",
                           .summary = "all send their part to rank 0",
                           .start_up = "α",
                           .per_byte = "(N−1)/N·β",
                           .workers = "any",
                           .coefficients = direct,
                           .operation = Gather,
                           .rounds = direct_rounds,
                           .halves = Halves::None};
