#include "sim/output/picture/cairo.hpp"

#include <cmath>
#include <memory>
#include <stdexcept>

#include "sim/output/picture/cairo_library.hpp"

// Fontconfig never frees its caches. A leak checker calls these functions by name; they are the only visible symbols.
#pragma GCC visibility push(default)
extern "C" const char* __lsan_default_suppressions() { return "leak:libfontconfig"; }
extern "C" const char* __lsan_default_options() { return "print_suppressions=0"; }
#pragma GCC visibility pop

namespace allreplay {

namespace {

constexpr double points_per_pixel = 0.75;  // 72 points and 96 pixels to the inch

void require(cairo_status_t status) {
  if (status != CAIRO_STATUS_SUCCESS) throw std::runtime_error(std::string("cairo: ") + cairo_status_to_string(status));
}

using Surface = std::unique_ptr<cairo_surface_t, void (*)(cairo_surface_t*)>;
using Pen = std::unique_ptr<cairo_t, void (*)(cairo_t*)>;

Surface checked(cairo_surface_t* made) {
  Surface surface(made, cairo_surface_destroy);
  require(cairo_surface_status(made));
  return surface;
}

Pen pen_on(const Surface& surface) {
  Pen pen(cairo_create(surface.get()), cairo_destroy);
  require(cairo_status(pen.get()));
  // Letters have their designed widths, for the same layout at every size and in every format.
  cairo_font_options_t* options = cairo_font_options_create();
  cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF);
  cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE);
  cairo_font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY);
  cairo_set_font_options(pen.get(), options);
  cairo_font_options_destroy(options);
  return pen;
}

void choose_font(cairo_t* pen, const std::string& font, double size, bool bold, bool italic) {
  cairo_select_font_face(pen, font.c_str(), italic ? CAIRO_FONT_SLANT_ITALIC : CAIRO_FONT_SLANT_NORMAL,
                         bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
  cairo_set_font_size(pen, size);
}

cairo_status_t append(void* text, const unsigned char* data, unsigned length) {
  static_cast<std::string*>(text)->append(reinterpret_cast<const char*>(data), length);
  return CAIRO_STATUS_SUCCESS;
}

class Painter {
 public:
  explicit Painter(cairo_t* pen, const std::string& font) : pen_(pen), font_(font) {}

  void paint(const Drawing& drawing) {
    set(colour(0xFFFFFF));
    cairo_paint(pen_);
    for (const Shape& shape : drawing.shapes) std::visit([&](const auto& one) { paint(one); }, shape);
    require(cairo_status(pen_));
  }

 private:
  void set(Colour c, double opacity = 1) {
    cairo_set_source_rgba(pen_, c.red / 255.0, c.green / 255.0, c.blue / 255.0, opacity);
  }

  void paint(const Rectangle& one) {
    cairo_rectangle(pen_, one.box.x, one.box.y, one.box.width, one.box.height);
    paint(one.look);
  }

  void paint(const Circle& one) {
    cairo_new_sub_path(pen_);
    cairo_arc(pen_, one.centre.x, one.centre.y, one.radius, 0, 2 * M_PI);
    paint(one.look);
  }

  void paint(const Path& one) {
    for (const Position& point : one.points) cairo_line_to(pen_, point.x, point.y);
    if (one.closed) cairo_close_path(pen_);
    paint(one.look);
  }

  void paint(const Look& look) {
    if (look.fill) {
      set(*look.fill, look.opacity);
      cairo_fill_preserve(pen_);
    }
    if (look.hatch != Hatch::None) hatch(look);
    if (look.line) {
      set(*look.line);
      cairo_set_line_width(pen_, look.width);
      cairo_set_dash(pen_, look.dashes.data(), static_cast<int>(look.dashes.size()), 0);
      cairo_stroke_preserve(pen_);
    }
    cairo_new_path(pen_);
  }

  // The lines of SVG's pattern: every 5 units, at 45 degrees, and 2 thick, of which the pattern's edge cuts off half.
  void hatch(const Look& look) {
    double left = 0, top = 0, right = 0, bottom = 0;
    cairo_path_t* outline = cairo_copy_path(pen_);
    cairo_fill_extents(pen_, &left, &top, &right, &bottom);
    cairo_save(pen_);
    cairo_clip(pen_);
    set(look.hatch_colour);
    cairo_set_dash(pen_, nullptr, 0, 0);
    cairo_set_line_width(pen_, 1);
    const double pitch = 5 * M_SQRT2, height = bottom - top;
    const auto lines = [&](bool rising) {
      const double phase = rising ? left + top : left - bottom;
      for (double at = std::ceil(phase / pitch) * pitch; at < phase + (right - left) + height; at += pitch) {
        cairo_move_to(pen_, rising ? at - top : at + top, top);
        cairo_line_to(pen_, rising ? at - bottom : at + bottom, bottom);
      }
      cairo_stroke(pen_);
    };
    if (look.hatch == Hatch::Rising || look.hatch == Hatch::Crossed) lines(true);
    if (look.hatch == Hatch::Falling || look.hatch == Hatch::Crossed) lines(false);
    cairo_restore(pen_);
    cairo_new_path(pen_);
    cairo_append_path(pen_, outline);
    cairo_path_destroy(outline);
  }

  void paint(const Text& one) {
    const std::string text = displayable(one.text);
    choose_font(pen_, font_, one.size, one.bold, one.italic);
    cairo_text_extents_t extents;
    cairo_text_extents(pen_, text.c_str(), &extents);
    const double back = one.align == Align::Start ? 0 : one.align == Align::Middle ? 0.5 : 1;
    cairo_save(pen_);
    cairo_translate(pen_, one.at.x, one.at.y);
    if (one.upwards) cairo_rotate(pen_, -M_PI / 2);
    cairo_move_to(pen_, -back * extents.x_advance, 0);
    set(one.colour);
    cairo_show_text(pen_, text.c_str());
    cairo_restore(pen_);
    cairo_new_path(pen_);
  }

  cairo_t* pen_;
  const std::string& font_;
};

}  // namespace

std::string to_png(const Drawing& drawing, double resolution) {
  load_cairo();
  const double scale = resolution * drawing.zoom;
  const auto pixels = [scale](double size) { return static_cast<int>(std::ceil(scale * size)); };
  const Surface surface =
      checked(cairo_image_surface_create(CAIRO_FORMAT_RGB24, pixels(drawing.width), pixels(drawing.height)));
  const Pen pen = pen_on(surface);
  cairo_scale(pen.get(), scale, scale);
  Painter(pen.get(), drawing.font).paint(drawing);
  cairo_surface_flush(surface.get());
  std::string file;
  require(cairo_surface_write_to_png_stream(surface.get(), append, &file));
  return file;
}

std::string to_pdf(const Drawing& drawing) {
  load_cairo();
  std::string file;
  const double scale = points_per_pixel * drawing.zoom;
  const Surface surface =
      checked(cairo_pdf_surface_create_for_stream(append, &file, scale * drawing.width, scale * drawing.height));
  cairo_pdf_surface_set_metadata(surface.get(), CAIRO_PDF_METADATA_TITLE, displayable(drawing.title).c_str());
  cairo_pdf_surface_set_metadata(surface.get(), CAIRO_PDF_METADATA_CREATE_DATE, "");  // for the same bytes every day
  {
    const Pen pen = pen_on(surface);
    cairo_scale(pen.get(), scale, scale);
    Painter(pen.get(), drawing.font).paint(drawing);
  }
  cairo_surface_finish(surface.get());
  require(cairo_surface_status(surface.get()));
  return file;
}

double text_width(std::string_view text, double size, bool bold, std::string_view font) {
  load_cairo();
  constexpr double large = 100;  // measured at this size, so that widths are in proportion
  const Surface surface = checked(cairo_image_surface_create(CAIRO_FORMAT_A8, 1, 1));
  const Pen pen = pen_on(surface);
  choose_font(pen.get(), std::string(font), large, bold, false);
  cairo_text_extents_t extents;
  cairo_text_extents(pen.get(), displayable(text).c_str(), &extents);
  require(cairo_status(pen.get()));
  return std::round(extents.x_advance) * size / large;
}

}  // namespace allreplay
