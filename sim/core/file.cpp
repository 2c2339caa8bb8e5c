#include "sim/core/file.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include <fmt/format.h>

#include "sim/core/error.hpp"
#include "sim/core/text.hpp"

namespace allreplay {

namespace fs = std::filesystem;

namespace {

// Whether there is such a file; "no" for names that no file can have.
bool is_file(const fs::path& path) {
  std::error_code impossible;
  return fs::is_regular_file(path, impossible);
}

// The manifest of tools/get_public_traces.sh stands among the traces, and is none.
bool is_data(std::string_view folder, const std::string& stem) { return folder != "traces" || stem != "public"; }

std::vector<fs::path> homes() {
  std::vector<fs::path> homes{"."};
  if (const char* home = std::getenv("ALLREPLAY_HOME")) homes.emplace_back(home);
  std::error_code ignored;
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored);
  if (!ignored) homes.push_back(program.parent_path().parent_path() / "share" / "allreplay");
  homes.emplace_back(ALLREPLAY_SOURCE_DIR);
  return homes;
}

}  // namespace

std::string read_file(const std::string& file) {
  std::error_code impossible;
  if (fs::is_directory(file, impossible)) throw InputError({file, ""}, "is a folder", "name a file");
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw InputError({file, ""}, fmt::format("cannot be read: {}", std::strerror(errno)), "check the path");
  return {std::istreambuf_iterator<char>(stream), {}};
}

void write_file(const std::string& file, std::string_view text) {
  std::error_code impossible;
  const bool in_place = fs::exists(file, impossible) && !fs::is_regular_file(file, impossible);  // a device, a pipe
  const std::string temporary = in_place ? file : file + ".partial";
  std::ofstream stream(temporary, std::ios::binary);
  stream.write(text.data(), static_cast<std::streamsize>(text.size()));
  stream.close();
  std::error_code failed;
  if (stream && !in_place) fs::rename(temporary, file, failed);
  if (!stream || failed) {
    const std::string why = failed ? failed.message() : std::strerror(errno);
    if (!in_place) fs::remove(temporary, impossible);
    throw InputError({file, ""}, fmt::format("cannot be written: {}", why), "check the folder and its rights");
  }
}

std::optional<std::string> locate_data(std::string_view folder, const std::string& name) {
  if (name.empty()) return std::nullopt;
  if (is_file(name)) return name;
  for (const fs::path& home : homes())
    for (const std::string& file : {name, name + ".json"})
      if (is_data(folder, fs::path(file).stem().string()) && is_file(home / folder / file))
        return (home / folder / file).lexically_normal().string();
  return std::nullopt;
}

std::string find_data(std::string_view folder, const std::string& name, std::string_view noun) {
  if (auto file = locate_data(folder, name)) return *file;
  std::error_code impossible;
  if (fs::is_directory(name, impossible))
    throw InputError({name, ""}, "is a folder", fmt::format("name a {} file", noun));
  throw InputError({name.empty() ? "''" : name, ""},
                   fmt::format("no such file, and no {} of that name in {}/", noun, folder),
                   suggest(name, list_data(folder)));
}

std::vector<std::string> list_data(std::string_view folder) {
  std::set<std::string> names;
  for (const fs::path& home : homes()) {
    std::error_code absent;
    for (const fs::directory_entry& entry : fs::directory_iterator(home / folder, absent))
      if (entry.path().extension() == ".json" && is_data(folder, entry.path().stem().string()) &&
          is_one_line(entry.path().stem().string()))
        names.insert(entry.path().stem().string());
  }
  return {names.begin(), names.end()};
}

}  // namespace allreplay
