# Every bench/<name>_bench.cc is one Google Benchmark program, build/<preset>/bench/<name>_bench. Other .cc files in
# bench/ are shared by all of them.
find_package(benchmark REQUIRED)

file(GLOB bench_programs CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/*_bench.cc)
file(GLOB bench_shared CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/*.cc)
list(FILTER bench_shared EXCLUDE REGEX "_bench\\.cc$")

foreach(source IN LISTS bench_programs)
  cmake_path(GET source STEM name)
  add_executable(${name} ${source} ${bench_shared})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bench)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE heed benchmark::benchmark)
endforeach()
