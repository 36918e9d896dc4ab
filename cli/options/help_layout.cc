#include "cli/options/help_layout.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "cli/text/escape.h"

namespace labelscope::cli {
namespace {

// Where descriptions begin beside names, and where they begin below them.
constexpr std::size_t kColumn = 34;
constexpr std::size_t kBelow = 6;
// A description beside names has at least so many columns, or it would be a tower of single words.
constexpr std::size_t kLeastText = 36;
// On a terminal narrower than this, the terminal breaks lines itself.
constexpr std::size_t kLeastWidth = 36;

// Words that are longer than a line are cut, like the form of what --variable takes.
std::vector<std::string> broken(const std::string& text, std::size_t width, std::size_t more) {
  std::vector<std::string> lines;
  for (std::string line : wrap(text, width, more)) {
    for (; line.size() > width; line.erase(0, width)) lines.push_back(line.substr(0, width));
    lines.push_back(std::move(line));
  }
  return lines;
}

std::string lines_of(const std::string& text, std::size_t width, std::size_t more) {
  std::string lines;
  for (const std::string& line : broken(text, width, more)) lines += line + '\n';
  return lines;
}

// A command that is broken can still be copied into a shell.
std::string command_lines(const std::string& command, std::size_t width) {
  if (command.size() <= width) return command + '\n';
  std::string lines;
  for (const std::string& line : wrap(command, width - 2, 4)) {
    if (!lines.empty()) lines += " \\\n";
    lines += line;
  }
  return lines + '\n';
}

std::vector<std::string> split_lines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

}  // namespace

HelpLayout::HelpLayout(std::size_t width) : width_(std::max(width, kLeastWidth)) {
  column_width(kColumn);
}

std::string HelpLayout::make_description(const CLI::App* app) const {
  return lines_of(app->get_description(), width_, 0);
}

std::string HelpLayout::make_usage(const CLI::App* app, std::string name) const {
  const auto usage = usages_.find(app->get_name());
  if (usage == usages_.end()) {
    return lines_of(CLI::Formatter::make_usage(app, std::move(name)), width_, 0);
  }
  std::string lines;
  std::string start = "Usage: ";
  for (const std::string& form : split_lines(usage->second)) {
    // The second line of a form is further in than the first line of the next. wrap() adds to the
    // indentation that the line has: the first form has none.
    lines += lines_of(start + form, width_, start.front() == ' ' ? 2 : start.size() + 2);
    start.assign(start.size(), ' ');
  }
  return lines;
}

std::string HelpLayout::described(const std::string& names, const std::string& text) const {
  const bool beside = width_ >= kColumn + kLeastText;
  const std::size_t column = beside ? kColumn : kBelow;
  std::string lines = "  " + names;
  if (text.empty()) return lines + '\n';
  if (!beside || lines.size() >= column) {
    lines = lines_of(lines, width_, 2);
  } else {
    lines.resize(column, ' ');
  }
  for (const std::string& part : broken(text, width_ - column, 0)) {
    if (lines.back() == '\n') lines.append(column, ' ');
    lines += part + '\n';
  }
  return lines;
}

std::string HelpLayout::make_option(const CLI::Option* option, bool is_positional) const {
  return described(make_option_name(option, is_positional) + make_option_opts(option),
                   make_option_desc(option));
}

std::string HelpLayout::make_subcommand(const CLI::App* app) const {
  return described(app->get_display_name(true), app->get_description());
}

// Lines that are indented are commands. Others are sentences, which the source breaks somewhere.
std::string HelpLayout::make_footer(const CLI::App* app) const {
  std::string lines;
  std::string sentences;
  const auto end_sentences = [&] {
    if (!sentences.empty()) lines += lines_of(sentences, width_, 0);
    sentences.clear();
  };
  for (const std::string& line : split_lines(app->get_footer())) {
    if (line.empty() || line.starts_with(' ')) {
      end_sentences();
      lines += line.empty() ? "\n" : command_lines(line, width_);
    } else {
      sentences += (sentences.empty() ? "" : " ") + line;
    }
  }
  end_sentences();
  return lines;
}

}  // namespace labelscope::cli
