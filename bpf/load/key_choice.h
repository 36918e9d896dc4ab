// By which labels the kernel numbers label sets (wire.h, label_number.bpf.h).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "bpf/load/sampler_options.h"
#include "bpf/wire/wire.h"

namespace labelscope {

// Returns the number of a key, which the kernel's programs compute, too.
std::uint64_t number_of_key(std::string_view key, const ls_label_key& secret);

// Returns a choice of labels with these keys, or of all but those. Without keys, or with too many,
// all labels count.
ls_key_choice choose_keys(ls_choice which, ls_key_rule how, std::span<const std::string> keys,
                          const ls_label_key& secret);

// Returns by which labels waits are added up: not by those that no output has.
ls_key_choice choice_of_waits(const SamplerOptions& options, const ls_label_key& secret);

}  // namespace labelscope
