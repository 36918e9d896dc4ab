// Label bytes, symbol names and paths come from the target: they are hostile until they are escaped
// for their destination.
//
// A byte that cannot stay becomes \xNN, a character that cannot stay \u{N} (lower-case hex). A
// literal backslash stays as it is except in quotes, so escaping cannot be undone: the lossless
// form is the .jsonl recording.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace labelscope::cli {

// This stands for an empty string in formats that cannot hold one.
inline constexpr std::string_view kEmptyText = "<empty>";

// Escapes for a terminal: the result is valid UTF-8 and has no control character, bidirectional
// override or escape sequence, nor a character whose only use is to hide others.
std::string escape_terminal(std::string_view bytes);

// Returns whether escape_terminal() has nothing to do, as for nearly all text.
bool is_printable_ascii(std::string_view bytes);

// Escapes and adds double quotes so that the bytes can be recovered: each backslash or quote among
// them gets a backslash in front.
std::string quote_terminal(std::string_view bytes);

// Returns whether text between other words may be taken for more than one word, or for none: it is
// empty, or has spaces of any kind, quotes or backslashes.
bool needs_quotes(std::string_view bytes);

// Escapes for one frame of a folded line: as for a terminal, and with no ';' and no leading or
// trailing space; never empty (kEmptyText).
std::string escape_folded(std::string_view bytes);

// Escapes text that is safe for a terminal already for text and attributes of XML 1.0: nothing in
// it ends them, begins an element, or is forbidden there. Line ends stay.
std::string escape_xml(std::string_view safe);

// Escapes for a part of a file name: letters, digits, '.', '_', '-'; anything else becomes '_'. The
// result is never empty, hidden or read as an option ('.' or '-' in front become '_'), and has at
// most 128 bytes.
std::string escape_file_name(std::string_view bytes);

// Returns as much of valid UTF-8 as fits into `limit` columns of a terminal: a character of
// Chinese, Japanese or Korean and an emoji are two columns wide, a combining accent has no width.
std::string_view first_columns(std::string_view utf8, std::size_t limit);
std::size_t count_columns(std::string_view utf8);

// Cuts text to about `most` bytes: a longer one keeps its beginning and its end (where a message
// has its fix), and between them says how much is missing. Valid UTF-8 stays valid.
std::string without_middle(std::string_view text, std::size_t most);

// Breaks `text`, which is escaped already, between words into lines of at most `width` columns (0:
// one line). Spaces in front of it are kept, and lines after the first are indented by `more`. A
// word that is too long stays whole.
std::vector<std::string> wrap(std::string_view text, std::size_t width, std::size_t more = 4);

}  // namespace labelscope::cli
