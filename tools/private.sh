# Private PostgreSQL installations and servers, for ./quickstart, ./check and bench/.
#
# PostgreSQL finds its libraries and extension files relative to its own binary.  So
# the servers of a copy of the installation (about 20 MB), with the extension installed
# into the copy, are independent of the system's installation and of each other.
#
# This file is sourced by bash scripts that set TOP to the checkout.

umask 022

die() {
	printf '%s: %s\n' "${0##*/}" "$*" >&2
	exit 1
}

# Unsets the caller's PG variables, which must not affect private servers.  The limit on
# waiting for a server to start is high, because the machine may be busy.
forget_settings() {
	local variable

	for variable in $(compgen -e PG); do
		[ "$variable" = PG_CONFIG ] || unset "$variable"
	done
	export PGCTLTIMEOUT=1800
}

as_root() {
	if [ "$(id -u)" = 0 ]; then
		"$@"
	elif command -v sudo >/dev/null; then
		sudo "$@"
	else
		die "this needs root or sudo: $*"
	fi
}

# --- requirements --------------------------------------------------------

# Sets PG_CONFIG unless the caller has set it, to test with another PostgreSQL than 15.
find_pg_config() {
	local debian=/usr/lib/postgresql/15/bin/pg_config

	if [ -z "${PG_CONFIG:-}" ]; then
		if [ -x $debian ]; then
			PG_CONFIG=$debian
		else
			PG_CONFIG=$(command -v pg_config) || return 1
		fi
	fi
	[ -x "$PG_CONFIG" ] || die "there is no $PG_CONFIG"
	PG_CONFIG=$(readlink -f "$PG_CONFIG")
	export PG_CONFIG
	find_sanitizers
}

# Sets SANITIZED if PostgreSQL was built with sanitizers, and makes them abort a process
# at its first error.  Leaks are not detected: programs such as pg_config do not free
# their memory, and would fail.
find_sanitizers() {
	local options=detect_leaks=0:detect_stack_use_after_return=0:abort_on_error=1

	SANITIZED=
	[[ $(ASAN_OPTIONS=$options "$PG_CONFIG" --cflags) = *-fsanitize=* ]] || return 0
	SANITIZED=1
	export ASAN_OPTIONS=$options UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
}

# Prints a Python that can run the HTTP front of the examples: the first one on the path
# may not have Debian's packages.
front_python() {
	local python

	for python in python3 /usr/bin/python3; do
		if "$python" -c "import psycopg2" 2>/dev/null; then
			echo "$python"
			return
		fi
	done
	return 1
}

# Prints the Debian packages that are needed and not installed.  With PostgreSQL comes
# pgaudit, for a test; where PostgreSQL is installed without it, the test is skipped.
missing_packages() {
	if ! find_pg_config || [ ! -x "$("$PG_CONFIG" --bindir)/postgres" ] ||
		[ ! -e "$("$PG_CONFIG" --sharedir)/extension/uuid-ossp.control" ] ||
		[ ! -e "$("$PG_CONFIG" --sharedir)/extension/amcheck.control" ]; then
		echo postgresql-15 postgresql-15-pgaudit
	fi
	if ! find_pg_config || [ ! -e "$("$PG_CONFIG" --pgxs)" ] ||
		[ ! -e "$("$PG_CONFIG" --includedir-server)/postgres.h" ]; then
		echo postgresql-server-dev-15
	fi
	[ -e /usr/include/uuid/uuid.h ] || echo uuid-dev
	[ -e /usr/include/hiredis/hiredis.h ] || echo libhiredis-dev
	command -v gcc >/dev/null || echo gcc libc6-dev
	command -v make >/dev/null || echo make
	command -v prove >/dev/null || echo perl
	perl -MIPC::Run -e 1 2>/dev/null || echo libipc-run-perl
	front_python >/dev/null || echo python3-psycopg2
	command -v curl >/dev/null || echo curl
	[ -z "${DMS_ALL_DRIVERS:-}" ] || missing_drivers
	[ -z "${DMS_DOCUMENTS:-}" ] || missing_for_documents
	[ -z "${DMS_CDC:-}" ] || missing_for_cdc
	[ -z "${DMS_REDIS:-}" ] || command -v redis-server >/dev/null || echo redis-server
}

# Prints the packages that only tests need: drivers and poolers, which are large or start
# services, and what applies patches.
missing_drivers() {
	/usr/bin/python3 -c "import psycopg" 2>/dev/null || echo python3-psycopg
	/usr/bin/python3 -c "import jsonpatch" 2>/dev/null || echo python3-jsonpatch
	command -v patch >/dev/null || echo patch
	[ -x /usr/sbin/pgbouncer ] || echo pgbouncer
	command -v node >/dev/null || echo nodejs
	command -v npm >/dev/null || echo npm
	command -v redis-server >/dev/null || echo redis-server
	command -v chromium >/dev/null || echo chromium
	missing_for_cdc
}

# Prints the packages of ./quickstart documents.
missing_for_documents() {
	command -v redis-server >/dev/null || echo redis-server
	command -v node >/dev/null || echo nodejs
	command -v npm >/dev/null || echo npm
}

# Prints the packages of ./quickstart cdc.  They are there for Debian's servers only.
missing_for_cdc() {
	if ! find_pg_config || { [[ $PG_CONFIG = /usr/lib/postgresql/15/* ]] &&
		[ ! -e "$("$PG_CONFIG" --pkglibdir)/wal2json.so" ]; }; then
		echo postgresql-15-wal2json
	fi
}

# Prints the settings that logical decoding needs.  Later servers trust only plugins that
# they are told to trust.
settings_for_cdc() {
	echo "wal_level = logical"
	[[ $("$1/postgres" --describe-config) != *output_plugin_libraries* ]] ||
		echo "output_plugin_libraries = 'pgoutput, wal2json'"
}

install_missing() {
	local packages no_main=/etc/postgresql-common/createcluster.d/dms.conf
	local apt="env DEBIAN_FRONTEND=noninteractive apt-get -q -y"

	packages=$(missing_packages | xargs)
	if [ -z "$packages" ]; then
		find_pg_config
		return
	fi
	command -v apt-get >/dev/null ||
		die "please install what these Debian packages hold: $packages"

	echo "Installing: $packages"
	as_root $apt update
	case " $packages " in
	*" postgresql-15 "*)
		# Keep Debian's server package from creating and starting a cluster.
		as_root $apt install --no-install-recommends postgresql-common
		as_root mkdir -p "${no_main%/*}"
		echo "create_main_cluster = false" | as_root tee $no_main >/dev/null
		as_root $apt install --no-install-recommends $packages
		as_root rm -f $no_main
		;;
	*)
		as_root $apt install --no-install-recommends $packages
		;;
	esac
	packages=$(missing_packages | xargs)
	[ -z "$packages" ] || die "still missing: $packages"
	find_pg_config
}

# --- the user that runs the server ---------------------------------------

# PostgreSQL refuses to run as root.
SERVER_USER=$(id -un)
choose_server_user() {
	[ "$(id -u)" = 0 ] || return 0
	if id postgres >/dev/null 2>&1; then
		SERVER_USER=postgres
	else
		SERVER_USER=nobody
	fi
}

as_server() {
	if [ "$(id -u)" = 0 ]; then
		setpriv --reuid="$SERVER_USER" --regid="$(id -g "$SERVER_USER")" \
			--init-groups "$@"
	else
		"$@"
	fi
}

# --- building and installing ---------------------------------------------

# build_dir FLAVOUR: prints the build directory.  Each server has its own, because object
# files depend on the server.  Those of Debian's servers have plain names.
build_dir() {
	local server

	server=$("$PG_CONFIG" --version | sed 's/[^0-9]*\([0-9]*\).*/pg\1/')
	case $PG_CONFIG in
	/usr/lib/postgresql/*) ;;
	*) server=$server-$("$PG_CONFIG" | cksum | cut -d ' ' -f 1) ;;
	esac
	echo "$TOP/build/$server-$1"
}

# make_in DIR ARGUMENT...: runs make, without bitcode for JIT, which doubles the time.
make_in() {
	local dir=$1

	shift
	make -s -C "$dir" -f ../../Makefile with_llvm=no PG_CONFIG="$PG_CONFIG" "$@"
}

# build FLAVOUR: builds "normal", or "faults" for tests.
build() {
	local dir

	dir=$(build_dir "$1")
	mkdir -p "$dir"
	make_in "$dir" -j"$(nproc)" $(build_flags "$1")
}

# The flags of a flavour, which must be the same for building and for installing.
build_flags() {
	echo "WERROR=1"
	[ "$1" = normal ] || echo "FAULTS=1"
}

# install_root FLAVOUR ROOT: copies PostgreSQL below ROOT, and installs the extension.
install_root() {
	local root=$2 dir

	for dir in "$("$PG_CONFIG" --bindir)" "$("$PG_CONFIG" --sharedir)"; do
		mkdir -p "$root${dir%/*}"
		cp -a "$dir" "$root${dir%/*}/"
	done
	dir=$("$PG_CONFIG" --pkglibdir)
	mkdir -p "$root$dir"
	cp -a "$dir"/*.so "$root$dir/"
	# These files exist only if PostgreSQL was built with JIT.
	cp -a "$dir"/*.bc "$root$dir/" 2>/dev/null
	ln -s "$dir/bitcode" "$root$dir/bitcode"
	rm -f "$root$dir/dms.so" "$root$dir/dms_redis.so" "$root$("$PG_CONFIG" --sharedir)/extension/dms"[.-]*
	make_in "$(build_dir "$1")" $(build_flags "$1") install DESTDIR="$root" >/dev/null
}

# root_bin ROOT: prints the directory of the programs below ROOT.
root_bin() {
	echo "$1$("$PG_CONFIG" --bindir)"
}

# --- servers -------------------------------------------------------------

# Limits the memory of each process from here on, so that a server process that allocates
# without end fails with "out of memory" instead of taking down the machine.  Sanitizers
# reserve terabytes of addresses.  So do node and browsers: tests raise the limit for them.
limit_memory() {
	[ -n "${SANITIZED:-}" ] || ulimit -S -v 8388608
}

# start_server BIN DATA SOCKETDIR LOG: creates and starts a cluster without a TCP port.
start_server() {
	as_server "$1/initdb" -D "$2" -U postgres -A trust -E UTF8 \
		--locale=C.UTF-8 --no-sync >"$4.initdb" 2>&1 || {
		cat "$4.initdb" >&2
		die "initdb failed"
	}
	as_server tee -a "$2/postgresql.conf" >/dev/null <<-CONF
		listen_addresses = ''
		unix_socket_directories = '$3'
		fsync = off
		max_prepared_transactions = 10
		${SERVER_SETTINGS:-}
	CONF
	as_server "$1/pg_ctl" -D "$2" -l "$4" -w start >/dev/null 2>&1 || {
		cat "$4" >&2
		die "the server in $2 does not start"
	}
}

stop_server() {
	as_server "$1/pg_ctl" -D "$2" -m immediate -w stop >/dev/null 2>&1 || true
}
