// JSON. A file that reads or writes a value would compile the library's parser, its serializer and
// its containers anew, which takes seconds; they are compiled once, in json.cc.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

// What texts in memory are parsed by, with and without a callback, and written by.
#define HEED_JSON_CLASSES(INSTANTIATE, JSON, TEXT)                        \
  INSTANTIATE class nlohmann::detail::serializer<JSON>;                   \
  INSTANTIATE class nlohmann::detail::json_sax_dom_parser<JSON>;          \
  INSTANTIATE class nlohmann::detail::json_sax_dom_callback_parser<JSON>; \
  INSTANTIATE class nlohmann::detail::lexer<JSON, TEXT>;                  \
  INSTANTIATE class nlohmann::detail::parser<JSON, TEXT>;                 \
  INSTANTIATE class std::vector<JSON>

#define HEED_JSON_TEMPLATES(INSTANTIATE)                                                    \
  HEED_JSON_CLASSES(INSTANTIATE, nlohmann::ordered_json,                                    \
                    nlohmann::detail::iterator_input_adapter<std::string::const_iterator>); \
  HEED_JSON_CLASSES(INSTANTIATE, nlohmann::json,                                            \
                    nlohmann::detail::iterator_input_adapter<std::string::const_iterator>); \
  INSTANTIATE class std::map<std::string, nlohmann::json, std::less<>>

HEED_JSON_TEMPLATES(extern template);
