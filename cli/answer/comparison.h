// Two profiles held against each other: by value of a label, and by function.
//
// Recordings differ in length and load, so shares of the whole are compared; the amounts stand
// beside them. Two recordings of the same program are never equal. A difference counts if it is
// larger than chance makes it. Samples come at random times, and each brings its weight w. Of a
// part with the share p, the next recording would show a share that is off by
//
//   sqrt((1 - p)^2 sum(w^2 of the part) + p^2 sum(w^2 of the rest)) / sum(w of all)
//
// For equal weights, and n of N samples, that is sqrt(n (N - n) / N^3). Waits have other weights:
// one long wait is one sample. Both the part and the rest count one sample more, of the mean
// weight, for parts with few samples or none: nothing seen in A is not nothing there.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "cli/answer/summary.h"
#include "cli/profile/profile.h"
#include "labelscope/result.h"

namespace labelscope::cli {

// A difference must have this many standard errors to count. By chance alone, one of twenty has.
inline constexpr double kSignificant = 2;

struct ComparedRow {
  enum class Kind { kValue, kWithout, kUnreadable };
  Kind kind = Kind::kValue;
  std::string name;  // the value or the function, as bytes
  struct Side {
    std::uint64_t samples = 0;
    std::uint64_t weight_ns = 0;
    double squares = 0;  // of the weights of single samples
    double share = 0;    // part of the side's whole
  } a, b;
  double difference = 0;  // b.share - a.share
  // the difference in standard errors; infinite if there is no chance
  double errors = 0;
  bool is_noise() const { return errors < kSignificant && errors > -kSignificant; }
};

struct ComparedTable {
  enum class By { kLabel, kFunctionAlone, kFunctionAndBelow };
  By by = By::kLabel;
  std::string key;                // key of the label
  std::vector<ComparedRow> rows;  // the largest difference first
};

struct Comparison {
  // Both must be recordings of the same kind of value. If `keys` is empty, all keys with few values
  // are compared. Fails with kMalformed as check_tables() does, and with kUnsupported if one counts
  // something else than the other.
  static Result<Comparison> make(const Profile& a, const Profile& b, std::vector<std::string> keys);

  ComparedRow::Side a, b;  // the whole of each side
  ValueType value;         // value type of both
  std::string counted;     // Profile::counted of both
  bool has_chance = true;  // samples are counted; otherwise no difference can be by chance
  std::vector<ComparedTable> tables;
  std::vector<std::string> left_out;  // keys with too many values to be compared unasked
};

// Returns how far the shares of two parts differ, in standard errors.
double standard_errors(const ComparedRow::Side& part_a, const ComparedRow::Side& whole_a,
                       const ComparedRow::Side& part_b, const ComparedRow::Side& whole_b);

// `names`: what A and B are called, escaped.
Status render_comparison(const Comparison& comparison, const std::string (&names)[2],
                         const SummaryStyle& style, std::ostream& out);
// Writes a line of JSON for each table (labelscope-diff(1)).
Status render_comparison_json(const Comparison& comparison, const std::string (&names)[2],
                              std::ostream& out);

// Joins both to one profile for the page, in which each sample has a label that says "A" or "B".
// Returns the key of that label, which no label of the profiles has.
Result<std::string> merge_sides(Profile& a, Profile b);

}  // namespace labelscope::cli
