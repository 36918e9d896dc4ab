#include "cli/format/pprof/pprof_tables.h"

#include <limits>

#include "cli/format/common/frame_tree.h"
#include "cli/format/pprof/pprof_message.h"
#include "cli/format/pprof/pprof_parts.h"

namespace labelscope::cli {

// Number 0, and any number beyond the table, is the empty text.
std::string_view PprofTables::text(std::int64_t number) {
  if (number >= 0 && static_cast<std::uint64_t>(number) < texts_.size()) {
    return texts_[static_cast<std::size_t>(number)];
  }
  if (number != 0) ++dangling_;
  return {};
}

Index PprofTables::find(const ById& table, std::uint64_t wanted) {
  const auto found = table.find(wanted);
  if (found != table.end()) return found->second;
  if (wanted != 0) ++dangling_;
  return kNoIndex;
}

std::optional<Index> PprofTables::location(std::uint64_t id) {
  const auto found = location_ids_.find(id);
  if (found != location_ids_.end()) return found->second;
  ++dangling_;
  return std::nullopt;
}

void PprofTables::take_function(std::string_view message) {
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

void PprofTables::take_mapping(std::string_view message) {
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
  std::vector<ProfileModule>& modules = profile_.modules;
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
  if (modules.empty() && module.kind == ProfileModule::Kind::kFile) profile_.program = 0;
  modules.push_back(std::move(module));
}

// Returns false if the message is damaged.
bool PprofTables::take_line(std::string_view message, Location& location) {
  SourceLine line;
  int number = 0;
  const bool good = for_fields(message, [&](PprofField field) {
    if (field.is(LineField::kFunctionId)) {
      const Index function = find(function_ids_, field.number());
      if (function != kNoIndex) line = function_lines_[function];
    } else if (field.is(LineField::kLine)) {
      const std::uint64_t given = field.number();
      if (given <= std::numeric_limits<std::int32_t>::max()) number = static_cast<int>(given);
    } else {
      field.skip();
    }
  });
  line.line = number;
  const std::size_t size =
      2 * sizeof line + line.function.size() + line.system_name.size() + line.file.size();
  if (budget_.keep(size)) location.lines.push_back(std::move(line));
  return good;
}

void PprofTables::take_location(std::string_view message) {
  std::uint64_t id = 0;
  Location location;
  bool good_lines = true;
  const bool good = for_fields(message, [&](PprofField field) {
    if (field.is(LocationField::kId)) {
      id = field.number();
    } else if (field.is(LocationField::kMappingId)) {
      location.module = find(mapping_ids_, field.number());
    } else if (field.is(LocationField::kAddress)) {
      location.address = field.number();
    } else if (field.is(LocationField::kLine)) {
      good_lines &= take_line(field.bytes(), location);
    } else {
      field.skip();
    }
  });
  budget_.keep(kOfEntry + sizeof location);
  std::vector<Location>& locations = profile_.locations;
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

}  // namespace labelscope::cli
