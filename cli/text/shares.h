// Numbers as people read them: shares, times with a fitting unit.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace labelscope::cli {

// Returns a part of a whole in tenths of a per cent, by one rule for all outputs: rounded to the
// nearest, except that 1000 and 0 mean all of it and nothing. 0 if there is no whole. Equal parts
// have equal shares, so printed shares need not add up to 100.0%, as the counts do.
std::uint64_t share_of_1000(std::uint64_t part, std::uint64_t whole);

// Returns the shares of all counts in their sum.
std::vector<std::uint64_t> shares_of_1000(const std::vector<std::uint64_t>& counts);

// Makes "98.7%" of 987.
std::string percent_text(std::uint64_t of_1000);

// Makes "98.7%" of 987 and 1000; "0%" and "100%" have no decimals, for sentences.
std::string percent(std::uint64_t part, std::uint64_t whole);

// Returns "950 ns", "12.3 us", "4.56 ms", "78.9 s": three digits, and longer times in whole
// seconds.
std::string time_text(std::uint64_t ns);

// Returns "12.3 us", "4.56 MiB" or "1,234", for nanoseconds, bytes, and numbers of anything else.
std::string amount_text(std::uint64_t amount, std::string_view unit);

// How far a share may be from the truth by chance, as a standard error: two of three recordings lie
// within it. Samples are independent. But time is shared out within accounts (time_accounts.h)
// whose sums are exact, so only the division within each of them is uncertain.
class ShareError {
 public:
  // Adds samples to the whole.
  void add_whole(std::uint32_t account, std::uint64_t time_ns, std::uint64_t samples);
  // Returns the error of a part, by its time in each account.
  double of(const std::map<std::uint32_t, std::uint64_t>& part) const;

 private:
  struct Account {
    double time_ns = 0;
    double samples = 0;
  };
  std::map<std::uint32_t, Account> accounts_;
  double whole_ns_ = 0;
};

}  // namespace labelscope::cli
