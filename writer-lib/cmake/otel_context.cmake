# libotelcontext.so publishes OpenTelemetry's thread context and process context (otel_context.h).
# It is a library of its own for the same reasons as libthreadcontext.so.
add_library(otelcontext SHARED src/otel_thread_context.c src/otel_process_context.c)
add_library(labelscope::otelcontext ALIAS otelcontext)
target_sources(otelcontext PUBLIC FILE_SET HEADERS BASE_DIRS include FILES
  include/customlabels/otel_context.h include/customlabels/otel_context.hpp)
target_link_libraries(otelcontext PRIVATE labelscope_flags Threads::Threads)
set_target_properties(otelcontext PROPERTIES C_VISIBILITY_PRESET hidden C_EXTENSIONS OFF
  LINK_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/src/otel_context_exports.map)
# nodelete is needed because the memory that a profiler reads, and the handlers that fork calls,
# would no longer be mapped after a dlclose.
target_link_options(otelcontext PRIVATE
  -Wl,--version-script=${CMAKE_CURRENT_SOURCE_DIR}/src/otel_context_exports.map -Wl,-z,nodelete -Wl,-z,now)
# Readers find the variable only through a TLS descriptor, as the label pointer.
target_compile_options(otelcontext PRIVATE -ftls-model=global-dynamic
  $<$<BOOL:${CUSTOMLABELS_HAS_TLS_DIALECT}>:${customlabels_dialect}>)

install(TARGETS otelcontext EXPORT customlabelsTargets
  LIBRARY COMPONENT libcustomlabels FILE_SET HEADERS)
configure_file(cmake/otelcontext.pc.in otelcontext.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/otelcontext.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
