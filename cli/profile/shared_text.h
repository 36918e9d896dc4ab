// A text that many places of a profile have, such as the name of a function. All copies share one
// string, which never changes. So a copy is small and quick, and threads may share them.
#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>

namespace labelscope::cli {

class SharedText {
 public:
  SharedText() = default;
  // These are implicit, and so are the conversions back: it is a string in all but its copies.
  // NOLINTBEGIN(google-explicit-constructor)
  SharedText(std::string text)
      : text_(text.empty() ? nullptr : std::make_shared<const std::string>(std::move(text))) {}
  SharedText(std::string_view text) : SharedText(std::string(text)) {}
  SharedText(const char* text) : SharedText(std::string(text)) {}
  operator const std::string&() const& { return str(); }
  operator std::string_view() const& { return str(); }
  // What they refer to may end with the last copy.
  operator const std::string&() const&& = delete;
  operator std::string_view() const&& = delete;
  // NOLINTEND(google-explicit-constructor)

  struct Hash {
    std::size_t operator()(const SharedText& text) const {
      return std::hash<std::string>()(text.str());
    }
  };

  const std::string& str() const {
    static const std::string none;
    return text_ ? *text_ : none;
  }
  bool empty() const { return text_ == nullptr; }
  std::size_t size() const { return str().size(); }
  // Whether both are copies of one text. Equal texts may be others.
  bool is_copy_of(const SharedText& other) const { return text_ == other.text_; }

  friend bool operator==(const SharedText& a, const SharedText& b) {
    return a.text_ == b.text_ || a.str() == b.str();
  }
  template <typename Text>
  requires(std::convertible_to<const Text&, std::string_view> &&
           !std::same_as<Text, SharedText>) friend bool
  operator==(const SharedText& a, const Text& b) {
    return a.str() == std::string_view(b);
  }
  friend std::ostream& operator<<(std::ostream& out, const SharedText& text) {
    return out << text.str();
  }

 private:
  std::shared_ptr<const std::string> text_;  // null if it is empty
};

}  // namespace labelscope::cli
