// The two routes. Their functions are never inlined (noinline), so that stacks show them.
#include "work.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <random>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#define DEMO_NOINLINE [[gnu::noinline]]

namespace demo {

namespace {

constexpr std::size_t kDocuments = 24;
constexpr std::size_t kWordsPerDocument = 40;
constexpr std::size_t kOrderLines = 60;
constexpr int kSignatureRounds = 16;

using Random = std::minstd_rand;
using WordCounts = std::unordered_map<std::string_view, int>;

struct Hit {
  double score;
  std::size_t document;
};

struct OrderLine {
  std::uint64_t article;
  std::uint64_t quantity;
  std::uint64_t cents;
};

constexpr std::string_view kWords[] = {"label",  "thread", "sample", "stack", "reader", "writer",
                                       "tenant", "route",  "order",  "cart",  "search", "queue"};

DEMO_NOINLINE std::vector<std::string> fetch_documents(Random& random) {
  std::vector<std::string> documents(kDocuments);
  for (std::string& text : documents) {
    for (std::size_t i = 0; i < kWordsPerDocument; ++i) {
      text += kWords[random() % std::size(kWords)];
      text += ' ';
    }
  }
  return documents;
}

DEMO_NOINLINE WordCounts count_words(std::string_view text) {
  WordCounts counts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    ++counts[text.substr(0, end)];
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return counts;
}

DEMO_NOINLINE double score_document(const WordCounts& counts,
                                    const std::vector<std::string_view>& query) {
  double score = 0;
  for (const std::string_view word : query) {
    const auto found = counts.find(word);
    if (found != counts.end()) score += std::log1p(found->second);
  }
  return score;
}

DEMO_NOINLINE void rank_hits(std::vector<Hit>& hits) {
  std::sort(hits.begin(), hits.end(), [](const Hit& a, const Hit& b) {
    return std::pair(-a.score, a.document) < std::pair(-b.score, b.document);
  });
}

DEMO_NOINLINE std::string write_order(Random& random) {
  std::string text;
  for (std::size_t i = 0; i < kOrderLines; ++i) {
    text += "article=" + std::to_string(random() % 100'000);
    text += ";quantity=" + std::to_string(1 + random() % 9);
    text += ";cents=" + std::to_string(random() % 50'000) + "\n";
  }
  return text;
}

// Returns the number behind `name=`, and moves the line on behind it.
std::uint64_t parse_field(std::string_view& line, std::string_view name) {
  line.remove_prefix(std::min(line.find(name), line.size()));
  line.remove_prefix(std::min(name.size() + 1, line.size()));
  std::uint64_t number = 0;
  const auto parsed = std::from_chars(line.data(), line.data() + line.size(), number);
  line.remove_prefix(static_cast<std::size_t>(parsed.ptr - line.data()));
  return number;
}

DEMO_NOINLINE std::vector<OrderLine> parse_order(std::string_view text) {
  std::vector<OrderLine> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    OrderLine parsed{};
    parsed.article = parse_field(line, "article");
    parsed.quantity = parse_field(line, "quantity");
    parsed.cents = parse_field(line, "cents");
    lines.push_back(parsed);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

DEMO_NOINLINE std::uint64_t total_order(std::vector<OrderLine>& lines) {
  std::sort(lines.begin(), lines.end(),
            [](const OrderLine& a, const OrderLine& b) { return a.article < b.article; });
  std::uint64_t cents = 0;
  for (const OrderLine& line : lines) cents += line.quantity * line.cents;
  return cents;
}

// Computes FNV-1a over the whole text, again and again, in place of a slow signature.
DEMO_NOINLINE std::uint64_t sign_order(std::string_view text, std::uint64_t key) {
  std::uint64_t hash = 0xcbf29ce484222325U ^ key;
  for (int round = 0; round < kSignatureRounds; ++round) {
    for (const char byte : text) {
      hash ^= static_cast<unsigned char>(byte);
      hash *= 0x100000001b3U;
    }
  }
  return hash;
}

}  // namespace

DEMO_NOINLINE std::uint64_t search(std::uint64_t seed) {
  Random random(static_cast<Random::result_type>(seed));
  const std::vector<std::string_view> query = {kWords[seed % std::size(kWords)], "label", "stack"};
  const std::vector<std::string> documents = fetch_documents(random);
  std::vector<Hit> hits;
  for (std::size_t i = 0; i < documents.size(); ++i)
    hits.push_back({score_document(count_words(documents[i]), query), i});
  rank_hits(hits);
  return hits.front().document;
}

DEMO_NOINLINE std::uint64_t checkout(std::uint64_t seed) {
  Random random(static_cast<Random::result_type>(seed));
  const std::string text = write_order(random);
  std::vector<OrderLine> lines = parse_order(text);
  return sign_order(text, total_order(lines));
}

}  // namespace demo
