# The background worker fills the cache of documents: a commit wakes it, it goes on where a
# worker before it has ended, and dropping the extension stops it.  It also runs jobs.  The launcher never looks by
# itself here, so only commits can have woken it.
use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use Dms::Session;

my $schema = slurp_file("$FindBin::RealBin/../../examples/schemas/school.json");
$schema =~ s/'/''/g;
my $students = $ENV{DMS_LONG} ? 200_000 : 3_000;

my $node = PostgreSQL::Test::Cluster->new('projection');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', q{
	shared_preload_libraries = 'dms'
	fsync = off
	dms.worker_naptime = 1d
	dms.worker_linger = 100ms
	dms.projector_batch = 100
	log_statement = none
});
$node->start;
$node->safe_psql('postgres', 'CREATE DATABASE store');
$node->safe_psql('store', "SET client_min_messages = warning; CREATE EXTENSION dms; SELECT dms.deploy_schema('$schema'::json)");

# Statements that post students with these numbers.
sub students
{
	my ($first, $last) = @_;

	return qq{
		SELECT count(dms.upsert_document('ed-fi', 'students', json_build_object('studentUniqueId', 's' || n,
			'firstName', 'F', 'lastSurname', 'L', 'birthDate', '2014-01-01')))
		FROM generate_series($first, $last) AS n};
}

# What differs between the cache and what is read without it.
my $DIFFERENT = q{
	SET dms.cache_reads = off;
	SELECT count(*) FROM dms.Document AS d FULL JOIN dms.DocumentCache AS c USING (DocumentId)
	WHERE c.DocumentJson::text IS DISTINCT FROM dms.get_document(d.DocumentUuid)::text};

$node->safe_psql('store', students(1, $students));
my ($code, $out, $err) = $node->psql('store', q{SELECT dms.set_cache_mode('eventual')});
unlike($err, qr/no background workers/, 'nobody is told to project');
is($node->safe_psql('store', q{SELECT dms.wait_until_projected('10 minutes')}), 't', 'the rebuild was woken, and ends');
is($node->safe_psql('store', $DIFFERENT), 0, 'the cache has all documents as they are read');
is($node->safe_psql('store', 'SELECT Documents FROM dms.CacheRebuild'), $students, 'the rebuild has visited each once');

# A commit wakes a worker, and those who listen hear of it.
ok($node->poll_query_until('postgres', q{SELECT count(*) = 0 FROM pg_stat_activity WHERE backend_type = 'dms worker'}), 'the worker leaves');
my $listener = Dms::Session->new($node, 'store');
$listener->ask("LISTEN dms_changes;\n");
$node->safe_psql('store', students($students + 1, $students + 10));
ok($node->poll_query_until('store', "SELECT count(*) = $students + 10 FROM dms.DocumentCache"), 'a commit wakes a worker');
like($listener->ask("SELECT 1;\n"), qr/Asynchronous notification "dms_changes"/, 'listeners are notified');
$listener->finish;
$node->safe_psql('store', q{SELECT dms.delete_document(dms.resolve('ed-fi', 'students', '{"studentUniqueId": "s1"}'))});
is($node->safe_psql('store', $DIFFERENT), 0, 'a delete deletes the row');

# A worker that is terminated in a rebuild leaves what it has done.
$node->safe_psql('store', 'SELECT dms.rebuild_cache()');
foreach my $i (1 .. 3)
{
	$node->poll_query_until('store', 'SELECT FinishedAt IS NOT NULL OR Documents > 0 FROM dms.CacheRebuild');
	$node->safe_psql('store', q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'dms worker'});
}
ok($node->poll_query_until('store', 'SELECT FinishedAt IS NOT NULL FROM dms.CacheRebuild'), 'a rebuild goes on after workers were terminated');
is($node->safe_psql('store', 'SELECT Documents FROM dms.CacheRebuild'), $students + 9, 'each document was counted once');
is($node->safe_psql('store', $DIFFERENT), 0, 'the cache has all documents again');

# The extension is dropped in the middle, and created again.
$node->safe_psql('store', 'SELECT dms.rebuild_cache()');
$node->safe_psql('store', 'DROP EXTENSION dms');
pass('the extension is dropped while it is at work');
ok($node->poll_query_until('postgres', q{SELECT count(*) = 0 FROM pg_stat_activity WHERE backend_type = 'dms worker'}), 'the worker leaves');
$node->safe_psql('store', 'CREATE EXTENSION dms');
is($node->safe_psql('store', q{SELECT dms.wait_until_projected('10 minutes')}), 't', 'it goes on when the extension is there again');
is($node->safe_psql('store', $DIFFERENT), 0, 'and the cache has all documents');

# A damaged document holds up no other one, and is projected when it is repaired.
$node->safe_psql('store', q{
	ALTER TABLE dms.DocumentCache ADD CONSTRAINT poison CHECK (DocumentJson ->> 'firstName' <> 'Poison');
	SELECT outcome FROM dms.upsert_document('ed-fi', 'students', '{"studentUniqueId": "poison", "firstName": "Poison", "lastSurname": "L", "birthDate": "2014-01-01"}')});
$node->safe_psql('store', students($students + 11, $students + 20));
ok($node->poll_query_until('store', q{SELECT count(*) = 1 FROM dms.ProjectionFailure}), 'a document that fails is recorded');
ok($node->poll_query_until('store', "SELECT count(*) = $students + 19 FROM dms.DocumentCache"), 'all others are projected');
is($node->safe_psql('store', $DIFFERENT), 1, 'and only that one is missing');
$node->safe_psql('store', 'ALTER TABLE dms.DocumentCache DROP CONSTRAINT poison; UPDATE dms.ProjectionFailure SET NextAttemptAt = now()');
$node->safe_psql('store', q{SELECT dms.wait_until_projected('10 minutes')});
is($node->safe_psql('store', $DIFFERENT), 0, 'it is projected when it can be');
is($node->safe_psql('store', 'SELECT count(*) FROM dms.audit()'), 0, 'the audit finds nothing');
# The worker runs the jobs of the library, and tries one that fails again when its time has come.
ok($node->poll_query_until('postgres', q{SELECT count(*) = 0 FROM pg_stat_activity WHERE backend_type = 'dms worker'}), 'the worker leaves');
$node->safe_psql('store', q{SELECT dms.configure_resource('ed-fi', 'students', '{"history": true, "diff": true}')});
$node->safe_psql('store', q{
	SELECT dms.upsert_document('ed-fi', 'students', json_build_object('studentUniqueId', 's2', 'firstName', f,
		'lastSurname', 'L', 'birthDate', '2014-01-01')) FROM (VALUES ('G'), ('H')) AS v (f)});
ok($node->poll_query_until('store', q{SELECT count(*) > 0 FROM dms.VersionDiff}), 'a commit with a job wakes a worker, which runs it');
ok($node->poll_query_until('store', q{SELECT count(*) = 0 FROM dms.Job}), 'and deletes it');
$node->safe_psql('store', q{
	INSERT INTO dms.Job (JobId, Queue, Kind, Payload, RunAt, MaxAttempts) VALUES (-1, 'dms', 'unknown', '{}', now(), 2);
	SELECT dms.rebuild_cache()});
ok($node->poll_query_until('store', q{SELECT count(*) = 1 FROM dms.DeadJob WHERE JobId = -1 AND Attempts = 2}),
	'a job that fails is tried again without a commit, and dies after the last attempt');
is($node->safe_psql('store', q{SELECT failures FROM dms.worker_status() WHERE database = 'store'}), 0, 'which is no failure of the worker');

# Workers compact the journal of changes, some pages in a transaction.  A trigger counts the
# rows of each.  In the third it waits for us, so that a worker can be terminated there.
my $SUPERSEDED = 'SELECT (SELECT count(*) FROM dms.DocumentChange) - (SELECT count(*) FROM dms.Document)';
$node->safe_psql('store', q{
	CREATE TABLE public.compacted (xid xid8, rows bigint, pid int);
	GRANT SELECT, INSERT ON public.compacted TO PUBLIC;
	CREATE FUNCTION public.compacting() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET lock_timeout = 0 AS $$
	BEGIN
		INSERT INTO public.compacted SELECT pg_current_xact_id(), count(*), pg_backend_pid() FROM gone;
		IF (SELECT count(*) FROM public.compacted) > 2 THEN
			PERFORM pg_advisory_xact_lock_shared(1);
		END IF;
		RETURN NULL;
	END $$;
	CREATE TRIGGER compacting AFTER DELETE ON dms.DocumentChange REFERENCING OLD TABLE AS gone
		FOR EACH STATEMENT EXECUTE FUNCTION public.compacting();
	INSERT INTO dms.DocumentChange SELECT j.ResourceTypeId, j.ChangeVersion, j.DocumentId, -n
	FROM dms.DocumentChange AS j, generate_series(1, 20) AS n ON CONFLICT DO NOTHING});
my $superseded = $node->safe_psql('store', $SUPERSEDED);
my $holder = Dms::Session->new($node, 'store');
$holder->ask("SELECT pg_advisory_lock(1);\n");
($code, $out, $err) = $node->psql('store', q{SET statement_timeout = 300; SELECT dms.compact_changes()});
like($err, qr/canceling statement due to statement timeout/, 'compacting can be cancelled');
is($node->safe_psql('store', $SUPERSEDED), $superseded, 'then nothing is deleted');
$node->safe_psql('store', students($students + 21, $students + 21));
ok($node->poll_query_until('store', q{SELECT (SELECT count(*) > 1 FROM public.compacted)
	AND EXISTS (SELECT FROM pg_stat_activity WHERE backend_type = 'dms worker' AND wait_event = 'advisory')}), 'a worker compacts');
$node->safe_psql('store', q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'dms worker'});
my $left = $node->safe_psql('store', $SUPERSEDED);
cmp_ok($left, '<', $superseded, 'what it has deleted stays deleted when it is terminated');
$holder->finish;
$node->safe_psql('store', students($students + 22, $students + 22));
ok($node->poll_query_until('store', "SELECT ($SUPERSEDED) = 0"), 'another one goes on');
is($node->safe_psql('store', 'SELECT max(rows) < 12000 AND count(*) = count(DISTINCT xid) AND count(DISTINCT pid) > 1 FROM public.compacted WHERE rows > 0'),
	't', 'each transaction deletes some of the rows');
is($node->safe_psql('store', q{SELECT count(*) FROM dms.audit() WHERE kind LIKE 'change%'}), 0, 'and the audit of the journal finds nothing');
$node->wait_for_log(qr/dms: deleted \d+ superseded changes of database "store"/);
$node->safe_psql('store', 'DROP TRIGGER compacting ON dms.DocumentChange');

# The first deploy says how far it is, also while it waits.
my $creator = Dms::Session->new($node, 'postgres');
$creator->ask("BEGIN; CREATE SCHEMA edfi;\n");
my $deployer = $node->background_psql('postgres', on_error_stop => 0);
$deployer->query_until(qr/begun/, "\\echo begun\nCREATE EXTENSION dms; SELECT dms.deploy_schema('$schema'::json);\n");
ok($node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_stat_activity WHERE query ~ '^dms: creating the store, step \d+ of \d+$'}),
	'pg_stat_activity shows the step of a deploy');
$creator->ask("ROLLBACK;\n");
$creator->finish;
ok($node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_class WHERE oid = to_regclass('dms.document')}), 'which goes on');
$deployer->quit;

like(slurp_file($node->logfile), qr/document [0-9a-f-]{36} could not be projected \(23514\)/, 'the log has the failure, without the body');

$node->stop;
done_testing();
