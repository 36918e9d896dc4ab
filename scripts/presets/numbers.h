// For programs that are compiled and never run, not even linked: NUMBER(name, value) writes a line
// into the assembler's text, where numbers.sh finds it. So a cross compiler is enough for another
// processor.
#pragma once

#include <stddef.h>
#define NUMBER(name, value) __asm__("@number " name " %c0" : : "i"(value))
void numbers(void);
