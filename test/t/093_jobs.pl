# Three workers work on one queue, and one of them is killed while it holds jobs.  A tenth of
# the jobs fails at first.  Each effect happens once, and no job is lost.
# DMS_LONG=1 (./check --long) has 20,000 jobs instead of 500.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";

use Dms::Session;
use POSIX ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep);

my $jobs   = $ENV{DMS_LONG} ? 20_000 : 500;
my $schema = slurp_file("$FindBin::RealBin/../schemas/isolation.json");
$schema =~ s/'/''/g;

my $node = PostgreSQL::Test::Cluster->new('jobs');
$node->init;
$node->append_conf('postgresql.conf', "fsync = off\nlog_statement = none\ndms.job_backoff = 10ms");
$node->start;
$node->safe_psql('postgres', "SET client_min_messages = warning; CREATE EXTENSION dms; SELECT dms.deploy_schema('$schema'::json)");

# What a worker does with a job.  The effect and the end of the job are one transaction: who
# has lost the job has no effect either.
$node->safe_psql('postgres', q{
	CREATE TABLE effect (n int NOT NULL, worker int NOT NULL);
	CREATE TABLE failure (n int NOT NULL);
	CREATE FUNCTION work(worker int, job_id bigint, lease uuid, n int) RETURNS text LANGUAGE plpgsql AS $$
	DECLARE
		fate text;
	BEGIN
		INSERT INTO effect VALUES (n, worker);
		IF n % 10 = 0 AND n NOT IN (SELECT f.n FROM failure AS f) THEN
			RAISE 'fails at first';
		END IF;
		IF dms.complete_jobs(ARRAY[job_id], lease) = 0 THEN
			RAISE 'somebody else has the job';
		END IF;
		RETURN 'done';
	EXCEPTION WHEN raise_exception THEN
		fate := dms.fail_job(job_id, lease, SQLERRM);
		IF fate <> 'lost' THEN
			INSERT INTO failure VALUES (n);
		END IF;
		RETURN fate;
	END $$});
# A lease may end early on a slow machine, which must not use up the attempts.
$node->safe_psql('postgres', qq{
	SELECT count(dms.enqueue_job('work', 'count', to_jsonb(n), max_attempts => 1000)) FROM generate_series(1, $jobs) AS n});

# The first worker stops in the middle of its second batch, with a job that is done but not
# committed, and is killed.
my $told = PostgreSQL::Test::Utils::tempdir() . '/told';
my @workers = map { start_worker($_) } 1 .. 3;
for (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
{
	last if -e $told;
	sleep(0.1);
}
ok(-e $told, 'a worker is in the middle of its work');
my $victim = shift @workers;
kill('KILL', $victim);
waitpid($victim, 0);
is($? & 127, 9, 'and is killed');

foreach my $worker (@workers)
{
	waitpid($worker, 0);
	is($?, 0, 'a worker has found nothing more to do');
}
is(value('SELECT count(*), count(DISTINCT n), min(n), max(n) FROM effect'), "$jobs|$jobs|1|$jobs", 'each effect happened once');
is(value('SELECT count(*), count(DISTINCT n) FROM failure'), $jobs / 10 . '|' . $jobs / 10, 'a tenth of them failed at first');
is(value('SELECT count(*) FROM dms.Job'), 0, 'no job is left');
is(value('SELECT count(*) FROM dms.DeadJob'), 0, 'and none is dead');
cmp_ok(value('SELECT count(*) FROM effect WHERE worker = 1'), '>', 0, 'the worker that was killed had done something');

# While a transaction holds an old snapshot, what is left of jobs that were done cannot be
# removed.  Claims do not walk over all of it again and again, and leave no job out.
my $holder = Dms::Session->new($node, 'postgres');
$holder->ask("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM dms.Job;\n");
$node->safe_psql('postgres', q{
	CREATE PROCEDURE work_off(queue text, batch int) LANGUAGE plpgsql AS $$
	DECLARE
		ids bigint[];
		leases uuid[];
	BEGIN
		LOOP
			SELECT array_agg(job_id), array_agg(lease) INTO ids, leases FROM dms.claim_jobs(queue, batch);
			EXIT WHEN ids IS NULL;
			COMMIT;
			PERFORM dms.complete_jobs(ids, leases[1]);
			COMMIT;
		END LOOP;
	END $$;
	SELECT count(dms.enqueue_job('held', 'count', to_jsonb(n))) FROM generate_series(1, 10000) AS n;
	CALL work_off('held', 100)});
my $read = read_by_index();
is(value(q{
	SELECT count(dms.enqueue_job('held', 'count', to_jsonb(n))) FROM generate_series(1, 200) AS n;
	CALL work_off('held', 1);
	SELECT count(*) FROM dms.Job}), "200\n0", 'all jobs are done while a snapshot is held');
$read = read_by_index() - $read;
# From the beginning each of the 200 claims would walk over 10,000 entries.
cmp_ok($read, '<', 1_000_000, "claims have read $read entries of the index");
my $claim = "SELECT payload FROM dms.claim_jobs('held', 1)";
is(join(' ', sort split /\n/, value(qq{
	DO \$\$ BEGIN PERFORM dms.enqueue_job('held', 'count', to_jsonb(n)) FROM generate_series(1, 2) AS n; END \$\$;
	$claim;
	DO \$\$ BEGIN PERFORM dms.enqueue_job('held', 'count', '"early"', now() - interval '1 day'); END \$\$;
	$claim;
	$claim;
	$claim})), '"early" 1 2', 'a job that was due before those that were claimed is found, too');
$holder->finish;

$node->stop;
done_testing();

# Returns how many entries of the index of jobs were read so far.
sub read_by_index
{
	return value(q{SELECT idx_tup_read FROM pg_stat_user_indexes WHERE indexrelname = 'job_due_ix'});
}

# Returns what the server answers.
sub value { return $node->safe_psql('postgres', $_[0]) }

# Starts a worker, and returns its process id.
sub start_worker
{
	my ($number) = @_;
	my $pid = fork() // die "could not fork: $!";

	return $pid if $pid;
	# Nothing of the test must happen at the end of this process.
	my $ok = eval { work($number); 1 };
	print STDERR $@ unless $ok;
	POSIX::_exit($ok ? 0 : 1);
}

# Claims and runs jobs until there are none, also none that wait.
sub work
{
	my ($number) = @_;
	my $session = Dms::Session->new($node, 'postgres');
	my $batch = 0;

	while ($session->ask("SELECT count(*) FROM dms.Job;\n") > 0)
	{
		my @claimed = split(/\n/, $session->ask("SELECT job_id, lease, payload FROM dms.claim_jobs('work', 10, '2 s');\n"));

		sleep(0.05) unless @claimed;
		$batch++ if @claimed;
		foreach my $job (@claimed)
		{
			my ($id, $lease, $n) = split(/\|/, $job);

			if ($number == 1 && $batch == 2)
			{
				$session->ask("BEGIN; SELECT work($number, $id, '$lease', $n);\n");
				append_to_file($told, "now\n");
				sleep(1) while 1;
			}
			my $fate = $session->ask("SELECT work($number, $id, '$lease', $n);\n");
			die "worker $number, job $id: $fate" unless $fate =~ /^(?:done|retry|lost)$/;
		}
	}
	$session->ask("SELECT 1;\n");
	return;
}
