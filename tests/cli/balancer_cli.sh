#!/usr/bin/env bash
# Three `heed serve` behind HAProxy with deploy/haproxy.cfg, under load. Each server in turn is stopped with SIGTERM and
# started again: not one request fails. Then one is killed: nothing fails but what it was in the middle of answering, and
# sending that again helps.
# Usage: tests/cli/balancer_cli.sh HEED DEPLOY_FOLDER
set -Eeuo pipefail
here=$(cd "$(dirname "$0")" && pwd)
deploy=$(realpath "$2")
. "$here/support.sh"
for program in haproxy node curl; do
  if ! command -v $program > /dev/null; then
    echo "skipped: $program is not installed"
    exit 77
  fi
done
if [ "$(node -p 'process.versions.node.split(".")[0]')" -lt 18 ]; then
  echo "skipped: node is older than 18"
  exit 77
fi
export OMP_NUM_THREADS=1

drain=3 # seconds; HAProxy notices within 1.2, if the machine is not too busy
declare -a pids=() ports=(0 0 0)
balancer=
load=
end_all() {
  local pid
  for pid in $balancer $load "${pids[@]}"; do
    kill -KILL "$pid" 2> /dev/null || true
    wait "$pid" 2> /dev/null || true
  done
}
trap '[ $BASHPID != $$ ] || { end_all; rm -rf "$folder"; }' EXIT

wait_for() { # what, command...; at most 20 s
  local what=$1 i
  shift
  for ((i = 0; i < 200; i++)); do
    ! "$@" || return 0
    sleep 0.1
  done
  echo "failed: waited in vain for $what" >&2
  tail -n 5 server-*.log haproxy.log >&2 || true
  exit 1
}
listens() { grep -q '^listening on' "server-$1.log"; } # number
start() { # number; on the same port as before
  : > "server-$1.log"
  "$heed" serve --model language --port "${ports[$1]}" --drain $drain --grace 20 > /dev/null 2> "server-$1.log" &
  pids[$1]=$!
  wait_for "server $1" listens "$1"
  ports[$1]=$(sed -n 's|^listening on http://127.0.0.1:\([0-9]*\)/$|\1|p' "server-$1.log")
}

# What HAProxy counts: http://docs.haproxy.org/2.6/management.html#9.1
statistic() { # number of the server, column
  curl -s --max-time 5 "http://127.0.0.1:$stats_port/;csv" |
    awk -F, -v name="heed$(($1 + 1))" -v column="$2" '$1 == "heed" && $2 == name {print $column}'
}
status_is() { [[ "$(statistic "$1" 18)" == "$2"* ]]; } # number, UP or DOWN
repeated() { # retries and redispatches of all servers
  echo $(($(statistic 0 16) + $(statistic 1 16) + $(statistic 2 16) + $(statistic 0 17) + $(statistic 1 17) + $(statistic 2 17)))
}
start_load() { # name
  rm -f load.stop
  node "$here/balancer_load.mjs" "http://127.0.0.1:$port/" --connections 12 --seconds 60 --until load.stop > "$1.json" &
  load=$!
}
end_load() {
  touch load.stop
  wait $load || fail "the load ends with status $?"
  load=
}
of() { # name of a load, JavaScript expression of its result r
  node -p "const r = JSON.parse(require('fs').readFileSync('$1.json')); $2"
}

write_sentences
write_text_recipes 32 256
train_tiny language.toml language
for i in 0 1 2; do
  start $i
done
read -r port stats_port < <(node -e '
  const servers = [0, 0].map(() => require("net").createServer().listen(0, "127.0.0.1"));
  setImmediate(() => {
    console.log(servers.map((server) => server.address().port).join(" "));
    servers.forEach((server) => server.close());
  });')
# Only root can become another user.
sed '/^ *\(user\|group\) /d' "$deploy/haproxy.cfg" > haproxy.cfg
HEED_LISTEN=127.0.0.1:$port HEED_STATS=127.0.0.1:$stats_port HEED_SERVER_1=127.0.0.1:${ports[0]} \
  HEED_SERVER_2=127.0.0.1:${ports[1]} HEED_SERVER_3=127.0.0.1:${ports[2]} haproxy -db -f haproxy.cfg > haproxy.log 2>&1 &
balancer=$!
for i in 0 1 2; do
  wait_for "server $i behind HAProxy" status_is $i UP
done

# --- every server is restarted
start_load restarts
sleep 1
for i in 0 1 2; do
  kill -TERM "${pids[i]}"
  status=0
  wait "${pids[i]}" || status=$?
  expect "status of server $i after SIGTERM" 0 $status
  expect "what HAProxy says of server $i" DOWN "$(statistic $i 18 | cut -d ' ' -f 1)"
  start $i
  wait_for "server $i after its restart" status_is $i UP
done
sleep 1
end_load
[ "$(of restarts r.requests)" -gt 100 ] || fail "only $(of restarts r.requests) requests were sent"
expect "requests that failed while servers were restarted" "[]" "$(of restarts 'JSON.stringify(r.failed)')"
for i in 0 1 2; do
  [ "$(statistic $i 8)" -gt 10 ] || fail "server $i had only $(statistic $i 8) requests"
done
echo "restarts: $(of restarts r.requests) requests ($(of restarts r.streams) streams)," \
  "$(of restarts r.failed.length) failed, $(repeated) repeated by HAProxy"

# --- one server is killed
before=$(repeated)
start_load kill
sleep 2
in_flight=$(statistic 1 5)
kill -KILL "${pids[1]}"
wait "${pids[1]}" 2> /dev/null || true
killed=$(date +%s%3N)
wait_for "HAProxy to notice" status_is 1 DOWN
sleep 1
end_load
echo "kill: $(of kill r.requests) requests ($(of kill r.streams) streams), $in_flight in flight on the killed server," \
  "$(of kill r.failed.length) failed, $(($(repeated) - before)) repeated by HAProxy," \
  "$(of kill 'r.failed.filter((f) => f.recovered).length') of the failed ones succeeded when sent again"
# Streams that had begun cannot be repeated by anyone but the client.
expect "failed requests that were not streams in flight" "[]" \
  "$(of kill "JSON.stringify(r.failed.filter((f) => !f.stream || !f.begun || f.begin > $killed))")"
[ "$(of kill r.failed.length)" -le 12 ] || fail "more requests failed than there were at once"
expect "failed requests that failed again" "[]" "$(of kill 'JSON.stringify(r.failed.filter((f) => !f.recovered))')"
start 1
wait_for "the killed server after its start" status_is 1 UP
expect "a request at the end" 200 "$(curl -sS -o /dev/null -w '%{http_code}' --max-time 10 \
  "http://127.0.0.1:$port/v1/completions" -d '{"prompt": "the cat", "max_tokens": 3}')"

exit $failed
