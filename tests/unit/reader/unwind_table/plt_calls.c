// Makes calls that lead through a procedure linkage table.
#include <stdlib.h>
#include <string.h>

long plt_calls(const char* text);
long plt_calls(const char* text) { return (long)strlen(text) + abs(text[0]) + atoi(text); }
