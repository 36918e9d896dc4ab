# This makes builds quicker without changing what programs do: by a compiler cache, by standard
# headers that are read once, and where it is wanted, by compiling the sources of a folder together.
# Each is used if it is there, and none is required.

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

# With CMake's own CMAKE_UNITY_BUILD (the preset `release` sets it), sources of one folder are
# compiled as one: headers and templates that they share are then compiled once. That takes much
# less time for a whole build, and more for a build after a change of one source; so other presets
# compile each source by itself, which also shows that it includes what it uses.
#
# CMake alone would take sources as they follow each other in a list, and a new one would move all
# others behind it. With folders, a source always has the same neighbours. A name in an unnamed
# namespace must be the only one of its folder for that (tests/lint.sh).
set(labelscope_unite ${CMAKE_UNITY_BUILD})
set(CMAKE_UNITY_BUILD OFF)
# More sources at once would need more memory, and keep one processor busy alone at the end.
set(labelscope_most_united 24)

# labelscope_unite(<target>): each folder's sources in C++ are compiled together, in equal parts if
# there are many.
function(labelscope_unite target)
  if(NOT labelscope_unite)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "^[^/$].*\\.cc$")
  set(folders)
  foreach(source IN LISTS sources)
    get_filename_component(folder ${source} DIRECTORY)
    string(MAKE_C_IDENTIFIER "in_${folder}" folder)
    list(APPEND folders ${folder})
    list(APPEND ${folder} ${source})
  endforeach()
  list(REMOVE_DUPLICATES folders)
  foreach(folder IN LISTS folders)
    list(LENGTH ${folder} count)
    math(EXPR parts "(${count} + ${labelscope_most_united} - 1) / ${labelscope_most_united}")
    set(index 0)
    foreach(source IN LISTS ${folder})
      math(EXPR part "${index} * ${parts} / ${count}")
      math(EXPR index "${index} + 1")
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${folder}_${part})
    endforeach()
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()
