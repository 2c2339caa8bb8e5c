// Texts of the command line for fuzzing: options, ranges of `tune`, flags that change the network, and whole commands.
// For each, valid texts and a reader.
#pragma once

#include <string>
#include <vector>

std::vector<std::string> option_texts();
void read_an_option(const std::string& text);

std::vector<std::string> ranges();
void read_a_range(const std::string& text);

std::vector<std::string> change_texts();
void read_a_change(const std::string& text);

std::vector<std::string> command_lines();
/// Parses as the program does, but does not run the command, which could write files.
void read_a_command_line(const std::string& text);
