// The exposed part of an iteration.
constexpr Column exposed_share{"exposed_share",
                               "exposed",
                               "",
                               "1",
                               ColumnRole::Measure,
                               true,
                               "exposed_comm_s / iteration_s",
                               [](const Record& record) -> Cell {
                                 return record.result.metrics.exposed_comm_s / record.result.metrics.iteration_s;
                               }};
