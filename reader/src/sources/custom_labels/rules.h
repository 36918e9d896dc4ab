// These are the rules of Custom Labels ABI v1 (writer-lib/ABI.md) by name; rules.cc has their
// texts.
#pragma once

#include <span>

#include "findings/check_rule.h"

namespace labelscope::abi_v1 {

// Platform and file
inline constexpr RuleId kPlatform{1};
inline constexpr RuleId kLoadedAtStartup{2};
inline constexpr RuleId kLibraryFileName{3};
// custom_labels_abi_version
inline constexpr RuleId kVersionExported{10};
inline constexpr RuleId kVersionSize{11};
inline constexpr RuleId kVersionValue{12};
inline constexpr RuleId kVersionConstant{13};  // note: it is in memory that can be written
// it is thread-local or a function, and not a data object
inline constexpr RuleId kVersionKind{14};
// custom_labels_current_set
inline constexpr RuleId kCurrentSetExported{20};
inline constexpr RuleId kCurrentSetThreadLocal{21};
inline constexpr RuleId kCurrentSetSize{22};
inline constexpr RuleId kCurrentSetAligned{23};  // warning: one store cannot publish it
// Access
inline constexpr RuleId kExecutableStaticOffset{30};
inline constexpr RuleId kLibraryTlsDescriptor{31};
inline constexpr RuleId kDescriptorNamed{32};  // warning: the relocation does not name the symbol
// Data
inline constexpr RuleId kSetReadable{40};
inline constexpr RuleId kStorageReadable{41};
inline constexpr RuleId kKeyReadable{42};
inline constexpr RuleId kValueReadable{43};
inline constexpr RuleId kValueNotNull{44};
inline constexpr RuleId kKeysUnique{45};    // note
inline constexpr RuleId kKeyNotNull{46};    // note
inline constexpr RuleId kDataAligned{47};   // warning: a set or a storage array at an odd address
inline constexpr RuleId kReaderLimits{48};  // warning: it has more than readers keep
inline constexpr RuleId kTextWithNul{49};   // note: the NUL of a C string belongs to the text
// Updates
inline constexpr RuleId kTornUpdate{50};  // neither the set before the update nor the one after it

// Data, again
inline constexpr RuleId kCapacityHoldsCount{51};  // note: fewer places than labels

std::span<const Rule> rules();

}  // namespace labelscope::abi_v1
