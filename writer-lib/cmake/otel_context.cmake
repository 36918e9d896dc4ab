# libotelcontext.so: OpenTelemetry's thread context and process context (otel_context.h). A library of its own, as
# libthreadcontext.so is, and for the same reasons.
add_library(otelcontext SHARED src/otel_thread_context.c src/otel_process_context.c)
add_library(labelscope::otelcontext ALIAS otelcontext)
target_sources(otelcontext PUBLIC FILE_SET HEADERS BASE_DIRS include FILES
  include/customlabels/otel_context.h)
target_link_libraries(otelcontext PRIVATE labelscope_flags Threads::Threads)
set_target_properties(otelcontext PROPERTIES C_VISIBILITY_PRESET hidden C_EXTENSIONS OFF
  LINK_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/src/otel_context_exports.map)
# nodelete: what a profiler reads after a dlclose, and what fork calls, would no longer be mapped.
target_link_options(otelcontext PRIVATE
  -Wl,--version-script=${CMAKE_CURRENT_SOURCE_DIR}/src/otel_context_exports.map -Wl,-z,nodelete -Wl,-z,now)
# The variable may be reached through a TLS descriptor alone, as the label pointer.
target_compile_options(otelcontext PRIVATE -ftls-model=global-dynamic
  $<$<BOOL:${CUSTOMLABELS_HAS_TLS_DIALECT}>:${customlabels_dialect}>)

install(TARGETS otelcontext EXPORT customlabelsTargets
  LIBRARY COMPONENT libcustomlabels FILE_SET HEADERS)
configure_file(cmake/otelcontext.pc.in otelcontext.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/otelcontext.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
