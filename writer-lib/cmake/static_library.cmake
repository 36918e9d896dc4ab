# labelscope::customlabels_static is the library inside of an executable. ABI v1 requires the two
# symbols in the dynamic symbol table of the executable, where a linker puts only the symbols that
# an option names: the target's link options name them, so its users need not. The link options also
# ask for one word of the archive by name (-u), or a program that loses all its calls to
# --gc-sections would lose the symbols too. The archive is for executables alone, PIE or not: the
# linker refuses its relocations in a shared library, which is right, since readers do not look into
# libraries of other names. (A fully static executable, -static, has no dynamic symbols, so readers
# do not find its labels.)
add_library(customlabels_static STATIC ${customlabels_sources})
add_library(labelscope::customlabels_static ALIAS customlabels_static)
target_include_directories(customlabels_static PUBLIC $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_include_directories(customlabels_static INTERFACE
  $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include/customlabels>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/customlabels>)
target_link_libraries(customlabels_static PRIVATE $<BUILD_INTERFACE:labelscope_flags> Threads::Threads)
# The code is position-independent for executables: the variables are at fixed distances from the
# thread pointer.
target_compile_options(customlabels_static PRIVATE ${customlabels_optimization} -fPIE)
set_target_properties(customlabels_static PROPERTIES C_VISIBILITY_PRESET hidden C_EXTENSIONS OFF
  POSITION_INDEPENDENT_CODE OFF UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
set(customlabels_static_options -Wl,-u,custom_labels_abi_version,-u,custom_labels_current_set
  -Wl,--export-dynamic-symbol=custom_labels_abi_version,--export-dynamic-symbol=custom_labels_current_set)
target_link_options(customlabels_static INTERFACE ${customlabels_static_options})

install(TARGETS customlabels_static EXPORT customlabelsTargets)
list(JOIN customlabels_static_options " " customlabels_static_options)
configure_file(cmake/customlabels-static.pc.in customlabels-static.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/customlabels-static.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
