// Names for values of a label, from a file of two columns: `--names query_id=FILE`. A server knows
// statements and databases by numbers, and its tables say what they mean; so their text comes from
// a query to the server, whenever the user wants to make one:
//
//   psql -AtF $'\t' -c "select queryid, query from pg_stat_statements" >names
//
//   4444610075058145087 <tab> select count(*) from orders
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "labelscope/result.h"

namespace labelscope::cli {

// From a value to its name.
using ValueNames = std::map<std::string, std::string, std::less<>>;
// By key of the label.
using NamesOfKeys = std::map<std::string, std::shared_ptr<const ValueNames>, std::less<>>;

// A file may have this many bytes: the text of 5,000 statements, the most that pg_stat_statements
// keeps by default, is at most 5 MB.
inline constexpr std::size_t kMostNameBytes = std::size_t{16} << 20;

// The column that ends first, at a tab or a comma, is the value. A column in double quotation marks
// may have commas and line ends in it, and "" for one mark, as in a file of COPY ... TO ... CSV.
// White space in a name becomes one blank, and a name is cut after 200 bytes. A value that stands
// twice has its first name; an empty line is none. Fails with "line N: ...".
Result<ValueNames> parse_value_names(std::string_view text);

// Reads such a file. It may be a pipe, such as that of <(psql ...).
Result<ValueNames> read_value_names(const std::string& path);

}  // namespace labelscope::cli
