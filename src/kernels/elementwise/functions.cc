#include "kernels/elementwise/functions.h"

#include <array>
#include <cassert>
#include <utility>

#include "kernels/elementwise/functions-inl.h"

namespace heed::kernels {
namespace {

template <auto kFunction>
using Row = HWY_NAMESPACE::Function<kFunction>;

template <size_t... kIndex>
constexpr std::array<UnaryRow, sizeof...(kIndex)> make_unary_rows(
    std::index_sequence<kIndex...> /*all*/) {
  return {{{.function = static_cast<Unary>(kIndex),
            .name = Row<static_cast<Unary>(kIndex)>::kName,
            .saved = Row<static_cast<Unary>(kIndex)>::kSaved,
            .domain = Row<static_cast<Unary>(kIndex)>::kDomain,
            .value = Row<static_cast<Unary>(kIndex)>::reference,
            .derivative = Row<static_cast<Unary>(kIndex)>::reference_derivative}...}};
}

template <size_t... kIndex>
constexpr std::array<BinaryRow, sizeof...(kIndex)> make_binary_rows(
    std::index_sequence<kIndex...> /*all*/) {
  return {{{.function = static_cast<Binary>(kIndex),
            .name = Row<static_cast<Binary>(kIndex)>::kName,
            .reads_da = Row<static_cast<Binary>(kIndex)>::kReadsDa,
            .reads_db = Row<static_cast<Binary>(kIndex)>::kReadsDb,
            .domain_b = Row<static_cast<Binary>(kIndex)>::kDomainB,
            .compares = Row<static_cast<Binary>(kIndex)>::kCompares,
            .value = Row<static_cast<Binary>(kIndex)>::reference,
            .da = Row<static_cast<Binary>(kIndex)>::reference_da,
            .db = Row<static_cast<Binary>(kIndex)>::reference_db}...}};
}

constexpr auto kUnaryRows =
    make_unary_rows(std::make_index_sequence<static_cast<size_t>(Unary::kCount)>());
constexpr auto kBinaryRows =
    make_binary_rows(std::make_index_sequence<static_cast<size_t>(Binary::kCount)>());

}  // namespace

std::span<const UnaryRow> unary_rows() { return kUnaryRows; }
std::span<const BinaryRow> binary_rows() { return kBinaryRows; }

const UnaryRow& row_of(Unary function) {
  assert(function < Unary::kCount);
  return kUnaryRows[static_cast<size_t>(function)];
}

const BinaryRow& row_of(Binary function) {
  assert(function < Binary::kCount);
  return kBinaryRows[static_cast<size_t>(function)];
}

}  // namespace heed::kernels
