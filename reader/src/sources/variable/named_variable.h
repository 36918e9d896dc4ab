// A thread-local variable that the user has named, as a label source of one planning: where it is in
// a module's file, and what there is where it is not.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "labelscope/variable_spec.h"
#include "process/modules.h"
#include "sources/variable/variable.h"

namespace labelscope {

class NamedVariable final : public Variable {
 public:
  // The variable with this index among those that the user has named. `spec` must outlive it.
  NamedVariable(const VariableSpec& spec, std::size_t index);

  // Whether the user means a module of this name.
  bool is_publisher_name(std::string_view path) const override;
  // Looks at the dynamic symbols; at .symtab if the module has thread-local variables at all.
  Status find(const ElfImage& image, bool everything, FileInspection& file) const override;
  bool declares(const FileInspection& file) const override;
  void judge(std::string_view path, FileInspection& file) const override;
  AccessPlan reach(const Reachable& publisher) const override;
  std::string_view named() const override { return spec_.text; }
  // With those that are most like it.
  Finding missing(std::span<const ThreadLocalNames* const> there) const override;

 private:
  const VariableSpec& spec_;
  std::size_t index_;
};

// The thread-local variables of one file, by name; the first ones, if there are very many.
struct ThreadLocalNames {
  std::string path;
  std::vector<std::string> names;
};
// Those that the file's symbol tables name, each once.
ThreadLocalNames thread_local_names(const Module& module, std::size_t most);
// Names that are kept of all files of a process together: each is compared with what is missing.
inline constexpr std::size_t kMostNames = 5000;

}  // namespace labelscope
