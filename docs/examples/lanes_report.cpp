// What each lane carried in an iteration, how long its transfers waited for it, and how long they took.
std::string lanes_report(const Result& result, const Screen& screen) {
  Table table({"lane", "transfers", "on the wire", "waited", "took"});
  const std::vector<Transfer>& transfers = result.plan.transfers;
  for (std::size_t lane = 0; lane < result.plan.lanes.size(); ++lane) {
    std::int64_t count = 0;
    double bytes = 0;
    Time waited{0}, took{0};
    for (std::size_t index = 0; index < transfers.size(); ++index) {
      if (transfers[index].lane != lane) continue;
      const Span& span = result.episodes.back().timeline.spans[result.unrolled.transfer(index)];
      ++count;
      bytes += transfers[index].bytes;
      waited += span.start - span.ready;
      took += span.end - span.start;
    }
    table.add({result.plan.lanes[lane].name, cell::count(count), cell::bytes(bytes), cell::seconds(to_seconds(waited)),
               cell::seconds(to_seconds(took))});
  }
  return table.text(screen);
}
