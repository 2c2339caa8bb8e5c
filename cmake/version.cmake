# Writes version.cpp anew where the version or the commit has changed. Run at build time, with SOURCE, GIT, IN, OUT,
# PROJECT_VERSION and BUILT_WITH.
set(COMMIT "")
if(GIT AND EXISTS ${SOURCE}/.git)
  execute_process(COMMAND ${GIT} -C ${SOURCE} rev-parse --short=9 HEAD OUTPUT_VARIABLE head OUTPUT_STRIP_TRAILING_WHITESPACE
                  ERROR_QUIET RESULT_VARIABLE failed)
  if(NOT failed)
    set(COMMIT " (${head})")
  endif()
endif()
configure_file(${IN} ${OUT} @ONLY)  # leaves a file alone that would not change
