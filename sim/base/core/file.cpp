#include "sim/base/core/file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "sim/base/core/descriptor.hpp"
#include "sim/base/core/digest.hpp"
#include "sim/base/core/error.hpp"
#include "sim/base/core/file_lock.hpp"
#include "sim/base/core/interruption.hpp"
#include "sim/base/core/text.hpp"

namespace allreplay {

namespace fs = std::filesystem;

namespace {

using Identity = std::pair<dev_t, ino_t>;

std::optional<Identity> identity_of(const std::string& file) {
  struct stat facts {};
  if (stat(file.c_str(), &facts) != 0) return std::nullopt;
  return Identity(facts.st_dev, facts.st_ino);
}

[[noreturn]] void fail_to_read(const std::string& file, int error) {
  throw InputError({file, ""}, fmt::format("cannot be read: {}", std::strerror(error)), "check the path");
}

[[noreturn]] void fail_to_write(const std::string& file, int error) {
  throw InputError({file, ""}, fmt::format("cannot be written: {}", std::strerror(error)),
                   "check the folder, its rights and its space");
}

bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

// A temporary file in `folder` that no other process can have opened. Removed at the end unless rename_to() renames it.
class PrivateFile {
 public:
  explicit PrivateFile(const fs::path& folder) {
    std::random_device random;
    do {
      name_ = (folder / fmt::format(".allreplay-{:08x}{:08x}", random(), random())).string();
      leftover_.emplace(name_);
      sink_.reset(open(name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
    } while (!sink_.is_open() && errno == EEXIST);
  }
  ~PrivateFile() {
    if (!name_.empty()) unlink(name_.c_str());
  }

  bool is_open() const { return sink_.is_open(); }
  int number() const { return sink_.number(); }

  bool rename_to(const std::string& file) {
    if (!sink_.close() || rename(name_.c_str(), file.c_str()) != 0) return false;
    name_.clear();
    return true;
  }

 private:
  std::string name_;
  std::optional<Leftover> leftover_;
  Descriptor sink_;
};

// Rejects traces/public.json: it is the manifest of tools/get_public_traces.sh, not a profile.
bool is_data(std::string_view folder, const std::string& stem) { return folder != "traces" || stem != "public"; }

// The data folder that was installed with this program; "" if the system does not tell the program's path.
std::string installed_home() {
  std::error_code unknown;
  const fs::path program = fs::read_symlink("/proc/self/exe", unknown);
  return unknown ? "" : (program.parent_path().parent_path() / "share" / "allreplay").string();
}

}  // namespace

// The state that all copies of a Files object share, in several threads.
struct Files::State {
  std::vector<std::string> homes;
  std::mutex mutex;  // guards the members below
  std::map<std::string, std::shared_ptr<const std::string>> texts;
  std::set<Identity> inputs;  // files that were read
  bool protects = false;

  bool is_protected(const Identity& file) {
    const std::lock_guard guard(mutex);
    return protects && inputs.contains(file);
  }
};

Files::Files(std::vector<std::string> homes) : state_(std::make_shared<State>()) {
  std::vector<std::string>& all = state_->homes;
  all.emplace_back(".");
  if (const char* home = std::getenv("ALLREPLAY_HOME")) all.emplace_back(home);
  if (std::string home = installed_home(); !home.empty()) all.push_back(std::move(home));
  all.insert(all.end(), homes.begin(), homes.end());
  all.emplace_back(ALLREPLAY_SOURCE_DIR);
}

void Files::add(const std::string& name, std::string text) {
  const std::lock_guard guard(state_->mutex);
  state_->texts[name] = std::make_shared<const std::string>(std::move(text));
}

std::string Files::text(const std::string& name) const { return *in_memory(name); }

std::shared_ptr<const std::string> Files::in_memory(const std::string& name) const {
  const std::lock_guard guard(state_->mutex);
  const auto found = state_->texts.find(name);
  return found == state_->texts.end() ? nullptr : found->second;
}

Files Files::noting(ReadDigest& digest) const {
  Files files = *this;
  files.digest_ = &digest;
  return files;
}

void Files::note_read(int descriptor) const {
  struct stat facts {};
  if (fstat(descriptor, &facts) != 0 || !S_ISREG(facts.st_mode)) return;
  const std::lock_guard guard(state_->mutex);
  state_->inputs.insert({facts.st_dev, facts.st_ino});
}

namespace {

// The properties of a file that show if it has been changed or replaced.
std::string properties_of(const struct stat& facts) {
  return fmt::format("{} {} {} {}.{} {}.{}", facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtim.tv_sec,
                     facts.st_mtim.tv_nsec, facts.st_ctim.tv_sec, facts.st_ctim.tv_nsec);
}

}  // namespace

std::string Files::contents(const std::string& file, std::uint64_t most, bool is_input) const {
  const auto note = [&](std::string_view text, std::string facts_of_file) {
    if (!digest_ || !is_input) return;
    digest_->value = digest(text, digest_->value);
    digest_->sources.read_.push_back({file, std::move(facts_of_file)});
  };
  if (const auto text = in_memory(file)) {
    note(*text, *text);
    return *text;
  }
  const Descriptor source(open(file.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat facts {};
  if (!source.is_open() || fstat(source.number(), &facts) != 0) fail_to_read(file, errno);
  if (S_ISDIR(facts.st_mode)) throw InputError({file, ""}, "is a folder", "name a file");
  // If the size is known, one piece holds the file and one more byte, to meet its end.
  const auto piece = static_cast<std::size_t>(std::clamp<std::int64_t>(facts.st_size + 1, 1 << 12, 1 << 16));
  std::string text;
  for (;;) {
    const std::size_t length = text.size();
    text.resize(length + piece);
    const ssize_t got = ::read(source.number(), text.data() + length, piece);
    text.resize(length + (got > 0 ? static_cast<std::size_t>(got) : 0));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_to_read(file, errno);
    if (got == 0) break;
    if (text.size() > most)
      throw InputError({file, ""}, fmt::format("has more than {} MiB", most >> 20), "is it the right file?");
  }
  if (is_input) note_read(source.number());
  note(text, properties_of(facts));
  return text;
}

std::string Files::read(const std::string& file, std::uint64_t most) const { return contents(file, most, true); }
std::string Files::read_output(const std::string& file, std::uint64_t most) const {
  return contents(file, most, false);
}

void Files::protect_inputs() {
  const std::lock_guard guard(state_->mutex);
  state_->protects = true;
}

bool Files::was_read(const std::string& file) const {
  const auto identity = identity_of(file);
  return identity && state_->is_protected(*identity);
}

void Files::write(const std::string& file, std::string_view text) const {
  {
    const std::lock_guard guard(state_->mutex);
    if (const auto found = state_->texts.find(file); found != state_->texts.end()) {
      found->second = std::make_shared<const std::string>(text);
      return;
    }
  }
  const std::string target = link_target(file);
  std::error_code unknown;
  const bool fresh = target != file && !fs::exists(target, unknown);
  // Opens the given name rather than `target`, so that the system itself follows the links.
  Descriptor old(open(file.c_str(), O_WRONLY | O_CLOEXEC | (fresh ? O_CREAT : 0), 0666));
  const bool exists = old.is_open();
  struct stat facts {};
  if (exists ? fstat(old.number(), &facts) != 0 : errno != ENOENT) fail_to_write(file, errno);
  if (exists && !S_ISREG(facts.st_mode)) {  // a device, a pipe
    if (!write_all(old.number(), text) || !old.close()) fail_to_write(file, errno);
    return;
  }
  if (exists && state_->is_protected({facts.st_dev, facts.st_ino}))
    throw InputError({file, ""}, "is an input", "another file to write");
  if (exists && !still_names(target, old.number())) fail_to_write(file, EBUSY);
  if (exists) lock_opened(old.number(), file, LockMode::Shared);
  PrivateFile made(fs::path(target).parent_path());
  const auto keep_owner_and_mode = [&] {  // keeps the permissions and, if we may, the owner
    static_cast<void>(fchown(made.number(), facts.st_uid, facts.st_gid) == 0);
    return fchmod(made.number(), facts.st_mode & 07777) == 0;
  };
  if (made.is_open() && (!exists || keep_owner_and_mode()) && write_all(made.number(), text) && made.rename_to(target))
    return;
  const int error = errno;
  if (fresh && exists) unlink(target.c_str());
  fail_to_write(file, error);
}

void Files::require_writable(const std::string& file) const {
  if (in_memory(file)) return;
  const auto require = [&](const fs::path& path, int rights) {
    if (faccessat(AT_FDCWD, path.c_str(), rights, AT_EACCESS) != 0) fail_to_write(file, errno);
  };
  struct stat facts {};
  const bool exists = stat(file.c_str(), &facts) == 0;
  if (!exists && errno != ENOENT) fail_to_write(file, errno);
  if (exists && S_ISDIR(facts.st_mode)) fail_to_write(file, EISDIR);
  if (exists) require(file, W_OK);
  if (exists && !S_ISREG(facts.st_mode)) return;  // a device or a pipe needs no temporary file
  const fs::path folder = fs::path(link_target(file)).parent_path();
  require(folder.empty() ? "." : folder / ".", W_OK | X_OK);
}

bool Files::is_file(const std::string& name) const {
  if (in_memory(name)) return true;
  struct stat facts {};
  return stat(name.c_str(), &facts) == 0 &&
         (S_ISREG(facts.st_mode) || S_ISFIFO(facts.st_mode) || S_ISCHR(facts.st_mode));
}

std::string link_target(const std::string& file) {
  fs::path path = file;
  for (;;) {
    std::error_code none;
    const fs::path next = fs::read_symlink(path, none);
    if (none) return path.string();
    // Lets the system decide: it limits the number of links, and may refuse other users' links in shared folders.
    if (!Descriptor(open(file.c_str(), O_PATH | O_CLOEXEC)).is_open() && errno != ENOENT) fail_to_write(file, errno);
    path = path.parent_path() / next;  // `next` if it is absolute
    // /dev/stdout and /dev/fd may link to something that is not a file name, such as "pipe:[123]".
    if (!fs::exists(fs::symlink_status(path, none)) && fs::exists(file, none)) return file;
  }
}

std::string Files::identity(const std::string& file) const {
  if (file.empty()) return "";
  if (in_memory(file)) return "memory:" + file;
  if (const auto own = identity_of(file)) return fmt::format("{}:{}", own->first, own->second);
  const fs::path target = link_target(file);
  const auto folder = identity_of(target.has_parent_path() ? target.parent_path().string() : ".");
  return folder ? fmt::format("{}:{}/{}", folder->first, folder->second, target.filename().string()) : "";
}

std::optional<std::string> Files::located(std::string_view folder, const std::string& name) const {
  if (name.empty()) return std::nullopt;
  if (is_file(name)) return name;
  struct stat facts {};
  if (name.find('/') != std::string::npos && stat(name.c_str(), &facts) != 0 && errno == EACCES)
    fail_to_read(name, EACCES);  // a path into a folder without rights
  const auto found = [&](const std::string& file) {
    return is_file(file) && is_data(folder, fs::path(file).stem().string());
  };
  const auto normal = [](const std::string& file) { return fs::path(file).lexically_normal().string(); };
  if (name[0] == '/') return found(name + ".json") ? std::optional(normal(name + ".json")) : std::nullopt;
  for (const std::string& home : state_->homes)
    for (const char* ending : {"", ".json"})
      if (const std::string file = fmt::format("{}/{}/{}{}", home, folder, name, ending); found(file))
        return normal(file);
  return std::nullopt;
}

std::optional<std::string> Files::locate_data(std::string_view folder, const std::string& name) const {
  auto file = located(folder, name);
  if (digest_ && file) digest_->sources.located_.push_back({std::string(folder), name, *file});
  return file;
}

bool Sources::unchanged(const Files& files) const {
  for (const auto& [folder, name, file] : located_)
    if (files.located(folder, name) != file) return false;
  for (const auto& [file, facts] : read_) {
    struct stat now {};
    const auto memory = files.in_memory(file);
    if (memory ? *memory != facts : stat(file.c_str(), &now) != 0 || properties_of(now) != facts) return false;
  }
  return true;
}

std::string Files::find_data(std::string_view folder, const std::string& name, std::string_view noun) const {
  if (!is_one_line(name))
    throw InputError({name, ""}, "is not a valid name: not one line of text", "UTF-8 without control characters");
  if (auto file = locate_data(folder, name)) return *file;
  std::error_code impossible;
  if (fs::is_directory(name, impossible))
    throw InputError({name, ""}, "is a folder", fmt::format("name a {} file", noun));
  throw InputError({name.empty() ? "''" : name, ""},
                   fmt::format("no such file, and no {} of that name in {}/", noun, folder),
                   suggest(name, list_data(folder)));
}

std::vector<std::string> Files::list_data(std::string_view folder) const {
  std::set<std::string> names;
  for (const std::string& home : state_->homes) {
    std::error_code absent;
    for (fs::directory_iterator entry(fs::path(home) / folder, absent), end; !absent && entry != end;
         entry.increment(absent)) {
      const std::string stem = entry->path().stem().string();
      if (entry->path().extension() == ".json" && is_data(folder, stem) && is_one_line(stem)) names.insert(stem);
    }
  }
  return {names.begin(), names.end()};
}

}  // namespace allreplay
