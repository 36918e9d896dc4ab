// Numbers as people read them: shares, times with a fitting unit.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
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

// Samples of CPU time do not stand for equal times: their period is drawn between half and one and
// a half times the usual one, and stays for some samples (bpf/sampling/drawn_rates.h). So shares
// vary as if there were fewer samples, and this returns how many. Waits are drawn one by one, by
// their lengths.
double samples_of_one_weight(std::uint64_t samples, bool of_waits);

// How far a share may be from the truth by chance, as a standard error: two of three recordings lie
// within it. Samples are independent. But time is shared out within accounts (time_accounts.h)
// whose sums are exact, so only the division within each of them is uncertain.
//
// An account of CPU time has many samples, and they show by themselves how it divides. A total of
// waits often has a single one: all of its time is in one function then, which does not mean that
// it was. So what an account divides into is estimated as if it had one sample more, which is like
// the whole.
class ShareError {
 public:
  // Adds samples to the whole. `is_total`: the account is a total of waits.
  void add_whole(std::uint32_t account, std::uint64_t time_ns, std::uint64_t samples,
                 bool is_total = false);
  // Returns the error of a part, by its time in each account. `divides_totals`: totals of waits are
  // divided by samples alone, as by function, and do not belong to one part each, as by label.
  double of(const std::map<std::uint32_t, std::uint64_t>& part, bool divides_totals = false) const;

 private:
  struct Account {
    double time_ns = 0;
    double count = 0;    // samples_of_one_weight()
    double squares = 0;  // of their weights
    bool is_total = false;
    // Returns how many samples of one weight would be as uncertain. Waits differ in weight; samples
    // of CPU time stand for a period each, but for where the account was settled.
    double samples() const {
      return !is_total ? count : squares == 0 ? 0 : time_ns * time_ns / squares;
    }
  };
  struct Divided {
    double by_share = 0;
    double by_square = 0;
  };
  static Divided of_none(const Account& account);

  std::map<std::uint32_t, Account> accounts_;
  double whole_ns_ = 0;
  mutable std::optional<Divided> totals_;  // of all totals together
};

}  // namespace labelscope::cli
