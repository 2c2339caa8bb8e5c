// The texts of --help and `allreplay help`, wrapped to a width in columns.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/programs/command/command.hpp"

namespace allreplay {

/// Help on the program: its commands, a line or two each.
std::string program_help(const CommandLine& app, std::size_t width);

/// Help on a command: its options by group, and examples.
std::string command_help(const Command& command, std::size_t width);

/// The other topics that `allreplay help` explains by name, such as strategies, options and keys of cluster files.
std::vector<std::string> help_topics();

/// Help on such a topic, or on a result column; "" if it is neither.
std::string topic_help(std::string_view topic, std::size_t width);

/// Converts bucket_cap to "--bucket-cap", and back.
std::string flag_of(std::string_view option);
std::string option_of(std::string_view flag);

}  // namespace allreplay
