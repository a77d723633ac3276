# What the library and the program link with. heedConfig.cmake.in repeats the list for whoever links the installed
# static library.

if(NOT CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang")
  message(FATAL_ERROR "Heed builds with gcc or clang, not with ${CMAKE_CXX_COMPILER_ID}")
endif()

# gcc brings libgomp, the runtime oneDNN was built with. clang can only generate code for LLVM's libomp
# (-fopenmp=libgomp makes it ignore every pragma); libomp also exports libgomp's entry points under the same symbol
# versions, so loaded first it serves oneDNN too and there is still one pool.
find_package(OpenMP REQUIRED COMPONENTS CXX)
list(PREPEND CMAKE_MODULE_PATH ${PROJECT_SOURCE_DIR}/cmake)
find_package(OneDNN 2.6 REQUIRED)
find_package(hwy 1.0.3 REQUIRED CONFIG)
find_package(fmt 9 REQUIRED CONFIG)
find_package(nlohmann_json 3.11 REQUIRED CONFIG)
find_package(CLI11 2 REQUIRED CONFIG)
find_package(tomlplusplus 3 REQUIRED CONFIG)
find_package(SentencePiece REQUIRED)
find_package(Utf8proc REQUIRED)
find_package(ZLIB REQUIRED)
find_package(PNG REQUIRED)
find_package(Httplib 0.11 REQUIRED)
# libcurl's header is all that is needed: the library is loaded when there is data to fetch. Without it everything but
# `heed data get` works.
find_path(Curl_INCLUDE_DIR curl/curl.h)
mark_as_advanced(Curl_INCLUDE_DIR)
if(NOT Curl_INCLUDE_DIR)
  message(STATUS "No libcurl (libcurl4-openssl-dev): this build will not fetch data")
endif()

# MPI, for training on several machines; without it everything else works.
find_package(MPI COMPONENTS CXX QUIET)
if(NOT MPI_CXX_FOUND)
  message(STATUS "No MPI (tools/install-deps.sh mpi): this build will train on one machine")
endif()

# Highway: build SSE4 (the baseline), AVX2 and AVX3, and nothing else, to keep compile time and code size down. SSE4
# counts as baseline under -march=x86-64-v2 only once AES is taken out of its requirements. Targets that this Highway
# does not know must not be named, since their names also appear outside of the preprocessor.
set(HEED_HWY_DEFINITIONS HWY_DISABLE_PCLMUL_AES)
if(hwy_VERSION VERSION_LESS 1.1)
  list(APPEND HEED_HWY_DEFINITIONS "HWY_DISABLED_TARGETS=(HWY_SSSE3|HWY_AVX3_DL)")
else()
  list(APPEND HEED_HWY_DEFINITIONS
       "HWY_DISABLED_TARGETS=(HWY_SSE2|HWY_SSSE3|HWY_AVX3_DL|HWY_AVX3_ZEN4|HWY_AVX3_SPR)")
endif()
