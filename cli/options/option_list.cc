// Declares the options with CLI11.
#include "cli/options/option_list.h"

#include <CLI/CLI.hpp>

#include "cli/options/values.h"

namespace labelscope::cli {

namespace {

// Takes one word each time that the option is named: a second word is a file, or a typing error.
CLI::Option* take_one(CLI::Option* option) {
  return option->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
}

}  // namespace

void OptionList::files(const std::string& help, Words& to) {
  command_.add_option("FILE", to, help)->type_name("");
}

void OptionList::flag(const char* names, const std::string& help) {
  command_.add_flag(names, help)->group(group_)->disable_flag_override();
}

void OptionList::flag(const char* names, const std::string& help, bool& to, bool value) {
  const CLI::Option* option =
      command_.add_flag(names, help)->group(group_)->disable_flag_override();
  reads_.emplace_back([option, &to, value] {
    if (option->count() > 0) to = value;
  });
}

void OptionList::add_word(const char* names, const std::string& type, const std::string& help,
                          const char* usual, Take take) {
  Words& words = words_.emplace_back();
  CLI::Option* option =
      take_one(command_.add_option(names, words, help)->type_name(type)->group(group_));
  if (usual != nullptr) option->default_str(usual);
  reads_.emplace_back([option, &words, usual, take = std::move(take)] {
    if (words.size() > 1) {
      refuse(option->get_name() + " is given more than once: " + in_words(words, " and "));
    }
    if (!words.empty()) take(option->get_name(), words);
    if (words.empty() && usual != nullptr) take(option->get_name(), {usual});
  });
}

void OptionList::add_words(const char* names, const std::string& type, const std::string& help,
                           Take take) {
  Words& words = words_.emplace_back();
  const CLI::Option* option =
      take_one(command_.add_option(names, words, help)->type_name(type)->group(group_));
  reads_.emplace_back([option, &words, take = std::move(take)] {
    if (option->count() > 0) take(option->get_name(), words);
  });
}

void OptionList::read() const {
  for (const auto& read : reads_) read();
}

std::vector<std::string> OptionList::choices(const std::string& option) const {
  for (const auto& [names, words] : choices_) {
    for (const std::string& name : CLI::detail::split(names, ',')) {
      if (name == option) return words;
    }
  }
  return {};
}

bool OptionList::given(const char* option) const {
  return command_.get_option(option)->count() > 0;
}

}  // namespace labelscope::cli
