// A label with very many values makes a profile large, and tables that nobody reads. Each may have
// so many values, those with most time; the others become one, "(other)":
//
//   query_id  17: 40 %   23: 30 %   4: 12 %   ... 3,409 more: 18 %
//   cap 3     17: 40 %   23: 30 %   4: 12 %   (other): 18 %
//
// Presets say of their labels how many values are to be expected (their class); --label-values says
// it of any label.
#pragma once

#include <cstddef>
#include <limits>
#include <map>
#include <string>
#include <string_view>

#include "cli/profile/profile.h"

namespace labelscope::cli {

// By key of the label: how many values it may have.
using ValueCaps = std::map<std::string, std::size_t, std::less<>>;
inline constexpr std::size_t kAllValues = std::numeric_limits<std::size_t>::max();

// Puts the values over a cap into "(other)". Profile::capped and the ledger say what was done.
void cap_values(const ValueCaps& caps, Profile& profile);

// "the label query_id has 3,412 values: the 1,000 with most time are kept, and the others are
// (other), with 18.0% of the time; --label-values query_id=3412 keeps them all". As bytes.
std::string capped_text(const CappedLabel& label, const Profile& profile);

}  // namespace labelscope::cli
