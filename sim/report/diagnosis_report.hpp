// What `allreplay diagnose` says: sim/diagnosis/diagnosis.hpp.
#pragma once

#include <string>
#include <vector>

#include "sim/core/json_value.hpp"
#include "sim/core/screen.hpp"
#include "sim/diagnosis/diagnosis.hpp"
#include "sim/diagnosis/fitted_job.hpp"

namespace allreplay {

/// "worker 5 (replica 1, stage 2)".
std::string worker_words(const Diagnosis& known, const WorkerPlace& worker);

/// Each suspect in a sentence, with what mending it brings.
std::vector<std::string> suspects_in_words(const Diagnosis& known);

/// What casts doubt on the numbers, and time that no op accounts for, in a sentence each: where the replay misses 5 %
/// of a step, where clocks differ.
std::vector<std::string> diagnosis_notes(const Diagnosis& known);

std::string diagnosis_report(const Diagnosis& known, const Screen& screen);
JsonValue diagnosis_json(const Diagnosis& known);

/// A cluster file of what a job's collectives and computing times say, and a sentence for each constant. Throws
/// InputError at `place` where times do not grow with the size.
std::string fitted_cluster(const FittedJob& fitted, const Diagnosis& known, const std::string& name,
                           const SourceLocation& place);
std::vector<std::string> fitted_constants(const FittedJob& fitted);

}  // namespace allreplay
