#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>

#include <fmt/format.h>

#include "sim/base/core/error.hpp"
#include "sim/base/farm/farm.hpp"

namespace allreplay {

namespace {

const SourceLocation place{"command line", "--engine"};

// Loads the module from the program's folder (a build) or from the installed modules.
void* loaded_module() {
  const std::filesystem::path folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  for (const auto& file : {folder / "allreplay_mpi.so", folder / ALLREPLAY_MODULES / "allreplay_mpi.so"}) {
    if (!std::filesystem::exists(file)) continue;
    // RTLD_GLOBAL: Open MPI loads plug-ins, which look for its symbols.
    if (void* module = dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL)) return module;
    throw InputError(place, fmt::format("MPI cannot be loaded: {}", dlerror()),
                     "the MPI that this program was built with");
  }
  throw InputError(place, "this build has no MPI", "install it (Debian: libopenmpi-dev openmpi-bin) and build again");
}

// The number of ranks according to the launcher's environment variables; 1 without a launcher.
long launched() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"})
    if (const char* text = std::getenv(name)) return std::strtol(text, nullptr, 10);
  return 1;
}

}  // namespace

std::unique_ptr<Transport> mpi_transport() {
  using Make = Transport*();
  const auto make = reinterpret_cast<Make*>(dlsym(loaded_module(), "allreplay_mpi_transport"));
  if (make == nullptr) throw InputError(place, "the module for MPI is of another version", "build again");
  std::unique_ptr<Transport> transport(make());
  if (transport->size() == 1 && launched() > 1)
    throw InputError(
        place,
        fmt::format("{} ranks were started by another MPI than the one that this program was built with", launched()),
        "the mpirun of the MPI that this program was built with");
  return transport;
}

}  // namespace allreplay
