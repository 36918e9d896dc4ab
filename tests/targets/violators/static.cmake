# What a file alone breaks. Libraries are built as the ABI wants it but for the one thing, and so are programs.
set(static_source ${violators_source}/static)
set(static_flags -O1 -g0 -fno-lto -I${static_source})
set(library ${static_flags} -fPIC -shared -ftls-model=global-dynamic)
set(descriptors ${library} ${dialect_gnu2})
set(program ${static_flags} -fPIE -pie ${static_source}/main.c)
set(export_both -Wl,--export-dynamic-symbol=custom_labels_abi_version
                -Wl,--export-dynamic-symbol=custom_labels_current_set)

# Correct ones, in each way that the ABI allows.
violator(good-library libcustomlabels.so ${gcc} ${descriptors} ${static_source}/good.c)
violator(good-library-suffix libcustomlabels-of-mine.so ${gcc} ${descriptors} ${static_source}/good.c)
violator(good-node-addon customlabels.node ${gcc} ${descriptors} ${static_source}/good.c)
violator(good-stripped libcustomlabels.so ${gcc} ${descriptors} -s ${static_source}/good.c)
violator(good-program program ${gcc} ${program} ${export_both} ${static_source}/good.c)
violator(good-program-fixed program ${gcc} ${static_flags} -no-pie ${export_both} ${static_source}/main.c
  ${static_source}/good.c)

violator(LS003-other-name liblabels.so ${gcc} ${descriptors} ${static_source}/good.c)
violator(LS003-version-suffix libcustomlabels.so.1 ${gcc} ${descriptors} ${static_source}/good.c)

violator(LS010-hidden libcustomlabels.so ${gcc} ${descriptors} ${static_source}/version_hidden.c)
violator(LS010-missing libcustomlabels.so ${gcc} ${descriptors} ${static_source}/version_missing.c)
violator(LS010-program program ${gcc} ${program} -Wl,--export-dynamic-symbol=custom_labels_current_set
  ${static_source}/good.c)
violator(LS011-wide libcustomlabels.so ${gcc} ${descriptors} ${static_source}/version_wide.c)
violator(LS011-narrow program ${gcc} ${program} ${export_both} ${static_source}/version_narrow.c)
violator(LS012-two libcustomlabels.so ${gcc} ${descriptors} ${static_source}/version_two.c)
violator(LS012-zero program ${gcc} ${program} ${export_both} ${static_source}/version_zero.c)
violator(LS013-writable libcustomlabels.so ${gcc} ${descriptors} ${static_source}/version_writable.c)
violator(LS014-thread-local libcustomlabels.so ${gcc} ${descriptors} ${static_source}/version_thread_local.c)
violator(LS014-function program ${gcc} ${program} ${export_both} ${static_source}/version_function.c)

violator(LS020-hidden libcustomlabels.so ${gcc} ${descriptors} ${static_source}/current_set_hidden.c)
violator(LS020-missing libcustomlabels.so ${gcc} ${descriptors} ${static_source}/current_set_missing.c)
violator(LS020-program program ${gcc} ${program} -Wl,--export-dynamic-symbol=custom_labels_abi_version
  ${static_source}/good.c)
violator(LS021-global libcustomlabels.so ${gcc} ${descriptors} ${static_source}/current_set_global.c)
violator(LS022-inline libcustomlabels.so ${gcc} ${descriptors} ${static_source}/current_set_inline.c)
violator(LS022-index program ${gcc} ${program} ${export_both} ${static_source}/current_set_index.c)
violator(LS023-packed libcustomlabels.so ${gcc} ${descriptors} ${static_source}/current_set_packed.c)

violator(LS030-outside program ${gcc} ${program} ${export_both} ${static_source}/current_set_outside.c)
violator(LS031-general-dynamic libcustomlabels.so ${gcc} ${library} ${dialect_gnu} ${static_source}/good.c)
violator(LS031-initial-exec libcustomlabels.so ${gcc} ${static_flags} -fPIC -shared ${dialect_ie}
  ${static_source}/good.c)
violator(LS031-unused libcustomlabels.so ${gcc} ${descriptors} ${static_source}/current_set_unused.c)

find_program(LABELSCOPE_LLD ld.lld)
if(LABELSCOPE_LLD)
  violator(LS032-protected libcustomlabels.so ${gcc} ${descriptors} -fuse-ld=lld
    ${static_source}/current_set_protected.c)
  violator(LS032-bsymbolic libcustomlabels.so ${gcc} ${descriptors} -fuse-ld=lld -Wl,-Bsymbolic
    ${static_source}/good.c)
endif()

# Other processors and other sizes: without their libc, so nothing but the compiler is needed.
find_program(LABELSCOPE_CLANG clang)
if(LABELSCOPE_LLD AND LABELSCOPE_CLANG)
  set(other ${static_flags} -fPIC -shared -nostdlib -fuse-ld=lld)
  foreach(platform i386 riscv64 powerpc64)
    violator(LS001-${platform} libcustomlabels.so ${LABELSCOPE_CLANG} --target=${platform}-linux-gnu ${other}
      ${static_source}/good.c)
  endforeach()
  violator(good-aarch64 libcustomlabels.so ${LABELSCOPE_CLANG} --target=aarch64-linux-gnu ${other}
    ${static_source}/good.c)
  violator(LS031-aarch64 libcustomlabels.so ${LABELSCOPE_CLANG} --target=aarch64-linux-gnu ${other}
    -ftls-model=initial-exec ${static_source}/good.c)
  violator(LS012-aarch64 libcustomlabels.so ${LABELSCOPE_CLANG} --target=aarch64-linux-gnu ${other}
    ${static_source}/version_two.c)
endif()
