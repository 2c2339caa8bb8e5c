// Finds shapes of a drawing, and checks that it is legible.
#pragma once

#include <string>
#include <type_traits>
#include <vector>

#include "tests/catch.hpp"

#include "sim/output/picture/drawing.hpp"

// The shapes of this type and kind, in their order.
template <class Wanted>
std::vector<Wanted> shapes(const allreplay::Drawing& drawing, const std::string& kind) {
  std::vector<Wanted> found;
  for (const allreplay::Shape& shape : drawing.shapes)
    if (const auto* one = std::get_if<Wanted>(&shape)) {
      if constexpr (std::is_same_v<Wanted, allreplay::Text>) {
        if (one->kind == kind) found.push_back(*one);
      } else {
        if (one->meaning.kind == kind) found.push_back(*one);
      }
    }
  return found;
}

inline std::vector<std::string> texts(const allreplay::Drawing& drawing, const std::string& kind) {
  std::vector<std::string> found;
  for (const allreplay::Text& one : shapes<allreplay::Text>(drawing, kind)) found.push_back(one.text);
  return found;
}

inline allreplay::Box extent(const allreplay::Text& text) {
  using namespace allreplay;
  const double width = text_width(text.text, text.size, text.bold);
  const double back = text.align == Align::Start ? 0 : text.align == Align::Middle ? width / 2 : width;
  if (text.upwards) return {text.at.x - text.size, text.at.y - width + back, text.size, width};
  return {text.at.x - back, text.at.y - text.size, width, text.size};
}

// Requires that no text leaves the page or overlaps another.
inline void require_legible(const allreplay::Drawing& drawing) {
  using namespace allreplay;
  std::vector<Text> all;
  for (const Shape& shape : drawing.shapes)
    if (const auto* one = std::get_if<Text>(&shape)) all.push_back(*one);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Box a = extent(all[i]);
    INFO(all[i].text);
    CHECK((a.x >= 0 && a.y >= 0 && a.right() <= drawing.width && a.bottom() <= drawing.height));
    for (std::size_t j = 0; j < i; ++j) {
      const Box b = extent(all[j]);
      const bool apart = a.right() <= b.x || b.right() <= a.x || a.bottom() <= b.y || b.bottom() <= a.y;
      if (apart) continue;  // a CHECK for each pair would be slow
      INFO(all[j].text);
      CHECK(apart);
    }
  }
}
