# Requests from several clients at once: references between documents that come
# and go, and requests that are sent again and again with one key.
use strict;
use warnings;

use FindBin;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('requests');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', "fsync = off\nmax_connections = 60\nlog_statement = none");
$node->start;

my $schema = slurp_file("$FindBin::RealBin/../../examples/schemas/school.json");
$node->safe_psql('postgres', "SET client_min_messages = warning; CREATE EXTENSION dms; SELECT dms.deploy_schema(\$schema\$$schema\$schema\$)");
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE answer (kind text, status integer, headers jsonb, body json);
CREATE FUNCTION school(id bigint) RETURNS text LANGUAGE sql RETURN
	json_build_object('schoolId', id, 'nameOfInstitution', 'S', 'gradeLevels',
		json_build_array(json_build_object('gradeLevelDescriptor', 'uri://g#10')))::text;
CREATE FUNCTION period(name text, school bigint, official boolean DEFAULT NULL) RETURNS text LANGUAGE sql RETURN
	json_strip_nulls(json_build_object('classPeriodName', name, 'officialAttendancePeriod', official,
		'schoolReference', json_build_object('schoolId', school)))::text;
CREATE FUNCTION student(id text) RETURNS text LANGUAGE sql RETURN
	json_build_object('studentUniqueId', id, 'firstName', 'Ada', 'lastSurname', 'King', 'birthDate', '2014-02-03')::text;
-- The id of a document of a resource, whatever it is.
CREATE FUNCTION some_id(resource text) RETURNS uuid LANGUAGE sql VOLATILE RETURN
	coalesce((SELECT DocumentUuid FROM dms.Document WHERE ResourceName = resource ORDER BY random() LIMIT 1),
		'01890000-0000-7000-8000-000000000000');
SELECT dms.handle_request('POST', '/ed-fi/gradeLevelDescriptors', '{}',
	'{"namespace": "uri://g", "codeValue": "10", "shortDescription": "10"}');
SQL

test_races($_) foreach 409, 400;
test_identical();
test_killed();
test_unavailable();

$node->stop;
done_testing();

# Runs scripts with pgbench and tells how many errors clients saw.
sub run_clients
{
	my ($name, $clients, $transactions, @scripts) = @_;
	my @files;

	for my $i (0 .. $#scripts)
	{
		my $file = $PostgreSQL::Test::Utils::tmp_check . "/$name-$i.sql";

		append_to_file($file, $scripts[$i]);
		push @files, '-f', $file;
	}
	$node->command_ok(
		[ 'pgbench', '-n', '-c', $clients, '-j', 2, '-t', $transactions, '--max-tries=20', @files, 'postgres' ],
		"$name: no client is told an error that it cannot retry");
}

# Two clients create, change and delete documents that refer to one another.
# Each gets one of the answers that the others may be the reason for.
sub test_races
{
	my ($status) = @_;
	my $insert = "SET dms.unresolved_reference_status = $status;\nINSERT INTO answer SELECT";
	my $school = '\set school random(1, 3)';
	my $from   = 'FROM dms.handle_request(';

	$node->safe_psql('postgres', 'TRUNCATE answer');
	run_clients("races-$status", 2, 600,
		"$school\n$insert 'create referenced', r.* ${from}'POST', '/ed-fi/schools', '{}', school(:school)) AS r;",
		"$school\n$insert 'delete referenced', r.* ${from}'DELETE', '/ed-fi/schools/' || some_id('School')) AS r;",
		"$school\n\\set name random(1, 3)\n$insert 'create referencing', r.* ${from}'POST', '/ed-fi/classPeriods', '{}', period('p' || :name, :school, random() < 0.5)) AS r;",
		"$school\n\\set name random(1, 3)\n$insert 'update referencing', r.* FROM (SELECT some_id('ClassPeriod') AS id OFFSET 0) AS d, LATERAL dms.handle_request('PUT', '/ed-fi/classPeriods/' || d.id, '{}', (period('p' || :name, :school)::jsonb || jsonb_build_object('id', d.id))::text) AS r;",
		"$insert 'delete referencing', r.* ${from}'DELETE', '/ed-fi/classPeriods/' || some_id('ClassPeriod')) AS r;");

	my $wrong = $node->safe_psql('postgres', <<"SQL");
SELECT kind, status, body ->> 'type', count(*) FROM answer
WHERE (kind, status, coalesce(body ->> 'type', '')) NOT IN (VALUES
	('create referenced', 201, ''), ('create referenced', 200, ''),
	('delete referenced', 204, ''), ('delete referenced', 404, 'urn:ed-fi:api:not-found'),
	('delete referenced', 409, 'urn:ed-fi:api:data-conflict:dependent-item-exists'),
	('create referencing', 201, ''), ('create referencing', 200, ''),
	('create referencing', $status, 'urn:ed-fi:api:data-conflict:unresolved-reference'),
	('update referencing', 204, ''), ('update referencing', 404, 'urn:ed-fi:api:not-found'),
	('update referencing', $status, 'urn:ed-fi:api:data-conflict:unresolved-reference'),
	('update referencing', 409, 'urn:ed-fi:api:identity-conflict'),
	('delete referencing', 204, ''), ('delete referencing', 404, 'urn:ed-fi:api:not-found'))
GROUP BY 1, 2, 3
SQL
	is($wrong, '', "races-$status: only answers that others may be the reason for");
	my $hit = $node->safe_psql('postgres',
		"SELECT count(DISTINCT (kind, status)) FROM answer WHERE status IN (201, 204, 400, 409)");
	cmp_ok($hit, '>=', 7, "races-$status: refused and done, each kind");
	is($node->safe_psql('postgres', 'SELECT count(*) FROM edfi.ClassPeriod AS p WHERE NOT EXISTS (SELECT FROM edfi.School AS s WHERE s.DocumentId = p.School_DocumentId)'),
		'0', "races-$status: no reference dangles");
	is($node->safe_psql('postgres', 'SELECT * FROM dms.audit()'), '', "races-$status: the store is in order");
	return;
}

# Thirty-two clients send the same request at the same time.
sub test_identical
{
	$node->safe_psql('postgres', 'TRUNCATE answer');
	run_clients('identical', 32, 1,
		q(INSERT INTO answer SELECT 'post', r.* FROM dms.handle_request('POST', '/ed-fi/students', '{"Idempotency-Key": "same"}', student('32')) AS r;));
	is($node->safe_psql('postgres', q(SELECT count(*), count(DISTINCT headers), min(status), max(status),
			bool_and(headers ? 'Location' AND headers ->> 'ETag' = '"1"') FROM answer)),
		'32|1|201|201|t', 'all get the one 201 with Location and ETag');
	is($node->safe_psql('postgres', q(SELECT count(*) FROM edfi.Student)), '1', 'there is one document');
	return;
}

# The connection breaks behind the commit and before the answer.
sub test_killed
{
	my $request = q(FROM dms.handle_request('POST', '/ed-fi/students', '{"Idempotency-Key": "lost"}', student('33')));
	my $client = hold("SELECT $request", 'SELECT pg_sleep(86400)');

	$node->poll_query_until('postgres', q(SELECT count(*) = 1 FROM dms.IdempotencyKeys WHERE Key = 'lost'));
	terminate_held();
	$client->finish;
	is($node->safe_psql('postgres', "SELECT status, headers = (SELECT ResponseHeaders FROM dms.IdempotencyKeys WHERE Key = 'lost'), headers ->> 'ETag' $request"),
		'201|t|"1"', 'who sends the request again gets the answer that was lost');
	is($node->safe_psql('postgres', q(SELECT count(*) FROM edfi.Student WHERE StudentUniqueId = '33')), '1', 'and it was run once');
	return;
}

# A client that runs these statements, until terminate_held() ends it.
sub hold
{
	my @statements = map { ('-c', $_) } @_;

	return IPC::Run::start([ 'psql', '-X', '-q', '-d', $node->connstr('postgres') . ' application_name=held', @statements ],
		'<', \undef, '>', '/dev/null', '2>', '/dev/null');
}

sub terminate_held
{
	$node->safe_psql('postgres', q(SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'held'));
	return;
}

# Others are in the way each time: the procedure gives up after three attempts.
sub test_unavailable
{
	my $holder = hold('BEGIN', 'LOCK TABLE dms.Store IN SHARE ROW EXCLUSIVE MODE', 'SELECT pg_sleep(86400)');

	$node->poll_query_until('postgres', q(SELECT count(*) = 1 FROM pg_locks WHERE mode = 'ShareRowExclusiveLock' AND granted));
	like($node->safe_psql('postgres', "SET dms.lock_nowait = on;\nCALL dms.process_request('POST', '/ed-fi/students', '{}', '{}');"),
		qr/^503\|.*Retry-After.*service-unavailable/, 'after three attempts the answer is 503');
	terminate_held();
	$holder->finish;
	like($node->safe_psql('postgres', "CALL dms.process_request('POST', '/ed-fi/students', '{}', '{}');"),
		qr/^400\|/, 'and without them it is the answer to the request');
	return;
}
