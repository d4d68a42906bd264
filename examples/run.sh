#!/usr/bin/env bash
#
# Runs an example from its SQL to its results, and shows how far it is:
#
#   examples/run.sh regression-lab [psql options, such as -v seconds=90]
#
# psql is told where the lab is by its own variables (PGHOST, PGPORT, PGUSER, PGDATABASE, PGPASSFILE). It may be the
# gateway itself or any Postgres that attached the lab with sql/setup.sql. Exits with 1 when a run did not succeed.
set -euo pipefail

cd "$(dirname "$0")/.."
example=examples/${1:?usage: $0 EXAMPLE [psql options]}
shift

lab() { psql --no-psqlrc --quiet --set ON_ERROR_STOP=1 "$@"; }
ask() { lab --tuples-only --no-align --command "$1"; }

lab "$@" --file "$example/lab.sql"

# One INSERT into lab.launches after the other: what sql/launch.sql does under \watch, until the queue is empty.
said=''
while [[ $(ask "SELECT count(*) FROM lab.runs WHERE state IN ('queued', 'launched', 'preparing', 'warming', 'running')") != 0 ]]; do
  note=$(ask "INSERT INTO lab.launches DEFAULT VALUES RETURNING note")
  # Every second the seconds left change: said once in a while is enough where no terminal overwrites the line.
  if [[ -t 1 ]]; then
    printf '\r\033[K%s' "$note"
  elif [[ ${note%%,*} != "${said%%,*}" ]]; then
    printf '%s\n' "$note"
  fi
  said=$note
  sleep 1
done
[[ ! -t 1 ]] || printf '\r\033[K'

lab --file sql/results.sql
[[ $(ask "SELECT count(*) FROM lab.runs WHERE state = 'failed'") == 0 ]]
