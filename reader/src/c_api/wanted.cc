// This is the part of the C API for what plans look for besides publishers: variables, and what
// presets find.
#include <algorithm>
#include <optional>
#include <span>
#include <string_view>

#include "c_api/boundary.h"
#include "c_api/objects.h"
#include "labelscope/variable_spec.h"
#include "sources/preset/preset_files.h"
#include "process/proc_fs.h"

namespace labelscope::c_api {
namespace {

// Returns the file that has this code: this library, or the program that it is linked into.
std::string own_file() {
  const auto here = reinterpret_cast<Address>(&own_file);
  const auto text = read_proc_file("/proc/self/maps");
  if (!text) return kOwnProgram;
  const auto mappings = parse_maps(*text);
  const Mapping* own = mappings ? find_mapping(*mappings, here) : nullptr;
  return own == nullptr || own->path.empty() ? kOwnProgram : own->path;
}

Result<std::unique_ptr<ls_preset>> keep(Result<PresetDescription> read) {
  if (!read) return std::move(read).error();
  return std::make_unique<ls_preset>(ls_preset{*std::move(read)});
}

// A planner knows what it looks for from its beginning.
ls_error_code adopt(ls_target& target, Wanted wanted, ls_error* error) {
  target.planner = Planner(wanted.options);
  target.wanted = std::move(wanted);
  return succeed(error);
}

ls_error_code want_variable(ls_target& target, const char* text, ls_error* error) {
  auto spec = parse_variable_spec(text);
  if (!spec) return fail(error, spec.error());
  Wanted wanted = target.wanted;
  const auto has_key = [&](const VariableSpec& other) { return other.key == spec->key; };
  if (std::ranges::any_of(wanted.options.variables, has_key)) {
    return fail(error, LS_ERROR_ARGUMENT,
                "another variable has the label key " + spec->key + " already: put another =KEY");
  }
  if (wanted.options.variables.size() == LS_MAX_PUBLISHERS) {
    return fail(error, LS_ERROR_LIMIT,
                "more than " + std::to_string(LS_MAX_PUBLISHERS) +
                    " variables; each is a publisher, of which a process can have so many");
  }
  wanted.options.variables.push_back(*std::move(spec));
  wanted.variable_numbers.push_back(wanted.count());
  return adopt(target, std::move(wanted), error);
}

// Returns which of these keys is no label of the preset.
std::optional<std::string> unknown_label(const PresetDescription& preset,
                                         std::span<const char* const> keys) {
  for (const char* key : keys) {
    const auto has_key = [key](const DescribedLabel& label) { return label.key == key; };
    if (std::ranges::none_of(preset.labels, has_key)) return key;
  }
  return std::nullopt;
}

ls_error_code want_preset(ls_target& target, const PresetDescription& given,
                          std::span<const char* const> keys, ls_error* error) {
  Wanted wanted = target.wanted;
  const auto has_name = [&](const auto& other) { return other->name() == given.name; };
  if (std::ranges::any_of(wanted.options.presets, has_name)) {
    return fail(error, LS_ERROR_ARGUMENT, "the target has a preset " + given.name + " already");
  }
  if (const auto unknown = unknown_label(given, keys)) {
    return fail(error, LS_ERROR_NOT_FOUND,
                "the preset " + given.name + " has no label " + *unknown);
  }
  PresetDescription preset = given;
  std::erase_if(preset.labels, [&](const DescribedLabel& label) {
    return label.is_private &&
           std::ranges::none_of(keys, [&](const char* key) { return label.key == key; });
  });
  wanted.options.presets.push_back(std::make_shared<FilePreset>(std::move(preset)));
  wanted.preset_numbers.push_back(wanted.count());
  return adopt(target, std::move(wanted), error);
}

const DescribedLabel* label_at(const ls_preset* preset, std::size_t index) {
  return element(preset == nullptr ? nullptr : &preset->preset.labels, index);
}

}  // namespace
}  // namespace labelscope::c_api

using namespace labelscope;         // NOLINT(google-build-using-namespace): C functions have none
using namespace labelscope::c_api;  // NOLINT(google-build-using-namespace): the same

ls_error_code ls_read_preset(const char* name, ls_preset** preset, ls_error* error) {
  return answer("ls_read_preset: an argument is NULL", name != nullptr, preset, error,
                [&] { return keep(load_preset(name, own_file())); });
}

ls_error_code ls_parse_preset(const char* text, size_t size, ls_preset** preset, ls_error* error) {
  return answer("ls_parse_preset: an argument is NULL", text != nullptr, preset, error, [&] {
    return keep(parse_preset({text, size}));
  });
}

void ls_free_preset(ls_preset* preset) { delete preset; }

ls_bytes ls_preset_name(const ls_preset* preset) {
  return preset == nullptr ? no_bytes() : bytes_of(preset->preset.name);
}

size_t ls_preset_label_count(const ls_preset* preset) {
  return preset == nullptr ? 0 : preset->preset.labels.size();
}

ls_bytes ls_preset_label_key(const ls_preset* preset, size_t label) {
  const DescribedLabel* found = label_at(preset, label);
  return found == nullptr ? no_bytes() : bytes_of(found->key);
}

int ls_preset_label_is_private(const ls_preset* preset, size_t label) {
  const DescribedLabel* found = label_at(preset, label);
  return found != nullptr && found->is_private ? 1 : 0;
}

ls_error_code ls_want_variable(ls_target* target, const char* spec, ls_error* error) {
  if (target == nullptr || spec == nullptr) {
    return fail(error, LS_ERROR_ARGUMENT, "ls_want_variable: an argument is NULL");
  }
  return guard(error, [&] { return want_variable(*target, spec, error); });
}

ls_error_code ls_want_preset(ls_target* target, const ls_preset* preset, const char* const* labels,
                             size_t label_count, ls_error* error) {
  if (target == nullptr || preset == nullptr || !is_list(labels, label_count)) {
    return fail(error, LS_ERROR_ARGUMENT,
                "ls_want_preset: an argument is NULL, or the list of labels has a null pointer, or "
                "more than 4096 entries");
  }
  return guard(error, [&] {
    return want_preset(*target, preset->preset, {labels, label_count}, error);
  });
}
