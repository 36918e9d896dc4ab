#include "bpf/load/key_choice.h"

#include <algorithm>
#include <cstring>

#include "bpf/wire/sip_hash.h"
#include "sources/label_source.h"

namespace labelscope {

std::uint64_t number_of_key(std::string_view key, const ls_label_key& secret) {
  ls_sip sip = ls_sip_begin(secret);
  ls_sip_add(&sip, key.size());
  for (std::size_t at = 0; at < key.size(); at += sizeof(std::uint64_t)) {
    __u64 word = 0;
    std::memcpy(&word, key.data() + at, std::min(sizeof word, key.size() - at));
    ls_sip_add(&sip, word);
  }
  return ls_sip_end(sip);
}

ls_key_choice choose_keys(ls_choice which, ls_key_rule how, std::span<const std::string> keys,
                          const ls_label_key& secret) {
  ls_key_choice choice{};
  choice.which = which;
  if (keys.empty() || keys.size() > LS_MOST_CHOSEN_KEYS) return choice;
  choice.how = how;
  for (std::size_t i = 0; i < LS_MOST_CHOSEN_KEYS; ++i)
    choice.keys[i] = number_of_key(keys[std::min(i, keys.size() - 1)], secret);
  const auto counts = [&](std::string_view key) {
    return (std::ranges::find(keys, key) != keys.end()) == (how == LS_KEYS_ONLY);
  };
  // What else is in such bytes counts in any case: its keys are the process's.
  for (const LabelSource* source : label_sources()) {
    const LabelSource::About& about = source->about;
    if (std::ranges::none_of(about.ids, counts)) choice.skipped[about.number] = about.id_bytes;
  }
  return choice;
}

ls_key_choice choice_of_waits(const SamplerOptions& options, const ls_label_key& secret) {
  const std::vector<std::string>& left_out = options.left_out_keys;
  if (options.kept_keys.empty()) {
    return choose_keys(LS_CHOICE_OF_WAITS, LS_KEYS_BUT, left_out, secret);
  }
  std::vector<std::string> kept = options.kept_keys;
  std::erase_if(kept, [&](const std::string& key) {
    return std::ranges::find(left_out, key) != left_out.end();
  });
  return choose_keys(LS_CHOICE_OF_WAITS, LS_KEYS_ONLY, kept, secret);
}

}  // namespace labelscope
