// pprof: samples, then the tables that they refer to, streamed through gzip.
//
// Fields of a protobuf message may come in any order, so the string table comes last, when all
// strings are known. Tables of the profile keep their order: id = index + 1, because 0 means "none"
// in pprof.
#include <array>
#include <map>
#include <protozero/pbf_builder.hpp>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cli/format/common/frame_tree.h"
#include "cli/format/common/gzip_writer.h"
#include "cli/format/common/ledger_text.h"
#include "cli/format/common/row_labels.h"
#include "cli/format/common/rows.h"
#include "cli/format/format.h"
#include "cli/format/pprof/pprof_labels.h"
#include "cli/format/pprof/pprof_parts.h"
#include "cli/profile/index_table.h"
#include "cli/text/shares.h"

namespace labelscope::cli {
namespace {

using protozero::pbf_builder;

std::string ledger_text(const Ledger& ledger) {
  std::string text = "taken " + std::to_string(ledger.taken);
  for (unsigned outcome = 0; outcome < LS_OUTCOME_COUNT; ++outcome) {
    // Labelled and unlabelled are always listed, a reason of unreadable samples only if it occurs.
    if (outcome > LS_UNLABELLED && ledger.outcomes[outcome] == 0) continue;
    text += outcome == 0 ? " = " : " + ";
    text += outcome_name(outcome);
    text += ' ' + std::to_string(ledger.outcomes[outcome]);
  }
  text += "; written " + std::to_string(ledger.written) + " = taken - dropped " +
          std::to_string(ledger.dropped);
  text += "; truncated " + std::to_string(ledger.truncated);
  for (const auto& [name, count] : ledger.named()) {
    text += "; " + name + ' ' + std::to_string(count);
  }
  return text;
}

class PprofRenderer {
 public:
  PprofRenderer(const Profile& profile, const RenderOptions& options, std::ostream& out)
      : profile_(profile),
        options_(options),
        rows_(profile),
        labels_(rows_, strings_),
        gzip_(out) {}

  Status render() {
    add_header();
    add_samples();
    add_locations();
    add_mappings();
    add_comments();
    for (const std::string& text : strings_.in_order()) {
      top_.add_string(ProfileField::kStringTable, text);
      write_out(kPieceBytes);
    }
    write_out(0);
    return gzip_.finish();
  }

 private:
  static constexpr std::size_t kPieceBytes = 256UL * 1024;

  // Writes out what is encoded so far if it is more than `limit`.
  void write_out(std::size_t limit) {
    if (encoded_.size() <= limit) return;
    gzip_.write(encoded_);
    encoded_.clear();
  }

  void add_message(ProfileField field, const std::string& message) {
    top_.add_message(field, message);
    write_out(kPieceBytes);
  }

  void add_value_type(ProfileField field, std::string_view type, std::string_view unit) {
    std::string message;
    pbf_builder<ValueTypeField> value_type(message);
    value_type.add_int64(ValueTypeField::kType, strings_.intern(type));
    value_type.add_int64(ValueTypeField::kUnit, strings_.intern(unit));
    add_message(field, message);
  }

  void add_header() {
    add_value_type(ProfileField::kSampleType, profile_.counted, "count");
    for (const ValueType& value : profile_.values) {
      add_value_type(ProfileField::kSampleType, value.name, value.unit);
    }
    const ValueType& first = profile_.values.front();
    add_value_type(ProfileField::kPeriodType, first.name, first.unit);
    top_.add_int64(ProfileField::kDefaultSampleType, strings_.intern(first.name));
    top_.add_int64(ProfileField::kPeriod, to_int64(profile_.period_ns));
    top_.add_int64(ProfileField::kTimeNanos, to_int64(profile_.start_unix_ns));
    top_.add_int64(ProfileField::kDurationNanos, to_int64(profile_.duration_ns));
  }

  // Rows of one stack under one label set follow each other, and are nearly alike: so the file gets
  // smaller, and takes less time to compress.
  void add_samples() {
    packed_stacks_.resize(profile_.stacks.size());
    visit_aggregated_rows(profile_, {.flags = kShownFlags, .stacks_first = true},
                          [this](const SampleRow& row) { add_sample(row); });
  }

  void add_sample(const SampleRow& row) {
    values_.assign(1 + profile_.values.size(), 0);
    values_[0] = to_int64(row.count);
    values_[1 + row.value] = to_int64(row.weight_ns);
    encoded_values_.clear();
    pbf_builder<SampleField>(encoded_values_)
        .add_packed_int64(SampleField::kValue, values_.begin(), values_.end());
    top_.add_bytes_vectored(ProfileField::kSample, frames_of(row), encoded_values_,
                            labels_.encode(row));
    write_out(kPieceBytes);
  }

  // Returns the encoded field Sample.location_id, until the next call.
  std::string_view frames_of(const SampleRow& row) {
    const bool has_frames = row.stack != kNoIndex && !profile_.stacks[row.stack].frames.empty();
    if (has_frames && options_.group_by.empty()) return packed_stack(row.stack);
    frames_.clear();
    if (has_frames) add_frames(row.stack);
    // Without this frame, the sample would count in the total and show up nowhere.
    if (!has_frames) frames_.push_back(pseudo_location(std::string(kNoStack)));
    // pprof lists the leaf first, so the outermost group comes last.
    for (auto key = options_.group_by.rbegin(); key != options_.group_by.rend(); ++key) {
      frames_.push_back(pseudo_location(rows_.group_frame(row, *key)));
    }
    encoded_frames_.clear();
    encode_frames(encoded_frames_);
    return encoded_frames_;
  }

  void add_frames(Index stack) {
    for (const Index location : profile_.stacks[stack].frames) frames_.push_back(location + 1ULL);
  }

  void encode_frames(std::string& to) const {
    pbf_builder<SampleField>(to).add_packed_uint64(SampleField::kLocationId, frames_.begin(),
                                                   frames_.end());
  }

  // Frames of a stack are encoded once for all its samples.
  std::string_view packed_stack(Index stack) {
    PackedStack& packed = packed_stacks_[stack];
    if (packed.size == 0) {
      packed.start = packed_bytes_.size();
      frames_.clear();
      add_frames(stack);
      encode_frames(packed_bytes_);
      packed.size = packed_bytes_.size() - packed.start;
    }
    return std::string_view(packed_bytes_).substr(packed.start, packed.size);
  }

  // A location without code, only a name; such locations are numbered after all real ones.
  std::uint64_t pseudo_location(const std::string& name) {
    auto [entry, added] = pseudo_locations_.try_emplace(name, 0);
    if (added) entry->second = profile_.locations.size() + pseudo_locations_.size();
    return entry->second;
  }

  void add_locations() {
    module_names_.resize(profile_.modules.size());
    for (std::size_t i = 0; i < profile_.locations.size(); ++i) add_location(i);
    for (const auto& [name, id] : pseudo_locations_) {
      std::string message;
      pbf_builder<LocationField> builder(message);
      builder.add_uint64(LocationField::kId, id);
      const std::int64_t number = strings_.intern(name);
      add_line(builder, function_id(number, number, 0), 0);
      add_message(ProfileField::kLocation, message);
    }
    for (const auto& [parts, id] : functions_) {
      std::string message;
      pbf_builder<FunctionField> builder(message);
      builder.add_uint64(FunctionField::kId, id);
      builder.add_int64(FunctionField::kName, std::get<0>(parts));
      builder.add_int64(FunctionField::kSystemName, std::get<1>(parts));
      builder.add_int64(FunctionField::kFilename, std::get<2>(parts));
      add_message(ProfileField::kFunction, message);
    }
  }

  void add_location(std::size_t index) {
    const Location& location = profile_.locations[index];
    std::string message;
    pbf_builder<LocationField> builder(message);
    builder.add_uint64(LocationField::kId, index + 1);
    if (location.module != kNoIndex) {
      builder.add_uint64(LocationField::kMappingId, location.module + 1ULL);
    }
    builder.add_uint64(LocationField::kAddress, location.address);
    unsigned names = 0;
    std::size_t named_lines = 0;
    for (const SourceLine& line : location.lines) {
      const std::string& system_name = line.system_name.empty() ? line.function : line.system_name;
      const std::string& name = line.function.empty() ? system_name : line.function.str();
      // pprof shows the address of a location without lines, but nothing at all for an empty name.
      if (name.empty()) continue;
      add_line(builder,
               function_id(strings_.intern(name), strings_.intern(system_name),
                           strings_.intern(line.file)),
               line.line);
      ++named_lines;
      names |= kFunctions;
      if (!line.file.empty()) names |= kFiles;
      if (line.line > 0) names |= kLines;
    }
    if (named_lines > 1) names |= kInlined;
    if (location.module != kNoIndex) module_names_[location.module] |= names;
    add_message(ProfileField::kLocation, message);
  }

  static void add_line(pbf_builder<LocationField>& location, std::uint64_t function, int number) {
    std::string message;
    pbf_builder<LineField> line(message);
    line.add_uint64(LineField::kFunctionId, function);
    if (number > 0) line.add_int64(LineField::kLine, number);
    location.add_message(LocationField::kLine, message);
  }

  std::uint64_t function_id(std::int64_t name, std::int64_t system_name, std::int64_t file) {
    return functions_.try_emplace({name, system_name, file}, functions_.size() + 1).first->second;
  }

  // pprof takes the first mapping for the main program; other files come before the kernel and the
  // rest.
  void add_mappings() {
    if (profile_.program != kNoIndex) add_mapping(profile_.program);
    for (const bool files : {true, false}) {
      for (std::size_t i = 0; i < profile_.modules.size(); ++i) {
        if (i == profile_.program) continue;
        if ((profile_.modules[i].kind == ProfileModule::Kind::kFile) == files) add_mapping(i);
      }
    }
  }

  void add_mapping(std::size_t index) {
    const ProfileModule& module = profile_.modules[index];
    const unsigned names = module_names_[index];
    const bool is_kernel = module.kind == ProfileModule::Kind::kKernel;
    std::string message;
    pbf_builder<MappingField> builder(message);
    builder.add_uint64(MappingField::kId, index + 1);
    builder.add_uint64(MappingField::kMemoryStart, module.start);
    builder.add_uint64(MappingField::kMemoryLimit, module.end);
    builder.add_uint64(MappingField::kFileOffset, module.file_offset);
    builder.add_int64(MappingField::kFilename,
                      strings_.intern(is_kernel ? std::string_view("[kernel]") : module.path));
    builder.add_int64(MappingField::kBuildId, strings_.intern(module.build_id));
    builder.add_bool(MappingField::kHasFunctions, (names & kFunctions) != 0);
    builder.add_bool(MappingField::kHasFilenames, (names & kFiles) != 0);
    builder.add_bool(MappingField::kHasLineNumbers, (names & kLines) != 0);
    builder.add_bool(MappingField::kHasInlineFrames, (names & kInlined) != 0);
    add_message(ProfileField::kMapping, message);
  }

  // Comments hold what pprof has no field for (`go tool pprof -comments`).
  void add_comments() {
    add_comment("labelscope", profile_.tool_version);
    add_comment("command", profile_.command_line);
    add_comment("event", profile_.event);
    add_comment("mode", text_of(profile_.whole_value()));
    add_comment("backend", profile_.backend);
    add_comment("call graph", profile_.call_graph);
    add_comment("kernel", profile_.kernel_release);
    for (const std::string& remark : profile_.remarks) add_comment("part", remark);
    add_comment("ledger", ledger_text(profile_.ledger));
    add_comment("stacks", stacks_line(profile_.ledger));
    for (const Process& process : profile_.processes) {
      for (const std::string& publisher : process.publishers) {
        add_comment("publisher in process " + std::to_string(raw(process.pid)), publisher);
      }
      for (const auto& [key, value] : process.attributes) {
        std::string attribute = key;
        attribute.append("=").append(value);
        add_comment("attribute of process " + std::to_string(raw(process.pid)), attribute);
      }
    }
    for (const ProfileModule& module : profile_.modules) {
      add_comment("names in " + module.path, module.symbol_problem);
    }
  }

  void add_comment(const std::string& name, const std::string& value) {
    if (value.empty()) return;
    // A process that has executed programs says the same once.
    const std::int64_t comment = strings_.intern(name + ": " + value);
    if (comments_.insert(comment).second) top_.add_int64(ProfileField::kComment, comment);
  }

  const Profile& profile_;
  const RenderOptions& options_;
  RowLabels rows_;
  PprofStrings strings_;
  std::set<std::int64_t> comments_;
  PprofLabels labels_;
  GzipWriter gzip_;
  std::string encoded_;
  pbf_builder<ProfileField> top_{encoded_};
  struct PackedStack {
    std::size_t start = 0;  // in packed_bytes_
    std::size_t size = 0;   // 0: it is not encoded yet
  };
  std::vector<PackedStack> packed_stacks_;
  std::string packed_bytes_;
  // These are of the sample that is being added. They are here to keep their memory.
  std::vector<std::uint64_t> frames_;
  std::vector<std::int64_t> values_;
  std::string encoded_frames_;
  std::string encoded_values_;
  std::unordered_map<std::string, std::uint64_t, SecretHash> pseudo_locations_;
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, std::uint64_t> functions_;
  // The kinds of names that a module has. pprof itself looks for symbols if there are none.
  enum : unsigned { kFunctions = 1, kFiles = 2, kLines = 4, kInlined = 8 };
  std::vector<unsigned> module_names_;
};

}  // namespace

Status render_pprof(const Profile& profile, const RenderOptions& options, std::ostream& out) {
  if (Status status = check_tables(profile); !status) return status;
  return PprofRenderer(profile, options, out).render();
}

}  // namespace labelscope::cli
