// Label bytes, symbol names and paths come from the target: hostile until escaped for where they go.
#pragma once

#include <string>
#include <string_view>

namespace labelscope::cli {

bool is_valid_utf8(std::string_view bytes);

// Valid UTF-8 whatever comes in: bytes that are not become \xNN (and a literal backslash in front of
// "x" stays as it is: the lossless form is the .jsonl recording).
std::string escape_utf8(std::string_view bytes);

// For a terminal: valid UTF-8, and no control character, bidirectional override or escape sequence.
std::string escape_terminal(std::string_view bytes);

// For one frame of a folded line: no ';', no newline, no leading or trailing space; terminal-safe.
std::string escape_folded(std::string_view bytes);

// For a file name: letters, digits, '.', '_', '-'; anything else becomes '_'. Never empty, never hidden.
std::string escape_file_name(std::string_view bytes);

}  // namespace labelscope::cli
