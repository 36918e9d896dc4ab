# A process that maps code without end, or from thousands of files (mapper.c).
add_executable(labelscope-mapper mapper.c)
target_link_libraries(labelscope-mapper PRIVATE labelscope_flags)

# A file system that stops to answer, and a process that has its file mapped (hanging_files.c).
add_executable(labelscope-hanging-files hanging_files.c)
target_link_libraries(labelscope-hanging-files PRIVATE labelscope_flags)
target_include_directories(labelscope-hanging-files
  PRIVATE ${PROJECT_SOURCE_DIR}/writer-lib/include)
target_link_options(labelscope-hanging-files PRIVATE
  -Wl,--export-dynamic-symbol=custom_labels_abi_version
  -Wl,--export-dynamic-symbol=custom_labels_current_set)
