// Options as CLI11 has them.
#include "cli/options/option_list.h"

#include <CLI/CLI.hpp>

namespace labelscope::cli {

void OptionList::files(const std::string& help, Words& to) {
  command_.add_option("FILE", to, help)->type_name("");
  has_files_ = true;
}

void OptionList::flag(const char* names, const std::string& help) {
  command_.add_flag(names, help)->group(group_);
}

void OptionList::flag(const char* names, const std::string& help, bool& to, bool value) {
  const CLI::Option* option = command_.add_flag(names, help)->group(group_);
  reads_.emplace_back([option, &to, value] {
    if (option->count() > 0) to = value;
  });
}

void OptionList::add_word(const char* names, const std::string& type, const std::string& help,
                          const char* usual, Take take) {
  std::string& word = word_.emplace_back(usual == nullptr ? "" : usual);
  CLI::Option* option = command_.add_option(names, word, help)->type_name(type)->group(group_);
  if (usual != nullptr) option->capture_default_str();
  reads_.emplace_back([option, &word, always = usual != nullptr, take = std::move(take)] {
    if (always || option->count() > 0) take(option->get_name(), {word});
  });
}

void OptionList::add_words(const char* names, const std::string& type, const std::string& help,
                           Take take) {
  Words& words = words_.emplace_back();
  CLI::Option* option = command_.add_option(names, words, help)->type_name(type)->group(group_);
  option->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  if (has_files_) option->allow_extra_args(false);  // the next word is a file
  reads_.emplace_back([option, &words, take = std::move(take)] {
    if (option->count() > 0) take(option->get_name(), words);
  });
}

void OptionList::read() const {
  for (const auto& read : reads_) read();
}

bool OptionList::given(const char* option) const {
  return command_.get_option(option)->count() > 0;
}

}  // namespace labelscope::cli
