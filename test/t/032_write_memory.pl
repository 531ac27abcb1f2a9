# A session that writes for a long time does not grow, whatever it writes and
# however often that fails; and what interrupts it leaves its caches usable.
#
# DMS_MEMORY_DOCUMENTS sets how many documents are written (100000 for the long
# form), DMS_MEMORY_FAILURES how many calls fail.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";

use Dms::Session;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

my $top       = "$FindBin::RealBin/../..";
my $documents = $ENV{DMS_MEMORY_DOCUMENTS} || 4000;
my $failures  = $ENV{DMS_MEMORY_FAILURES} || 3000;

# Blocks are allocated in steps; a leak of a few bytes a call is many of them.
my $tolerance = 65536;

my $node = PostgreSQL::Test::Cluster->new('write_memory');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', "fsync = off\njit = off\nlog_statement = none\nautovacuum = off");
$node->start;
$node->safe_psql('postgres', "SET client_min_messages = warning; CREATE EXTENSION dms;
	SELECT dms.deploy_schema(pg_read_file('$top/examples/schemas/school.json')::json,
		pg_read_file('$top/examples/schemas/school-transport.json')::json)");
$node->safe_psql('postgres', harness());
$node->safe_psql('postgres', "CREATE TABLE t.file AS SELECT pg_read_file('$top/examples/schemas/' || name)::json AS file
	FROM unnest(ARRAY['school.json', 'school-transport.json']) AS name");

# Each in one session: warm up, measure, work, measure.
is_flat("CALL t.write(1, 600)", 'CALL t.write(601, ' . (600 + $documents) . ')', "writing $documents documents");
is_flat('CALL t.fail(300)', "CALL t.fail($failures)", "$failures calls that fail");
is_flat('CALL t.invalidate(20)', 'CALL t.invalidate(200)', '200 times a model that may have changed');
is_flat('CALL t.deploy(3)', 'CALL t.deploy(20)', 'deploying 20 times what is deployed');
is_flat('CALL t.plans(1)', 'CALL t.plans(30)', 'more resources than plans are kept of');
is_flat('CALL t.keep_versions(50)', 'CALL t.keep_versions(500)', '500 documents with versions');

test_waiting();

# A cancel may come at any moment, also while a model is loaded or a plan made.
my $first = measure_first();
test_cancels('new sessions', 50, 1);
test_cancels('one session', 40, 0);

$node->stop;
done_testing();

sub is_flat
{
	my ($warm_up, $work, $name) = @_;

	my ($out, $err) = run_script("$warm_up; $warm_up;\nSELECT t.used();\n$work;\nSELECT t.used();\n"
		  . 'SELECT name, parent, total_bytes FROM pg_backend_memory_contexts ORDER BY total_bytes DESC LIMIT 8;');
	my ($before, $after, @largest) = split /\n/, $out;
	cmp_ok($after - $before, '<', $tolerance, "$name: the session does not grow") or diag "$before to $after", "\n", join "\n", @largest;
	note "$name: $before bytes before, $after after";
	is($err, '', "$name: no error");
	return;
}

# A change of identities tries again and again while another session shares one of them.
sub test_waiting
{
	my $sharer  = Dms::Session->new($node, 'postgres');
	my $changer = Dms::Session->new($node, 'postgres');

	$sharer->ask("BEGIN; SELECT FROM dms.IdentityLock WHERE DocumentId = (SELECT max(DocumentId) FROM dms.IdentityLock) FOR SHARE;\n");
	$changer->ask("SET dms.turnstile_timeout = 20; SET deadlock_timeout = '10ms';\n");
	$changer->say('SELECT count(*) FROM dms.lock_identity_closure(ARRAY(SELECT DocumentId FROM dms.IdentityLock ORDER BY 1 DESC LIMIT 500));' . "\n");
	$changer->expect;
	# Each round takes 60 milliseconds.  All kinds of waits must have come once, before
	# which the session still fills its caches.
	see_rounds($changer, 3);
	my $before = memory_of($changer);
	see_rounds($changer, 20);
	my $after = memory_of($changer);
	cmp_ok($after - $before, '<', $tolerance, 'waiting for an identity: the session does not grow');
	note "waiting for an identity: $before bytes before, $after after";
	ok(!$changer->look, 'waiting for an identity: it still waits');
	$sharer->ask("COMMIT;\n");
	sleep(0.001) until $changer->look;
	is($changer->answer, "500\n", 'waiting for an identity: and gets it when it is free');
	$_->finish foreach $sharer, $changer;
	return;
}

# Waits until a session has closed the turnstile so many times, and opened it again.
sub see_rounds
{
	my ($session, $rounds) = @_;
	my $looker = Dms::Session->new($node, 'postgres');
	my $pid    = $session->pid;

	foreach my $closed (('t', 'f') x $rounds)
	{
		my $tries = 0;
		until ($looker->ask("SELECT count(*) > 0 FROM pg_locks WHERE pid = $pid AND locktype = 'object'
			AND objid = 'dms.IdentityLock'::regclass AND mode = 'ExclusiveLock' AND granted;\n") eq "$closed\n")
		{
			die "session $pid makes no rounds" if ++$tries > 1000 * $PostgreSQL::Test::Utils::timeout_default;
			sleep(0.001);
		}
	}
	$looker->finish;
	return;
}

# Returns the memory of a session that waits.  Its answer is cut off if the wait ends
# meanwhile; then it is asked again.
sub memory_of
{
	my ($session) = @_;
	my $pid    = $session->pid;
	my $offset = -s $node->logfile;

	for (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		$node->safe_psql('postgres', "SELECT pg_log_backend_memory_contexts($pid)");
		sleep(0.1);
		return $1 if slurp_file($node->logfile, $offset) =~ /\[$pid\].*Grand total: (\d+) bytes/;
	}
	die "no answer of $pid";
}

# How long the first write of a session takes.
sub measure_first
{
	my $session = Dms::Session->new($node, 'postgres');
	my $start   = time;

	$session->ask("CALL t.write(1, 1);\n");
	$session->finish;
	return time - $start;
}

# Cancels writes that would never end by themselves: some as soon as they begin, some
# when the first is done, which is some time on any machine.
sub test_cancels
{
	my ($name, $rounds, $anew) = @_;
	my $session = Dms::Session->new($node, 'postgres');
	my $out     = '';

	foreach my $round (1 .. $rounds)
	{
		$session->say("CALL t.write($round, 1000000000);\n");
		$session->expect;
		sleep(1.5 * $first * ($round - 1) / $rounds);
		# Before it begins there is nothing to cancel.
		until ($session->look)
		{
			kill('INT', $session->pid);
			sleep(0.001);
		}
		$out .= $session->answer;
		next unless $anew;
		$session->finish;
		$session = Dms::Session->new($node, 'postgres');
	}
	is(scalar(() = $out =~ /ERROR:  canceling statement/g), $rounds, "$name: $rounds writes were cancelled");
	unlike($out, qr/(?:ERROR|FATAL):(?!  canceling statement)/, "$name: and that is all");
	like($session->ask(write_one()), qr/unchanged\n\z/, "$name: and after that all is as it was");
	$session->finish;
	return;
}

sub write_one
{
	return q{SELECT outcome FROM dms.upsert_document('Ed-Fi', 'Student', t.student(1, 0));
SELECT outcome FROM dms.upsert_document('Ed-Fi', 'Student', t.student(1, 0));
};
}

sub run_script
{
	my ($sql) = @_;

	my $file = $node->basedir . "/script.sql";
	unlink $file;
	append_to_file($file, $sql);
	return run_command([ 'psql', '-XqAt', '-d', $node->connstr('postgres'), '-f', $file ]);
}

sub harness
{
	return <<'SQL';
CREATE SCHEMA t;
-- All that the session has, but for what PostgreSQL itself keeps of the catalogs.
CREATE FUNCTION t.used() RETURNS bigint LANGUAGE sql AS $$
	SELECT sum(total_bytes)::bigint FROM pg_backend_memory_contexts
	WHERE name NOT IN ('CacheMemoryContext', 'index info', 'relation rules')
$$;
SELECT dms.upsert_document('Ed-Fi', 'AddressTypeDescriptor', '{"namespace": "uri://ed-fi.org/A", "codeValue": "Home", "shortDescription": "Home"}');
CREATE FUNCTION t.student(n int, version int) RETURNS json LANGUAGE sql AS $$
	SELECT format('{"studentUniqueId": "%s", "firstName": "Ann", "lastSurname": "%s", "birthDate": "2010-05-31", "addresses": [
		{"addressTypeDescriptor": "uri://ed-fi.org/A#Home", "streetNumberName": "%s Elm", "city": "Bend", "postalCode": "78834",
		 "periods": [{"beginDate": "2020-01-01"}, {"beginDate": "2021-01-01"}]}]}', n, repeat('x', 1 + version), n)::json
$$;
-- New documents, the same again, and changed ones; a transaction each.
CREATE PROCEDURE t.write(low int, high int) LANGUAGE plpgsql AS $$
BEGIN
	FOR n IN low .. high LOOP
		PERFORM dms.upsert_document('Ed-Fi', 'Student', t.student(n, 0));
		IF n % 3 = 0 THEN
			PERFORM dms.upsert_document('ed-fi', 'students', t.student(n, 0));
		ELSIF n % 3 = 1 THEN
			PERFORM dms.upsert_document('Ed-Fi', 'Student', t.student(n, 1));
			PERFORM dms.upsert_document('Ed-Fi', 'Student', t.student(n, 0));
		END IF;
		COMMIT;
	END LOOP;
END $$;
-- Calls that fail at various places, each in a subtransaction.
CREATE PROCEDURE t.fail(times int) LANGUAGE plpgsql AS $$
DECLARE
	bodies text[] := ARRAY['{"a": 1, "a": 2}', '[]', '{"studentUniqueId": "\u0000"}', '{"studentUniqueId": "1", "firstName": 5}',
		replace(t.student(1, 2)::text, '#Home', '#Tent'), replace(t.student(1, 2)::text, '2021-01-01', '2020-01-01')];
BEGIN
	FOR n IN 1 .. times LOOP
		BEGIN
			IF n % 7 = 6 THEN
				PERFORM dms.upsert_document('Ed-Fi', 'Student', t.student(1, n), -1);
			ELSIF n % 7 = 5 THEN
				PERFORM dms.upsert_document('Ed-Fi', 'nothing' || n, '{}');
			ELSIF n % 7 = 4 THEN
				PERFORM dms.upsert_document('Ed-Fi', 'Student', t.student(1, n % 70));
				RAISE SQLSTATE 'ZZZZZ';
			ELSE
				PERFORM dms.upsert_document('Ed-Fi', 'Student', bodies[1 + n % 6]::json);
			END IF;
		EXCEPTION WHEN OTHERS THEN
			NULL;
		END;
		IF n % 100 = 0 THEN
			COMMIT;
		END IF;
	END LOOP;
END $$;
-- A new generation makes sessions load their models again.
CREATE PROCEDURE t.invalidate(times int) LANGUAGE plpgsql AS $$
BEGIN
	FOR n IN 1 .. times LOOP
		UPDATE dms.Store SET Generation = Generation + 1;
		EXECUTE format('ALTER TABLE dms.Store SET (fillfactor = %s)', 50 + n % 50);
		PERFORM dms.upsert_document('Ed-Fi', 'Student', t.student(1, n % 2));
		COMMIT;
	END LOOP;
END $$;
CREATE PROCEDURE t.deploy(times int) LANGUAGE plpgsql AS $$
BEGIN
	FOR n IN 1 .. times LOOP
		PERFORM dms.deploy_schema(VARIADIC array_agg(file)) FROM t.file;
		PERFORM dms.upsert_document('Ed-Fi', 'Student', t.student(1, n % 2));
		COMMIT;
	END LOOP;
END $$;
-- Documents whose versions are kept: written, renamed, read, deleted and restored.
CREATE PROCEDURE t.keep_versions(times int) LANGUAGE plpgsql AS $$
DECLARE
	id uuid;
	etag bigint;
BEGIN
	PERFORM dms.configure_resource('Ed-Fi', 'Student', '{"history": true, "retainVersions": 5}');
	FOR n IN 1 .. times LOOP
		id := (dms.upsert_document('Ed-Fi', 'Student', t.student(n, n % 2))).document_uuid;
		etag := (dms.update_document(id, t.student(n, 3 + n % 7))).etag;
		PERFORM count(dms.get_document(id, version)), count(dms.get_document(id, as_of => created_at)) FROM dms.list_versions(id);
		PERFORM dms.delete_document(id);
		PERFORM dms.restore_document(id, etag);
		IF n % 25 = 0 THEN
			PERFORM dms.purge_history(100);
		END IF;
		COMMIT;
	END LOOP;
END $$;
-- All resources in turn, with room for the plans of two.
CREATE PROCEDURE t.plans(times int) LANGUAGE plpgsql AS $$
BEGIN
	SET dms.cached_plans = 2;
	FOR n IN 1 .. times LOOP
		FOR y IN 1 .. 5 LOOP
			PERFORM dms.upsert_document('Ed-Fi', 'SchoolYearType',
				format('{"schoolYear": %s, "currentSchoolYear": %s, "schoolYearDescription": "x"}', 2000 + y, n % 2)::json);
			PERFORM dms.upsert_document('Ed-Fi', 'Student', t.student(y, n % 2));
			PERFORM dms.upsert_document('Ed-Fi', 'AddressTypeDescriptor',
				format('{"namespace": "uri://ed-fi.org/A", "codeValue": "C%s", "shortDescription": "%s"}', y, n)::json);
			PERFORM dms.upsert_document('Ed-Fi', 'TermDescriptor',
				format('{"namespace": "uri://ed-fi.org/T", "codeValue": "C%s", "shortDescription": "%s"}', y, n)::json);
		END LOOP;
		COMMIT;
	END LOOP;
END $$;
SQL
}
