# A library that programs load on machines with an older libc than that of the build. glibc 2.34 has
# moved the functions of libpthread into libc and given them a new version, which older ones lack;
# under the old version it still has them. So those functions are linked from a stand-in of an old
# libpthread, which is never loaded:
#
#   libcustomlabels.so needs        found in
#   pthread_once, the old version   glibc before 2.34: libpthread.so.0; later: libc.so.6
#                                   musl: in itself, where libpthread.so.0 is, and versions do not count
#
# All else that these libraries use is as old as glibc 2.17: tests/consumer/old_libc.sh checks that.
include_guard(GLOBAL)
include(CheckSymbolExists)

check_symbol_exists(__GLIBC__ features.h CUSTOMLABELS_GLIBC)
if(CUSTOMLABELS_GLIBC)
  # The first version of glibc for the processor.
  set(customlabels_base_version GLIBC_2.2.5)
  if(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
    set(customlabels_base_version GLIBC_2.17)
  endif()
  set(stand_in "")
  set(functions "")
  foreach(function pthread_key_create pthread_once pthread_setspecific)
    string(APPEND stand_in "void ${function}(void);\nvoid ${function}(void) {}\n")
    string(APPEND functions " ${function};")
  endforeach()
  file(CONFIGURE OUTPUT old_pthread.c CONTENT "${stand_in}" @ONLY)
  file(CONFIGURE OUTPUT old_pthread.map CONTENT "${customlabels_base_version} {${functions} };\n" @ONLY)
  add_library(customlabels_old_pthread SHARED EXCLUDE_FROM_ALL ${CMAKE_CURRENT_BINARY_DIR}/old_pthread.c)
  set_target_properties(customlabels_old_pthread PROPERTIES PREFIX "" OUTPUT_NAME old_pthread NO_SONAME ON)
  target_compile_options(customlabels_old_pthread PRIVATE -w -fno-sanitize=all)
  target_link_options(customlabels_old_pthread PRIVATE -nostdlib -fno-sanitize=all -Wl,-soname,libpthread.so.0
    -Wl,--version-script=${CMAKE_CURRENT_BINARY_DIR}/old_pthread.map)
endif()

# It is given as an option, because the build would note the folder of a library in its users.
function(labelscope_link_old_libc target)
  if(CUSTOMLABELS_GLIBC)
    add_dependencies(${target} customlabels_old_pthread)
    target_link_options(${target} PRIVATE
      -Wl,--push-state,--no-as-needed,$<TARGET_FILE:customlabels_old_pthread>,--pop-state)
  endif()
endfunction()
