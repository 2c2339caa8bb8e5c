#include "sim/output/picture/picture_file.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <stdexcept>

#include <fmt/format.h>

#include "sim/base/core/file.hpp"
#include "sim/output/picture/cairo.hpp"
#include "sim/output/picture/svg.hpp"

namespace allreplay {

namespace {

struct Format {
  std::string_view ending;
  std::string (*write)(const Drawing&, double pixels);
};
constexpr Format formats[] = {{".svg", [](const Drawing& drawing, double) { return to_svg(drawing); }},
                              {".png", to_png},
                              {".pdf", [](const Drawing& drawing, double) { return to_pdf(drawing); }}};

const Format* format_of(const std::string& file) {
  const std::string ending = std::filesystem::path(file).extension().string();
  const auto* found = std::find_if(std::begin(formats), std::end(formats),
                                   [&](const Format& format) { return format.ending == ending; });
  return found == std::end(formats) ? nullptr : found;
}

}  // namespace

bool is_picture(const std::string& file) { return format_of(file) != nullptr; }

void require_picture(const std::string& file, const SourceLocation& place, const std::string& others) {
  if (!is_picture(file))
    throw InputError(place, fmt::format("'{}': unknown picture format", file), ".svg, .png, .pdf" + others);
}

void write_picture(const Files& files, const std::string& file, const Drawing& drawing, double pixels) {
  const Format* format = format_of(file);
  if (!format) throw std::logic_error("no format for " + file);
  files.write(file, format->write(drawing, pixels));
}

}  // namespace allreplay
