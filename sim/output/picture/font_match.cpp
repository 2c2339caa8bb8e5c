#include "sim/output/picture/font_match.hpp"

#include <dlfcn.h>
#include <fontconfig/fontconfig.h>
#include <memory>
#include <strings.h>

namespace allreplay {

namespace {

// The function of that name in a library; null if there is none.
template <class Function>
Function* function_in(void* library, const char* name) {
  return library ? reinterpret_cast<Function*>(dlsym(library, name)) : nullptr;
}

}  // namespace

std::string substitute_for(const std::string& family) {
  void* library = dlopen("libfontconfig.so.1", RTLD_LAZY | RTLD_LOCAL);
#define ALLREPLAY_FIND(name) auto* const its_##name = function_in<decltype(::name)>(library, #name)
  ALLREPLAY_FIND(FcPatternCreate);
  ALLREPLAY_FIND(FcPatternAddString);
  ALLREPLAY_FIND(FcConfigSubstitute);
  ALLREPLAY_FIND(FcDefaultSubstitute);
  ALLREPLAY_FIND(FcFontMatch);
  ALLREPLAY_FIND(FcPatternGetString);
  ALLREPLAY_FIND(FcPatternDestroy);
#undef ALLREPLAY_FIND
  if (!its_FcPatternCreate || !its_FcPatternAddString || !its_FcConfigSubstitute || !its_FcDefaultSubstitute ||
      !its_FcFontMatch || !its_FcPatternGetString || !its_FcPatternDestroy)
    return "";
  using Pattern = std::unique_ptr<FcPattern, void (*)(FcPattern*)>;
  const Pattern wanted(its_FcPatternCreate(), its_FcPatternDestroy);
  its_FcPatternAddString(wanted.get(), FC_FAMILY, reinterpret_cast<const FcChar8*>(family.c_str()));
  its_FcConfigSubstitute(nullptr, wanted.get(), FcMatchPattern);
  its_FcDefaultSubstitute(wanted.get());
  FcResult result{};
  const Pattern found(its_FcFontMatch(nullptr, wanted.get(), &result), its_FcPatternDestroy);
  std::string first;
  FcChar8* name = nullptr;
  for (int i = 0; found && its_FcPatternGetString(found.get(), FC_FAMILY, i, &name) == FcResultMatch; ++i) {
    const std::string known = reinterpret_cast<const char*>(name);  // a font may have its name in several languages
    if (strcasecmp(known.c_str(), family.c_str()) == 0) return "";
    if (i == 0) first = known;
  }
  return first;
}

}  // namespace allreplay
