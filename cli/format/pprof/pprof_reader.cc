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

#include "cli/format/common/rows.h"
#include "cli/format/pprof/pprof_message.h"
#include "cli/format/pprof/pprof_parts.h"
#include "cli/format/pprof/pprof_samples.h"
#include "cli/format/pprof/pprof_tables.h"
#include "cli/format/pprof/pprof_types.h"
#include "cli/profile/index_table.h"
#include "cli/text/text.h"

namespace labelscope::cli {
namespace {

// The memory that each takes, with the reserve of its list.
constexpr std::size_t kOfMessage = 2 * sizeof(std::string_view);
// A sample with more frames or labels than these is damaged, whatever its size.
constexpr std::size_t kMostFrames = 1'000'000;
constexpr std::size_t kMostSampleLabels = kMostLabels + 16;  // those of the program, and our own

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
  bool take_sample(std::string_view message);
  bool take_values(const std::vector<std::int64_t>& values, SampleRow& row);
  void take_more_kinds(const std::vector<std::int64_t>& values, SampleRow row);
  bool take_labels(const std::string& encoded, SampleRow& row);
  PprofLabel label(std::string_view message);
  Index stack_of(std::vector<Index> frames);
  void take_comments();
  void take_attribute(std::string_view comment);
  std::string_view text(std::int64_t number) { return tables_.text(number); }
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

  PprofTables tables_{read_.profile, budget_};
  IndexTable stacks_;
  PprofSampleLabels labels_{read_.profile};
  // by the bytes of the labels
  std::unordered_map<std::string, SampleRow, SecretHash> label_rows_;
  // number of the process, whose attributes are set later
  std::unordered_map<std::int32_t, std::size_t, SecretHash> by_pid_;
  std::set<std::pair<std::int32_t, std::string_view>> attribute_keys_;
  bool cut_ = false;
  std::uint64_t damaged_ = 0;   // number of messages
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
  if (cut_ && !tables_.has_texts() && !types_.empty()) {
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
        const std::optional<Index> found = tables_.location(id);
        if (found && *found != kNoIndex && frames.size() <= kMostFrames) frames.push_back(*found);
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
  std::size_t size_of_labels = PprofTables::kOfEntry + sizeof row + encoded.size();
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
  budget_.keep(PprofTables::kOfEntry + sizeof(Label) + attribute.size());
  processes[process->second].attributes.emplace_back(key, attribute.substr(equals + 1));
}

void PprofReader::say_lost() {
  if (cut_) read_.lost.emplace_back("it was cut short, or is damaged from some point on");
  if (const std::uint64_t damaged = damaged_ + tables_.damaged(); damaged != 0) {
    read_.lost.push_back(counted(damaged, "part of it is", "parts of it are") +
                         " damaged (samples, labels, functions, places) and left out");
  }
  if (const std::uint64_t dangling = tables_.dangling(); dangling != 0) {
    read_.lost.push_back(counted(dangling, "reference", "references") +
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
  if (done) done = take_all(functions_, [&](auto each) { tables_.take_function(each); });
  if (done) done = take_all(mappings_, [&](auto each) { tables_.take_mapping(each); });
  if (done) done = take_all(locations_, [&](auto each) { tables_.take_location(each); });
  if (done) done = take_all(samples_, [&](auto each) { take_sample(each); });
  if (!done) return done;
  take_comments();
  return budget_.status();
}

Result<ReadRecording> PprofReader::read(std::string_view bytes, const std::string& value) {
  put_aside(bytes);
  tables_.set_texts(std::move(strings_));
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
