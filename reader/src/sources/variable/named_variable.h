// NamedVariable is a thread-local variable that the user has named, as a label source for one run
// of planning: it finds the variable in a module's file, or what there is in its place.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "labelscope/variable_spec.h"
#include "process/modules.h"
#include "sources/variable/variable.h"

namespace labelscope {

class NamedVariable final : public Variable {
 public:
  // `index` is its index among the variables that the user has named. `spec` must outlive this
  // object.
  NamedVariable(const VariableSpec& spec, std::size_t index);

  // Returns whether the user means a module of this name.
  bool is_publisher_name(std::string_view path) const override;
  // Looks at the dynamic symbols, and at .symtab if the module has thread-local variables at all.
  Status find(const ElfImage& image, bool everything, FileInspection& file) const override;
  bool declares(const FileInspection& file) const override;
  void judge(std::string_view path, FileInspection& file) const override;
  AccessPlan reach(const Reachable& publisher) const override;
  // The process's title is no symbol of a file: nothing where another variable is meant.
  std::optional<Result<AccessPlan>> reach_title(const Target& target) const;
  std::string_view named() const override { return spec_.text; }
  // The finding has the names that are most like it.
  Finding missing(std::span<const ThreadLocalNames* const> there) const override;

 private:
  void set_parameters(ls_tls_recipe& recipe) const;

  const VariableSpec& spec_;
  std::size_t index_;
};

// The thread-local variables of one file, by name; the first ones, if there are very many.
struct ThreadLocalNames {
  std::string path;
  std::vector<std::string> names;
};
// Returns the variables in the file's symbol tables, each once.
ThreadLocalNames thread_local_names(const Module& module, std::size_t most);
// At most so many names of all files of a process are kept: each is compared with what is missing.
inline constexpr std::size_t kMostNames = 5000;

}  // namespace labelscope
