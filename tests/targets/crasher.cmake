# crasher.c is a program that leaves a core file. With glibc the writer library is a library beside
# it; with musl it is in the program, which has no build ID either. It is built without the flags of
# the tree, whose sanitizers map terabytes.
set(crasher_dir ${CMAKE_CURRENT_BINARY_DIR}/crasher)
file(MAKE_DIRECTORY ${crasher_dir})
set(writer_dir ${PROJECT_SOURCE_DIR}/writer-lib)
get_target_property(writer_sources customlabels SOURCES)
list(TRANSFORM writer_sources PREPEND ${writer_dir}/)
file(GLOB writer_headers CONFIGURE_DEPENDS ${writer_dir}/src/*.h
  ${writer_dir}/include/customlabels/*.h)
set(crasher_sources ${CMAKE_CURRENT_SOURCE_DIR}/crasher.c ${CMAKE_CURRENT_SOURCE_DIR}/truth.c)
set(crasher_flags ${compile_flags} -pthread)
# The linker exports only what the ABI requires.
set(export_labels
  -Wl,--export-dynamic-symbol=custom_labels_abi_version,--export-dynamic-symbol=custom_labels_current_set)

set(crasher_library ${crasher_dir}/libcustomlabels.so)
add_custom_command(OUTPUT ${crasher_library}
  COMMAND ${gcc} ${crasher_flags} -fPIC ${dialect_gnu2} -shared -Wl,--build-id
    -Wl,-soname,libcustomlabels.so ${writer_sources}
    -o ${crasher_library}
  DEPENDS ${writer_sources} ${writer_headers} VERBATIM)
add_custom_command(OUTPUT ${crasher_dir}/crasher-glibc
  COMMAND ${gcc} ${crasher_flags} -fPIE -pie -Wl,--build-id ${crasher_sources} ${crasher_library}
    -Wl,-rpath,$ORIGIN -o ${crasher_dir}/crasher-glibc
  DEPENDS ${crasher_sources} ${crasher_library} ${headers} VERBATIM)
set(crashers ${crasher_dir}/crasher-glibc)
if(musl_gcc)
  add_custom_command(OUTPUT ${crasher_dir}/crasher-musl
    COMMAND ${musl_gcc} ${crasher_flags} -fPIE -pie ${export_labels} -Wl,--build-id=none
      ${crasher_sources} ${writer_sources} -o ${crasher_dir}/crasher-musl
    DEPENDS ${crasher_sources} ${writer_sources} ${writer_headers} ${headers} VERBATIM)
  # This one is small and a single file: its cores are frozen in testdata (tests/vm/make_core.sh).
  add_custom_command(OUTPUT ${crasher_dir}/crasher-static
    COMMAND ${musl_gcc} ${crasher_flags} -Os -static -Wl,--strip-debug -Wl,--build-id
      ${crasher_sources} ${writer_sources} -o ${crasher_dir}/crasher-static
    DEPENDS ${crasher_sources} ${writer_sources} ${writer_headers} ${headers} VERBATIM)
  list(APPEND crashers ${crasher_dir}/crasher-musl ${crasher_dir}/crasher-static)
endif()
# This is for aarch64 on another machine, where qemu's user mode writes core files of its guests.
# Return addresses are signed, as in distributions that protect branches.
find_program(LABELSCOPE_AARCH64_GCC aarch64-linux-gnu-gcc)
if(LABELSCOPE_AARCH64_GCC AND NOT CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
  set(guest_dir ${crasher_dir}/aarch64)
  file(MAKE_DIRECTORY ${guest_dir})
  add_custom_command(OUTPUT ${guest_dir}/crasher ${guest_dir}/libcustomlabels.so
    COMMAND ${LABELSCOPE_AARCH64_GCC} ${crasher_flags} -mbranch-protection=standard
    -fPIC -shared -Wl,-soname,libcustomlabels.so
      ${writer_sources} -o ${guest_dir}/libcustomlabels.so
    COMMAND ${LABELSCOPE_AARCH64_GCC} ${crasher_flags} -mbranch-protection=standard
    -fPIE -pie ${crasher_sources}
      ${guest_dir}/libcustomlabels.so -Wl,-rpath,$ORIGIN -o ${guest_dir}/crasher
    DEPENDS ${crasher_sources} ${writer_sources} ${writer_headers} ${headers} VERBATIM)
  list(APPEND crashers ${guest_dir}/crasher)
endif()
add_custom_target(labelscope_crashers ALL DEPENDS ${crashers})
set_property(GLOBAL PROPERTY LABELSCOPE_CRASHERS ${crasher_dir})
