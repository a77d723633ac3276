# Finds cpp-httplib as Debian compiles it, a shared library, and defines Httplib::httplib. Who includes its header needs
# Httplib_DEFINITIONS, with which it was compiled (its pkg-config file says so): they decide how its structures are laid
# out.
find_path(Httplib_INCLUDE_DIR httplib.h)
find_library(Httplib_LIBRARY cpp-httplib)
mark_as_advanced(Httplib_INCLUDE_DIR Httplib_LIBRARY)

if(Httplib_INCLUDE_DIR)
  file(STRINGS "${Httplib_INCLUDE_DIR}/httplib.h" Httplib_VERSION REGEX "^#define CPPHTTPLIB_VERSION ")
  string(REGEX REPLACE ".*\"(.*)\".*" "\\1" Httplib_VERSION "${Httplib_VERSION}")
endif()

set(Httplib_DEFINITIONS CPPHTTPLIB_OPENSSL_SUPPORT CPPHTTPLIB_ZLIB_SUPPORT CPPHTTPLIB_BROTLI_SUPPORT)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Httplib REQUIRED_VARS Httplib_LIBRARY Httplib_INCLUDE_DIR VERSION_VAR Httplib_VERSION)

if(Httplib_FOUND AND NOT TARGET Httplib::httplib)
  add_library(Httplib::httplib UNKNOWN IMPORTED)
  set_target_properties(Httplib::httplib PROPERTIES
    IMPORTED_LOCATION "${Httplib_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${Httplib_INCLUDE_DIR}")
endif()
