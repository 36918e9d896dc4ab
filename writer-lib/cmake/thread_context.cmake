# libthreadcontext.so has the 64-byte trace context (thread_context.h). It is a library of its own,
# so that libcustomlabels.so exports nothing but what ABI v1 and its API require. It is not named
# libcustomlabels*, because readers look for labels by that name.
add_library(threadcontext SHARED src/thread_context.c)
add_library(labelscope::threadcontext ALIAS threadcontext)
target_sources(threadcontext PUBLIC FILE_SET HEADERS BASE_DIRS include FILES
  include/customlabels/thread_context.h)
target_link_libraries(threadcontext PRIVATE labelscope_flags)
set_target_properties(threadcontext PROPERTIES C_VISIBILITY_PRESET hidden C_EXTENSIONS OFF
  LINK_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/src/thread_context_exports.map)
target_link_options(threadcontext PRIVATE
  -Wl,--version-script=${CMAKE_CURRENT_SOURCE_DIR}/src/thread_context_exports.map -Wl,-z,now)
# The variable is reached through a TLS descriptor, as the label pointer, if the compiler supports
# that.
target_compile_options(threadcontext PRIVATE -ftls-model=global-dynamic
  $<$<BOOL:${CUSTOMLABELS_HAS_TLS_DIALECT}>:${customlabels_dialect}>)

install(TARGETS threadcontext EXPORT customlabelsTargets
  LIBRARY COMPONENT libcustomlabels FILE_SET HEADERS)
configure_file(cmake/threadcontext.pc.in threadcontext.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/threadcontext.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
