#!/usr/bin/env bash
# `heed data`, and what `heed train` says about data that is missing. What is fetched comes from a server on this machine,
# which needs python3.
# Usage: tests/cli/data_cli.sh HEED RECIPES
set -Eeuo pipefail
recipes=$(realpath "$2")
here=$(realpath "$(dirname "$0")")
shared=${HEED_DATA:-$here/../../../shared/data}
. "$here/support.sh"
unset HEED_DATA HEED_DATA_MIRROR
mkdir work
cd work # whatever lies beside the temporary folder, there is no ../shared/data

# Missing data: what to set, and which command gets it
m30k=$recipes/translation/multi30k.toml
expect_error "data.source names data/multi30k/train.en.gz, which does not exist; HEED_DATA is not set: set it to the folder that \
holds multi30k, or run \`heed data get multi30k\`, which fetches it into data" "$heed" train "$m30k"
for check in "" --check; do
  HEED_DATA=$folder/d expect_error "[$m30k] data.source names $folder/d/multi30k/train.en.gz, which does not exist; \`heed data get \
multi30k\` fetches it into HEED_DATA, which is $folder/d; or set HEED_DATA to the folder that holds multi30k" \
    "$heed" train "$m30k" $check
done
[ ! -e runs ] || fail "a run folder was made for a recipe without data"
expect_error "\`tools/debian-corpus.sh it corpora/debian-it\` makes it" "$heed" train "$recipes/translation/debian-en-it.toml"
expect_error "\`heed data get cifar10\`" "$heed" train "$recipes/images/cifar.toml"
expect_error "\`heed data get ptb --output $folder\` fetches it" \
  "$heed" train "$recipes/language/ptb.toml" --set data.text="[\"$folder/ptb/x\"]"
expect_error "HEED_DATA is not set: set it to the folder that holds mine" \
  "$heed" train "$recipes/language/ptb.toml" --set data.text='["${HEED_DATA}/mine/x"]'

# list
"$heed" data list > list.txt
grep -q '^multi30k  *1\.3 MB  29,000 captions .*; licence: non-commercial' list.txt || fail "list says $(cat list.txt)"
grep -q '^debian-it  *-  ' list.txt || fail "list says $(cat list.txt)"
grep -q '^Sets lie in data; HEED_DATA names another folder' list.txt || fail "list says $(cat list.txt)"
"$heed" data list cifar10 > list.txt
grep -qF 'https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz' list.txt || fail "list cifar10 says $(cat list.txt)"
grep -qF 'c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd' list.txt || fail "list cifar10 has no checksum"
"$heed" data list wmt14 > list.txt
grep -q 'size unknown, SHA-256 unknown' list.txt || fail "list wmt14 hides what is not known"
"$heed" data list debian-it > list.txt
grep -q 'made by  tools/debian-corpus.sh it' list.txt || fail "list debian-it does not say how it is made"
for options in "" --json; do
  expect_error "there is no set cifar; did you mean cifar10?" "$heed" data list cifar $options
done
expect_error "there is no set mnits; did you mean mnist?" "$heed" data get ptb mnits
expect_error "debian-it is not fetched but made: run tools/debian-corpus.sh it corpora/debian-it" "$heed" data get debian-it

if ! command -v python3 > /dev/null; then
  echo "skipped: no python3 to serve files with"
  exit $failed
fi
"$heed" data list --json | python3 -c 'import json, sys; assert len(json.load(sys.stdin)) > 10' || fail "--json is not JSON"
mkdir mirror
servers=()
trap 'kill "${servers[@]}" 2> /dev/null; rm -rf "$folder"' EXIT
serve() { # the file that gets its port, its log, and a certificate for TLS
  python3 "$here/data_server.py" mirror "$@" &
  servers+=($!)
  for ((i = 0; i < 100; i++)); do
    [ ! -e "$1" ] || break
    sleep 0.1
  done
}
serve port log
url=http://127.0.0.1:$(cat port)

status=0
"$heed" data get wmt14 --output data --url "$url" > out.txt 2> err.txt || status=$?
if grep -q libcurl err.txt; then
  echo "skipped: $(cat err.txt)"
  exit $failed
fi
grep -qF "heed: [download] $url/wmt14/train.en: the server answers 404" err.txt || fail "a missing file: $(cat err.txt)"
expect "status of a missing file" 1 $status

# get, of files whose checksum is not known
mkdir mirror/wmt14
for language in en de; do
  for name in train newstest2013 newstest2014; do
    seq 5000 | sed "s/$/ $name $language/" > mirror/wmt14/$name.$language
  done
done
HEED_DATA=data HEED_DATA_MIRROR=$url/ "$heed" data get wmt14 > out.txt 2> err.txt || fail "get: $(cat err.txt)"
cmp mirror/wmt14/newstest2013.de data/wmt14/newstest2013.de || fail "newstest2013.de differs"
zcat data/wmt14/train.en.gz | cmp - mirror/wmt14/train.en || fail "train.en.gz differs"
expect "warnings of unknown checksums" 6 "$(grep -c 'warning: the checksum of' err.txt)"
sum=$(sha256sum mirror/wmt14/train.en)
grep -qF "${sum%% *}" out.txt || fail "get does not say the checksum: $(cat out.txt)"
grep -qF "${sum%% *}" data/wmt14/fetched.json || fail "get does not record the checksum"
expect "files" "fetched.json newstest2013.de newstest2013.en newstest2014.de newstest2014.en train.de.gz train.en.gz" \
  "$(cd data/wmt14 && echo *)"
"$heed" data list > list.txt
grep -q '^wmt14  *yes' list.txt || fail "list does not see what was fetched"
: > log
HEED_DATA_MIRROR=$url "$heed" data get wmt14 > out.txt
expect "requests for what is there" 0 "$(wc -l < log)"
expect "lines about what is there" 6 "$(grep -c 'there already' out.txt)"

# A wrong checksum, or size: nothing gets its name
mkdir mirror/tinyshakespeare
head -c 1115394 /dev/zero > mirror/tinyshakespeare/input.txt
sum=$(sha256sum mirror/tinyshakespeare/input.txt)
expect_failure "has the SHA-256 ${sum%% *}, expected 86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed" \
  "$heed" data get tinyshakespeare --url "$url"
expect "files after a wrong checksum" "" "$(ls data/tinyshakespeare)"
echo short > mirror/tinyshakespeare/input.txt
expect_failure "has 6 bytes, expected 1115394" "$heed" data get tinyshakespeare --url "$url"
[ ! -e data/tinyshakespeare/input.txt ] || fail "a file of the wrong size got its name"

# Archives
commit=afc815c75c42e83a79c03feb6da8a35e77d4c6b8
mkdir -p mirror/asap-piano "asap-dataset-$commit/Bach/Fugue"
echo a > "asap-dataset-$commit/Bach/Fugue/Shi05M.mid"
echo b > "asap-dataset-$commit/Bach/Fugue/midi_score.mid"
echo c > "asap-dataset-$commit/README.md"
tar -czf mirror/asap-piano/$commit.tar.gz asap-dataset-$commit
"$heed" data get asap-piano --url "$url" > out.txt 2> err.txt || fail "get asap-piano: $(cat err.txt)"
expect "files of the tar" "Bach/Fugue/Shi05M.mid fetched.json" "$(cd data/asap-piano && find . -type f | sed 's,^\./,,' | sort | xargs)"
mkdir mirror/tatoeba-manythings
echo 'no zip' > mirror/tatoeba-manythings/deu-eng.zip
expect_failure "is not a zip archive, or it is cut off" "$heed" data get tatoeba-manythings --url "$url"
[ ! -e data/tatoeba-manythings/deu-eng.2018-04-07.tsv.gz ] || fail "a file of a bad archive got its name"
python3 -c 'import zipfile
with zipfile.ZipFile("mirror/tatoeba-manythings/deu-eng.zip", "w", zipfile.ZIP_DEFLATED) as z: z.writestr("deu.txt", "Go.\tGeh.\n")'
expect_failure "deu.txt has the SHA-256" "$heed" data get tatoeba-manythings --url "$url"

# Ctrl-C leaves what came, and the next call fetches the rest
touch mirror/slow
seq 100000 > mirror/wmt14/train.en
status=0
"$heed" data get wmt14 --output again --url "$url" > out.txt 2> err.txt &
for ((i = 0; i < 100; i++)); do
  [ ! -s again/wmt14/train.en.part ] || break
  sleep 0.1
done
kill -INT $!
wait $! || status=$?
rm mirror/slow
expect "status after Ctrl-C" 130 $status
grep -qx 'stopped; run the same command again to continue' err.txt || fail "Ctrl-C: $(cat err.txt)"
came=$(stat -c %s again/wmt14/train.en.part)
[ "$came" -gt 0 ] && [ "$came" -lt "$(stat -c %s mirror/wmt14/train.en)" ] || fail "$came bytes came before Ctrl-C"
: > log
"$heed" data get wmt14 --output again --url "$url" > out.txt 2> err.txt || fail "after Ctrl-C: $(cat err.txt)"
expect "the request after Ctrl-C" "/wmt14/train.en bytes=$came-" "$(head -n 1 log)"
zcat again/wmt14/train.en.gz | cmp - mirror/wmt14/train.en || fail "train.en.gz differs after Ctrl-C"

# A disk without room
status=0
(
  trap '' XFSZ
  ulimit -f 100
  "$heed" data get wmt14 --output full --url "$url" > out.txt 2> err.txt
) || status=$?
expect "status without room" 1 $status
grep -q 'cannot write full/wmt14/train.en.part: File too large; what came before is kept' err.txt || fail "no room: $(cat err.txt)"
[ ! -e full/wmt14/train.en.gz ] || fail "a file without room got its name"

# A certificate that nobody has signed
if command -v openssl > /dev/null; then
  openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1 \
    -keyout key.pem -out certificate.pem 2> /dev/null
  cat key.pem certificate.pem > both.pem
  serve tls_port tls_log both.pem
  expect_failure "SSL certificate problem" "$heed" data get wmt14 --output tls --url "https://127.0.0.1:$(cat tls_port)"
  [ ! -e tls_log ] || fail "something was asked of a server without a good certificate"
fi

# A real set, if it is here
if [ -e "$shared/multi30k/train.en.gz" ]; then
  ln -s "$(realpath "$shared/multi30k")" mirror/multi30k
  HEED_DATA=data "$heed" data get multi30k --url "$url" > out.txt 2> err.txt || fail "get multi30k: $(cat err.txt)"
  expect "checksums of multi30k" 6 "$(grep -c '(checked)' out.txt)"
  HEED_DATA=data "$heed" train --check "$m30k" > out.txt || fail "multi30k as fetched is not what the recipe wants"
else
  echo "skipped: no data at $shared/multi30k"
fi
exit $failed
