# Other programs embed these two libraries (docs/embedding.md). There are two, because the two
# languages promise different things:
#
#   labelscope::reader   liblabelscope-reader.a   the C++ API, and the C one. Static: its interface is made of
#                                                 std:: types and may change with each version, so it is linked
#                                                 into the program that was compiled against it.
#   labelscope::c        liblabelscope.so.0       the C API alone: its interface only grows, so the library can be
#                                                 replaced under a program. A C program need not know that it is
#                                                 C++ inside, nor which libraries it reads ELF files with.
#
# After installation they are found by find_package(labelscope [COMPONENTS reader c]), and by
# pkg-config as labelscope-reader and labelscope.
include(CMakePackageConfigHelpers)
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME liblabelscope-dev)

target_sources(labelscope_reader PUBLIC FILE_SET HEADERS BASE_DIRS include FILES
  include/labelscope/core_file.h
  include/labelscope/elf_types.h
  include/labelscope/explain.h
  include/labelscope/finding.h
  include/labelscope/ids.h
  include/labelscope/inspect.h
  include/labelscope/label.h
  include/labelscope/label_blocks.h
  include/labelscope/labelscope.h
  include/labelscope/mapping.h
  include/labelscope/memory.h
  include/labelscope/observe.h
  include/labelscope/outcome.h
  include/labelscope/plan.h
  include/labelscope/plan_trace.h
  include/labelscope/preset_plan.h
  include/labelscope/preset_program.h
  include/labelscope/preset_walk.h
  include/labelscope/process_facts.h
  include/labelscope/registers.h
  include/labelscope/result.h
  include/labelscope/saved_pointer.h
  include/labelscope/stopped_thread.h
  include/labelscope/target.h
  include/labelscope/tls_recipe.h
  include/labelscope/unique_fd.h
  include/labelscope/variable_spec.h
  include/labelscope/variable_type.h)
set_target_properties(labelscope_reader PROPERTIES
  EXPORT_NAME reader OUTPUT_NAME labelscope-reader POSITION_INDEPENDENT_CODE ON)

# The number in the soname is the interface's and not the project's: it changes only if a program that
# is there already would break (docs/embedding.md, "What may change"). The file's own number has the
# version of the interface behind it.
set(c_api_header ${CMAKE_CURRENT_SOURCE_DIR}/include/labelscope/labelscope.h)
file(STRINGS ${c_api_header} c_api_version REGEX "^#define LS_API_VERSION [0-9]+$")
string(REGEX REPLACE ".* " "" c_api_version "${c_api_version}")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${c_api_header})
set(c_api_soversion 0)
set(exports ${CMAKE_CURRENT_SOURCE_DIR}/src/c_api/exports.map)
add_library(labelscope_c SHARED src/c_api/boundary.h)
add_library(labelscope::c ALIAS labelscope_c)
target_link_libraries(labelscope_c PRIVATE $<LINK_LIBRARY:WHOLE_ARCHIVE,labelscope_reader>)
target_link_options(labelscope_c PRIVATE -Wl,--version-script=${exports} -Wl,-z,now)
target_include_directories(labelscope_c INTERFACE
  $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
set_target_properties(labelscope_c PROPERTIES
  EXPORT_NAME c OUTPUT_NAME labelscope LINKER_LANGUAGE CXX LINK_DEPENDS ${exports}
  VERSION ${c_api_soversion}.${c_api_version} SOVERSION ${c_api_soversion})

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/labelscope)
install(TARGETS labelscope_reader EXPORT labelscopeReaderTargets FILE_SET HEADERS)
install(TARGETS labelscope_c EXPORT labelscopeCTargets
  LIBRARY COMPONENT liblabelscope0 NAMELINK_COMPONENT liblabelscope-dev)
install(EXPORT labelscopeReaderTargets NAMESPACE labelscope:: DESTINATION ${package_dir})
install(EXPORT labelscopeCTargets NAMESPACE labelscope:: DESTINATION ${package_dir})
configure_package_config_file(cmake/labelscopeConfig.cmake.in labelscopeConfig.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(labelscopeConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/labelscopeConfig.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/labelscopeConfigVersion.cmake
        DESTINATION ${package_dir})

# The paths are relative to the file itself, so that `cmake --install --prefix` may choose another
# place than the configuration did.
file(RELATIVE_PATH pc_to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
foreach(module labelscope labelscope-reader)
  configure_file(cmake/${module}.pc.in ${module}.pc @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${module}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()
