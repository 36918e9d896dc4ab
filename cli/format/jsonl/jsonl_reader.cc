// Each line is a JSON object. nlohmann's parser reads those with strings; this file itself reads
// sample lines, of which there are millions, if they look as jsonl.cc writes them.
#include "cli/format/jsonl/jsonl_reader.h"

#include <algorithm>
#include <istream>
#include <set>
#include <string_view>
#include <type_traits>
#include <utility>

#include "cli/format/common/foreign_file.h"
#include "cli/format/common/ledger_text.h"
#include "cli/format/common/row_labels.h"
#include "cli/format/common/rows.h"
#include "cli/format/jsonl/jsonl_fields.h"
#include "cli/format/jsonl/jsonl_processes.h"
#include "cli/format/jsonl/jsonl_tables.h"
#include "cli/format/jsonl/jsonl_threads.h"
#include "cli/format/jsonl/jsonl_waits.h"
#include "cli/text/shares.h"
#include "cli/text/text.h"

namespace labelscope::cli {
namespace {

constexpr std::uint64_t kFirstVersion = 1;
constexpr std::uint64_t kLastVersion = 2;
// The longest line that labelscope writes is that of a label set: six publishers' labels are less
// than a MiB.
constexpr std::size_t kMaxLine = std::size_t{16} << 20;
// The line with most values is that of a stack or of a label set: some 700 and 1,500. Lists of
// objects are the deepest, and no object has more than the outcomes.
constexpr std::size_t kMostValues = 65536;
constexpr std::size_t kMostFields = 256;
constexpr std::size_t kDeepest = 16;
// A line may have much in it that is not kept. Packed, a thousand of these are as small as one, and
// should not take the time of a thousand; so each value counts as if a little was kept of it.
constexpr std::size_t kOfValue = 16;
constexpr std::size_t kOfLostSet = 64;
// No text of a recording can contain this: its quotes would be escaped.
constexpr std::string_view kHeaderBegins = R"({"type":"header",)";

bool take_as_written(std::string_view line, SampleRow& row) {
  SampleText text(line);
  return text.skip(R"({"type":"sample",)") && text.number(R"("time_ns":)", row.time_ns) &&
         text.index(R"(,"thread":)", row.thread) && text.index(R"(,"stack":)", row.stack) &&
         text.index(R"(,"labels":)", row.label_set) && text.number(R"(,"count":)", row.count) &&
         text.number(R"(,"weight_ns":)", row.weight_ns) &&
         text.number(R"(,"outcome":)", row.outcome) && text.number(R"(,"flags":)", row.flags) &&
         (text.done() || (text.number(R"(,"value":)", row.value) && text.done()));
}

// Empty: nothing.
std::string_view what_is_odd(const JsonShape& shape) {
  if (shape.depth > kDeepest) return "it is nested more than 16 times";
  if (shape.values > kMostValues) return "it has more than 65,536 values";
  if (shape.fields > kMostFields) return "an object in it has more than 256 fields";
  return {};
}

class Reader {
 public:
  explicit Reader(ReadBudget& budget)
      : budget_(budget), processes_(read_.profile.processes, budget) {}
  Status take(std::string_view line);
  // Another recording begins here, and its numbers are its own.
  bool is_over() const { return is_over_; }
  bool has_header() const { return has_header_; }
  void too_long() { damaged("it has more than 16 MiB"); }
  Result<ReadRecording> finish(bool cut_line);

 private:
  Status take_header(Fields fields);
  bool take_values(Fields& fields);
  // Returns what is wrong with the line; empty: nothing.
  std::string_view take_table_line(const std::string& type, Fields& fields);
  void take_ledger(Fields& fields);
  bool take_sample(SampleRow row);
  Thread thread(Fields& fields);
  template <class T>
  std::string_view place(std::vector<T>& table, Fields& fields, T entry);
  void damaged(std::string why);
  void end_at_next_recording();
  void lose_labels(std::uint8_t& outcome);

  ReadBudget& budget_;
  ReadRecording read_;
  JsonlProcesses processes_;
  std::vector<std::uint8_t> outcomes_;  // our outcomes, by the recording's numbers
  std::vector<std::uint16_t> flags_;    // our flags, by the recording's bits
  std::uint64_t line_ = 0;
  std::uint64_t damaged_ = 0;
  std::string first_damage_;
  std::set<Index> lost_label_sets_;  // entries that are empty because their lines are damaged
  bool labels_were_lost_ = false;    // those of a sample
  bool is_over_ = false;
  bool has_header_ = false;
  bool has_ledger_ = false;
};

void Reader::damaged(std::string why) {
  if (damaged_++ == 0) first_damage_ = "line " + with_thousands(line_) + ": " + std::move(why);
}

void Reader::end_at_next_recording() {
  is_over_ = true;
  read_.lost.push_back("line " + with_thousands(line_) +
                       " begins another recording, which is not read: two recordings in one file; "
                       "give them as two files");
}

Status Reader::take(std::string_view line) {
  ++line_;
  SampleRow row;
  if (has_header_ && take_as_written(line, row)) {
    if (!take_sample(row)) damaged("a sample refers to what is not there");
    return {};
  }
  const JsonShape shape = json_shape(line);
  const std::string_view odd = what_is_odd(shape);
  const bool is_parsed = odd.empty() && budget_.keep(shape.values * kOfValue);
  const Json object =
      is_parsed ? Json::parse(line, nullptr, false) : Json(Json::value_t::discarded);
  Fields fields(object, damaged_);
  const std::string type = object.is_object() ? fields.bytes("type") : std::string();
  if (!has_header_) {
    if (type != "header" || fields.bytes("format") != "labelscope-recording") {
      const std::string why = why_not_read(line);
      return Error{why.empty() ? ErrorCode::kMalformed : ErrorCode::kUnsupported,
                   why.empty() ? "it does not begin as a recording of labelscope does" : why};
    }
    return take_header(fields);
  }
  if (!odd.empty()) {
    damaged(std::string(odd));
  } else if (object.is_discarded() || !fields.good()) {
    damaged("it is no JSON object");
    // The line was cut, and the next recording follows on it.
    if (line.find(kHeaderBegins) != std::string_view::npos) end_at_next_recording();
  } else if (type == "header") {
    end_at_next_recording();
  } else if (type == "sample") {
    row.time_ns = fields.number("time_ns");
    row.thread = fields.reference("thread", kNoIndex);
    row.stack = fields.reference("stack", kNoIndex);
    row.label_set = fields.reference("labels", kNoIndex);
    row.count = fields.number("count");
    row.weight_ns = fields.number("weight_ns");
    row.outcome = fields.small<std::uint8_t>("outcome");
    row.flags = fields.small<std::uint16_t>("flags");
    row.value = fields.small<std::uint8_t>("value");
    if (!fields.good() || !take_sample(row)) damaged("a sample with odd fields");
  } else if (type == "ledger") {
    take_ledger(fields);
  } else if (const std::string_view wrong = take_table_line(type, fields); !wrong.empty()) {
    damaged(std::string(wrong));
  }
  return {};
}

// The header says what numbers mean.
Status Reader::take_header(Fields fields) {
  const std::uint64_t version = fields.number("version");
  if (version < kFirstVersion || version > kLastVersion) {
    return Error{ErrorCode::kUnsupported,
                 "it is a recording of version " + std::to_string(version) +
                     ", and this labelscope reads versions " + std::to_string(kFirstVersion) +
                     " to " + std::to_string(kLastVersion) +
                     (version > kLastVersion ? ": a newer labelscope is needed"
                                         : ": its header is damaged")};
  }
  processes_.set_version(version);
  Profile& profile = read_.profile;
  profile.tool_version = fields.bytes("tool_version");
  profile.event = fields.bytes("event");
  profile.backend = fields.bytes("backend");
  profile.call_graph = fields.bytes("call_graph");
  profile.command_line = fields.bytes("command_line");
  profile.kernel_release = fields.bytes("kernel_release");
  profile.start_unix_ns = fields.number("start_unix_ns");
  profile.start_monotonic_ns = fields.number("start_monotonic_ns");
  profile.duration_ns = fields.number("duration_ns");
  profile.period_ns = fields.number("period_ns");
  profile.has_blame = fields.yes("blame");
  fields.each("blame_keys", [&](const Json& key) {
    if (profile.blame_keys.size() == kMostBlameKeys) return;
    profile.blame_keys.push_back(fields.bytes_of(key));
  });
  fields.each("remarks", [&](const Json& remark) {
    if (profile.remarks.size() == kMostRemarks) return;
    profile.remarks.push_back(fields.bytes_of(remark).substr(0, kLongestRemark));
  });
  fields.each("outcomes", [&](const Json& name) {
    unsigned ours = 0;
    while (ours < LS_OUTCOME_COUNT && outcome_name(ours) != fields.bytes_of(name)) ++ours;
    // An outcome that is not known here counts as unreadable.
    if (ours == LS_OUTCOME_COUNT) ours = LS_UNREADABLE_MALFORMED;
    outcomes_.push_back(static_cast<std::uint8_t>(ours));
  });
  fields.each("flags", [&](const Json& name) {
    unsigned bit = 0;
    while (bit < kSampleFlagCount && sample_flag_name(bit) != fields.bytes_of(name)) ++bit;
    flags_.push_back(static_cast<std::uint16_t>(bit < kSampleFlagCount ? 1U << bit : 0));
  });
  if (const Json* counted = fields.find("counted"); counted != nullptr) {
    profile.counted = fields.bytes_of(*counted);
  }
  if (!take_values(fields) || !fields.good()) {
    return Error{ErrorCode::kMalformed, "its first line is damaged"};
  }
  has_header_ = true;
  return {};
}

// A single value type is in the field of the mode; several have a field of their own.
bool Reader::take_values(Fields& fields) {
  std::vector<ValueType>& values = read_.profile.values;
  values.clear();
  bool known = true;
  const auto take = [&](const std::string& text) {
    const std::optional<ValueType> value = parse_value_type(text);
    known &= value && values.size() < kMostValueTypes &&
             (values.empty() || value->unit == values.front().unit);
    if (known) values.push_back(*value);
  };
  fields.each("values", [&](const Json& text) { take(fields.bytes_of(text)); });
  if (values.empty()) take(fields.bytes("mode"));
  return known;
}

std::string_view Reader::take_table_line(const std::string& type, Fields& fields) {
  Profile& profile = read_.profile;
  if (type == "process") return place(profile.processes, fields, read_process(fields, budget_));
  if (type == "thread") return place(profile.threads, fields, thread(fields));
  if (type == "module") {
    const std::string_view wrong = place(profile.modules, fields, read_module(fields));
    if (wrong.empty() && fields.yes("program")) {
      profile.program = static_cast<Index>(profile.modules.size() - 1);
    }
    return wrong;
  }
  if (type == "location") {
    Location made = read_location(fields, profile.modules.size(), budget_);
    return place(profile.locations, fields, std::move(made));
  }
  if (type == "stack") {
    return place(profile.stacks, fields, read_stack(fields, profile.locations, budget_));
  }
  if (type == "labels") {
    return place(profile.label_sets, fields, read_label_set(fields, budget_));
  }
  if (type == "waits") return take_waits(fields, profile, outcomes_, processes_, budget_);
  if (type == "blame") return take_blame(fields, profile, outcomes_, processes_, budget_);
  if (type == "thread_ledger") return take_thread_ledger(fields, profile, processes_);
  if (type == "other_threads") return take_other_threads(fields, profile);
  return {};  // line of a later version
}

// If lines were damaged, their places stay empty. If two lines have one ID, references to it are
// ambiguous, so its place is emptied.
template <class T>
std::string_view Reader::place(std::vector<T>& table, Fields& fields, T entry) {
  const std::uint64_t id = fields.number("id");
  if (!fields.good() || id >= kNoIndex) return "its fields are odd";
  constexpr bool kIsLabels = std::is_same_v<T, LabelSet>;
  if (id < table.size()) {
    table[id] = T();
    if (kIsLabels && budget_.keep(kOfLostSet)) lost_label_sets_.insert(static_cast<Index>(id));
    return "its ID was given before, so what refers to it refers to nothing";
  }
  if (id - table.size() > damaged_) return "its fields are odd";
  // The places of damaged lines take memory, too: each line may jump over as many as are damaged.
  const std::size_t places = static_cast<std::size_t>(id) - table.size() + 1;
  if (!budget_.keep(places * (2 * sizeof(T) + (kIsLabels ? kOfLostSet : 0))))
    return "it takes too much memory";
  for (std::size_t gap = table.size(); kIsLabels && gap < id; ++gap) {
    lost_label_sets_.insert(static_cast<Index>(gap));
  }
  table.resize(static_cast<std::size_t>(id));
  table.push_back(std::move(entry));
  return {};
}

// The account may be a thread that comes later.
Thread Reader::thread(Fields& fields) {
  Thread made;
  made.process = processes_.of(fields, "process", "pid");
  made.tid = Tid{fields.small<std::int32_t>("tid")};
  made.name = fields.bytes("name");
  made.account = fields.reference("account", kNoIndex);
  return made;
}

bool Reader::take_sample(SampleRow row) {
  const Profile& profile = read_.profile;
  const bool refers_to_labels = row.label_set != kNoIndex;
  const auto settle = [&](Index& index, std::size_t size) {
    if (index == kNoIndex || index < size) return true;
    const bool lost = index - size < damaged_;
    index = kNoIndex;
    return lost;
  };
  if (!settle(row.thread, profile.threads.size()) || !settle(row.stack, profile.stacks.size()) ||
      !settle(row.label_set, profile.label_sets.size()) || row.value >= profile.values.size()) {
    return false;
  }
  std::uint16_t flags = 0;
  for (std::size_t bit = 0; bit < flags_.size() && bit < 16; ++bit) {
    if ((row.flags >> bit & 1U) != 0) flags |= flags_[bit];
  }
  row.flags = flags;
  const bool known = row.outcome < outcomes_.size();
  row.outcome = known ? outcomes_[row.outcome] : std::uint8_t{LS_UNREADABLE_MALFORMED};
  if (refers_to_labels && row.label_set == kNoIndex) lose_labels(row.outcome);
  budget_.keep(ReadBudget::kOfSample);
  read_.profile.rows.push_back(row);
  return true;
}

// "No such label" would be a statement about the program that is true of the file only.
void Reader::lose_labels(std::uint8_t& outcome) {
  if (is_unreadable(outcome)) return;
  outcome = LS_UNREADABLE_LOST;
  labels_were_lost_ = true;
}

void Reader::take_ledger(Fields& fields) {
  Ledger ledger = read_ledger(fields);
  if (!fields.good()) return damaged("its fields are odd");
  read_.profile.ledger = std::move(ledger);
  has_ledger_ = true;
}

Result<ReadRecording> Reader::finish(bool cut_line) {
  Profile& profile = read_.profile;
  if (!has_header_) {
    return Error{ErrorCode::kMalformed, cut_line ? "it has no line of a recording" : "it is empty"};
  }
  for (Thread& thread : profile.threads) {
    if (thread.account != kNoIndex && thread.account >= profile.threads.size())
      thread.account = kNoIndex;
  }
  const auto settle = [&](auto& rows) {
    for (auto& row : rows) {
      if (lost_label_sets_.contains(row.label_set)) lose_labels(row.outcome);
    }
  };
  settle(profile.rows);
  settle(profile.waits);
  settle(profile.blame);
  if (Status status = check_tables(profile); !status) return std::move(status).error();
  if (damaged_ != 0) {
    read_.lost.push_back(counted(damaged_, "line", "lines") + " cannot be read, the first one is " +
                         first_damage_);
  }
  if (!has_ledger_) {
    std::string cut = std::string("it was cut short") + (cut_line ? " within a line" : "");
    if (profile.rows.empty()) {
      cut += cut_line ? ", before its first sample" : " before its first sample";
    } else {
      cut += ": what came after its first " + counted(profile.rows.size(), "sample", "samples") +
             " is not known";
    }
    read_.lost.push_back(std::move(cut));
  }
  Ledger rows = ledger_of_rows(profile);
  const bool has_all = profile.ledger.written == rows.written &&
                       profile.ledger.time.attributed_ns == rows.time.attributed_ns;
  if (has_ledger_ && !has_all) {
    read_.lost.push_back("its ledger has " + counted(profile.ledger.written, "sample", "samples") +
                         ", and " + with_thousands(rows.written) + " are there");
  }
  if (!has_ledger_ || !has_all || labels_were_lost_) profile.ledger = std::move(rows);
  return std::move(read_);
}

}  // namespace

Result<ReadRecording> read_jsonl(std::istream& in, ReadBudget& budget) {
  Reader reader(budget);
  std::string line;
  bool too_long = false;
  std::string piece(std::size_t{1} << 16, '\0');
  while (in.read(piece.data(), static_cast<std::streamsize>(piece.size())), in.gcount() > 0) {
    std::string_view rest(piece.data(), static_cast<std::size_t>(in.gcount()));
    budget.read(rest.size());
    if (budget.is_over()) return budget.status().error();
    for (std::size_t end = 0; (end = rest.find('\n')) != std::string_view::npos;) {
      if (too_long) {
        reader.too_long();
      } else {
        line.append(rest.substr(0, end));
        if (Status status = reader.take(line); !status) return std::move(status).error();
        if (budget.is_over()) return budget.status().error();
        if (reader.is_over()) return reader.finish(false);
      }
      line.clear();
      too_long = false;
      rest.remove_prefix(end + 1);
    }
    too_long = too_long || line.size() + rest.size() > kMaxLine;
    if (!too_long) line.append(rest);
  }
  if (in.bad()) return Error{ErrorCode::kSystem, "it cannot be read to its end"};
  if (budget.is_over()) return budget.status().error();
  // JSON of other kinds is often one line.
  if (!reader.has_header()) {
    if (std::string why = why_not_read(line); !why.empty()) {
      return Error{ErrorCode::kUnsupported, std::move(why)};
    }
  }
  return reader.finish(!line.empty() || too_long);
}

}  // namespace labelscope::cli
