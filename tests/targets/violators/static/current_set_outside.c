/* A variable beyond the end of the program's thread-local block. A symbol looks like this if its
 * block was cut, or laid out by another program than the linker. */
#include "writer.h"

const unsigned custom_labels_abi_version = 1;

__asm__(
    ".section .tbss,\"awT\",@nobits\n"
    ".balign 8\n"
    ".globl custom_labels_current_set\n"
    ".type custom_labels_current_set, %tls_object\n"
    ".size custom_labels_current_set, 8\n"
    ".set custom_labels_current_set, . + 4096\n"
    ".zero 8\n"
    ".previous\n");
