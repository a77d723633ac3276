#!/usr/bin/env bash
# Feeds each check of tools/ a good and a bad example: a check that cannot fail checks nothing.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

# expect pass|fail TEXT COMMAND...: TEXT must appear in the output.
expect() {
  local wanted=$1 text=$2 outcome=pass output
  shift 2
  output=$("$@" 2>&1) || outcome=fail
  if [[ $outcome != "$wanted" || $output != *"$text"* ]]; then
    printf 'expected: %s with "%s"\ncommand:  %s\noutcome:  %s\n%s\n\n' "$wanted" "$text" "$*" "$outcome" "$output"
    failures=$((failures + 1))
  fi
}

# A fresh tree of sources with the settings of the real one.
new_tree() {
  rm -rf "$work/tree"
  mkdir -p "$work/tree/src/"{base,tensor,kernels,data,train,tasks,serve,web} "$work/tree/build"
  cp "$root"/.clang-format "$root"/.clang-tidy "$work/tree/"
  tree=$work/tree
}

# lines N: prints N statements.
lines() {
  local i
  for ((i = 0; i < $1; i++)); do echo '  use("{", '"'{'"'); // }'; done
}

layers="$root/tools/check-layers.sh"
new_tree
expect fail "no .h or .cc file" "$layers" "$tree/src"
echo '#include "base/error.h"' >"$tree/src/tensor/tensor.h"
echo '#include "tensor/tensor.h"' >"$tree/src/tensor/tensor.cc"
echo '#include "tensor/tensor.h"' >"$tree/src/heed.h"
printf '#include <vector>\n#include "hwy/highway.h"\n' >"$tree/src/kernels/relu.cc"
expect pass "4 files" "$layers" "$tree/src"
echo '#include "tensor/tensor.h"' >"$tree/src/base/error.h"
expect fail 'base/error.h:1: base/ (layer 0) may not include "tensor/tensor.h" (layer 1)' "$layers" "$tree/src"
new_tree
printf '\n  #  include "serve/engine.h"\n' >"$tree/src/tasks/task.cc" # the same number is not lower
expect fail 'tasks/task.cc:2: tasks/ (layer 9) may not include "serve/engine.h" (layer 9)' "$layers" "$tree/src"
rm "$tree/src/tasks/task.cc"
echo '#include "error.h"' >"$tree/src/train/trainer.cc"
expect fail 'by its path from src/' "$layers" "$tree/src"
echo '#include "heed.h"' >"$tree/src/train/trainer.cc"
expect fail 'the umbrella header is for users' "$layers" "$tree/src"
echo '#include "fmt/format.h"' >"$tree/src/train/trainer.cc"
expect fail 'is in no layer' "$layers" "$tree/src"
echo '#include "cli/main.h"' >"$tree/src/heed.h"
expect fail 'the umbrella header may not include' "$layers" "$tree/src"
echo '' >"$tree/src/web/page.cc"
expect fail 'folder "web" has no layer' "$layers" "$tree/src"

sizes="$root/tools/check-sizes.sh"
new_tree
{ echo 'void f() {' && lines 58 && echo '}'; } >"$tree/src/base/f.cc"
expect pass "1 files" "$sizes" "$tree"
{ echo 'void f() {' && lines 59 && echo '}'; } >"$tree/src/base/f.cc"
expect fail "src/base/f.cc:1: 61 lines, at most 60 are allowed: void f()" "$sizes" "$tree"
{
  printf 'namespace a {\nclass B {\n public:\n'
  printf '  template <typename T>\n  T g(const T& x,\n      int y = 1) const requires Number<T> {\n' && lines 70 && echo '  }'
  printf '};\n}  // namespace a\n'
} >"$tree/src/base/f.cc"
expect fail "src/base/f.cc:4: 74 lines" "$sizes" "$tree"
{ echo 'const auto kRun = [](int x) -> int {' && lines 70 && echo '};'; } >"$tree/src/base/f.cc"
expect fail "src/base/f.cc:1: 72 lines" "$sizes" "$tree"
{ echo 'const bool kDone = add("run", [](int x) {' && lines 70 && echo '});'; } >"$tree/src/base/f.cc"
expect fail "src/base/f.cc:1: 72 lines" "$sizes" "$tree"
{ echo 'A::A(int b) : b_(b), c_{b} {' && lines 70 && echo '}'; } >"$tree/src/base/f.cc"
expect fail "src/base/f.cc:1: 72 lines" "$sizes" "$tree"
mkdir -p "$tree/tests/base"
mv "$tree/src/base/f.cc" "$work/long.cc"
{ echo 'TEST(A, B) {' && lines 70 && echo '}'; } >"$tree/tests/base/f_test.cc"
expect fail "tests/base/f_test.cc:1: 72 lines" "$sizes" "$tree"
# Long blocks that are no functions, and braces that are none.
{
  echo 'struct Options {' && for ((i = 0; i < 70; i++)); do echo "  int a$i{$i};  // {"; done && echo '};'
  echo 'const int kTable[] = {' && for ((i = 0; i < 70; i++)); do echo "  1'000, '{',"; done && echo '};'
  echo 'const char* const kText = R"x({{{' && for ((i = 0; i < 70; i++)); do echo '{"a": )"'; done && echo ')x";'
  echo "#define BODY(x) { \\" && for ((i = 0; i < 70; i++)); do echo "  x; { \\"; done && echo
  printf '#if A\nint h(int x) {\n#else\nint h(long x) {\n#endif\n  return x;\n}\n/* {\n{ */\nint k() { return 1; }\n'
} >"$tree/tests/base/f_test.cc"
expect pass "short enough" "$sizes" "$tree"
for ((i = 0; i < 601; i++)); do echo "// $i"; done >"$tree/src/base/long.h"
expect fail "src/base/long.h: 601 lines, at most 600 are allowed" "$sizes" "$tree"
new_tree
mkdir -p "$tree/src/data/text" # counts by itself
touch "$tree/src/data/"{1..30}.h "$tree/src/data/text/more.h"
expect pass "31 files" "$sizes" "$tree"
touch "$tree/src/data/31.h"
expect fail "src/data: 31 files, at most 30 are allowed" "$sizes" "$tree"

format="$root/tools/check-format.sh"
new_tree
echo 'int f(int* x) { return *x; }' >"$tree/src/base/f.cc"
expect pass "1 files" "$format" "$tree"
echo 'int f(int *x) {return *x;}' >"$tree/src/base/f.cc"
expect fail "src/base/f.cc:1" "$format" "$tree"
expect pass "" "$format" --fix "$tree"
expect pass "1 files" "$format" "$tree"

tidy="$root/tools/check-tidy.sh"
new_tree
expect fail "compile_commands.json" "$tidy" "$tree/build"
file=$tree/src/base/f.cc
cat >"$tree/build/compile_commands.json" <<END
[{"directory": "$tree", "command": "c++ -std=c++20 -c $file", "file": "$file"}]
END
echo 'int f(int* x) { return x != nullptr ? *x : 0; }' >"$file"
expect pass "1 files, 1 of them to look at" "$tidy" "$tree/build" "$file"
expect pass "1 files, 0 of them to look at" "$tidy" "$tree/build" "$file"
echo 'int f(int* x) { return x != 0 ? *x : 0; }' >"$file"
expect fail "modernize-use-nullptr" "$tidy" "$tree/build" "$file"
expect fail "modernize-use-nullptr" "$tidy" "$tree/build" "$file" # a failure is not remembered as a pass

# A changed header makes the files that include it come up again, and only those.
mkdir -p "$tree/tools"
cp "$tidy" "$tree/tools/"
own_tidy="$tree/tools/check-tidy.sh"
echo 'int g();' >"$tree/src/base/g.h"
printf '#include "base/g.h"\nint f() { return g(); }\n' >"$file"
echo 'int h() { return 1; }' >"$tree/src/base/h.cc"
cat >"$tree/build/compile_commands.json" <<END
[{"directory": "$tree", "command": "c++ -Winvalid-pch -include $tree/build/cmake_pch.hxx -std=c++20 -Isrc -c $file", "file": "$file"},
{"directory": "$tree", "command": "c++ -std=c++20 -Isrc -c $tree/src/base/h.cc", "file": "$tree/src/base/h.cc"}]
END
expect pass "2 files, 2 of them to look at" "$own_tidy" "$tree/build"
echo 'int g(); // more' >"$tree/src/base/g.h"
expect pass "2 files, 1 of them to look at" "$own_tidy" "$tree/build"
git_of_tree() { git -C "$tree" -c user.name=self-test -c user.email=self-test@localhost "$@"; }
git_of_tree init --quiet
echo build >"$tree/.gitignore"
git_of_tree add .
git_of_tree commit --quiet --message "first"
expect pass "0 files, 0 of them to look at" "$own_tidy" "$tree/build" --changed
echo 'int g(); // even more' >"$tree/src/base/g.h"
expect pass "1 files, 1 of them to look at" "$own_tidy" "$tree/build" --changed
printf '#include "base/g.h"\nint* f() { return 0; }\n' >"$file"
git_of_tree commit --quiet --all --message "second"
expect fail "modernize-use-nullptr" "$own_tidy" "$tree/build" --changed
expect fail "modernize-use-nullptr" "$own_tidy" "$tree/build" --changed # the commit is not remembered as a pass
printf '#include "base/g.h"\nint* f() { return nullptr; }\n' >"$file"
git_of_tree commit --quiet --all --message "third"
expect pass "1 files, 1 of them to look at" "$own_tidy" "$tree/build" --changed
expect pass "0 files, 0 of them to look at" "$own_tidy" "$tree/build" --changed

docs="$root/tools/check-docs.sh"
new_tree
mkdir "$tree/docs"
printf 'See [the docs](docs/use.md#more), `src/base`, `src/base/*.cc` and `tests/NAME_test.cc`.\n' >"$tree/README.md"
printf '# Use\n```\nf[0](missing.md);\n```\n' >"$tree/docs/use.md"
touch "$tree/src/base/f.cc"
expect pass "2 pages" "$docs" "$tree"
echo '[f](../src/f.h)' >>"$tree/docs/use.md"
expect fail "docs/use.md: links to ../src/f.h, which does not exist" "$docs" "$tree"
echo 'Take `recipes/demo.toml`.' >"$tree/docs/use.md"
expect fail "docs/use.md: names recipes/demo.toml, which does not exist" "$docs" "$tree"

deps="$root/tools/install-deps.sh"
expect pass "libdnnl-dev" "$deps" --list build
expect fail "tools/install-deps.sh build" "$deps" nonsense
expect fail "tools/install-deps.sh build" "$deps"

if ((failures > 0)); then
  echo "self-test: $failures expectations failed"
  exit 1
fi
echo "self-test: every check passes and fails where it should"
