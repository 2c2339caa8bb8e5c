// The lanes of an iteration: what each carried, how long its transfers waited for it, and how long they took.
JsonValue lanes_json(const Result& result) {
  auto lanes = JsonValue::array();
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
    lanes.push_back({{"lane", result.plan.lanes[lane].name},
                     {"transfers", count},
                     {"wire_bytes", bytes},
                     {"waited_s", to_seconds(waited)},
                     {"took_s", to_seconds(took)}});
  }
  return {{"lanes", std::move(lanes)}};
}

const View& lanes_view() {
  static const View view{{ViewTable{"lanes",
                                    {{"lane", "{lane}"},
                                     {"transfers", "{transfers}"},
                                     {"on the wire", "{wire_bytes}"},
                                     {"waited", "{waited_s}"},
                                     {"took", "{took_s}"}}}}};
  return view;
}
