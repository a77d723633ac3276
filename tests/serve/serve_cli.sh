#!/usr/bin/env bash
# `heed serve` from end to end: makes tiny models of every kind, serves them all, and asks as users do, with curl and,
# if node is there, with the checks beside this file.
# Usage: tests/serve/serve_cli.sh HEED MUSIC_FOLDER RECIPES
set -Eeuo pipefail
here=$(cd "$(dirname "$0")" && pwd)
music_folder=$(realpath "$2")
recipes=$(realpath "$3")
. "$here/../cli/support.sh"
. "$here/tiny_models.sh"
if ! command -v curl > /dev/null; then
  echo "skipped: curl is not installed"
  exit 0
fi

# --- Asking

ask() { # expected status, path, curl's options...; the answer is in answer.json, its head in head.txt
  local expected=$1 path=$2 status
  shift 2
  status=$(curl -sS -o answer.json -D head.txt -w '%{http_code}' --max-time 60 "$@" "$base$path") || true
  [ "$status" = "$expected" ] || fail "$path $*: status $status, expected $expected: $(head -c 300 answer.json)"
}
has() { # text
  grep -qF -- "$1" answer.json || fail "expected \"$1\" in $(head -c 300 answer.json)"
}
has_header() { # text, without regard to case
  grep -qiF -- "$1" head.txt || fail "expected the header \"$1\" in $(cat head.txt)"
}

start --model language --model masked --model classes --model en-de=pairs --model stories --model piano --model harmonise \
  --model digits --model larger --run pairs
ask 200 /ready
ask 200 /health
has '"status":"ok"'
has '"models":9'
ask 200 /v1/models
for id in language masked classes en-de piano harmonise digits larger; do
  has "\"id\":\"$id\""
done
ask 200 /v1/models/en-de
has '"abilities":["attention","translate"]'
has '"source":"en"'
for id in language masked classes en-de; do # what a model was trained on is what it can be tried with
  ask 200 /v1/models/$id
  ! grep -qF '"examples":[]' answer.json || fail "$id has no examples"
done
has '"parameters":'
ask 404 /v1/models/none
has '"code":"model_not_found"'
ask 200 /openapi.json
has '"openapi"'
ask 200 /metrics
has 'heed_slots_busy{model="language"} 0'
ask 200 /
has_header "content-security-policy: default-src 'none'"
has_header "x-content-type-options: nosniff"
ask 200 / -I

# texts
ask 200 /v1/completions -d '{"prompt": "the cat", "max_tokens": 12, "seed": 7}'
has '"object":"text_completion"'
first=$(sed 's/.*"text":\("[^"]*"\).*/\1/' answer.json)
greedy_text() { # what /v1/completions says without sampling
  ask 200 /v1/completions -d '{"prompt": "the cat", "max_tokens": 20, "temperature": 0}'
  sed 's/.*"text":\("[^"]*"\).*/\1/' answer.json
}
undrafted=$(greedy_text)
ask 200 /v1/completions -d '{"prompt": ["a", "the cat"], "n": 2, "max_tokens": 12, "seed": 7}'
has "$first"
has '"index":3'
ask 200 /v1/completions -N \
  -d '{"prompt": "the cat", "max_tokens": 5, "stream": true, "stream_options": {"include_usage": true}}'
has_header "content-type: text/event-stream"
has '"completion_tokens":'
expect "end of a stream" "data: [DONE]" "$(grep . answer.json | tail -n 1)"
ask 200 /v1/completions -d '{"prompt": "the", "max_tokens": 3, "logprobs": 2}'
has '"token_logprobs":['
ask 200 /v1/embeddings -d '{"model": "masked", "input": ["the cat", "a dog"]}'
has '"index":1'
ask 200 /v1/embeddings -d '{"model": "masked", "input": "the cat", "encoding_format": "base64", "pooling": "cls"}'
has '"embedding":"'
ask 200 /v1/classify -d '{"text": "the cat"}'
has '"label":"'
ask 200 /v1/classify -d '{"texts": ["the cat", "a dog", ""]}'
expect "results" 3 "$(grep -o '"scores":\[' answer.json | wc -l)"
ask 200 /v1/answer -d '{"facts": ["the cat ran", "a dog"], "question": ["who ran?", "who?"], "attention": true, "top": 1}'
expect "answers" 2 "$(grep -o '"answers":\[' answer.json | wc -l)"
has '"pondering":{'
ask 200 /v1/fill -d '{"text": "the [MASK] saw a [MASK]", "top": 2}'
expect "words" 4 "$(grep -o '"word":' answer.json | wc -l)"
for model in language masked en-de; do
  ask 200 /v1/attention -d "{\"model\": \"$model\", \"text\": \"abc\"}"
  has '"maps":[{'
done
ask 400 /v1/attention -d "{\"model\": \"language\", \"text\": \"$(head -c 300 /dev/zero | tr '\0' a)\"}"
ask 200 /v1/attention -d "{\"model\": \"language\", \"crop\": true, \"text\": \"$(head -c 300 /dev/zero | tr '\0' a)\"}"
has '"queries":256'
has '"left_out":44'
ask 200 /translate -d '{"q": "abc", "source": "en", "target": "de", "alternatives": 2}'
has '"translatedText":"'
has '"alternatives":["'
ask 200 /translate -d '{"q": ["abc", ""]}'
has '"translatedText":["'
ask 200 /translate -d '{"q": "abc", "decoding": "greedy", "trace": true}'
greedy=$(sed 's/.*"translatedText":"\([^"]*\)".*/\1/' answer.json)
expect "the last pass" "$greedy" "$(sed 's/.*\[\([^]]*\)\]\].*/\1/; s/[",]//g' answer.json)"
ask 200 /translate -d '{"q": ["abc", ""], "trace": true, "beam": 2}'
has '"trace":[[['
ask 400 /translate -d '{"q": "abc", "decoding": "refine"}'
has 'it can do: greedy, beam'
has '"param":"decoding"'
ask 400 /translate -d '{"q": "abc", "decoding": "faster"}'
has 'expected one of greedy, beam'
ask 400 /translate -d '{"q": "abc", "decoding": "greedy", "beam": 2}'
has 'beam is 2, expected nothing: decoding greedy has no beam'
ask 400 /translate -d '{"q": "abc", "iterations": 2}'
has '"param":"iterations"'
ask 400 /translate -d '{"q": "abc", "decoding": "greedy", "alternatives": 1}'
has 'alternatives is 1, expected 0: decoding greedy finds one translation'
ask 400 /translate -d '{"q": ["a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a"], "trace": true}'
has 'at most 16 with trace'
ask 200 /v1/models/en-de
has '"decoding":"beam"'
has '"name":"greedy"'
ask 200 /languages
has '"code":"en"'
has '"targets":["de"]'

# music and images
ask 200 /v1/music/continue \
  -d '{"notes": [{"start": 0, "end": 0.5, "pitch": 60}], "seconds": 2, "seed": 3, "attention": true}'
has '"motif_end":0.'
has '"attention":{'
sed 's/.*"midi":"\([^"]*\)".*/\1/' answer.json | base64 -d > piece.mid
expect "MIDI" "MThd" "$(head -c 4 piece.mid)"
"$heed" music info piece.mid > /dev/null || fail "the piece is no MIDI file"
ask 200 /v1/music/continue -d "{\"midi\": \"$(base64 -w 0 piece.mid)\", \"max_tokens\": 20, \"stream\": true}"
has '"motif_end"'
ask 200 /v1/music/accompany -d '{"notes": [{"start": 0, "end": 1, "pitch": 72}, {"start": 1, "end": 2, "pitch": 74}]}'
has '"duration":'
ask 200 /v1/image/sample -d '{"model": "digits", "count": 2, "class": 3, "seed": 1}'
cp answer.json drawn.json
png=$(sed 's/.*"images":\["\([^"]*\)".*/\1/' answer.json)
base64 -d <<< "$png" > drawn.png
expect "PNG" "PNG" "$(head -c 4 drawn.png | tail -c 3)"
ask 200 /v1/image/sample -d '{"model": "digits", "count": 2, "class": 3, "seed": 1}'
cmp -s answer.json drawn.json || fail "the same seed draws other images"
ask 200 /v1/image/complete -d "{\"model\": \"digits\", \"png\": \"$png\", \"rows_given\": 12}"
has "$png"
ask 200 /v1/image/upscale -d "{\"model\": \"larger\", \"png\": \"$png\", \"stream\": true}"
has '"images":['
ask 200 /v1/runs
has '"name":"pairs"'
ask 200 /v1/runs/pairs
has '"metrics":[{'
has '"state":"finished"'
has '"label_smoothing":0.0'

# what is wrong
ask 400 /v1/completions -d '{"prompt": "a", "max_tokens": -3}'
has '"param":"max_tokens"'
has '"message":"max_tokens is -3, expected a whole number from 0 to 4096"'
ask 400 /v1/completions -d '{"promt": "a"}'
has '"code":"unknown_field"'
ask 400 /v1/completions -d '{"prompt": "a"'
has '"code":"invalid_json"'
ask 400 /v1/completions -d '{"model": "masked", "prompt": "a"}'
has '"code":"wrong_model"'
ask 400 /v1/completions -d "{\"prompt\": \"$(head -c 400 /dev/zero | tr '\0' a)\"}"
has '"code":"context_length_exceeded"'
ask 404 /v1/completions -d '{"model": "none", "prompt": "a"}'
ask 400 /v1/fill -d '{"text": "no mask"}'
for request in '/v1/completions {"prompt": "' '/v1/embeddings {"input": "' '/v1/classify {"text": "' '/v1/attention {"text": "'; do
  { printf '%s' "${request#* }" && head -c 1100000 /dev/zero | tr '\0' a && printf '"}'; } > long.json
  ask 400 "${request%% *}" --data-binary @long.json
  has 'a text of 1100000 bytes, expected at most 1048576 bytes'
done
ask 400 /translate -d '{"q": "abc", "source": "de", "target": "en"}'
has '"code":"unsupported_language"'
ask 400 /v1/image/upscale -d "{\"model\": \"digits\", \"png\": \"$png\"}"
ask 400 /v1/music/continue -d '{"midi": "bm8gbXVzaWM="}'
ask 400 /v1/image/complete -d '{"model": "digits", "png": "bm8gcGljdHVyZQ=="}'
ask 404 /none
ask 404 /studio/../../../etc/passwd --path-as-is
ask 404 /v1/runs/none
ask 405 /v1/completions
has_header "allow: POST"
ask 405 /v1/models -X DELETE
head -c 9000000 /dev/zero | tr '\0' ' ' > large.txt
ask 413 /v1/completions --data-binary @large.txt
ask 403 /health -H 'Host: example.org'
ask 403 /v1/completions -H 'Origin: https://example.org' -d '{"prompt": "a"}'
ask 403 /v1/completions -X OPTIONS -H 'Origin: https://example.org'
! grep -qi '^access-control' head.txt || fail "CORS without --allow-origin"
ask 200 /health

if command -v node > /dev/null && [ "$(node -p 'process.versions.node.split(".")[0]')" -ge 18 ]; then
  node "$here/malformed.mjs" "$base" --count 200 --no-slow > check.log 2>&1 || fail "$(cat check.log)"
  node "$here/leave.mjs" "$base" --clients 60 --slack 16 > check.log 2>&1 || fail "$(cat check.log)"
  node "$here/company.mjs" "$base" --rounds 1 > check.log 2>&1 || fail "$(cat check.log)"
  node "$here/idle.mjs" "$base" > check.log 2>&1 || fail "$(cat check.log)"
fi

kill -TERM "$server"
status=0
wait "$server" || status=$?
server=
expect "status after SIGTERM" 0 "$status"

# keys, and pages of another origin
printf '# who may ask\nsecret-1\n\nsecret-2\n' > keys.txt
start --model language --api-key-file keys.txt --allow-origin https://example.org
ask 200 /health
ask 200 /ready
ask 200 /
ask 401 /v1/models
has '"code":"invalid_api_key"'
has_header "www-authenticate: Bearer"
ask 401 /v1/models -H 'Authorization: Bearer secret-3'
ask 401 /metrics
ask 200 /v1/models -H 'Authorization: Bearer secret-1'
has_header "access-control-allow-origin: https://example.org"
ask 200 /metrics -H 'x-api-key: secret-2'
ask 204 /v1/completions -X OPTIONS -H 'Origin: https://example.org' -H 'Access-Control-Request-Method: POST'
ask 200 /v1/completions -H 'Origin: https://example.org' -H 'x-api-key: secret-1' -d '{"prompt": "a", "max_tokens": 1}'
ask 403 /v1/completions -H 'Origin: https://elsewhere.org' -H 'x-api-key: secret-1' -d '{"prompt": "a"}'
end_server

# a draft runs ahead, and changes nothing
start --model language --draft language=language
expect "a greedy text with a draft" "$undrafted" "$(greedy_text)"
ask 200 /v1/completions -d '{"prompt": ["a", "the cat"], "n": 2, "max_tokens": 12, "seed": 7}'
has '"index":3'
end_server

# one slot: those without room are refused at once; those that wait when the server stops are told so
flood() { # how many, of how many texts each, stop; statuses are in statuses.txt
  rm -f status-*.txt
  local i pids=()
  for ((i = 0; i < $1; i++)); do
    curl -s -o /dev/null -D "head-$i.txt" -w '%{http_code}\n' --max-time 60 "$base/v1/completions" \
      -d "{\"prompt\": \"the\", \"max_tokens\": 4096, \"temperature\": 2, \"n\": $2}" > "status-$i.txt" &
    pids+=($!)
  done
  [ $# -lt 3 ] || { sleep 0.3; kill -TERM "$server"; }
  wait "${pids[@]}" || true
  sort status-*.txt | uniq -c > statuses.txt
}
start --model language --slots 1 --queue 0
flood 12 1
grep -q ' 200$' statuses.txt || fail "nobody is answered: $(cat statuses.txt)"
grep -q ' 429$' statuses.txt || fail "nobody is refused: $(cat statuses.txt)"
grep -qi '^retry-after: 1' head-*.txt || fail "429 without Retry-After"
! grep -qE ' (5..|000)$' statuses.txt || fail "other answers: $(cat statuses.txt)"
ask 400 /v1/completions -d '{"prompt": "a", "n": 2}'
end_server
start --model language --slots 1 --queue 2000
flood 30 60 stop
status=0
wait "$server" || status=$?
server=
expect "status after SIGTERM under load" 0 "$status"
grep -q ' 503$' statuses.txt || fail "nobody who waits is told that the server stops: $(cat statuses.txt)"
! grep -qE ' (500|4..)$' statuses.txt || fail "other answers: $(cat statuses.txt)"
grep -qi '^retry-after: 1' head-*.txt || fail "503 without Retry-After"

# a server that drains answers everything, but is not ready; a second signal ends it
start --model language --drain 3 --grace 5
ask 200 /ready
has '"status":"ready"'
ask 200 /v1/completions -d '{"prompt": "a", "max_tokens": 1}'
! grep -qi '^connection: close' head.txt || fail "connections are closed before SIGTERM"
kill -TERM "$server"
for ((i = 0; i < 20; i++)); do
  [ "$(curl -s -o /dev/null -w '%{http_code}' "$base/ready")" = 200 ] || break
  sleep 0.1
done
ask 503 /ready
has '"code":"stopping"'
has_header "retry-after: 1"
ask 200 /health
ask 200 /v1/completions -d '{"prompt": "a", "max_tokens": 1}'
has_header "connection: close"
status=0
wait "$server" || status=$?
server=
expect "status after draining" 0 "$status"
! curl -s --max-time 5 "$base/health" > /dev/null || fail "it still answers"
grep -qxF "draining: requests are answered for another 3 s" server.log || fail "it does not say that it drains: $(cat server.log)"
start --model language --drain 60
kill -TERM "$server"
sleep 0.3
kill -TERM "$server"
status=0
wait "$server" || status=$?
server=
expect "status after two signals" 130 "$status"

# a stream that still waits for a slot when the server stops has not begun, so it can be sent elsewhere
start --model language --slots 1 --queue 200
curl -s -o /dev/null --max-time 60 "$base/v1/completions" -d '{"prompt": ["the", "a"], "max_tokens": 4096, "n": 60, "temperature": 0}' &
crowd=$!
sleep 0.3
curl -sN -o stream.txt -w '%{http_code}' --max-time 60 "$base/v1/completions" -d '{"prompt": "the", "stream": true}' > status.txt &
stream=$!
sleep 0.3
kill -TERM "$server"
wait $crowd $stream || true
wait "$server" || fail "the server ends with status $?"
server=
expect "status of a stream that had not begun" 503 "$(cat status.txt)"

# the log: a line for each request, no keys and no prompts, written to its end when the server stops
start --model language --api-key-file keys.txt --log access.log
grep -qF "loading model language from language ..." server.log || fail "it does not say what it loads: $(cat server.log)"
ask 200 /v1/completions -H 'x-api-key: secret-1' -H 'X-Request-Id: mine-1' \
  -d '{"prompt": "the cat", "max_tokens": 3, "seed": 1}'
has_header "x-request-id: mine-1"
ask 401 '/v1/models?q=private' -H 'x-api-key: secret-9'
has "\"request_id\":\"$(tr -d '\r' < head.txt | sed -n 's/^X-Request-Id: //p')\""
ask 404 '/a%0Ab%20c' -H 'x-api-key: secret-1'
mv access.log access.1.log
kill -HUP "$server"
for ((i = 0; i < 100; i++)); do
  [ ! -e access.log ] || break
  sleep 0.1
done
ask 200 /health
kill -INT "$server"
wait "$server" || fail "the server ends with status $?"
server=
number='[0-9.]*'
grep -qxE "$number-$number-[0-9T:.]*Z 127.0.0.1 POST /v1/completions 200 $number $number language 7 3 mine-1" access.1.log ||
  fail "no line of the completion: $(cat access.1.log)"
grep -qE " GET /v1/models 401 $number $number - - - [0-9a-f]{16}$" access.1.log || fail "no 401: $(cat access.1.log)"
grep -qF " GET /a%0Ab%20c 404 " access.1.log || fail "no escaped path: $(cat access.1.log)"
expect "lines before the log was opened again" 3 "$(wc -l < access.1.log)"
grep -qF " GET /health 200 " access.log || fail "no line after the log was opened again"
! grep -qE "secret|private|the cat" access.log access.1.log server.log || fail "secrets in a log"
start --model language --log - --log-format json
ask 200 /health
end_server
grep -qE '^\{"bytes":[0-9]+,.*"path":"/health".*"status":200' server.log || fail "no JSON: $(cat server.log)"

# what cannot be served
expect_failure "cannot load model absent from no-such-folder: " "$heed" serve --model absent=no-such-folder --port 0
expect_failure "cannot load model empty from ./empty: " "$heed" serve --model ./empty --port 0
expect_failure "there is nothing to serve" "$heed" serve --port 0
expect_failure "two models are named language" "$heed" serve --model language --model language=piano --port 0
for model in =language language= =; do
  expect_failure "--model is $model, expected [NAME=]DIR" "$heed" serve --model "$model" --port 0
done
: > empty.txt
expect_error "empty.txt has no key" "$heed" serve --model language --api-key-file empty.txt --port 0
printf 'a key with spaces\n' > spaces.txt
expect_error "an API key contains a space" "$heed" serve --model language --api-key-file spaces.txt --port 0
expect_error "no-such-keys.txt" "$heed" serve --model language --api-key-file no-such-keys.txt --port 0
expect_error "cannot write the log no-such-folder/a.log: No such file" "$heed" serve --model language --log no-such-folder/a.log
expect_failure "--log-format" "$heed" serve --model language --log-format xml
expect_failure "--port" "$heed" serve --model language --port 70000
grep -qF 65535 err.txt || fail "--port 70000: $(cat err.txt)"
expect_error "allow_origin is example.org, expected * or an origin such as https://example.org" \
  "$heed" serve --model language --allow-origin example.org --port 0
expect_error "no-such-folder is not a run folder" "$heed" serve --run no-such-folder --port 0
expect_error "two runs are named pairs" "$heed" serve --run pairs --run ./pairs --port 0
start --model language
port=${base##*:}
expect_error "cannot listen on 127.0.0.1:$port: port $port is already in use; choose another one with --port N" \
  "$heed" serve --model language --port "$port"

exit $failed
