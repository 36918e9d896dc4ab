// How --help looks: no line is wider than the terminal.
//
//   wide     -d,--duration TIME              How long; default: until Ctrl-C
//            --debug-file-directory DIR
//                                            Where debug files are
//
//   narrow   -d,--duration TIME
//                How long; default: until Ctrl-C
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include <CLI/CLI.hpp>

namespace labelscope::cli {

class HelpLayout : public CLI::Formatter {
 public:
  explicit HelpLayout(std::size_t width);
  // Commands without a usage here have CLI11's, which cannot show that a command has several forms.
  void set_usage(const std::string& command, const std::string& forms) { usages_[command] = forms; }

  std::string make_description(const CLI::App* app) const override;
  std::string make_usage(const CLI::App* app, std::string name) const override;
  std::string make_option(const CLI::Option* option, bool is_positional) const override;
  std::string make_subcommand(const CLI::App* app) const override;
  std::string make_footer(const CLI::App* app) const override;

 private:
  // Names, and what they mean beside or below them.
  std::string described(const std::string& names, const std::string& text) const;

  std::size_t width_;
  std::map<std::string, std::string> usages_;
};

}  // namespace labelscope::cli
