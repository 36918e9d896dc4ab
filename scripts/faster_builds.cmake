# This makes builds quicker without changing the result (except folders that debug information
# names): by a compiler cache, and by standard headers that are read once. Each is used if it is
# there, and none is required.

# ccache is used if it is installed and no other launcher was asked for. It finds an object again in
# another folder (a fresh clone, a second worktree, CI): paths below the tree count as relative, and
# the folder of the build does not count at all. So debug information may name the folder in which a
# source was compiled first. An object that was compiled with a precompiled header is found only if
# ccache may trust that header, which "pch_defines" and "time_macros" allow.
find_program(LABELSCOPE_CCACHE ccache)
mark_as_advanced(LABELSCOPE_CCACHE)
if(LABELSCOPE_CCACHE)
  set(compiler_cache env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
    CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${LABELSCOPE_CCACHE})
  foreach(language C CXX)
    if(NOT DEFINED CMAKE_${language}_COMPILER_LAUNCHER)
      set(CMAKE_${language}_COMPILER_LAUNCHER ${compiler_cache})
    endif()
  endforeach()
endif()

# Headers of the standard library are most of what a compiler reads: a source of 64 lines has 54,000
# after the preprocessor. g++ reads those that many sources use once. Each source still names what
# it uses: clang-tidy sees it without this, and so do other compilers.
set(labelscope_precompile OFF)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT CMAKE_CXX_CLANG_TIDY)
  set(labelscope_precompile ON)
  # ccache needs the first option. g++ 12 forgets that a precompiled header is the system's, and
  # warns of copies of std::string that do not exist.
  set(labelscope_precompile_options -fpch-preprocess
    $<$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>:-Wno-array-bounds;-Wno-stringop-overflow;-Wno-stringop-overread>)
endif()

set(labelscope_standard_headers algorithm array charconv chrono cmath cstdint cstring deque functional map memory mutex
  numeric optional ostream set span string string_view thread tuple unordered_map utility vector)

# labelscope_precompile(<target> <header>...): <target> compiles these headers once, for all its
# sources in C++.
function(labelscope_precompile target)
  if(NOT labelscope_precompile)
    return()
  endif()
  list(TRANSFORM ARGN REPLACE "^(.+)$" "$<$<COMPILE_LANGUAGE:CXX>:<\\1$<ANGLE-R>>" OUTPUT_VARIABLE headers)
  target_precompile_headers(${target} PRIVATE ${headers})
  target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${labelscope_precompile_options}>")
endfunction()
