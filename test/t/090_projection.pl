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

like(slurp_file($node->logfile), qr/document [0-9a-f-]{36} could not be projected \(23514\)/, 'the log has the failure, without the body');

$node->stop;
done_testing();
