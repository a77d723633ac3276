# ccache, if it is there when the build folder is made. That is decided once: a launcher that appears later would make
# every file compile anew.
if(NOT PROJECT_IS_TOP_LEVEL OR DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  return()
endif()
find_program(ccache_program ccache NO_CACHE)
set(launcher "")
if(ccache_program)
  # Precompiled headers need the first four; with the last, ccache takes the list of headers from the compiler instead
  # of running the preprocessor.
  set(launcher ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime CCACHE_DEPEND=1 ${ccache_program})
endif()
set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher} CACHE STRING "Runs the compiler; empty: nothing does")
