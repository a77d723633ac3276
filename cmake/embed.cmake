# Puts files into the program.
#
#   heed_embed(TARGET FILE...)   a static library TARGET that holds each FILE as
#                                `const std::string_view heed::embedded::NAME`, where attention.html has the
#                                NAME attention_html. Whoever uses one declares it extern.
#
#   heed_embed_table(TARGET TABLE PATH=FILE...)
#                                the same, and `const std::span<const heed::serve::StaticFile> heed::embedded::TABLE`
#                                with each file under its PATH.
#
# Run as a script (-P, with INPUT, OUTPUT and NAME) it writes the C++ source of one file.
if(CMAKE_SCRIPT_MODE_FILE)
  file(READ "${INPUT}" text)
  string(FIND "${text}" ")embedded\"" end)
  if(NOT end EQUAL -1)
    message(FATAL_ERROR "${INPUT} holds the characters that end its raw string")
  endif()
  file(WRITE "${OUTPUT}" "#include <string_view>

namespace heed::embedded {

constexpr char k_${NAME}[] = R\"embedded(${text})embedded\";
extern const std::string_view ${NAME};
constinit const std::string_view ${NAME}{k_${NAME}, sizeof k_${NAME} - 1};

}  // namespace heed::embedded
")
  return()
endif()

set(heed_embed_script ${CMAKE_CURRENT_LIST_FILE})

# The source that holds FILE under NAME; its path goes to the variable `result`.
function(heed_embed_file file name result)
  cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY ${PROJECT_SOURCE_DIR} NORMALIZE OUTPUT_VARIABLE input)
  set(output ${PROJECT_BINARY_DIR}/embedded/${name}.cc)
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DINPUT=${input} -DOUTPUT=${output} -DNAME=${name} -P ${heed_embed_script}
    DEPENDS ${input} ${heed_embed_script}
    COMMENT "Embedding ${file}"
    VERBATIM)
  set(${result} ${output} PARENT_SCOPE)
endfunction()

function(heed_embed target)
  set(sources "")
  foreach(file IN LISTS ARGN)
    cmake_path(GET file FILENAME name)
    string(MAKE_C_IDENTIFIER ${name} name)
    heed_embed_file(${file} ${name} source)
    list(APPEND sources ${source})
  endforeach()
  add_library(${target} STATIC ${sources})
endfunction()

function(heed_embed_table target table)
  set(sources "")
  set(declared "")
  set(rows "")
  foreach(pair IN LISTS ARGN)
    string(REGEX MATCH "^([^=]*)=(.*)$" unused "${pair}")
    set(path ${CMAKE_MATCH_1})
    set(file ${CMAKE_MATCH_2})
    string(MAKE_C_IDENTIFIER ${table}${path} name)
    heed_embed_file(${file} ${name} source)
    list(APPEND sources ${source})
    string(APPEND declared "extern const std::string_view ${name};\n")
    string(APPEND rows "    {\"${path}\", ${name}},\n")
  endforeach()
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/embedded/${table}_table.cc CONTENT "#include <span>

#include \"serve/api/system_routes.h\"

namespace heed::embedded {

@declared@
static const serve::StaticFile k_${table}[]{
@rows@};
extern const std::span<const serve::StaticFile> ${table};
const std::span<const serve::StaticFile> ${table}{k_${table}};

}  // namespace heed::embedded
" @ONLY)
  add_library(${target} STATIC ${sources} ${PROJECT_BINARY_DIR}/embedded/${table}_table.cc)
  target_link_libraries(${target} PRIVATE heed)
endfunction()
