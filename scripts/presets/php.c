// Numbers of reader/presets/php-fpm.preset and mod-php.preset, by the headers of PHP (php8.2-dev).
// Those of the FastCGI hash and of Apache's request are in no header that is installed.
#include "php.h"

#include "SAPI.h"
#include "numbers.h"

void numbers(void) {
  NUMBER("sapi_globals.size", sizeof(sapi_globals_struct));
  NUMBER("started", offsetof(sapi_globals_struct, sapi_started));
  NUMBER("context", offsetof(sapi_globals_struct, server_context));
  NUMBER("method", offsetof(sapi_globals_struct, request_info.request_method));
  NUMBER("path", offsetof(sapi_globals_struct, request_info.path_translated));
}
