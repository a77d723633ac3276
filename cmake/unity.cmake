# Compiles the files of a folder as one: their headers and the templates that they all need are compiled once. With
# -DHEED_UNITY=OFF each file is its own translation unit, and a change to one file recompiles less.
option(HEED_UNITY "Compile the files of a folder together" ON)

function(heed_compile_folders_together target)
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    cmake_path(GET source PARENT_PATH folder)
    file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR}/src ${folder})
    string(REPLACE / _ group ${folder})
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${group})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${HEED_UNITY} UNITY_BUILD_MODE GROUP)
endfunction()
