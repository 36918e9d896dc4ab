# Programs whose files are made to harm a symbolizer (hostile.c): a kilobyte that becomes a
# gigabyte, work without end, paths that must not be opened. They have no debug information of their
# own.
set(hostile_dir ${CMAKE_CURRENT_BINARY_DIR}/hostile)
set(hostile_programs "")
file(MAKE_DIRECTORY ${hostile_dir})
# The writer is compiled here as well, since the library may be one with sanitizers.
file(GLOB hostile_writer CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/writer-lib/src/*.c)
# labelscope_add_hostile(<name> <source of its debug information, or ""> <how that is packed>
# <symbol=value>...) builds one program.
function(labelscope_add_hostile name source packed)
  set(output ${hostile_dir}/${name})
  set(definitions "")
  foreach(definition IN LISTS ARGN)
    list(APPEND definitions -Wa,--defsym,${definition})
  endforeach()
  if(source)
    set(source ${CMAKE_CURRENT_SOURCE_DIR}/hostile/${source})
  endif()
  add_custom_command(OUTPUT ${output}
    COMMAND ${gcc} ${compile_flags} -g0 -fno-pie -no-pie -I${PROJECT_SOURCE_DIR}/writer-lib/include
    ${definitions}
      ${CMAKE_CURRENT_SOURCE_DIR}/hostile/hostile.c ${source} ${hostile_writer} -pthread
      -Wl,--compress-debug-sections=${packed} -Wl,--build-id=sha1 -rdynamic -o ${output}
    DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/hostile/hostile.c ${source} ${hostile_writer} VERBATIM)
  set(hostile_programs ${hostile_programs} ${output} PARENT_SCOPE)
endfunction()
labelscope_add_hostile(plain "" none)
labelscope_add_hostile(rows rows.s zlib ROWS=20000000)
labelscope_add_hostile(ranges ranges.s zlib FUNCTIONS=100000 RANGES=1000000)
labelscope_add_hostile(entries entries.s zlib ENTRIES=100000000)
labelscope_add_hostile(entries_unpacked entries.s none ENTRIES=30000000)
labelscope_add_hostile(shared shared.s none)
add_custom_target(labelscope_hostile ALL DEPENDS ${hostile_programs})
set_property(GLOBAL PROPERTY LABELSCOPE_HOSTILE ${hostile_dir})
