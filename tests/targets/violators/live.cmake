# Rules that a label set breaks while the program runs. The programs in violators/live are correct
# as files.
set(live_source ${violators_source}/live)
set(live_flags -O1 -g0 -fno-lto -DREST_MS=${rest_ms} -I${PROJECT_SOURCE_DIR}/writer-lib/include)
# Code and constants are on pages of their own, so that a constant can be made writable
# (version_changes.c).
set(live_program ${live_flags} -fPIE -pie -Wl,-z,separate-code
  -Wl,--export-dynamic-symbol=custom_labels_abi_version
    -Wl,--export-dynamic-symbol=custom_labels_current_set)

foreach(writer
    LS012-version_changes
    LS040-set_unmapped
    LS041-storage_unmapped LS041-count_too_large
    LS042-key_unmapped
    LS043-value_too_long
    LS044-value_null
    LS045-key_twice
    LS046-key_null
    LS046-only_key_null
    LS047-set_packed
    LS040-set_left_behind
    LS042-key_exchanged
    LS048-labels_too_many
    LS049-value_with_nul
    LS051-capacity_small)
  string(SUBSTRING ${writer} 6 -1 name)
  violator(live/${writer} program ${gcc} ${live_program} ${live_source}/${name}.c)
endforeach()

# This one is correct.
violator(live/good-coroutine program ${gcc} ${live_program} ${live_source}/coroutine.c)

violator(live/LS110-context_checksum program ${gcc} ${live_flags} -fPIE -pie
  -Wl,--export-dynamic-symbol=context_tls_v1 ${live_source}/context_checksum.c)

set(live_otel program ${gcc} ${live_flags} -I${CMAKE_CURRENT_SOURCE_DIR}/sources -fPIE -pie
  -Wl,--export-dynamic-symbol=otel_thread_ctx_v1 ${live_source}/otel.c)
violator(live/good-otel ${live_otel})
foreach(flaw 210-UNMAPPED 211-ODD 212-MARK 213-NO_SPAN 214-FLAGS 215-PAST_END 216-SHORT 217-LATIN1 218-LARGE
             220-UNNAMED 221-NO_CONTEXT 222-MOVED 231-HEADER 232-VERSION 233-PAYLOAD 234-TIME 235-SCHEMA
             236-TEXTS)
  string(SUBSTRING ${flaw} 4 -1 name)
  violator(live/LS${flaw} ${live_otel} -pthread -D${name})
endforeach()

# The library is correct as a file. It is loaded later, or there from the start.
set(live_library ${live_flags} -fPIC -shared -ftls-model=global-dynamic ${dialect_gnu2}
  ${live_source}/library.c)
set(live_compilers ${gcc})
if(musl_gcc)
  list(APPEND live_compilers ${musl_gcc})
endif()
foreach(compiler IN LISTS live_compilers)
  set(suffix "")
  if(compiler STREQUAL "${musl_gcc}")
    set(suffix _musl)
  endif()
  set(later live/LS002-loaded_later${suffix})
  violator(${later} libcustomlabels.so ${compiler} ${live_library})
  violator(${later} program ${compiler} ${live_flags} ${live_source}/loaded_later.c -ldl
    -DLIBRARY="${violators_dir}/${later}/libcustomlabels.so")
  set(linked live/good-linked${suffix})
  violator(${linked} libcustomlabels.so ${compiler} ${live_library})
  violator(${linked} program ${compiler} ${live_flags} ${live_source}/linked.c
    ${violators_dir}/${linked}/libcustomlabels.so -Wl,-rpath,${violators_dir}/${linked})
  violator(${linked} reader ${compiler} ${live_flags} -fno-pie -no-pie ${live_source}/linked_reads.c
    ${violators_dir}/${linked}/libcustomlabels.so -Wl,-rpath,${violators_dir}/${linked})
endforeach()
# The library can be preloaded into this program.
violator(live/good-preloaded program ${gcc} ${live_flags} ${live_source}/plain.c)
