#include "cli/answer/value_amounts.h"

#include <algorithm>
#include <iterator>
#include <optional>

namespace labelscope::cli {

TopFunctions top_functions(const Amount& amount, std::size_t most) {
  TopFunctions top(amount.by_function.begin(), amount.by_function.end());
  std::stable_sort(top.begin(), top.end(), kMoreTime);
  top.resize(std::min(top.size(), most));
  return top;
}

Grouped group_by_value(const RowLabels& labels, LeafFunctions& functions,
                       const std::vector<SampleRow>& rows, std::string_view key,
                       const IdleRows& idle) {
  Grouped grouped;
  std::map<std::string, Amount> by_value;
  for (const SampleRow& row : rows) {
    const Index account = labels.account(row);
    if (idle.contains(row)) {
      grouped.idle.add(row, account, functions.of(row));
    } else if (std::optional<std::string> value = labels.value(row, key)) {
      by_value[*std::move(value)].add(row, account, functions.of(row));
    } else {
      (is_unreadable(row.outcome) ? grouped.unreadable : grouped.without)
          .add(row, account, functions.of(row));
    }
  }
  grouped.values.assign(std::make_move_iterator(by_value.begin()),
                        std::make_move_iterator(by_value.end()));
  std::stable_sort(grouped.values.begin(), grouped.values.end(), kMoreTime);
  return grouped;
}

ShareError errors_of(const std::vector<SampleRow>& rows, const RowLabels& labels,
                     const IdleRows& idle) {
  ShareError errors;
  for (const SampleRow& row : rows) {
    if (idle.contains(row)) continue;
    const Index account = labels.account(row);
    // What is exact has no error, like a total that has no sample.
    const std::uint64_t samples = account == RowLabels::kExact ? 0 : row.count;
    errors.add_whole(account, row.weight_ns, samples, labels.is_of_total(row));
  }
  return errors;
}

}  // namespace labelscope::cli
