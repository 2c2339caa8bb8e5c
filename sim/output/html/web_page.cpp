#include "sim/output/html/web_page.hpp"

#include <stdexcept>

#include <fmt/format.h>

#include "sim/output/picture/svg.hpp"

namespace allreplay {

std::string web_page(std::string_view command, const std::string& title, std::string_view body,
                     std::string_view style) {
  std::string page(page_html);
  fill(page, "script", page_js);
  fill(page, "body", body);
  fill(page, "style", std::string(page_css) + std::string(style));
  fill(page, "title", escaped(displayable(title)));
  fill(page, "command", command);
  return page;
}

void fill(std::string& page, std::string_view name, std::string_view text) {
  const std::string hole = fmt::format("{{{{{}}}}}", name);
  const std::size_t at = page.find(hole);
  if (at == std::string::npos) throw std::logic_error(fmt::format("the page has no {}", hole));
  page.replace(at, hole.size(), text);
}

}  // namespace allreplay
