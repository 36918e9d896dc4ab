# A process whose work can be watched from outside (counting.c).
add_executable(labelscope-counting counting.c)
target_link_libraries(labelscope-counting PRIVATE labelscope_flags Threads::Threads)
