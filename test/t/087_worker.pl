# Background workers: many databases with few workers, databases that are created, renamed,
# copied and dropped meanwhile, crashes, no room for processes, and owners of stores who
# try to gain the rights of the worker.
use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

use Dms::Session;

my $schema = slurp_file("$FindBin::RealBin/../../examples/schemas/school.json");
$schema =~ s/'/''/g;

my $stores = $ENV{DMS_LONG} ? 17 : 4;
my $node = PostgreSQL::Test::Cluster->new('worker');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ], allows_streaming => 1);
$node->append_conf('postgresql.conf', q{
	shared_preload_libraries = 'dms'
	fsync = off
	max_connections = 40
	max_worker_processes = 8
	max_prepared_transactions = 5
	dms.max_workers = 2
	dms.worker_naptime = 1s
	dms.worker_linger = 200ms
	log_statement = none
	restart_after_crash = on
});
$node->start;

# The state of the worker in a database, as a superuser sees it.
sub state_of
{
	my ($database) = @_;

	return "SELECT state FROM dms.worker_status() WHERE database = '$database'";
}

# Creates a database with a store, and with keys that have expired.
sub create
{
	my ($database) = @_;

	$node->safe_psql('postgres', "CREATE DATABASE $database");
	$node->safe_psql($database, "SET client_min_messages = warning; CREATE EXTENSION dms; SELECT dms.deploy_schema('$schema'::json)");
	return;
}

# Adds keys that have expired.
sub add_keys
{
	my ($database, $n) = @_;

	$node->safe_psql($database, qq{
		INSERT INTO dms.IdempotencyKeys (Id, Scope, Key, Route, HttpMethod, StatusCode, CreatedAt, ClaimedAt, ExpiresAt)
		SELECT gen_random_uuid(), 's', 'k' || g, '/r', 'POST', 102, now() - interval '2 days', now() - interval '2 days',
			now() - interval '1 day'
		FROM generate_series(1, $n) AS g});
	return;
}

# --- many databases, few workers --------------------------------------------

create("store$_") foreach 1 .. $stores;
$node->safe_psql('postgres', "CREATE DATABASE empty$_") foreach 1 .. 3;
$node->safe_psql('postgres', 'CREATE EXTENSION dms');
add_keys("store$_", $_) foreach 1 .. $stores;

# Deletes are kept for ever, unless the database has another retention.
foreach my $store ('store1', 'store2')
{
	$node->safe_psql($store, q{
		SELECT dms.delete_document(document_uuid)
		FROM dms.upsert_document('ed-fi', 'students', '{"studentUniqueId": "1", "firstName": "F", "lastSurname": "L", "birthDate": "2011-04-05"}')})
		foreach 1 .. 2;
	$node->safe_psql($store, q{
		UPDATE dms.TrackedChange SET CreatedAt = now() - interval '2 days' WHERE DocumentId = (SELECT min(DocumentId) FROM dms.TrackedChange)});
}
$node->safe_psql('postgres', q{ALTER DATABASE store1 SET dms.tracked_change_retention = '1d'});
$node->restart;

ok($node->poll_query_until('postgres', "SELECT count(*) = $stores FROM dms.worker_status() WHERE database::text LIKE 'store%' AND state = 'nothing to do'"),
	'all stores were visited');
ok($node->poll_query_until('postgres', q{SELECT count(*) = 3 FROM dms.worker_status() WHERE database::text LIKE 'empty%' AND state = 'no store'}),
	'databases without a store were visited, too');
is($node->safe_psql("store$_", 'SELECT count(*) FROM dms.IdempotencyKeys'), 0, "keys of store$_ were purged") foreach 1 .. $stores;
my $log = slurp_file($node->logfile);
like($log, qr/dms: purged $_ idempotency keys of database "store$_"/, "the log says how many of store$_") foreach 1 .. $stores;
is($node->safe_psql('store1', 'SELECT count(*) FROM dms.TrackedChange'), 1, 'a delete that is older than the retention was purged');
is($node->safe_psql('store2', 'SELECT count(*) FROM dms.TrackedChange'), 2, 'without a retention none was');
like($log, qr/dms: purged 1 deletes and changes of keys of database "store1"/, 'the log says so');
is($node->safe_psql('postgres', q{SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'dms launcher'}), 1, 'there is a launcher');
ok($node->poll_query_until('postgres', q{SELECT count(*) = 0 FROM pg_stat_activity WHERE backend_type = 'dms worker'}),
	'no connection is held to an idle database');

# --- who sees what ------------------------------------------------------------

$node->safe_psql('store1', q{
	CREATE ROLE looker LOGIN;
	GRANT USAGE ON SCHEMA dms TO looker;
	GRANT EXECUTE ON FUNCTION dms.worker_status() TO looker});
is($node->safe_psql('store1', 'SET ROLE looker; SELECT database FROM dms.worker_status()'), 'store1', 'others see their own database only');
$node->safe_psql('store1', 'GRANT pg_read_all_stats TO looker');
cmp_ok($node->safe_psql('store1', 'SET ROLE looker; SELECT count(*) FROM dms.worker_status()'), '>', $stores,
	'members of pg_read_all_stats see all');

# --- databases that are wanted --------------------------------------------------

# A trigger of the owner keeps the worker busy.
sub keep_busy
{
	my ($database) = @_;

	$node->safe_psql($database, q{
		CREATE FUNCTION public.slow() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
		BEGIN PERFORM pg_sleep(1); RETURN NULL; END $$;
		CREATE TRIGGER slow AFTER DELETE ON dms.IdempotencyKeys FOR EACH STATEMENT EXECUTE FUNCTION public.slow()});
	add_keys($database, 1);
	return;
}

keep_busy("store$_") foreach 1, 2, 3;
$node->append_conf('postgresql.conf', "dms.worker_linger = 5s");
$node->restart;
$node->poll_query_until('postgres', q{SELECT count(*) > 0 FROM pg_stat_activity WHERE backend_type = 'dms worker'});
$node->safe_psql('postgres', 'CREATE DATABASE copy TEMPLATE store1');
pass('a database is copied while a worker is there');
$node->safe_psql('postgres', 'ALTER DATABASE store2 RENAME TO renamed');
pass('a database is renamed while a worker is there');
$node->safe_psql('postgres', 'DROP DATABASE store3');
pass('a database is dropped while a worker is there');
create('store3');
ok($node->poll_query_until('postgres', q{SELECT count(*) = 3 FROM dms.worker_status() WHERE database IN ('copy', 'renamed', 'store3') AND state = 'nothing to do'}),
	'what was copied, renamed and created is looked after');
$node->append_conf('postgresql.conf', "dms.worker_linger = 200ms");
$node->reload;

# --- a store's owner who wants more ---------------------------------------------

$node->safe_psql('postgres', 'CREATE ROLE mallory LOGIN; CREATE DATABASE hostile OWNER mallory');
$node->safe_psql('hostile', "CREATE EXTENSION dms; GRANT ALL ON SCHEMA dms TO mallory; ALTER SCHEMA dms OWNER TO mallory; GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA dms, dms_internal TO mallory; GRANT USAGE ON SCHEMA dms_internal TO mallory");
$node->safe_psql('hostile', "SET client_min_messages = warning; SET SESSION AUTHORIZATION mallory; SELECT dms.deploy_schema('$schema'::json)");
$node->safe_psql('hostile', q{
	SET SESSION AUTHORIZATION mallory;
	CREATE TABLE loot (what text, who text, session text, super text);
	CREATE FUNCTION steal() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $$
	DECLARE
		attempt text;
	BEGIN
		INSERT INTO public.loot VALUES (TG_NAME, current_user, session_user, current_setting('is_superuser'));
		FOREACH attempt IN ARRAY ARRAY['SET ROLE postgres', 'RESET ROLE', 'SET SESSION AUTHORIZATION postgres',
			'RESET SESSION AUTHORIZATION', 'ALTER ROLE mallory SUPERUSER', 'CREATE TEMP TABLE t (i int)',
			'COPY public.loot TO PROGRAM ''true''', 'SET dms.purging = on', 'LISTEN x',
			'DECLARE c CURSOR WITH HOLD FOR SELECT 1', 'PREPARE p AS SELECT 1'] LOOP
			BEGIN
				EXECUTE attempt;
				INSERT INTO public.loot VALUES (attempt, current_user, session_user, current_setting('is_superuser'));
			EXCEPTION WHEN OTHERS THEN
				INSERT INTO public.loot VALUES (attempt || ': ' || SQLSTATE, current_user, session_user, current_setting('is_superuser'));
			END;
		END LOOP;
		RETURN NULL;
	END $$;
	CREATE TRIGGER steal AFTER DELETE ON dms.IdempotencyKeys FOR EACH STATEMENT EXECUTE FUNCTION steal()});
add_keys('hostile', 2);
$node->restart;
$node->poll_query_until('hostile', q{SELECT count(*) > 0 FROM loot}) or diag('the trigger did not run');
is($node->safe_psql('hostile', q{SELECT DISTINCT who FROM loot}), 'mallory', 'the trigger of the owner runs as the owner');
is($node->safe_psql('hostile', q{SELECT string_agg(what, E'\n' ORDER BY what) FROM loot WHERE what !~ ': ' AND what <> 'steal'}), '',
	'whatever it tried was refused');
is($node->safe_psql('postgres', q{SELECT rolsuper FROM pg_roles WHERE rolname = 'mallory'}), 'f', 'the owner is no superuser');

# A deferred trigger would run at the end of the transaction.
$node->safe_psql('hostile', q{
	SET SESSION AUTHORIZATION mallory;
	DROP TRIGGER steal ON dms.IdempotencyKeys;
	TRUNCATE loot;
	CREATE CONSTRAINT TRIGGER later AFTER DELETE ON dms.IdempotencyKeys DEFERRABLE INITIALLY DEFERRED
		FOR EACH ROW EXECUTE FUNCTION steal()});
add_keys('hostile', 2);
$node->restart;
ok($node->poll_query_until('hostile', q{SELECT failures > 0 AND last_error IS NOT NULL FROM dms.worker_status() WHERE database = 'hostile'}),
	'a deferred trigger is refused, and the failure is shown');
is($node->safe_psql('hostile', 'SELECT count(*) FROM loot'), 0, 'it did not run');
$node->safe_psql('hostile', 'DROP TRIGGER later ON dms.IdempotencyKeys');
ok($node->poll_query_until('hostile', q{SELECT failures = 0 AND state = 'nothing to do' FROM dms.worker_status() WHERE database = 'hostile'}),
	'after it was dropped, the worker succeeds');

# --- processes that end --------------------------------------------------------

keep_busy('store4');
$node->restart;
$node->poll_query_until('postgres', q{SELECT count(*) > 0 FROM pg_stat_activity WHERE backend_type = 'dms worker' AND datname = 'store4'});
$node->safe_psql('postgres', q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'dms worker'});
ok($node->poll_query_until('store4', q{SELECT state = 'nothing to do' AND failures = 0 FROM dms.worker_status() WHERE database = 'store4'}),
	'a worker that was terminated is started again');
$node->safe_psql('postgres', q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'dms launcher'});
ok($node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'dms launcher'}),
	'and so is the launcher');

# --- no room for processes ------------------------------------------------------

# The server starts one of its own for logical replication.
$node->append_conf('postgresql.conf', "max_worker_processes = 3");
$node->restart;
ok($node->poll_query_until('postgres', q{SELECT count(*) > 5 AND every(last_visit IS NOT NULL AND failures = 0) FROM dms.worker_status()}),
	'with one process for all workers, all databases are visited');
$node->append_conf('postgresql.conf', "max_worker_processes = 2");
my $offset = -s $node->logfile;
$node->restart;
ok($node->wait_for_log(qr/no background worker can be started/, $offset), 'without any, the log says so');
$node->append_conf('postgresql.conf', "max_worker_processes = 8");

# --- switched off ----------------------------------------------------------------

$node->append_conf('postgresql.conf', "dms.worker_databases = 'store1'");
$node->restart;
ok($node->poll_query_until('postgres', q{SELECT array_agg(database) = '{store1}' AND every(last_visit IS NOT NULL) FROM dms.worker_status()}),
	'databases that are not listed are left alone');
$node->append_conf('postgresql.conf', "dms.worker_databases = ''\ndms.worker = off");
$node->restart;
is($node->safe_psql('postgres', q{SELECT count(*) FROM dms.worker_status()}), 0, 'dms.worker switches all off');
$node->append_conf('postgresql.conf', "dms.worker = on");
$node->reload;
ok($node->poll_query_until('postgres', q{SELECT count(*) > 5 FROM dms.worker_status() WHERE last_visit IS NOT NULL}), 'and on');

# --- a standby -------------------------------------------------------------------

$node->backup('copy');
my $standby = PostgreSQL::Test::Cluster->new('worker_standby');
$standby->init_from_backup($node, 'copy', has_streaming => 1);
$standby->start;
is($standby->safe_psql('postgres', q{SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'dms launcher'}), 0,
	'there is no launcher on a standby');
add_keys('store1', 1);
$node->wait_for_catchup($standby);
$node->stop;
$standby->promote;
ok($standby->poll_query_until('store1', 'SELECT count(*) = 0 FROM dms.IdempotencyKeys'), 'promotion starts it');
$standby->stop;

done_testing();
