// What stands on a command line, as texts to be changed: an option, a range of `tune`, a flag that changes the network,
// and all the words of a command. Each with texts that are right.
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
/// As the program does, up to CLI11: the commands themselves would write files.
void read_a_command_line(const std::string& text);
