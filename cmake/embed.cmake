# Puts files into the program.
#
#   heed_embed(TARGET FILE...)   a static library TARGET that holds each FILE as
#                                `const std::string_view heed::embedded::NAME`, where attention.html has the
#                                NAME attention_html. Whoever uses one declares it extern.
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

function(heed_embed target)
  set(sources "")
  foreach(file IN LISTS ARGN)
    cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY ${PROJECT_SOURCE_DIR} NORMALIZE OUTPUT_VARIABLE input)
    cmake_path(GET input FILENAME name)
    string(MAKE_C_IDENTIFIER ${name} name)
    set(output ${PROJECT_BINARY_DIR}/embedded/${name}.cc)
    add_custom_command(
      OUTPUT ${output}
      COMMAND ${CMAKE_COMMAND} -DINPUT=${input} -DOUTPUT=${output} -DNAME=${name} -P ${heed_embed_script}
      DEPENDS ${input} ${heed_embed_script}
      COMMENT "Embedding ${file}"
      VERBATIM)
    list(APPEND sources ${output})
  endforeach()
  add_library(${target} STATIC ${sources})
endfunction()
