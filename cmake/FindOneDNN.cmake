# Finds oneDNN and defines OneDNN::dnnl. Used instead of the package's own dnnl-config.cmake, which on Debian demands
# the OpenCL development files for a GPU engine that Heed does not use.
find_path(OneDNN_INCLUDE_DIR dnnl.hpp)
find_library(OneDNN_LIBRARY dnnl)
mark_as_advanced(OneDNN_INCLUDE_DIR OneDNN_LIBRARY)

set(OneDNN_VERSION "")
foreach(header IN ITEMS oneapi/dnnl/dnnl_version.h dnnl_version.h)
  if(NOT OneDNN_VERSION AND OneDNN_INCLUDE_DIR AND EXISTS "${OneDNN_INCLUDE_DIR}/${header}")
    file(STRINGS "${OneDNN_INCLUDE_DIR}/${header}" version_lines REGEX "define DNNL_VERSION_(MAJOR|MINOR|PATCH) +[0-9]+")
    string(REGEX MATCHALL "[0-9]+" version_numbers "${version_lines}")
    list(JOIN version_numbers "." OneDNN_VERSION)
  endif()
endforeach()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(OneDNN
  REQUIRED_VARS OneDNN_LIBRARY OneDNN_INCLUDE_DIR
  VERSION_VAR OneDNN_VERSION)

if(OneDNN_FOUND AND NOT TARGET OneDNN::dnnl)
  add_library(OneDNN::dnnl UNKNOWN IMPORTED)
  set_target_properties(OneDNN::dnnl PROPERTIES
    IMPORTED_LOCATION "${OneDNN_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${OneDNN_INCLUDE_DIR}")
endif()
