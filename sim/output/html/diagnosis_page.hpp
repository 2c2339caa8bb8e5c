// A diagnosis as one web page that needs nothing else.
#pragma once

#include <string>

#include "sim/studies/diagnosis/diagnosis.hpp"

namespace allreplay {

/// The page, in HTML 5: the report, a step as measured and as simulated on one axis, the workers' heat map. `title` is
/// plain text.
std::string diagnosis_page(const Diagnosis& known, const std::string& title);

}  // namespace allreplay
