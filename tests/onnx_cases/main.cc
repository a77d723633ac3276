// onnx_cases FILE.jsonl[.gz]: runs operator cases of ONNX through Heed's ops and compares.
#include <fmt/core.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "onnx_cases/compare.h"
#include "onnx_cases/lines.h"

namespace heed::onnx_cases {
namespace {

constexpr const char* kUsage = R"(usage: onnx_cases FILE.jsonl[.gz]

Runs operator cases, one JSON object per line:
  test                  name of the case
  op, opset, attrs      the ONNX operator, {domain: version}, its attributes that are not default
  node_inputs, node_outputs   names in the operator's order; "" for an optional one left out
  inputs, outputs       [{name, dtype, shape, data}], row-major; "nan", "inf" and "-inf" as strings

Prints a line for each case that fails, the counts of each operator, what was skipped and why.
Returns 0 if nothing failed, 1 if something did, 2 if the file cannot be read.
)";

struct Counts {
  int64_t passed = 0;
  int64_t failed = 0;
  int64_t skipped = 0;
};

struct Report {
  std::map<std::string, Counts> of_op;
  std::vector<std::string> skipped;
  int64_t malformed = 0;
};

void run_case(const Case& c, Report& report) {
  Counts& counts = report.of_op[c.op];
  try {
    const Operator op = find_operator(c.op);
    if (op == nullptr) {
      throw Skip("Heed has no such operator");
    }
    check_outputs(c, op(c));
    ++counts.passed;
  } catch (const Skip& skip) {
    ++counts.skipped;
    report.skipped.push_back(fmt::format("{} ({}): {}", c.test, c.op, skip.what()));
  } catch (const std::exception& error) {
    ++counts.failed;
    fmt::print("FAILED {} ({}): {}\n", c.test, c.op, error.what());
  }
}

Report run_file(const std::string& path) {
  Report report;
  Lines lines(path);
  std::string line;
  while (lines.next(line)) {
    if (line.find_first_not_of(" \t") == std::string::npos) {
      continue;
    }
    try {
      run_case(parse_case(line), report);
    } catch (const std::exception& error) {
      ++report.malformed;
      fmt::print("FAILED {}:{}: {}\n", path, lines.number(), error.what());
    }
  }
  return report;
}

int print_report(const Report& report, const std::string& path) {
  Counts all{.failed = report.malformed};
  for (const auto& [op, counts] : report.of_op) {
    fmt::print("{:<24} {:>4} passed {:>4} failed {:>4} skipped\n", op, counts.passed, counts.failed,
               counts.skipped);
    all.passed += counts.passed;
    all.failed += counts.failed;
    all.skipped += counts.skipped;
  }
  if (report.malformed > 0) {
    fmt::print("{:<24} {:>4} failed\n", "malformed lines", report.malformed);
  }
  check(all.passed + all.failed + all.skipped > 0, "[onnx_cases] no cases in {}", path);
  for (const std::string& text : report.skipped) {
    fmt::print("skipped {}\n", text);
  }
  fmt::print("{} passed, {} failed, {} skipped\n", all.passed, all.failed, all.skipped);
  return all.failed > 0 ? 1 : 0;
}

}  // namespace
}  // namespace heed::onnx_cases

int main(int argc, char** argv) {
  using namespace heed::onnx_cases;
  const std::string_view first = argc > 1 ? argv[1] : "";
  if (first == "--help" || first == "-h") {
    fmt::print("{}", kUsage);
    return 0;
  }
  if (argc != 2 || first.starts_with('-')) {
    fmt::print(stderr, "onnx_cases: expected one file\n\n{}", kUsage);
    return 2;
  }
  try {
    return print_report(run_file(argv[1]), argv[1]);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 2;
  }
}
