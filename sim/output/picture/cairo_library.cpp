#include "sim/output/picture/cairo_library.hpp"

#include <dlfcn.h>

#include <fmt/format.h>

#include "sim/base/core/error.hpp"

namespace allreplay {

// Global, like linked functions. load_cairo() sets them once, guarded by the initialisation of a static variable.
#define ALLREPLAY_DEFINE(name) decltype(&::name) name = nullptr;
ALLREPLAY_CAIRO_FUNCTIONS(ALLREPLAY_DEFINE)
#undef ALLREPLAY_DEFINE

namespace {

void* opened_cairo() {
  if (void* library = dlopen("libcairo.so.2", RTLD_LAZY | RTLD_LOCAL)) return library;
  throw InputError({"command line", ""}, fmt::format("pictures cannot be drawn: {}", dlerror()),
                   "install cairo (Debian: libcairo2)");
}

template <class Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr)
    throw InputError({"command line", ""}, fmt::format("pictures cannot be drawn: this cairo has no {}", name),
                     "cairo 1.16 or later");
}

bool found_all() {
  void* library = opened_cairo();
#define ALLREPLAY_FIND(name) find(library, #name, name);
  ALLREPLAY_CAIRO_FUNCTIONS(ALLREPLAY_FIND)
#undef ALLREPLAY_FIND
  return true;
}

}  // namespace

void load_cairo() {
  static const bool loaded = found_all();  // tried again after a failure
  static_cast<void>(loaded);
}

}  // namespace allreplay
