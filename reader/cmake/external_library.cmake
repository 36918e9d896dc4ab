# labelscope_external_library(<name> <pkg-config module>...) makes the target external_<name>, a
# library of the distribution. Targets that link it get the shared library; an executable with the
# property LABELSCOPE_ARCHIVES has the archives instead, with all that they need, wherever in the
# tree the library is used (cli/portable.cmake).
include_guard(GLOBAL)

function(labelscope_external_library name)
  find_package(PkgConfig REQUIRED)
  string(TOUPPER EXTERNAL_${name} prefix)
  pkg_check_modules(${prefix} REQUIRED IMPORTED_TARGET GLOBAL ${ARGN})
  add_library(external_${name}_archives INTERFACE)
  foreach(library IN LISTS ${prefix}_STATIC_LIBRARIES)
    # libc stays shared, and these libraries are parts of it.
    if(NOT library MATCHES "^(c|dl|m|pthread|rt)$")
      find_library(${prefix}_${library}_ARCHIVE lib${library}.a HINTS ${${prefix}_STATIC_LIBRARY_DIRS})
      mark_as_advanced(${prefix}_${library}_ARCHIVE)
      if(${prefix}_${library}_ARCHIVE)
        set(library ${${prefix}_${library}_ARCHIVE})
      endif()
    endif()
    target_link_libraries(external_${name}_archives INTERFACE ${library})
  endforeach()
  add_library(external_${name} INTERFACE)
  target_include_directories(external_${name} SYSTEM INTERFACE ${${prefix}_INCLUDE_DIRS})
  target_link_libraries(external_${name} INTERFACE
    $<IF:$<BOOL:$<TARGET_PROPERTY:LABELSCOPE_ARCHIVES>>,external_${name}_archives,PkgConfig::${prefix}>)
endfunction()
