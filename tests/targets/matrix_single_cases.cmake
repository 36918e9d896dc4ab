# Cases beside the cross product, in the scope of one libc, linker and dialect (matrix.cmake). One
# known reader gets each of them wrong.

# The variable is behind others in its TLS block: a reader that drops an addend finds another
# variable. With lld -Bsymbolic the relocation has no symbol, and the offset is its addend.
if(NOT linker STREQUAL "gold")
  matrix_library(libcustomlabels-${prefix}-offset.so offset)
  matrix_start(offset-start libcustomlabels-${prefix}-offset.so)
  matrix_case(${prefix}-offset-dlopen PROGRAM ${loader}
    LIBRARIES libcustomlabels-${prefix}-offset.so)
  if(dialect STREQUAL "gnu2")
    foreach(kind pie static)
      matrix_executable(offset-${kind} offset ${kind})
    endforeach()
  endif()
endif()

# Protected visibility gives relocations without a symbol, even without -Bsymbolic.
if(NOT linker STREQUAL "gold" AND NOT dialect STREQUAL "ie")
  set(bind_before ${bind})
  set(bind "")
  matrix_library(libcustomlabels-${prefix}-protected.so protected)
  set(bind ${bind_before})
  matrix_start(protected-start libcustomlabels-${prefix}-protected.so)
  matrix_case(${prefix}-protected-dlopen PROGRAM ${loader}
    LIBRARIES libcustomlabels-${prefix}-protected.so)
endif()

# The place of a TLS block with 64-byte alignment depends on p_align, not on its size alone.
if(dialect STREQUAL "gnu")
  foreach(kind pie nopie static static-pie)
    matrix_executable(aligned-${kind} aligned ${kind})
  endforeach()
  matrix_library(libcustomlabels-${prefix}-aligned.so aligned)
  matrix_start(aligned-start libcustomlabels-${prefix}-aligned.so)
  matrix_case(${prefix}-aligned-dlopen PROGRAM ${loader}
    LIBRARIES libcustomlabels-${prefix}-aligned.so)
endif()

# Two libraries are loaded at once, each with its own variable.
if(NOT linker STREQUAL "gold" AND NOT dialect STREQUAL "ie")
  matrix_library(libcustomlabels-${prefix}-second.so 64k)
  matrix_case(${prefix}-two-libraries PROGRAM ${loader} LIBRARIES ${library}
    libcustomlabels-${prefix}-second.so)
endif()

# One publisher is in the executable and one in a library. With -Bsymbolic there are two variables.
# Without, the loader binds the library to the executable's, and the library's own TLS block stays
# unused.
if(linker STREQUAL "bfd" AND NOT dialect STREQUAL "ie")
  set(program ${prefix}-both)
  matrix_build(${program} pie ${link} -pie -rdynamic ${dir}/${libc}-both.o ${dir}/${libc}-truth.o
    ${dir}/${libc}-${dialect}-plain.o -ldl -o ${dir}/${program})
  matrix_library(libcustomlabels-${prefix}-symbolic.so plain -Wl,-Bsymbolic)
  matrix_case(${prefix}-exe-and-library PROGRAM ${program}
    LIBRARIES libcustomlabels-${prefix}-symbolic.so)
  matrix_case(${prefix}-interposed PROGRAM ${program} LIBRARIES ${library})
endif()

# An executable exports nothing (.symtab alone), and files have no .symtab.
if(linker STREQUAL "bfd" AND dialect STREQUAL "gnu2")
  matrix_executable(unexported plain pie -Wl,--no-export-dynamic)
  matrix_executable(stripped-pie plain pie -s)
  matrix_library(libcustomlabels-${prefix}-stripped.so plain -s)
  matrix_start(stripped-start libcustomlabels-${prefix}-stripped.so)
endif()

# DTVs of threads that live on: the module ID is past the end of the DTV, or an unloaded library has
# left the entry (musl never unloads one).
if(linker STREQUAL "bfd" AND NOT dialect STREQUAL "ie")
  matrix_library(libcustomlabels-${prefix}-first.so 64k)
  matrix_build(libfiller-${prefix}.so library ${link} -shared ${dir}/${libc}-filler.o
    -o ${dir}/libfiller-${prefix}.so)
  matrix_case(${prefix}-crowded PROGRAM ${loader} OPTION --crowd=libfiller-${prefix}.so
    LIBRARIES libcustomlabels-${prefix}-64k.so)
  if(libc STREQUAL "glibc")
    matrix_case(${prefix}-reloaded PROGRAM ${loader}
      OPTION --reload=libcustomlabels-${prefix}-first.so
      LIBRARIES libcustomlabels-${prefix}-64k.so)
  endif()
endif()
