# Programs that publish labels through sources other than ABI v1, or in variables of their own. Each
# prints what is true of its threads (tests/README.md).
set(sources_dir ${CMAKE_CURRENT_SOURCE_DIR}/sources)
# labelscope_add_source_program(<name> <library...>): builds <name>.c, with its symbols exported.
function(labelscope_add_source_program name)
  add_executable(${name} ${sources_dir}/${name}.c)
  target_link_libraries(${name} PRIVATE labelscope_flags Threads::Threads ${ARGN})
  set_target_properties(${name} PROPERTIES ENABLE_EXPORTS ON)
endfunction()

labelscope_add_source_program(contexts labelscope::customlabels labelscope::threadcontext)
labelscope_add_source_program(otel_contexts)
labelscope_add_source_program(otel_writer labelscope::otelcontext)
labelscope_add_source_program(node_contexts)
labelscope_add_source_program(status_server)
labelscope_add_source_program(titled)
labelscope_add_source_program(every_source labelscope::threadcontext)
target_compile_definitions(every_source PRIVATE PROGRAM)
add_library(every_source_library MODULE ${sources_dir}/every_source.c)
target_link_libraries(every_source_library PRIVATE labelscope_flags labelscope::threadcontext
  Threads::Threads)
set_target_properties(every_source every_source_library PROPERTIES C_VISIBILITY_PRESET hidden)
labelscope_add_source_program(globals)
labelscope_add_source_program(named_threads)
labelscope_add_source_program(variables ${CMAKE_DL_LIBS})
target_sources(variables PRIVATE ${sources_dir}/variables_twin.c ${sources_dir}/variables_scoped.cc)
add_library(variables_library MODULE ${sources_dir}/variables_library.c)
target_link_libraries(variables_library PRIVATE labelscope_flags)
set_target_properties(variables variables_library PROPERTIES C_VISIBILITY_PRESET default)
