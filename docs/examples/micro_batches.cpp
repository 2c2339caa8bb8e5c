const OptionRow micro_batches_row{
    .name = "micro_batches",
    .about = "micro-batches of an iteration",
    .reader = "all strategies",
    .kind = OptionKind::Count,
    .set = [](Options& o, const std::string& v,
              const SourceLocation& p) { o.strategy.sharding.accumulate = parse_integer(v, 1, 64, p); },
    .get = [](const Options& o) { return std::to_string(o.strategy.sharding.accumulate); },
};
