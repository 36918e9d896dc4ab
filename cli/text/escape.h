// Label bytes, symbol names and paths come from the target: hostile until escaped for where they
// go.
//
// A byte that cannot stay becomes \xNN, a character that cannot stay \u{N} (lower-case hex). A
// literal backslash stays as it is but in quotes, so escaping cannot be undone: the lossless form
// is the .jsonl recording.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace labelscope::cli {

// What stands for an empty string where a format cannot hold one.
inline constexpr std::string_view kEmptyText = "<empty>";

// For a terminal: valid UTF-8, and no control character, bidirectional override or escape sequence,
// nor a character that is only there to hide others.
std::string escape_terminal(std::string_view bytes);

// The same in double quotes, from which the bytes can be told again: a backslash or quote of theirs
// gets another backslash in front.
std::string quote_terminal(std::string_view bytes);

// Whether something between words may be taken for more than one word, or for none: it is empty, or
// has spaces of any kind, quotes or backslashes.
bool needs_quotes(std::string_view bytes);

// For one frame of a folded line: as for a terminal, and no ';', no leading or trailing space;
// never empty (kEmptyText).
std::string escape_folded(std::string_view bytes);

// What is safe for a terminal already, for text and attributes of XML 1.0: nothing ends them, begins
// an element, or may not be there at all. Line ends stay.
std::string escape_xml(std::string_view safe);

// For a part of a file name: letters, digits, '.', '_', '-'; anything else becomes '_'. Never
// empty, never hidden, never read as an option ('.' or '-' in front become '_'), at most 128 bytes.
std::string escape_file_name(std::string_view bytes);

// How much of valid UTF-8 fits into `limit` columns of a terminal: a character of Chinese, Japanese
// or Korean and an emoji are two columns wide, an accent of its own is none.
std::string_view first_columns(std::string_view utf8, std::size_t limit);
std::size_t count_columns(std::string_view utf8);

// Text of at most about `most` bytes: of a longer one the beginning and the end (where a message
// has its fix), and between them how much is missing. Valid UTF-8 stays so.
std::string without_middle(std::string_view text, std::size_t most);

// `text`, escaped already, broken between words into lines of at most `width` columns (0: one
// line). Spaces in front of it are kept, and lines after the first have `more`. A word that is too
// long stays whole.
std::vector<std::string> wrap(std::string_view text, std::size_t width, std::size_t more = 4);

}  // namespace labelscope::cli
