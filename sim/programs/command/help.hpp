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

/// A key of an input file, the keys around it ("network/node"), and its description in the schema.
struct KeyDescription {
  std::string key, place, about;
};

extern const std::string_view cluster_schema, sweep_schema, jobs_schema;  ///< of docs/schema
std::vector<KeyDescription> keys_of_schema(std::string_view schema);

/// Help on the key of a `file` ("cluster") with this schema; "" if it has none of that name.
std::string key_help(std::string_view schema, std::string_view file, std::string_view key, std::size_t width);

/// The topics other than commands that `allreplay help` offers: strategies, options, keys of files, ….
std::vector<std::string> help_topics();

/// Converts bucket_cap to "--bucket-cap", and back.
std::string flag_of(std::string_view option);
std::string option_of(std::string_view flag);

}  // namespace allreplay
