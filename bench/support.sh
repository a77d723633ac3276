# Sourced by the comparisons with other programs, from the root of the repository: options, and reading results.
#
# parse_options "$@"   takes `--NAME VALUE` for each NAME in the array `option`, which holds the defaults, --json and
#                      --help; whatever else there is goes to the array `arguments`

die() { # status, text
  echo "${0##*/}: $2" >&2
  exit "$1"
}

declare -A option
arguments=() json=false
parse_options() {
  local name
  while [ $# -gt 0 ]; do
    name=${1#--}
    case $1 in
      --json) json=true ;;
      -h|--help) sed -n '2,$ { /^#/!q; s/^# \{0,1\}//p; }' "bench/${0##*/}"; exit 0 ;;
      --?*)
        [ -n "${option[$name]+known}" ] || die 2 "unknown option $1 (see --help)"
        [ $# -ge 2 ] || die 2 "$1 needs a value"
        option[$name]=$2
        shift
        ;;
      -*) die 2 "unknown option $1 (see --help)" ;;
      *) arguments+=("$1") ;;
    esac
    shift
  done
  for name in rounds reps threads lines; do
    [[ ${option[$name]-1} =~ ^[1-9][0-9]*$ ]] || die 2 "--$name ${option[$name]} is no positive number"
  done
}

find_heed() {
  heed=${HEED:-build/release/heed}
  [ -x "$heed" ] || die 1 "$heed is not built; run: cmake --preset release && cmake --build --preset release"
}

# Of two numbers; the first is empty at first.
best() { awk -v a="$1" -v b="$2" 'BEGIN {print (a == "" || b > a) ? b : a}'; }
least() { awk -v a="$1" -v b="$2" 'BEGIN {print (a == "" || b < a) ? b : a}'; }
# A number in the JSON object $line.
field() { sed -n "s/.*\"$1\":\([0-9.e+-]*\).*/\1/p" <<< "$line"; }
