# What the benchmarks share: a private server, and processor times.
# To be sourced by a program that sets NAME.

set -u -o pipefail
export LC_ALL=C.UTF-8

TOP=$(cd "$(dirname "$0")/.." && pwd -P)
. "$TOP/tools/private.sh"

ROOT=
KEEP=
SCRATCH=
BIN=

# The data in memory, and nothing in the background.
SETTINGS=(shared_buffers=1GB max_wal_size=16GB checkpoint_timeout=1h autovacuum=off)

# Options that all have; anything else prints the head of the program.
common_option() {
	case $1 in
	--root) ROOT=$2 ;;
	--keep) KEEP=1 ;;
	*)
		sed -n '2,/^$/s/^# \{0,1\}//p' "$0"
		[ "$1" = --help ] || exit 1
		exit 0
		;;
	esac
}

psql() {
	PGOPTIONS="-c client_min_messages=warning" "$BIN/psql" -X -q -v ON_ERROR_STOP=1 -U postgres -d postgres "$@"
}

clean_up() {
	trap - EXIT INT TERM HUP
	if [ -n "$KEEP" ]; then
		echo "Kept: psql -h $SCRATCH -U postgres"
		return 0
	fi
	[ -z "$BIN" ] || stop_server "$BIN" "$SCRATCH/data"
	# ./check looks for crashes in it.
	[ ! -d "${OUT:-}" ] || cp "$SCRATCH/log" "$OUT/server-$NAME.log"
	rm -rf "$SCRATCH"
}

# A server with the extension, without durability.  Beside the given installation,
# or in a place of its own.
start() {
	local setting

	forget_settings
	install_missing
	choose_server_user
	trap 'exit 130' INT TERM HUP
	trap clean_up EXIT
	SCRATCH=$(mktemp -d "${ROOT:-${TMPDIR:-/tmp}/dms}-$NAME.XXXXXX") || die "no scratch directory"
	chmod 755 "$SCRATCH"
	if [ -z "$ROOT" ]; then
		mkdir -p "$TOP/build"
		(flock 9 && build normal && install_root normal "$SCRATCH/root") 9>"$TOP/build/.lock" || die "the build failed"
		ROOT=$SCRATCH/root
		chmod -R a+rX "$ROOT"
	fi
	BIN=$(root_bin "$ROOT")
	[ "$(id -u)" != 0 ] || chown "$SERVER_USER" "$SCRATCH"
	export PGHOST=$SCRATCH
	# The server's user may not be allowed into the directory that we are in.
	(cd "$SCRATCH" && start_server "$BIN" "$SCRATCH/data" "$SCRATCH" "$SCRATCH/log") || exit 1
	for setting in "${SETTINGS[@]}"; do
		psql -c "ALTER SYSTEM SET ${setting%%=*} = '${setting#*=}'"
	done
	(cd "$SCRATCH" && as_server "$BIN/pg_ctl" -D "$SCRATCH/data" -l "$SCRATCH/log" -w restart >/dev/null) ||
		die "the server does not start again"
	psql -c 'CREATE EXTENSION dms' || die "cannot create the extension"
}

# deploy FILE...
deploy() {
	local file list=

	for file in "$@"; do
		cp "$file" "$SCRATCH/" && chmod a+r "$SCRATCH/${file##*/}"
		list="$list${list:+, }pg_read_file('$SCRATCH/${file##*/}')::json"
	done
	psql -c "SELECT dms.deploy_schema($list)" >/dev/null
}

# All real schemas if they are there, else the shipped one.
deploy_all() {
	local dir=${APISCHEMA_DIR:-$TOP/../shared/apischema}

	if [ -r "$dir/ed-fi.json" ]; then
		deploy "$dir/ed-fi.json" "$dir/tpdm.json" "$dir/sample.json" "$dir/homograph.json"
	else
		deploy "$TOP/examples/schemas/school.json"
	fi
}

# Is there a session, or one that ended and whose time was not added up yet?
has_sessions() {
	local postmaster stat fields title

	read -r postmaster <"$SCRATCH/data/postmaster.pid"
	for stat in /proc/[0-9]*/stat; do
		{ read -r fields <"$stat"; } 2>/dev/null || continue
		fields=(${fields##*) })
		[ "${fields[1]}" = "$postmaster" ] || continue
		title=
		{ IFS= read -r -d '' title <"${stat%stat}cmdline"; } 2>/dev/null
		[[ -n $title && $title != *"[local]"* ]] || return 0
	done
	return 1
}

# The processor time of all sessions, which must have ended, in ticks of 10 ms: how
# much a call costs, whatever else keeps the machine busy.
backend_ticks() {
	while has_sessions; do sleep 0.02; done
	awk '{ print $16 + $17 }' "/proc/$(head -n 1 "$SCRATCH/data/postmaster.pid")/stat"
}

# Fewer ticks tell too little: then a measurement goes on.
ENOUGH_TICKS=25

# value_of NAME OUTPUT: a number that pgbench tells.
value_of() {
	sed -n "s/^$1\([0-9.]*\).*/\1/p" <<<"$2"
}

median() {
	sort -g | awk '{v[NR] = $1} END {print (v[int((NR + 1) / 2)] + v[int((NR + 2) / 2)]) / 2}'
}
