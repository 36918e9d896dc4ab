// OTLP profiles: OpenTelemetry's ProfilesData, as a collector takes it (POST
// /v1development/profiles).
//
//   resource     a process: process.pid, process.executable.name, service.name; and what it has
//                published of itself
//     scope      labelscope
//       profile  one for each kind of time ("cpu", nanoseconds), and how many samples (count)
//         sample stack, attributes, link, one value
//   dictionary   what samples refer to (otlp_dictionary.h)
//
// The signal is alpha. What its conformance checker (profcheck of opentelemetry's sig-profiling)
// wants holds: every sample has one value and no times, no key of attributes occurs twice, and so
// do all rules of the dictionary.
//
// A label is the attribute "process.context.label.<key>", as OpenTelemetry's own eBPF profiler
// names it; so it never meets one of ours. Labels trace_id (32 hexadecimal digits) and span_id (16)
// together become a link instead.
#include <algorithm>
#include <map>
#include <optional>
#include <ostream>
#include <protozero/pbf_builder.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cli/format/common/frame_tree.h"
#include "cli/format/common/ledger_text.h"
#include "cli/format/common/row_labels.h"
#include "cli/format/common/rows.h"
#include "cli/format/common/shown_frames.h"
#include "cli/format/format.h"
#include "cli/format/otlp/otlp_dictionary.h"
#include "cli/format/otlp/otlp_parts.h"
#include "cli/format/pprof/pprof_parts.h"
#include "cli/text/shares.h"
#include "cli/text/text.h"

namespace labelscope::cli {
namespace {

using protozero::pbf_builder;
using Number = OtlpDictionary::Number;

constexpr std::string_view kLabelPrefix = "process.context.label.";

// Returns the bytes of so many hexadecimal digits. All zeroes mean "no ID", and give nullopt.
std::optional<std::string> id_bytes(std::string_view text, std::size_t digits) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  if (text.size() != digits || text.find_first_not_of('0') == std::string_view::npos) return {};
  std::string bytes;
  for (std::size_t i = 0; i < digits; i += 2) {
    const std::size_t high = kDigits.find(text[i]);
    const std::size_t low = kDigits.find(text[i + 1]);
    if (high == std::string_view::npos || low == std::string_view::npos) return {};
    bytes += static_cast<char>(high << 4 | low);
  }
  return bytes;
}

std::string key_value(std::string_view key, const std::string& any) {
  std::string message;
  pbf_builder<otlp::KeyValue> builder(message);
  builder.add_string(otlp::KeyValue::kKey, std::string(key));
  builder.add_message(otlp::KeyValue::kValue, any);
  return message;
}

class OtlpRenderer {
 public:
  OtlpRenderer(const Profile& profile, const RenderOptions& options)
      : profile_(profile), options_(options), shown_(profile), dictionary_(profile) {}

  Status render(std::ostream& out) {
    add_samples();
    // Processes are ordered by ID; samples without a process come last.
    for (const auto& [process, samples] : of_process_) {
      std::string bytes;
      pbf_builder<otlp::Data>(bytes).add_message(otlp::Data::kResourceProfiles,
                                                 resource_profiles(process, samples));
      out << bytes;
    }
    std::string bytes;
    pbf_builder<otlp::Data>(bytes).add_message(otlp::Data::kDictionary, dictionary_.encode());
    out << bytes;
    return flush_output(out);
  }

 private:
  // What one sample says: so much of each kind of time, and from how many samples.
  struct Sums {
    std::vector<std::uint64_t> of_value;  // indexed as Profile::values; 0: no row had this kind
    std::vector<bool> has_value;
    std::uint64_t count = 0;
  };
  // The samples of one process by their encoded identity, which a profile has once: the stack, the
  // attributes and the link. Rows of another kind of time may have the same one.
  struct Samples {
    std::map<std::string, Sums> of_identity;
    std::string comm;
    const Process* process = nullptr;
  };
  void add_samples() {
    const RowLabels& rows = shown_.rows();
    const SampleRow* before = nullptr;
    std::vector<std::int32_t> attributes;
    Number link = 0;
    const std::vector<SampleRow> aggregated = aggregate_rows(profile_, {.flags = kShownFlags});
    for (const SampleRow& row : aggregated) {
      const Thread* thread = rows.thread(row);
      Samples& samples = of_process_[thread == nullptr ? kNoIndex : thread->process];
      if (samples.comm.empty()) samples.comm = process_title(rows, row);
      samples.process = rows.process(row);
      if (before == nullptr || before->label_set != row.label_set || before->thread != row.thread ||
          before->flags != row.flags || before->outcome != row.outcome) {
        attributes = attributes_of(row, link);
      }
      before = &row;
      const Number stack = stack_of(row);
      const std::size_t shared = attributes.size();
      add_stack_end(row, attributes);
      Sums& sums = samples.of_identity[identity_of(stack, attributes, link)];
      sums.of_value.resize(profile_.values.size());
      sums.has_value.resize(profile_.values.size());
      sums.of_value[row.value] += row.weight_ns;
      sums.has_value[row.value] = true;
      sums.count += row.count;
      attributes.resize(shared);
    }
  }

  static std::string identity_of(Number stack, const std::vector<std::int32_t>& attributes,
                                 Number link) {
    std::string message;
    pbf_builder<otlp::Sample> sample(message);
    sample.add_int32(otlp::Sample::kStack, static_cast<std::int32_t>(stack));
    sample.add_packed_int32(otlp::Sample::kAttributes, attributes.begin(), attributes.end());
    if (link != 0) sample.add_int32(otlp::Sample::kLink, static_cast<std::int32_t>(link));
    return message;
  }

  static void add_sample(std::string& to, std::string message, std::uint64_t value) {
    const std::int64_t values[] = {to_int64(value)};
    pbf_builder<otlp::Sample>(message).add_packed_int64(otlp::Sample::kValues, std::begin(values),
                                                        std::end(values));
    pbf_builder<otlp::Profile>(to).add_message(otlp::Profile::kSamples, message);
  }

  std::vector<std::int32_t> attributes_of(const SampleRow& row, Number& link) {
    std::vector<std::int32_t> attributes;
    const auto add = [&](Number number) {
      attributes.push_back(static_cast<std::int32_t>(number));
    };
    const auto add_text = [&](std::string_view key, std::string_view value) {
      if (!value.empty()) add(dictionary_.attribute(key, value));
    };
    const std::vector<TextLabel> labels =
        shown_.rows().all(row, [](std::string_view key) { return std::string(key); });
    link = link_of(labels);
    for (const TextLabel& label : labels) {
      if (link != 0 && (label.key == "trace_id" || label.key == "span_id")) continue;
      add(dictionary_.attribute(std::string(kLabelPrefix) + label.key, label.value));
    }
    if (const Thread* thread = shown_.rows().thread(row)) {
      add(dictionary_.attribute("thread.id", std::int64_t{raw(thread->tid)}));
      add_text("thread.name", thread->name);
    }
    if (shown_.rows().must_show_outcome(row))
      add_text("labelscope.outcome", outcome_name(row.outcome));
    add_text("labelscope.truncated", truncated_words(row.flags));
    add_text("labelscope.flags", flag_words(row.flags & ~unsigned{LS_TRUNCATED}));
    return attributes;
  }

  // If publishers disagree about one of them, "trace_id@libx.so" is there, too, and has more
  // detail.
  Number link_of(const std::vector<TextLabel>& labels) {
    std::optional<std::string> trace_id;
    std::optional<std::string> span_id;
    for (const TextLabel& label : labels) {
      if (label.key == "trace_id") trace_id = id_bytes(label.value, 32);
      if (label.key == "span_id") span_id = id_bytes(label.value, 16);
    }
    return trace_id && span_id ? dictionary_.link(*trace_id, *span_id) : 0;
  }

  // A complete stack needs no attribute.
  void add_stack_end(const SampleRow& row, std::vector<std::int32_t>& attributes) {
    if (row.stack == kNoIndex) return;
    const ls_stack_end end = profile_.stacks[row.stack].end;
    if (end <= LS_STACK_ENTRY) return;
    attributes.push_back(static_cast<std::int32_t>(
        dictionary_.attribute("labelscope.stack_end", stack_end_name(end))));
  }

  Number stack_of(const SampleRow& row) {
    std::vector<Number> frames;
    if (row.stack != kNoIndex) {
      for (const Index location : profile_.stacks[row.stack].frames) {
        frames.push_back(dictionary_.location(location));
      }
    }
    // Without this frame, viewers would leave the sample out.
    if (frames.empty()) frames.push_back(dictionary_.location(std::string(kNoStack)));
    // The leaf comes first, so the outermost group comes last.
    for (auto key = options_.group_by.rbegin(); key != options_.group_by.rend(); ++key) {
      frames.push_back(dictionary_.location(shown_.rows().group_frame(row, *key)));
    }
    return dictionary_.stack(frames);
  }

  std::string resource_profiles(Index process, const Samples& samples) {
    std::string resource;
    pbf_builder<otlp::Resource> attributes(resource);
    std::set<std::string, std::less<>> added;
    const auto add = [&](std::string_view key, const std::string& any) {
      if (!added.emplace(key).second) return;
      attributes.add_message(otlp::Resource::kAttributes, key_value(key, any));
    };
    const auto add_text = [&](std::string_view key, std::string_view value) {
      std::string any;
      pbf_builder<otlp::AnyValue>(any).add_string(otlp::AnyValue::kString,
                                                  OtlpDictionary::text(value));
      add(key, any);
    };
    const Attributes none;
    const Attributes& own = samples.process == nullptr ? none : samples.process->attributes;
    const auto named =
        std::ranges::find(own, std::string_view("service.name"), &Attributes::value_type::first);
    add_text("service.name", named == own.end() ? samples.comm : named->second);
    add_text("process.executable.name", samples.comm);
    if (process < profile_.processes.size()) {
      std::string number;
      pbf_builder<otlp::AnyValue>(number).add_int64(otlp::AnyValue::kInt,
                                                     raw(profile_.pid_of(process)));
      add("process.pid", number);
    }
    for (const auto& [key, value] : own) add_text(OtlpDictionary::text(key), value);
    std::string scope;
    pbf_builder<otlp::Scope> scope_builder(scope);
    scope_builder.add_string(otlp::Scope::kName, "labelscope");
    scope_builder.add_string(otlp::Scope::kVersion, OtlpDictionary::text(profile_.tool_version));
    std::string scope_profiles;
    pbf_builder<otlp::ScopeProfiles> scope_profiles_builder(scope_profiles);
    scope_profiles_builder.add_message(otlp::ScopeProfiles::kScope, scope);
    // Viewers show the first profile by default.
    for (std::size_t i = 0; i < profile_.values.size(); ++i) {
      const ValueType& value = profile_.values[i];
      std::string of_value;
      for (const auto& [identity, sums] : samples.of_identity) {
        if (sums.has_value[i]) add_sample(of_value, identity, sums.of_value[i]);
      }
      scope_profiles_builder.add_message(otlp::ScopeProfiles::kProfiles,
                                         encode_profile(of_value, value.name, value.unit));
    }
    std::string counts;
    for (const auto& [identity, sums] : samples.of_identity) {
      if (sums.count != 0) add_sample(counts, identity, sums.count);
    }
    scope_profiles_builder.add_message(otlp::ScopeProfiles::kProfiles,
                                       encode_profile(counts, profile_.counted, "count"));
    std::string message;
    pbf_builder<otlp::ResourceProfiles> builder(message);
    builder.add_message(otlp::ResourceProfiles::kResource, resource);
    builder.add_message(otlp::ResourceProfiles::kScopeProfiles, scope_profiles);
    return message;
  }

  std::string value_type(std::string_view type, std::string_view unit) {
    std::string message;
    pbf_builder<otlp::ValueType> builder(message);
    builder.add_int32(otlp::ValueType::kType, static_cast<std::int32_t>(dictionary_.string(type)));
    builder.add_int32(otlp::ValueType::kUnit, static_cast<std::int32_t>(dictionary_.string(unit)));
    return message;
  }

  std::string encode_profile(const std::string& samples, std::string_view type,
                             std::string_view unit) {
    std::string message;
    pbf_builder<otlp::Profile> builder(message);
    builder.add_message(otlp::Profile::kSampleType, value_type(type, unit));
    message += samples;
    builder.add_fixed64(otlp::Profile::kTimeUnixNano, profile_.start_unix_ns);
    builder.add_uint64(otlp::Profile::kDurationNano, profile_.duration_ns);
    const ValueType& first = profile_.values.front();
    builder.add_message(otlp::Profile::kPeriodType, value_type(first.name, first.unit));
    builder.add_int64(otlp::Profile::kPeriod, to_int64(profile_.period_ns));
    // These are about the whole recording, and are in each profile: consumers split them.
    std::vector<std::int32_t> facts;
    for (const auto& [key, value] : std::initializer_list<std::pair<const char*, std::string>>{
             {"labelscope.command", profile_.command_line},
             {"labelscope.event", profile_.event},
             {"labelscope.backend", profile_.backend},
             {"labelscope.call_graph", profile_.call_graph},
             {"labelscope.ledger", ledger_line(profile_)},
             {"labelscope.time", time_line(profile_)},
             {"labelscope.stacks", stacks_line(profile_.ledger)}}) {
      if (value.empty()) continue;
      facts.push_back(static_cast<std::int32_t>(dictionary_.attribute(key, value)));
    }
    builder.add_packed_int32(otlp::Profile::kAttributes, facts.begin(), facts.end());
    return message;
  }

  const Profile& profile_;
  const RenderOptions& options_;
  ShownFrames shown_;
  OtlpDictionary dictionary_;
  std::map<Index, Samples> of_process_;
};

}  // namespace

Status render_otlp(const Profile& profile, const RenderOptions& options, std::ostream& out) {
  if (Status status = check_tables(profile); !status) return status;
  return OtlpRenderer(profile, options).render(out);
}

}  // namespace labelscope::cli
