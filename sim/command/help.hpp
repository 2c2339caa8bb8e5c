// What --help and `allreplay help` say, for the width of a screen.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/command/command.hpp"
#include "sim/command/definitions.hpp"

namespace allreplay {

/// Of the program: its commands, a line or two each.
std::string program_help(const std::vector<CommandDefinition>& commands, const std::string& about,
                         const std::string& footer, std::size_t width);

/// Of a command: its options.
std::string command_help(const CommandDefinition& command, std::size_t width);

/// What else `allreplay help` knows: strategies, collectives, codecs, options and some keys of clusters, by name.
std::vector<std::string> help_topics();

/// Of such a one; "" for what is none.
std::string topic_help(std::string_view topic, std::size_t width);

/// "--bucket-cap" for bucket_cap, and back.
std::string flag_of(std::string_view option);
std::string option_of(std::string_view flag);

}  // namespace allreplay
