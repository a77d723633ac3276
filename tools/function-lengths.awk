# Reports C++ functions longer than `limit` lines; with -v all=1 it prints the length of every function.
#
# Not a parser. It drops comments, literals and preprocessor lines, follows the braces, and decides from the text in
# front of an opening brace what the block is. Blocks inside a function belong to it; blocks inside namespaces and
# classes are looked at one by one. Alternatives of an #if all start from the braces open at the #if.

function strip_parens(text) {
  while (gsub(/\([^()]*\)/, "\001", text)) {
  }
  return text
}

function strip_template(text, i, n, depth, c) {
  while (text ~ /^[ ]*template[ ]*</) {
    n = length(text)
    depth = 0
    for (i = index(text, "<"); i <= n; i++) {
      c = substr(text, i, 1)
      if (c == "<") depth++
      if (c == ">" && --depth == 0) break
    }
    text = substr(text, i + 1)
  }
  return text
}

function is_lambda(text) {
  text = strip_parens(text)
  return text ~ /\[[^][]*\][ ]*(<[^<>]*>)?[ ]*\001[ ]*((mutable|noexcept|constexpr|HWY_ATTR)[ ]*)*(->[^;={}]*)?$/ ||
         text ~ /(^|[=(, ])\[[&=]?\][ ]*$/
}

# "scope" (namespace or class), "function" or "value" (an initialiser).
function kind_of(text, plain) {
  gsub(/[ \t]+/, " ", text)
  # `member_{1}`: formatted code puts a space in front of the brace of every block.
  if (text ~ /[A-Za-z0-9_>]$/) return "value"
  text = strip_template(text)
  sub(/^ +/, "", text)
  if (text ~ /(^| )namespace( |$)/) return "scope"
  if (text ~ /^extern *""? *$/) return "scope"
  gsub(/\[\[[^]]*\]\]/, "", text)
  if (text ~ /^(typedef |inline |static |constexpr )*(class|struct|union|enum) /) {
    plain = strip_parens(text)
    if (plain !~ /\001 *(const|noexcept|->.*)? *$/) return "scope"
  }
  if (is_lambda(text)) return "function"
  gsub(/operator *[^ (a-zA-Z]+/, "operator", text)
  gsub(/[=!<>]=/, "", text)
  plain = strip_parens(text)
  if (plain ~ /[=(]/ || plain ~ /(^| )return( |$)/) return "value"
  return plain ~ /\001/ ? "function" : "value"
}

function reset_head() {
  head = ""
  head_line = 0
}

function open_brace() {
  depth++
  if (inside) {
    kind[depth] = "inner"
    return
  }
  kind[depth] = kind_of(head)
  saved_head[depth] = head
  saved_line[depth] = head_line
  if (kind[depth] == "function") {
    inside = depth
    name = head
    start = head_line ? head_line : FNR
  }
  reset_head()
}

function finish_function(lines, note) {
  lines = FNR - start + 1
  note = (lines > limit) ? ", at most " limit " are allowed" : ""
  gsub(/[ \t\001]+/, " ", name)
  sub(/^ +/, "", name)
  functions++
  if (note || all) {
    printf "%s:%d: %d lines%s: %s\n", path, start, lines, note, substr(name, 1, 70)
  }
  if (note) bad = 1
}

function close_brace(was) {
  if (depth == 0) return
  was = kind[depth]
  if (was == "function") {
    finish_function()
    inside = 0
  }
  if (was != "inner") {
    # After an initialiser the statement goes on: `int x{1}, f = [] {`.
    if (was == "value") {
      head = saved_head[depth] " "
      head_line = saved_line[depth]
    } else {
      reset_head()
    }
  }
  depth--
}

function preprocessor(line) {
  sub(/^[ \t]*#[ \t]*/, "", line)
  if (line ~ /^if/) {
    ifs++
    if_depth[ifs] = depth
    if_inside[ifs] = inside
  } else if (line ~ /^el/ && ifs > 0) {
    depth = if_depth[ifs]
    inside = if_inside[ifs]
    if (!inside) reset_head()
  } else if (line ~ /^endif/ && ifs > 0) {
    ifs--
  }
}

function start_raw_string(line, i, rest) {
  rest = substr(line, i + 1)
  raw_end = ")" substr(rest, 1, index(rest, "(") - 1) "\""
}

# The position after the literal that starts at i with the given quote.
function skip_literal(line, i, quote, n, c) {
  n = length(line)
  for (i++; i <= n; i++) {
    c = substr(line, i, 1)
    if (c == "\\") i++
    else if (c == quote) return i + 1
  }
  return n + 1
}

# The line without comments and the contents of literals.
function clean(line, out, i, n, c, two, before, close_at) {
  out = ""
  n = length(line)
  for (i = 1; i <= n;) {
    if (in_comment) {
      close_at = index(substr(line, i), "*/")
      if (!close_at) return out
      i += close_at + 1
      in_comment = 0
      continue
    }
    if (raw_end != "") {
      close_at = index(substr(line, i), raw_end)
      if (!close_at) return out
      i += close_at + length(raw_end) - 1
      raw_end = ""
      continue
    }
    c = substr(line, i, 1)
    two = substr(line, i, 2)
    before = i > 1 ? substr(line, i - 1, 1) : " "
    if (two == "//") return out
    if (two == "/*") {
      in_comment = 1
      i += 2
    } else if (c == "\"" && before == "R") {
      start_raw_string(line, i)
      i += length(raw_end)
      out = out "\"\""
    } else if (c == "\"") {
      i = skip_literal(line, i, "\"")
      out = out "\"\""
    } else if (c == "'" && before !~ /[0-9a-fA-F]/) {
      i = skip_literal(line, i, "'")
      out = out "0"
    } else {
      out = out c
      i++
    }
  }
  return out
}

FNR == 1 {
  path = FILENAME
  if (index(path, root) == 1) path = substr(path, length(root) + 1)
  depth = inside = ifs = in_comment = continued = 0
  raw_end = ""
  reset_head()
}

{
  if (continued) {
    continued = ($0 ~ /\\$/)
    next
  }
  if (!in_comment && raw_end == "" && $0 ~ /^[ \t]*#/) {
    preprocessor($0)
    continued = ($0 ~ /\\$/)
    next
  }
  text = clean($0)
  # Braces and semicolons are the only characters that matter; the text between them is taken whole.
  while (match(text, /[{};]/)) {
    before_mark = substr(text, 1, RSTART - 1)
    mark = substr(text, RSTART, 1)
    text = substr(text, RSTART + 1)
    if (!inside) {
      if (!head_line && before_mark ~ /[^ \t]/) head_line = FNR
      head = head before_mark
    }
    if (mark == "{") open_brace()
    else if (mark == "}") close_brace()
    else if (!inside) reset_head()
  }
  if (!inside && text ~ /[^ \t]/) {
    # An access label is not part of the declaration after it.
    if (text ~ /^ *(public|protected|private) *: *$/) next
    if (!head_line) head_line = FNR
    head = head text " "
  }
}

END { exit bad }
