# A process that maps code without end, or from thousands of files (mapper.c).
add_executable(labelscope-mapper mapper.c)
target_link_libraries(labelscope-mapper PRIVATE labelscope_flags)
