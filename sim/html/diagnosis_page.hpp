// Renders a diagnosis as one self-contained web page.
#pragma once

#include <string>

#include "sim/diagnosis/diagnosis.hpp"

namespace allreplay {

/// Returns the page in HTML 5: the suspects, a step as measured and simulated on one axis, the workers' heat map, and
/// all numbers. `title` is plain text.
std::string diagnosis_page(const Diagnosis& known, const std::string& title);

}  // namespace allreplay
