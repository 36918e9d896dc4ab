# Rules that a file alone breaks. Libraries and programs are as the ABI wants them, but for one
# thing.
set(static_source ${violators_source}/static)
set(static_flags -O1 -g0 -fno-lto -I${static_source})
set(static_library ${static_flags} -fPIC -shared -ftls-model=global-dynamic)
set(static_descriptors ${static_library} ${dialect_gnu2})
set(static_program ${static_flags} -fPIE -pie ${static_source}/main.c)
set(static_export -Wl,--export-dynamic-symbol=custom_labels_abi_version
                -Wl,--export-dynamic-symbol=custom_labels_current_set)

# These are correct, in each way that the ABI allows.
violator(static/good-library libcustomlabels.so ${gcc} ${static_descriptors}
  ${static_source}/good.c)
violator(static/good-library-suffix libcustomlabels-of-mine.so ${gcc} ${static_descriptors}
  ${static_source}/good.c)
violator(static/good-node-addon customlabels.node ${gcc} ${static_descriptors}
  ${static_source}/good.c)
violator(static/good-stripped libcustomlabels.so ${gcc} ${static_descriptors}
  -s ${static_source}/good.c)
violator(static/good-program program ${gcc} ${static_program} ${static_export}
  ${static_source}/good.c)
violator(static/good-program-fixed program ${gcc} ${static_flags} -no-pie ${static_export}
  ${static_source}/main.c
  ${static_source}/good.c)
# This one is for a program that reads its version.
violator(static/good-reader libcustomlabels.so ${gcc} ${static_descriptors} ${static_source}/good.c)
violator(static/good-reader reader ${gcc} ${static_flags} -fno-pie -no-pie
  ${static_source}/reads_version.c
  ${violators_dir}/static/good-reader/libcustomlabels.so)

violator(static/LS003-other-name liblabels.so ${gcc} ${static_descriptors} ${static_source}/good.c)
violator(static/LS003-version-suffix libcustomlabels.so.1 ${gcc} ${static_descriptors}
  ${static_source}/good.c)

violator(static/LS010-hidden libcustomlabels.so ${gcc} ${static_descriptors}
  ${static_source}/version_hidden.c)
violator(static/LS010-missing libcustomlabels.so ${gcc} ${static_descriptors}
  ${static_source}/version_missing.c)
violator(static/LS010-program program ${gcc} ${static_program}
  -Wl,--export-dynamic-symbol=custom_labels_current_set
  ${static_source}/good.c)
violator(static/LS010-both program ${gcc} ${static_program} ${static_source}/good.c)
violator(static/LS010-static program ${gcc} ${static_flags} -static ${static_source}/main.c
  ${static_source}/good.c)
violator(static/LS011-wide libcustomlabels.so ${gcc} ${static_descriptors}
  ${static_source}/version_wide.c)
violator(static/LS011-narrow program ${gcc} ${static_program} ${static_export}
  ${static_source}/version_narrow.c)
violator(static/LS012-two libcustomlabels.so ${gcc} ${static_descriptors}
  ${static_source}/version_two.c)
violator(static/LS012-zero program ${gcc} ${static_program} ${static_export}
  ${static_source}/version_zero.c)
violator(static/LS013-writable libcustomlabels.so ${gcc} ${static_descriptors}
  ${static_source}/version_writable.c)
violator(static/LS014-thread-local libcustomlabels.so ${gcc} ${static_descriptors}
  ${static_source}/version_thread_local.c)
violator(static/LS014-function program ${gcc} ${static_program} ${static_export}
  ${static_source}/version_function.c)

violator(static/LS020-hidden libcustomlabels.so ${gcc} ${static_descriptors}
  ${static_source}/current_set_hidden.c)
violator(static/LS020-missing libcustomlabels.so ${gcc} ${static_descriptors}
  ${static_source}/current_set_missing.c)
violator(static/LS020-program program ${gcc} ${static_program}
  -Wl,--export-dynamic-symbol=custom_labels_abi_version
  ${static_source}/good.c)
violator(static/LS021-global libcustomlabels.so ${gcc} ${static_descriptors}
  ${static_source}/current_set_global.c)
violator(static/LS022-inline libcustomlabels.so ${gcc} ${static_descriptors}
  ${static_source}/current_set_inline.c)
violator(static/LS022-index program ${gcc} ${static_program} ${static_export}
  ${static_source}/current_set_index.c)
violator(static/LS023-packed libcustomlabels.so ${gcc} ${static_descriptors}
  ${static_source}/current_set_packed.c)

violator(static/LS030-outside program ${gcc} ${static_program} ${static_export}
  ${static_source}/current_set_outside.c)
violator(static/LS031-general-dynamic libcustomlabels.so ${gcc} ${static_library} ${dialect_gnu}
  ${static_source}/good.c)
violator(static/LS031-initial-exec libcustomlabels.so ${gcc} ${static_flags}
  -fPIC -shared ${dialect_ie}
  ${static_source}/good.c)
violator(static/LS031-unused libcustomlabels.so ${gcc} ${static_descriptors}
  ${static_source}/current_set_unused.c)

# These are flaws of the thread context.
set(static_context libthreadcontext.so ${gcc} ${static_library} ${static_source}/context.c)
violator(static/good-context ${static_context})
violator(static/LS101-global ${static_context} -DGLOBAL)
violator(static/LS102-pointer ${static_context} -DPOINTER)
violator(static/LS103-unaligned ${static_context} -DUNALIGNED)

# These are flaws of OpenTelemetry's thread context.
set(static_otel libotel.so ${gcc} ${static_descriptors} ${static_source}/otel.c)
violator(static/good-otel ${static_otel})
violator(static/good-otel-program program ${gcc} ${static_program}
  -Wl,--export-dynamic-symbol=otel_thread_ctx_v1
  ${static_source}/otel.c)
violator(static/LS201-program program ${gcc} ${static_program} ${static_source}/otel.c)
violator(static/LS202-global ${static_otel} -DGLOBAL)
violator(static/LS203-inline ${static_otel} -DINLINE)
violator(static/LS204-packed ${static_otel} -DPACKED)
# gcc for aarch64 makes general dynamic code of local dynamic.
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  violator(static/LS205-local-dynamic libotel.so ${gcc} ${static_flags}
    -fPIC -shared -ftls-model=local-dynamic
    -mtls-dialect=gnu ${static_source}/otel.c)
endif()
violator(static/good-otel-unused ${static_otel} -DUNUSED)
violator(static/LS206-general-dynamic libotel.so ${gcc} ${static_library} ${dialect_gnu}
  ${static_source}/otel.c)
violator(static/LS206-initial-exec libotel.so ${gcc} ${static_flags} -fPIC -shared ${dialect_ie}
  ${static_source}/otel.c)

if(LABELSCOPE_LLD)
  violator(static/LS032-protected libcustomlabels.so ${gcc} ${static_descriptors} -fuse-ld=lld
    ${static_source}/current_set_protected.c)
  violator(static/LS032-bsymbolic libcustomlabels.so ${gcc} ${static_descriptors} -fuse-ld=lld
    -Wl,-Bsymbolic
    ${static_source}/good.c)
endif()

# These are for other processors and sizes. They need no libc, and so nothing but the compiler.
find_program(LABELSCOPE_CLANG clang)
if(LABELSCOPE_LLD AND LABELSCOPE_CLANG)
  set(static_other ${static_flags} -fPIC -shared -nostdlib -fuse-ld=lld)
  foreach(platform i386 riscv64 powerpc64)
    violator(static/LS001-${platform} libcustomlabels.so ${LABELSCOPE_CLANG}
      --target=${platform}-linux-gnu
      ${static_other}
      ${static_source}/good.c)
  endforeach()
  violator(static/good-aarch64 libcustomlabels.so ${LABELSCOPE_CLANG} --target=aarch64-linux-gnu
    ${static_other}
    ${static_source}/good.c)
  violator(static/LS031-aarch64 libcustomlabels.so ${LABELSCOPE_CLANG} --target=aarch64-linux-gnu
    ${static_other}
    -ftls-model=initial-exec ${static_source}/good.c)
  violator(static/LS012-aarch64 libcustomlabels.so ${LABELSCOPE_CLANG} --target=aarch64-linux-gnu
    ${static_other}
    ${static_source}/version_two.c)
endif()
