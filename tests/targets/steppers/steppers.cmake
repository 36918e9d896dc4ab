# Programs for `check --step` (stepper.h): each writer in the program and in a library, with and
# without optimization. They are built without the flags of the tree, since the code that a plain
# compiler makes of them is what is tested.
set(stepper_folder ${CMAKE_CURRENT_BINARY_DIR}/steppers)
file(MAKE_DIRECTORY ${stepper_folder})
set(stepper_source ${CMAKE_CURRENT_SOURCE_DIR}/steppers)
set(stepper_flags -g -Wall -Wextra -pthread -I ${PROJECT_SOURCE_DIR}/writer-lib/include
  -I ${stepper_source})
set(stepper_headers ${stepper_source}/stepper.h ${stepper_source}/publisher.h
  ${stepper_source}/otel_record.h)
set(stepper_library_flags -fPIC -shared -ftls-model=global-dynamic ${dialect_gnu2}
  -fvisibility=hidden)
set(stepper_outputs)

# labelscope_add_stepper(<name> <source of the writer> [flags of the writer...]) builds one writer
# in all four ways.
function(labelscope_add_stepper name writer)
  foreach(level O0 O2)
    set(program ${stepper_folder}/${name}-executable-${level})
    add_custom_command(OUTPUT ${program}
      COMMAND ${gcc} ${stepper_flags} -${level} ${ARGN}
      -fPIE -pie -rdynamic ${stepper_source}/program.c
        ${stepper_source}/${writer} -o ${program}
      DEPENDS ${stepper_source}/program.c ${stepper_source}/${writer} ${stepper_headers} VERBATIM)
    set(library ${stepper_folder}/libcustomlabels_${name}_${level}.so)
    set(user ${stepper_folder}/${name}-library-${level})
    add_custom_command(OUTPUT ${library}
      COMMAND ${gcc} ${stepper_flags} -${level} ${ARGN} -DLIBRARY ${stepper_library_flags}
        -Wl,-soname,libcustomlabels_${name}_${level}.so ${stepper_source}/${writer} -o ${library}
      DEPENDS ${stepper_source}/${writer} ${stepper_headers} VERBATIM)
    add_custom_command(OUTPUT ${user}
      COMMAND ${gcc} ${stepper_flags} -${level} -fPIE -pie -rdynamic ${stepper_source}/program.c
      ${library}
        -Wl,-rpath,${stepper_folder} -o ${user}
      DEPENDS ${stepper_source}/program.c ${library} ${stepper_headers} VERBATIM)
    list(APPEND stepper_outputs ${program} ${user})
  endforeach()
  set(stepper_outputs ${stepper_outputs} PARENT_SCOPE)
endfunction()

# The functions that a stepper calls must be visible in a library. This flag is simpler than a list
# of exports.
list(REMOVE_ITEM stepper_library_flags -fvisibility=hidden)
foreach(writer in_place copy_in_place length_first pointer_first count_first freed_first null_value two_labels
               duplicates_first one_by_one short_after_long beyond_watch
               polls_between runs_with context_late_root)
  labelscope_add_stepper(${writer} ${writer}.c)
endforeach()
labelscope_add_stepper(two_labels_declared two_labels.c -DDECLARED)
foreach(writer otel_in_place otel_two_stores otel_marked otel_swapped)
  labelscope_add_stepper(${writer} ${writer}.c -D_GNU_SOURCE -I ${CMAKE_CURRENT_SOURCE_DIR}/sources)
endforeach()

foreach(flaw UNPUBLISHED MOVED)
  string(TOLOWER otel_${flaw} name)
  labelscope_add_stepper(${name} otel_swapped.c -D${flaw} -D_GNU_SOURCE
    -I ${CMAKE_CURRENT_SOURCE_DIR}/sources)
endforeach()

labelscope_add_stepper(with_context with_context.c
  ${PROJECT_SOURCE_DIR}/writer-lib/src/thread_context.c)

# The bundled writer is built from its sources, in the same four ways, and into a static program.
file(GLOB bundled_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/writer-lib/src/*.c)
list(REMOVE_ITEM bundled_sources ${PROJECT_SOURCE_DIR}/writer-lib/src/thread_context.c)
set(bundled_flags ${stepper_flags} -fexceptions)
foreach(level O0 O2)
  set(library ${stepper_folder}/libcustomlabels_bundled_${level}.so)
  add_custom_command(OUTPUT ${library}
    COMMAND ${gcc} ${bundled_flags} -${level} ${stepper_library_flags} -fvisibility=hidden
      -Wl,-soname,libcustomlabels_bundled_${level}.so ${bundled_sources} -o ${library}
    DEPENDS ${bundled_sources} VERBATIM)
  set(user ${stepper_folder}/bundled-library-${level})
  add_custom_command(OUTPUT ${user}
    COMMAND ${gcc} ${stepper_flags} -${level} ${stepper_source}/bundled.c ${library}
    -Wl,-rpath,${stepper_folder}
      -o ${user}
    DEPENDS ${stepper_source}/bundled.c ${library} VERBATIM)
  set(program ${stepper_folder}/bundled-executable-${level})
  add_custom_command(OUTPUT ${program}
    COMMAND ${gcc} ${bundled_flags} -${level} -fPIE -pie -rdynamic ${stepper_source}/bundled.c
    ${bundled_sources}
      -o ${program}
    DEPENDS ${stepper_source}/bundled.c ${bundled_sources} VERBATIM)
  list(APPEND stepper_outputs ${user} ${program})
endforeach()

# Programs that do what programs do (conduct.c), with a writer that is right.
foreach(kind dynamic static)
  set(program ${stepper_folder}/conduct-${kind})
  set(kind_flags -fPIE -pie -rdynamic)
  if(kind STREQUAL "static")
    set(kind_flags -static)
  endif()
  add_custom_command(OUTPUT ${program}
    COMMAND ${gcc} ${stepper_flags} -O1 ${kind_flags} ${stepper_source}/conduct.c -o ${program}
    DEPENDS ${stepper_source}/conduct.c ${stepper_headers} VERBATIM)
  list(APPEND stepper_outputs ${program})
endforeach()
# The functions have no symbols; those of the second program have no unwind table either.
foreach(kind stripped nameless)
  set(program ${stepper_folder}/conduct-${kind})
  set(kind_flags)
  if(kind STREQUAL "stripped")
    set(kind_flags -fno-asynchronous-unwind-tables -fno-unwind-tables)
  endif()
  add_custom_command(OUTPUT ${program}
    COMMAND ${gcc} ${stepper_flags} -O1 ${kind_flags}
    -s -fPIE -pie -Wl,--export-dynamic-symbol=custom_labels_abi_version
      -Wl,--export-dynamic-symbol=custom_labels_current_set ${stepper_source}/conduct.c
      -o ${program}
    DEPENDS ${stepper_source}/conduct.c ${stepper_headers} VERBATIM)
  list(APPEND stepper_outputs ${program})
endforeach()
# Like conduct-static it must not be moved in memory, since it must lie at the same addresses.
set(program ${stepper_folder}/foreign)
add_custom_command(OUTPUT ${program}
  COMMAND ${gcc} ${stepper_flags} -static ${stepper_source}/foreign.c -o ${program}
  DEPENDS ${stepper_source}/foreign.c VERBATIM)
list(APPEND stepper_outputs ${program})
# It publishes nothing, and loads a library that does.
set(program ${stepper_folder}/loads_later)
add_custom_command(OUTPUT ${program}
  COMMAND ${gcc} ${stepper_flags} ${stepper_source}/loads_later.c -ldl -o ${program}
  DEPENDS ${stepper_source}/loads_later.c ${stepper_headers} VERBATIM)
list(APPEND stepper_outputs ${program})
# Without optimization templates are functions of their own. With it this one would be a memset().
set(program ${stepper_folder}/template_in_place)
add_custom_command(OUTPUT ${program}
  COMMAND ${CMAKE_CXX_COMPILER} -std=c++17 ${stepper_flags} -O0 -fPIE -pie -rdynamic
    ${stepper_source}/template_in_place.cc -o ${program}
  DEPENDS ${stepper_source}/template_in_place.cc VERBATIM)
list(APPEND stepper_outputs ${program})
if(musl_gcc)
  set(program ${stepper_folder}/conduct-musl)
  add_custom_command(OUTPUT ${program}
    COMMAND ${musl_gcc} ${stepper_flags} -O1 -fPIE -pie -rdynamic ${stepper_source}/conduct.c
    -o ${program}
    DEPENDS ${stepper_source}/conduct.c ${stepper_headers} VERBATIM)
  list(APPEND stepper_outputs ${program})
endif()
add_custom_target(labelscope_steppers ALL DEPENDS ${stepper_outputs})
