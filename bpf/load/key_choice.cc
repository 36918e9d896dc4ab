#include "bpf/load/key_choice.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "bpf/wire/sip_hash.h"

namespace labelscope {
namespace {

// The keys of IDs that a source has at the front of its bytes, and how many bytes these are. What
// else is in there counts in any case: its keys are the process's.
struct Ids {
  ls_source source;
  __u8 bytes;
  std::vector<std::string_view> keys;
};
const std::vector<Ids>& ids_of_sources() {
  static const std::vector<Ids> all{
      {LS_SOURCE_THREAD_CONTEXT, 24, {"span_id", "root_span_id"}},
      {LS_SOURCE_OTEL_CONTEXT, 24, {"trace_id", "span_id"}},
      {LS_SOURCE_NODE, 24, {"trace_id", "span_id"}},
      {LS_SOURCE_ELASTIC, 37, {"trace_id", "span_id", "transaction_id"}}};
  return all;
}

}  // namespace

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
  for (const Ids& ids : ids_of_sources()) {
    if (std::ranges::none_of(ids.keys, counts)) choice.skipped[ids.source] = ids.bytes;
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
