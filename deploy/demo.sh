#!/usr/bin/env bash
#
# The demo: starts the lab in the background unless it runs, runs examples/regression-lab on it, and tells how to go on.
# PGLAB_DATA and PGLAB_LISTEN are as for `pglab serve`. The lab keeps running; `bin/pglab stop` ends it.
set -euo pipefail

cd "$(dirname "$0")/.."
say() { printf '%s\n' "$*"; }

if ((EUID == 0)); then state=/var/lib/pglab; else state=${XDG_STATE_HOME:-$HOME/.local/state}/pglab; fi
export PGLAB_DATA=${PGLAB_DATA:-$state}
export PGLAB_LISTEN=${PGLAB_LISTEN:-127.0.0.1:5454}
export PGHOST=${PGLAB_LISTEN%:*} PGPORT=${PGLAB_LISTEN##*:} PGUSER=lab PGDATABASE=lab PGPASSFILE=$PGLAB_DATA/pgpass
log=$PGLAB_DATA/pglab.log

answers() { psql --no-psqlrc --quiet --command 'SELECT' >/dev/null 2>&1; }

start_lab() {
  mkdir -p "$PGLAB_DATA"
  say "starting the lab (log: $log)"
  setsid --fork bin/pglab serve >>"$log" 2>&1 </dev/null
  local tries
  for ((tries = 0; tries < 600; tries++)); do
    if answers; then return; fi
    sleep 0.1
    bin/pglab status >/dev/null 2>&1 || ((tries < 20)) || break
  done
  say 'the lab did not start; it said last:'
  tail -n 5 "$log"
  exit 1
}

# A lab of another build is replaced: what is shown is what was just built.
if answers && [[ $(bin/pglab status) != "$(bin/pglab version) "* ]]; then
  say 'the lab that runs is another build: stopping it'
  bin/pglab stop
fi
answers || start_lab

# Without the right to make cgroups (see lab.runtimes) the servers run without limits.
limits=()
if [[ $(psql -XqAt -c "SELECT capabilities->>'cpu_limit' FROM lab.runtimes WHERE runtime = 'process'") != true ]]; then
  say 'CPU and memory cannot be limited here (run as root, or in a cgroup of your own): the servers run without limits'
  limits=(-v cpu= -v memory=)
fi
examples/run.sh regression-lab "${limits[@]}" "$@" || status=$?

cat <<END

The lab keeps running. Go on with

    PGPASSFILE=$PGPASSFILE psql -h $PGHOST -p $PGPORT -U lab lab     # SELECT * FROM lab.results; \\dv lab.*
    bin/pglab stop                                                  # stops it; everything stays for the next start

END
exit "${status:-0}"
