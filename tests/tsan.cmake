# What a ThreadSanitizer run needs, set on every test of the tsan preset.
#
# ThreadSanitizer learns that a barrier or a join orders two accesses only from code it has instrumented, and no
# distribution instruments its OpenMP runtime: with gcc's libgomp every parallel region is reported. LLVM's libomp has
# a way to tell. It loads archer, a tool library that announces each fork, barrier, join, task and lock to
# ThreadSanitizer. So this preset uses clang with libomp, and suppresses no function of ours.
#
# Not seen, and therefore not checked, is the inside of libraries built by others. libomp's own bookkeeping would be
# reported as racing, so accesses made by uninstrumented libraries are ignored (ignore_noninstrumented_modules), and
# code that oneDNN generates at run time is not instrumented either. A race between two loops of ours is found; one
# between two matrix products on the same buffer is not.
cmake_path(GET OpenMP_omp_LIBRARY PARENT_PATH openmp_folder)
find_library(HEED_ARCHER archer HINTS ${openmp_folder} DOC "libomp's ThreadSanitizer tool")
if(NOT HEED_ARCHER)
  message(FATAL_ERROR "libarcher.so, part of LLVM's OpenMP runtime, was not found; run tools/install-deps.sh test")
endif()

# Two properties rather than a list in one: gtest_discover_tests flattens lists.
set(test_properties
  ENVIRONMENT OMP_TOOL_LIBRARIES=${HEED_ARCHER}
  ENVIRONMENT_MODIFICATION TSAN_OPTIONS=set:ignore_noninstrumented_modules=1:halt_on_error=1)
