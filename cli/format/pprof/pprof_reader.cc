// The file is a message whose fields may come in any order, and everything refers to everything:
//
//   sample --> locations --> lines --> functions     by IDs that the writer chose
//      |          `--> mapping                       0: none
//      `--> labels
//   and all of them to texts in the string table, by number
//
// So the file is gone through once, and its messages are put aside by kind; then they are decoded,
// each after those that it refers to. A message that cannot be read is counted and left out. What
// is kept is counted, too, and the file refused where that is out of all proportion
// (read_budget.h).
#include "cli/format/pprof/pprof_reader.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <set>
#include <unordered_map>
#include <utility>

#include "cli/format/common/frame_tree.h"
#include "cli/format/common/rows.h"
#include "cli/format/pprof/pprof_message.h"
#include "cli/format/pprof/pprof_parts.h"
#include "cli/format/pprof/pprof_samples.h"
#include "cli/format/pprof/pprof_types.h"
#include "cli/profile/index_table.h"
#include "cli/text/text.h"

namespace labelscope::cli {
namespace {

// The memory that each thing takes, with the reserve of tables.
constexpr std::size_t kOfMessage = 2 * sizeof(std::string_view);
constexpr std::size_t kOfEntry = 64;  // an entry of a table by ID or by text
// A sample with more frames or labels than these is damaged, whatever its size.
constexpr std::size_t kMostFrames = 1'000'000;
constexpr std::size_t kMostSampleLabels = kMostLabels + 16;  // those of the program, and our own

// IDs are any numbers, also those that an attacker chose.
using ById = std::unordered_map<std::uint64_t, Index, SecretHash>;

class PprofReader {
 public:
  explicit PprofReader(ReadBudget& budget) : budget_(budget) {}
  Result<ReadRecording> read(std::string_view bytes, const std::string& value);

 private:
  void put_aside(std::string_view bytes);
  Status choose(const std::string& value);
  Status decode();
  template <class Take>
  Status take_all(const std::vector<std::string_view>& messages, Take take);
  ValueType value_type(std::string_view message);
  void take_function(std::string_view message);
  void take_mapping(std::string_view message);
  void take_location(std::string_view message);
  bool take_sample(std::string_view message);
  bool take_values(const std::vector<std::int64_t>& values, SampleRow& row);
  void take_more_kinds(const std::vector<std::int64_t>& values, SampleRow row);
  bool take_labels(const std::string& encoded, SampleRow& row);
  PprofLabel label(std::string_view message);
  Index stack_of(std::vector<Index> frames);
  void take_comments();
  void take_attribute(std::string_view comment);
  std::string_view text(std::int64_t number);
  void say_lost();

  ReadBudget& budget_;
  ReadRecording read_;
  std::vector<std::string_view> strings_;
  std::vector<std::string_view> types_, mappings_, locations_, functions_, samples_;
  std::vector<std::int64_t> comments_;
  std::string_view period_type_;
  std::int64_t default_type_ = 0;
  ChosenValues chosen_;
  std::size_t type_count_ = 0;

  ById function_ids_, mapping_ids_, location_ids_;
  std::vector<SourceLine> function_lines_;
  IndexTable stacks_;
  PprofSampleLabels labels_{read_.profile};
  // by the bytes of the labels
  std::unordered_map<std::string, SampleRow, SecretHash> label_rows_;
  // number of the process, whose attributes are set later
  std::unordered_map<std::int32_t, std::size_t, SecretHash> by_pid_;
  std::set<std::pair<std::int32_t, std::string_view>> attribute_keys_;
  bool cut_ = false;
  std::uint64_t damaged_ = 0;   // number of messages
  std::uint64_t dangling_ = 0;  // number of references to missing entries
  std::uint64_t negative_ = 0;  // number of samples
};

void PprofReader::put_aside(std::string_view bytes) {
  Profile& profile = read_.profile;
  cut_ = !for_fields(bytes, [&](PprofField field) {
    const auto list = [&](ProfileField kind, std::vector<std::string_view>& to) {
      if (!field.is(kind)) return false;
      if (budget_.keep(kOfMessage)) to.push_back(field.bytes());
      return true;
    };
    if (list(ProfileField::kSample, samples_) || list(ProfileField::kStringTable, strings_) ||
        list(ProfileField::kLocation, locations_) || list(ProfileField::kFunction, functions_) ||
        list(ProfileField::kMapping, mappings_) || list(ProfileField::kSampleType, types_)) {
      return;
    }
    if (field.is(ProfileField::kTimeNanos)) {
      profile.start_unix_ns = field.number();
    } else if (field.is(ProfileField::kDurationNanos)) {
      profile.duration_ns = field.number();
    } else if (field.is(ProfileField::kPeriod)) {
      profile.period_ns = field.number();
    } else if (field.is(ProfileField::kPeriodType)) {
      period_type_ = field.bytes();
    } else if (field.is(ProfileField::kDefaultSampleType)) {
      default_type_ = field.signed_number();
    } else if (field.is(ProfileField::kComment)) {
      field.numbers([&](std::uint64_t n) {
        if (budget_.keep(2 * sizeof n)) comments_.push_back(static_cast<std::int64_t>(n));
      });
    } else {
      field.skip();
    }
  });
  // Clocks do not reach larger values, and sums of them would overflow.
  constexpr auto kLatest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (profile.start_unix_ns > kLatest) profile.start_unix_ns = 0;
  if (profile.duration_ns > kLatest - profile.start_unix_ns) profile.duration_ns = 0;
}

// Number 0, and any number beyond the table, is the empty text.
std::string_view PprofReader::text(std::int64_t number) {
  if (number >= 0 && static_cast<std::uint64_t>(number) < strings_.size()) {
    return strings_[static_cast<std::size_t>(number)];
  }
  if (number != 0) ++dangling_;
  return {};
}

ValueType PprofReader::value_type(std::string_view message) {
  ValueType type;
  const bool good = for_fields(message, [&](PprofField field) {
    if (field.is(ValueTypeField::kType)) {
      type.name = text(field.signed_number());
    } else if (field.is(ValueTypeField::kUnit)) {
      type.unit = text(field.signed_number());
    } else {
      field.skip();
    }
  });
  if (!good) ++damaged_;
  return type;
}

Status PprofReader::choose(const std::string& value) {
  if (cut_ && strings_.empty() && !types_.empty()) {
    return Error{ErrorCode::kMalformed,
                 "it ends before its table of texts, which gives everything in it a meaning"};
  }
  std::vector<ValueType> types;
  for (const std::string_view message : types_) types.push_back(value_type(message));
  const ValueType period_type = value_type(period_type_);
  Profile& profile = read_.profile;
  auto chosen =
      choose_values(types, value, std::string(text(default_type_)), period_type, profile.period_ns);
  if (!chosen) return std::move(chosen).error();
  chosen_ = *std::move(chosen);
  type_count_ = types.size();
  profile.values = {chosen_.value};
  for (const auto& [number, kind] : chosen_.more) profile.values.push_back(kind);
  profile.counted = chosen_.counted;
  if (!chosen_.note.empty()) read_.notes.push_back(chosen_.note);
  const std::uint64_t period_ns = nanoseconds_in(period_type.unit);
  const bool fits = period_ns != 0 && profile.period_ns <= UINT64_MAX / period_ns;
  profile.period_ns = fits ? profile.period_ns * period_ns : 0;
  return {};
}

void PprofReader::take_function(std::string_view message) {
  std::uint64_t id = 0;
  SourceLine line;
  const bool good = for_fields(message, [&](PprofField field) {
    if (field.is(FunctionField::kId)) {
      id = field.number();
    } else if (field.is(FunctionField::kName)) {
      line.function = text(field.signed_number());
    } else if (field.is(FunctionField::kSystemName)) {
      line.system_name = text(field.signed_number());
    } else if (field.is(FunctionField::kFilename)) {
      line.file = text(field.signed_number());
    } else {
      field.skip();
    }
  });
  budget_.keep(kOfEntry + sizeof line + line.function.size() + line.system_name.size() +
               line.file.size());
  if (!good || !function_ids_.try_emplace(id, function_lines_.size()).second) {
    ++damaged_;
    return;
  }
  function_lines_.push_back(std::move(line));
}

void PprofReader::take_mapping(std::string_view message) {
  std::uint64_t id = 0;
  ProfileModule module;
  const bool good = for_fields(message, [&](PprofField field) {
    if (field.is(MappingField::kId)) {
      id = field.number();
    } else if (field.is(MappingField::kMemoryStart)) {
      module.start = field.number();
    } else if (field.is(MappingField::kMemoryLimit)) {
      module.end = field.number();
    } else if (field.is(MappingField::kFileOffset)) {
      module.file_offset = field.number();
    } else if (field.is(MappingField::kFilename)) {
      module.path = text(field.signed_number());
    } else if (field.is(MappingField::kBuildId)) {
      module.build_id = text(field.signed_number());
    } else {
      field.skip();
    }
  });
  budget_.keep(kOfEntry + sizeof module + module.path.size() + module.build_id.size());
  std::vector<ProfileModule>& modules = read_.profile.modules;
  if (!good || !mapping_ids_.try_emplace(id, modules.size()).second) {
    ++damaged_;
    return;
  }
  if (module.path.starts_with("[kernel")) {
    module.kind = ProfileModule::Kind::kKernel;
  } else if (!module.path.empty() && module.path.front() != '[') {
    module.kind = ProfileModule::Kind::kFile;
  }
  // Most linkers make the link-time address equal to the place in the file.
  module.load_bias = module.start - module.file_offset;
  if (modules.empty() && module.kind == ProfileModule::Kind::kFile) read_.profile.program = 0;
  modules.push_back(std::move(module));
}

void PprofReader::take_location(std::string_view message) {
  std::uint64_t id = 0;
  Location location;
  const auto find = [&](const ById& table, std::uint64_t wanted) {
    const auto found = table.find(wanted);
    if (found != table.end()) return found->second;
    if (wanted != 0) ++dangling_;
    return kNoIndex;
  };
  bool good_lines = true;
  const bool good = for_fields(message, [&](PprofField field) {
    if (field.is(LocationField::kId)) {
      id = field.number();
    } else if (field.is(LocationField::kMappingId)) {
      location.module = find(mapping_ids_, field.number());
    } else if (field.is(LocationField::kAddress)) {
      location.address = field.number();
    } else if (field.is(LocationField::kLine)) {
      SourceLine line;
      int number = 0;
      good_lines &= for_fields(field.bytes(), [&](PprofField of_line) {
        if (of_line.is(LineField::kFunctionId)) {
          const Index function = find(function_ids_, of_line.number());
          if (function != kNoIndex) line = function_lines_[function];
        } else if (of_line.is(LineField::kLine)) {
          const std::uint64_t given = of_line.number();
          if (given <= std::numeric_limits<std::int32_t>::max()) number = static_cast<int>(given);
        } else {
          of_line.skip();
        }
      });
      line.line = number;
      const std::size_t size =
          2 * sizeof line + line.function.size() + line.system_name.size() + line.file.size();
      if (budget_.keep(size)) location.lines.push_back(std::move(line));
    } else {
      field.skip();
    }
  });
  budget_.keep(kOfEntry + sizeof location);
  std::vector<Location>& locations = read_.profile.locations;
  // We write such a location if there is no stack (pprof.cc).
  const bool none = location.module == kNoIndex && location.address == 0 &&
                    location.lines.size() == 1 && location.lines[0].function == kNoStack;
  const Index index = none ? kNoIndex : static_cast<Index>(locations.size());
  if (!good || !good_lines || !location_ids_.try_emplace(id, index).second) {
    ++damaged_;
    return;
  }
  if (none) return;
  locations.push_back(std::move(location));
}

Index PprofReader::stack_of(std::vector<Index> frames) {
  if (frames.empty()) return kNoIndex;
  std::vector<Stack>& stacks = read_.profile.stacks;
  Stack stack{std::move(frames), LS_STACK_NOT_WANTED};
  const auto next = static_cast<Index>(stacks.size());
  const Index found = stacks_.find_or_insert(stack, stacks);
  if (found == next) {
    budget_.keep_stack(stack.frames, read_.profile.locations);
    stacks.push_back(std::move(stack));
  }
  return found;
}

// Returns false if the sample is left out; it is counted then.
bool PprofReader::take_sample(std::string_view message) {
  std::vector<Index> frames;
  std::vector<std::int64_t> values;
  std::string labels;
  SampleRow row;
  const bool good = for_fields(message, [&](PprofField field) {
    if (field.is(SampleField::kLocationId)) {
      field.numbers([&](std::uint64_t id) {
        const auto found = location_ids_.find(id);
        if (found == location_ids_.end()) {
          ++dangling_;
        } else if (found->second != kNoIndex && frames.size() <= kMostFrames) {
          frames.push_back(found->second);
        }
      });
    } else if (field.is(SampleField::kValue)) {
      field.numbers([&](std::uint64_t n) {
        if (values.size() <= type_count_) values.push_back(static_cast<std::int64_t>(n));
      });
    } else if (field.is(SampleField::kLabel)) {
      const std::string_view label = field.bytes();
      labels.append(std::to_string(label.size())).append(1, ':').append(label);
    } else {
      field.skip();
    }
  });
  if (!good || values.size() != type_count_ || frames.size() > kMostFrames ||
      !take_labels(labels, row)) {
    return ++damaged_, false;
  }
  if (!take_values(values, row)) return false;
  budget_.keep(ReadBudget::kOfSample * (1 + chosen_.more.size()));
  row.stack = stack_of(std::move(frames));
  read_.profile.rows.push_back(row);
  take_more_kinds(values, row);
  return true;
}

bool PprofReader::take_values(const std::vector<std::int64_t>& values, SampleRow& row) {
  const std::int64_t weight = values[chosen_.weight];
  const std::int64_t count = chosen_.samples ? values[*chosen_.samples] : 1;
  if (weight < 0 || count < 0) return ++negative_, false;
  const auto has = [&](const auto& other) { return values[other.first] > 0; };
  // The sample is only about a value that was not chosen.
  const bool of_others = count == 0 || !chosen_.samples || chosen_.shares_count;
  if (weight == 0 && of_others && std::ranges::none_of(chosen_.more, has)) return false;
  row.weight_ns = static_cast<std::uint64_t>(weight);
  row.count = static_cast<std::uint64_t>(count);
  if (row.weight_ns > UINT64_MAX / chosen_.scale) return ++damaged_, false;
  row.weight_ns *= chosen_.scale;
  return true;
}

// A sample with several kinds of time becomes a row for each. It is counted in the first one.
void PprofReader::take_more_kinds(const std::vector<std::int64_t>& values, SampleRow row) {
  std::vector<SampleRow>& rows = read_.profile.rows;
  for (const auto& [number, value] : chosen_.more) {
    ++row.value;
    if (values[number] <= 0) {
      negative_ += values[number] < 0 ? 1 : 0;
      continue;
    }
    row.weight_ns = static_cast<std::uint64_t>(values[number]);
    const bool is_first = rows.back().weight_ns == 0;
    row.count = is_first ? rows.back().count : 0;
    if (is_first) rows.pop_back();
    rows.push_back(row);
  }
}

PprofLabel PprofReader::label(std::string_view message) {
  PprofLabel made;
  std::string_view string;
  std::string_view unit;
  const bool good = for_fields(message, [&](PprofField field) {
    if (field.is(LabelField::kKey)) {
      made.key = text(field.signed_number());
    } else if (field.is(LabelField::kStr)) {
      string = text(field.signed_number());
    } else if (field.is(LabelField::kNum)) {
      made.is_number = true;
      made.number = field.signed_number();
    } else if (field.is(LabelField::kNumUnit)) {
      unit = text(field.signed_number());
      made.is_number = true;
    } else {
      field.skip();
    }
  });
  if (!good) ++damaged_;
  if (!string.empty()) made.is_number = false;
  made.text = made.is_number ? std::to_string(made.number) : std::string(string);
  // A unit that repeats the key adds nothing.
  if (made.is_number && !unit.empty() && unit != made.key) made.text.append(" ").append(unit);
  return made;
}

bool PprofReader::take_labels(const std::string& encoded, SampleRow& row) {
  const auto known = label_rows_.find(encoded);
  if (known != label_rows_.end()) {
    row = known->second;
    return true;
  }
  std::vector<PprofLabel> labels;
  std::size_t size_of_labels = kOfEntry + sizeof row + encoded.size();
  for (std::string_view rest = encoded; !rest.empty();) {
    if (labels.size() > kMostSampleLabels) return false;
    const std::size_t colon = rest.find(':');
    const std::size_t size = std::stoul(std::string(rest.substr(0, colon)));
    PprofLabel one = label(rest.substr(colon + 1, size));
    size_of_labels += sizeof one + sizeof(Label) + one.key.size() + one.text.size();
    if (!one.key.empty()) labels.push_back(std::move(one));  // otherwise its key was lost
    rest.remove_prefix(colon + 1 + size);
  }
  budget_.keep(size_of_labels);
  if (!labels_.set(std::move(labels), row)) return false;
  label_rows_.emplace(encoded, row);
  return true;
}

// Our own comments hold what pprof has no field for (pprof.cc, add_comments).
void PprofReader::take_comments() {
  Profile& profile = read_.profile;
  const std::pair<std::string_view, std::string*> kOurs[] = {
      {"labelscope: ", &profile.tool_version},
      {"command: ", &profile.command_line},
      {"event: ", &profile.event},
      {"backend: ", &profile.backend},
      {"call graph: ", &profile.call_graph},
      {"kernel: ", &profile.kernel_release}};
  const bool ours = !comments_.empty() && text(comments_.front()).starts_with(kOurs[0].first);
  for (const std::int64_t comment : comments_) {
    const std::string_view line = text(comment);
    if (ours) take_attribute(line);
    constexpr std::string_view kPart = "part: ";
    if (ours && line.starts_with(kPart) && profile.remarks.size() < kMostRemarks) {
      profile.remarks.emplace_back(line.substr(kPart.size(), kLongestRemark));
    }
    for (const auto& [name, field] : kOurs) {
      if (ours && field->empty() && line.starts_with(name)) *field = line.substr(name.size());
    }
  }
  if (profile.event.empty()) profile.event = cut_ ? "a tool that is not known" : "another tool";
}

// Takes "attribute of process 42: service.name=shop".
void PprofReader::take_attribute(std::string_view comment) {
  constexpr std::string_view kBegin = "attribute of process ";
  if (!comment.starts_with(kBegin)) return;
  comment.remove_prefix(kBegin.size());
  std::int32_t pid = 0;
  const char* end = comment.data() + comment.size();
  const auto [after, error] = std::from_chars(comment.data(), end, pid);
  const std::string_view attribute(after, static_cast<std::size_t>(end - after));
  const std::size_t equals = attribute.find('=');
  if (error != std::errc() || !attribute.starts_with(": ") || equals == attribute.npos) return;
  std::vector<Process>& processes = read_.profile.processes;
  if (by_pid_.empty()) {
    for (std::size_t i = 0; i < processes.size(); ++i)
      by_pid_.try_emplace(raw(processes[i].pid), i);
  }
  const auto process = by_pid_.find(pid);
  if (process == by_pid_.end()) return;
  const std::string_view key = attribute.substr(2, equals - 2);
  if (!attribute_keys_.emplace(pid, key).second) return;
  budget_.keep(kOfEntry + sizeof(Label) + attribute.size());
  processes[process->second].attributes.emplace_back(key, attribute.substr(equals + 1));
}

void PprofReader::say_lost() {
  if (cut_) read_.lost.emplace_back("it was cut short, or is damaged from some point on");
  if (damaged_ != 0) {
    read_.lost.push_back(counted(damaged_, "part of it is", "parts of it are") +
                         " damaged (samples, labels, functions, places) and left out");
  }
  if (dangling_ != 0) {
    read_.lost.push_back(counted(dangling_, "reference", "references") +
                         " in it lead to nothing: names, frames or labels are missing");
  }
  if (negative_ != 0) {
    read_.lost.push_back(
        "it is the difference of two profiles: " + counted(negative_, "sample", "samples") +
        " with negative values left out");
  }
}

template <class Take>
Status PprofReader::take_all(const std::vector<std::string_view>& messages, Take take) {
  for (const std::string_view message : messages) {
    if (budget_.is_over()) return budget_.status();
    take(message);
  }
  return budget_.status();
}

Status PprofReader::decode() {
  Status done = budget_.status();
  if (done) done = take_all(functions_, [&](std::string_view each) { take_function(each); });
  if (done) done = take_all(mappings_, [&](std::string_view each) { take_mapping(each); });
  if (done) done = take_all(locations_, [&](std::string_view each) { take_location(each); });
  if (done) done = take_all(samples_, [&](std::string_view each) { take_sample(each); });
  if (!done) return done;
  take_comments();
  return budget_.status();
}

Result<ReadRecording> PprofReader::read(std::string_view bytes, const std::string& value) {
  put_aside(bytes);
  if (Status status = choose(value); !status) return std::move(status).error();
  if (Status status = decode(); !status) return std::move(status).error();
  say_lost();
  read_.profile.ledger = ledger_of_rows(read_.profile);
  if (Status status = check_tables(read_.profile); !status) return std::move(status).error();
  return std::move(read_);
}

}  // namespace

Result<ReadRecording> read_pprof(std::string_view bytes, ReadBudget& budget,
                                 const std::string& value) {
  return PprofReader(budget).read(bytes, value);
}

}  // namespace labelscope::cli
