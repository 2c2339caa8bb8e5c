// Parses and writes the values of options. Each parser throws InputError at `place`.
#pragma once

#include <string>
#include <string_view>

#include "sim/base/core/error.hpp"
#include "sim/base/core/time.hpp"
#include "sim/base/core/units.hpp"
#include "sim/plans/schedule/strategy.hpp"

namespace allreplay {

Bytes any_size(const std::string& text, const SourceLocation& place);
Bytes positive_size(const std::string& text, const SourceLocation& place);

/// Bytes per second, at least 1 kB/s.
double positive_rate(const std::string& text, const SourceLocation& place);

Time any_time(const std::string& text, const SourceLocation& place);
Time positive_time(const std::string& text, const SourceLocation& place);

/// `all_is_one`: above 0 and at most 1; else from 0 to below 1.
double parse_share(const std::string& text, const SourceLocation& place, bool all_is_one);

/// A number of blocks, or a size.
Window parse_window(const std::string& text, const SourceLocation& place);

/// "group", "layer" or a size. The default is written as "".
Wrap parse_wrap(const std::string& text, const SourceLocation& place);
std::string write_wrap(const Wrap& wrap);

/// `of_paper`: the word for the paper's order, the default, which is written as "".
PhaseOrder parse_phase_order(const std::string& text, const SourceLocation& place, std::string_view of_paper);
std::string write_phase_order(const PhaseOrder& order);

}  // namespace allreplay
