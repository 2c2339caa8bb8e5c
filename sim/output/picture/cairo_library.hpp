// cairo's functions by their own names. The library is loaded when something is first drawn: with the fourteen
// libraries that it needs, it takes longer to load than everything else at the program's start.
#pragma once

#include <cairo-pdf.h>
#include <cairo.h>

#define ALLREPLAY_CAIRO_FUNCTIONS(each)                                                                               \
  each(cairo_append_path) each(cairo_arc) each(cairo_clip) each(cairo_close_path) each(cairo_copy_path)               \
      each(cairo_create) each(cairo_destroy) each(cairo_fill_extents) each(cairo_fill_preserve)                       \
          each(cairo_font_options_create) each(cairo_font_options_destroy) each(cairo_font_options_set_antialias)     \
              each(cairo_font_options_set_hint_metrics) each(cairo_font_options_set_hint_style)                       \
                  each(cairo_image_surface_create) each(cairo_line_to) each(cairo_move_to) each(cairo_new_path)       \
                      each(cairo_new_sub_path) each(cairo_paint) each(cairo_path_destroy)                             \
                          each(cairo_pdf_surface_create_for_stream) each(cairo_pdf_surface_set_metadata)              \
                              each(cairo_rectangle) each(cairo_restore) each(cairo_rotate) each(cairo_save)           \
                                  each(cairo_scale) each(cairo_select_font_face) each(cairo_set_dash)                 \
                                      each(cairo_set_font_options) each(cairo_set_font_size)                          \
                                          each(cairo_set_line_width) each(cairo_set_source_rgba) each(cairo_show_text) \
                                              each(cairo_status) each(cairo_status_to_string) each(cairo_stroke)      \
                                                  each(cairo_stroke_preserve) each(cairo_surface_destroy)             \
                                                      each(cairo_surface_finish) each(cairo_surface_flush)            \
                                                          each(cairo_surface_status)                                  \
                                                              each(cairo_surface_write_to_png_stream)                 \
                                                                  each(cairo_text_extents) each(cairo_translate)

namespace allreplay {

// These hide the functions declared in cairo's headers, which are not linked.
#define ALLREPLAY_DECLARE(name) extern decltype(&::name) name;
ALLREPLAY_CAIRO_FUNCTIONS(ALLREPLAY_DECLARE)
#undef ALLREPLAY_DECLARE

/// Loads the library. To be called before any of its functions. Throws InputError if there is no cairo.
void load_cairo();

}  // namespace allreplay
