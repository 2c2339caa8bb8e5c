# What `cmake --install` and the packages (package.cmake) put where. Four components: the program, with its data, manual
# page and completion; what speaks MPI for it (sim/CMakeLists.txt); the Python module; and what other programs are compiled
# and linked with.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# --- the program
install(TARGETS allreplay RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
if(NOT CMAKE_CROSSCOMPILING)
  set(pages ${CMAKE_BINARY_DIR}/pages)
  if(HELP2MAN)
    install(FILES ${pages}/allreplay.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT program)
  endif()
  install(FILES ${pages}/allreplay DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT program)
  install(FILES ${pages}/_allreplay DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions COMPONENT program)
  install(FILES ${pages}/allreplay.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT program)
endif()
install(DIRECTORY models traces topologies configs DESTINATION ${CMAKE_INSTALL_DATADIR}/allreplay COMPONENT program
        FILES_MATCHING PATTERN "*.json" PATTERN "*.csv" PATTERN "LICENCES.txt")

# Copies carry the licence. The Python module and what speaks MPI depend on the program's package.
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/allreplay RENAME copyright COMPONENT program)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/liballreplay-dev RENAME copyright COMPONENT development)

# --- the Python module
if(TARGET allreplay_python)
  # Below a prefix as the Python that it is for looks below its own: lib/python3/dist-packages for Debian's.
  execute_process(
    COMMAND ${Python_EXECUTABLE} -c "import sysconfig as s
scheme = 'deb_system' if 'deb_system' in s.get_scheme_names() else s.get_default_scheme()
print(s.get_path('platlib', scheme, {'base': '', 'platbase': '', 'installed_base': '', 'installed_platbase': ''}).lstrip('/'))"
    OUTPUT_VARIABLE ALLREPLAY_PYTHON_FOLDER OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  set(ALLREPLAY_PYTHON_DIR ${ALLREPLAY_PYTHON_FOLDER} CACHE STRING "Where the Python module goes, below the prefix")
  install(TARGETS allreplay_python LIBRARY DESTINATION ${ALLREPLAY_PYTHON_DIR}/allreplay COMPONENT python)
  install(DIRECTORY python/allreplay DESTINATION ${ALLREPLAY_PYTHON_DIR} COMPONENT python
          FILES_MATCHING PATTERN "*.py" PATTERN "*.pyi" PATTERN "py.typed")
endif()

# --- the library: the modules below the commands in one archive, and the headers that sim/allreplay.hpp leads to
set(library_modules core engine farm workload cluster estimate collective network pipeline schedule training search results interchange experiment)
add_library(allreplay_library STATIC)
foreach(module ${library_modules})
  target_sources(allreplay_library PRIVATE $<TARGET_OBJECTS:allreplay_${module}>)
endforeach()
target_sources(allreplay_library PRIVATE $<TARGET_OBJECTS:chakra_messages>)
set(library_headers include/allreplay-${PROJECT_VERSION_MAJOR})
set_target_properties(allreplay_library PROPERTIES OUTPUT_NAME allreplay EXPORT_NAME allreplay LINKER_LANGUAGE CXX)
target_compile_features(allreplay_library PUBLIC cxx_std_20)
target_include_directories(allreplay_library INTERFACE $<INSTALL_INTERFACE:${library_headers}>)
target_link_libraries(allreplay_library INTERFACE fmt::fmt nlohmann_json::nlohmann_json TBB::tbb ZLIB::ZLIB protobuf::libprotobuf-lite pugixml::pugixml)
install(TARGETS allreplay_library EXPORT allreplay ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
install(EXPORT allreplay NAMESPACE allreplay:: FILE allreplay-targets.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/allreplay COMPONENT development)

# The header and all that it includes of ours.
set(todo sim/allreplay.hpp)
set(done "")
while(todo)
  list(POP_FRONT todo header)
  list(APPEND done ${header})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${header})
  file(STRINGS ${header} lines REGEX "^#include \"sim/")
  foreach(line ${lines})
    string(REGEX REPLACE "^#include \"(.*)\".*" "\\1" included ${line})
    if(NOT included IN_LIST todo AND NOT included IN_LIST done)
      list(APPEND todo ${included})
    endif()
  endforeach()
endwhile()
foreach(header ${done})
  get_filename_component(folder ${header} DIRECTORY)
  install(FILES ${header} DESTINATION ${library_headers}/${folder} COMPONENT development)
endforeach()

configure_package_config_file(cmake/allreplay-config.cmake.in ${CMAKE_BINARY_DIR}/allreplay-config.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/allreplay)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/allreplay-config-version.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${CMAKE_BINARY_DIR}/allreplay-config.cmake ${CMAKE_BINARY_DIR}/allreplay-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/allreplay COMPONENT development)
