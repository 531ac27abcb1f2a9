# What the smaller benchmarks share: a private server, and CPU times of sessions.
# To be sourced by a program that sets NAME.

set -u -o pipefail

TOP=$(cd "$(dirname "$0")/.." && pwd -P)
. "$TOP/tools/private.sh"

ROOT=
KEEP=
SCRATCH=
BIN=

# Options that all have; anything else prints the head of the program.
common_option() {
	case $1 in
	--root) ROOT=$2 ;;
	--keep) KEEP=1 ;;
	*)
		sed -n '2,/^$/s/^# \{0,1\}//p' "$0"
		exit 1
		;;
	esac
}

psql() {
	PGOPTIONS="-c client_min_messages=warning" "$BIN/psql" -X -q -v ON_ERROR_STOP=1 -h "$SCRATCH" -U postgres \
		-d postgres "$@"
}

clean_up() {
	trap - EXIT INT TERM HUP
	if [ -n "$KEEP" ]; then
		echo "Kept: psql -h $SCRATCH -U postgres"
		return 0
	fi
	[ -z "$BIN" ] || stop_server "$BIN" "$SCRATCH/data"
	rm -rf "$SCRATCH"
}

# A server with the extension, the data in memory, and nothing in the background.
start() {
	find_pg_config || die "no PostgreSQL"
	choose_server_user
	trap 'exit 130' INT TERM HUP
	trap clean_up EXIT
	SCRATCH=$(mktemp -d "${ROOT:-${TMPDIR:-/tmp}/dms}-$NAME.XXXXXX") || die "no scratch directory"
	chmod 755 "$SCRATCH"
	if [ -z "$ROOT" ]; then
		mkdir -p "$TOP/build"
		(flock 9 && build normal && install_root normal "$SCRATCH/root") 9>"$TOP/build/.lock" || die "the build failed"
		ROOT=$SCRATCH/root
	fi
	BIN=$(root_bin "$ROOT")
	[ "$(id -u)" != 0 ] || chown "$SERVER_USER" "$SCRATCH"
	cd "$SCRATCH" && start_server "$BIN" "$SCRATCH/data" "$SCRATCH" "$SCRATCH/log"
	psql -c "ALTER SYSTEM SET shared_buffers = '1GB'" -c "ALTER SYSTEM SET max_wal_size = '8GB'" \
		-c 'ALTER SYSTEM SET autovacuum = off' -c "ALTER SYSTEM SET checkpoint_timeout = '1h'"
	as_server "$BIN/pg_ctl" -D "$SCRATCH/data" -l "$SCRATCH/log" -w restart >/dev/null || die "the server does not start again"
	psql -c 'CREATE EXTENSION dms'
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

median() {
	sort -g | awk '{v[NR] = $1} END {print (v[int((NR + 1) / 2)] + v[int((NR + 2) / 2)]) / 2}'
}
