# `cpack --config build/release/CPackConfig.cmake`: Debian packages, one for each component of install.cmake.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME allreplay)
set(CPACK_PACKAGE_CONTACT "The allreplay authors <allreplay@localhost>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_RESOURCE_FILE_LICENSE ${CMAKE_SOURCE_DIR}/LICENSE)
set(CPACK_COMPONENTS_ALL program development)
if(TARGET allreplay_python)
  list(APPEND CPACK_COMPONENTS_ALL python)
endif()
if(TARGET allreplay_mpi)
  list(APPEND CPACK_COMPONENTS_ALL mpi)
endif()
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_PROJECT_CONFIG_FILE ${CMAKE_CURRENT_LIST_DIR}/package_tools.cmake)
set(CPACK_DEBIAN_PACKAGE_SECTION science)

set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME allreplay)
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION "${PROJECT_DESCRIPTION}
 The program, its models, traces and clusters, manual page and shell completion.")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_DEPENDS libcairo2)  # loaded, not linked: no tool finds it
set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS fonts-dejavu-core)

set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-allreplay)
set(CPACK_COMPONENT_PYTHON_DESCRIPTION "${PROJECT_DESCRIPTION}
 The Python module.")
set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
math(EXPR next_python "${Python_VERSION_MINOR} + 1")
set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS
    "allreplay (= ${PROJECT_VERSION}), python3 (>= 3.${Python_VERSION_MINOR}), python3 (<< 3.${next_python}), python3-numpy")
set(CPACK_DEBIAN_PYTHON_PACKAGE_RECOMMENDS "python3-pandas, fonts-dejavu-core")

set(CPACK_DEBIAN_MPI_PACKAGE_NAME allreplay-mpi)
set(CPACK_COMPONENT_MPI_DESCRIPTION "${PROJECT_DESCRIPTION}
 What the program loads for --engine mpi.")
set(CPACK_DEBIAN_MPI_PACKAGE_DEPENDS "allreplay (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_MPI_PACKAGE_RECOMMENDS openmpi-bin)

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME liballreplay-dev)
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "${PROJECT_DESCRIPTION}
 What programs are compiled and linked with.")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libfmt-dev, nlohmann-json3-dev, libtbb-dev, zlib1g-dev, libprotobuf-dev, libpugixml-dev")
include(CPack)
