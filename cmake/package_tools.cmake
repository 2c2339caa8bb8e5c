# Read by cpack. It finds the packages of the libraries with dpkg-shlibdeps; without, it would leave them out in silence.
find_program(SHLIBDEPS_EXECUTABLE dpkg-shlibdeps)
if(NOT SHLIBDEPS_EXECUTABLE)
  message(FATAL_ERROR "no dpkg-shlibdeps: packages would lack what they depend on (tools/setup.sh --with packages)")
endif()
