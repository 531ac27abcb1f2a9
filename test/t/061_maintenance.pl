# VACUUM, autovacuum and REINDEX CONCURRENTLY beside the stress test, whose sessions
# write, rename and delete.  No session waits for them, and none of them fails or is
# cancelled.  DMS_LONG=1 (./check --long) slows VACUUM down to 20 seconds, and reindexes
# every table 50 times.
use strict;
use warnings;

use FindBin;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

use Dms::Session;

my $stress = $ENV{DMS_STRESS};
plan skip_all => 'DMS_STRESS names no stress test' unless $stress && -x $stress;

my $rounds = $ENV{DMS_LONG} ? 50 : 1;
my $seconds = $ENV{DMS_LONG} ? 20 : 2;
my $seed = $ENV{DMS_SEED} || int(rand(1_000_000));
note("DMS_SEED=$seed repeats the choices of this run");

my $node = PostgreSQL::Test::Cluster->new('maintenance');
$node->init;
$node->append_conf('postgresql.conf', q{
	shared_preload_libraries = 'dms'
	max_connections = 50
	autovacuum_naptime = 1s
	deadlock_timeout = 200ms
	log_statement = none
	log_min_error_statement = fatal
});
$node->start;
$node->safe_psql('postgres', 'CREATE DATABASE stress');

my $top = "$FindBin::RealBin/../..";
my ($out, $err) = ('', '');
my $run = IPC::Run::start(
	[
		$stress, '--dbname', $node->connstr('stress'), '--schema', "$top/test/schemas/stress.json",
		'--views', "$top/test/stress/views.sql", '--seed', $seed, '--seconds', 1_000_000
	],
	'>', \$out, '2>', \$err);

# The number of transactions that were committed in the database.
my $COMMITTED = q{SELECT xact_commit FROM pg_stat_database WHERE datname = 'stress'};

# Waits until the stress test has written for a while.
$node->poll_query_until('stress', q{SELECT to_regclass('dms.ReferenceEdge') IS NOT NULL}) or die "no store: $out$err";
$node->poll_query_until('stress', 'SELECT count(*) > 500 FROM dms.ReferenceEdge') or die "no edges: $out$err";

my $watch = Dms::Session->new($node, 'stress');

# Returns the sessions that wait for a backend, with their queries.  An index that REINDEX
# has replaced is locked for the moment in which it is dropped; such waits do not count.
sub waiting_for
{
	my ($pid) = @_;

	return $watch->ask(qq{
		SELECT a.pid, a.wait_event, left(a.query, 80) FROM pg_stat_activity AS a
		JOIN pg_locks AS l ON l.pid = a.pid AND NOT l.granted
		WHERE a.application_name LIKE 'stress _%' AND $pid = ANY (pg_blocking_pids(a.pid))
		  AND NOT EXISTS (SELECT FROM pg_class AS c WHERE c.oid = l.relation AND c.relkind = 'i');\n});
}

# Runs a statement in a session, and looks all the time whether others wait for it.
# Returns its output, those that waited, and the number of looks.
sub run_watched
{
	my ($session, $sql) = @_;
	my ($waited, $looks) = ('', 0);

	$session->say($sql);
	$session->expect;
	until ($session->look)
	{
		$waited .= waiting_for($session->pid);
		$looks++;
	}
	return ($session->answer, $waited, $looks);
}

# VACUUM sleeps after each page.  It is repeated until it took long enough, and until
# enough was done meanwhile.
{
	my $vacuum = Dms::Session->new($node, 'stress');
	my ($output, $waited, $looks, $took, $runs) = ('', '', 0, 0, 0);
	my $before = $node->safe_psql('stress', $COMMITTED);
	my $done = 0;

	$vacuum->ask("SET vacuum_cost_delay = 100; SET vacuum_cost_limit = 1;\n");
	while ($took < $seconds || $done < 500 || $looks <= 10)
	{
		my $start = time;
		my @one = run_watched($vacuum, "VACUUM dms.ReferenceEdge;\n");

		$output .= $one[0];
		$waited .= $one[1];
		$looks += $one[2];
		$took += time - $start;
		$runs++;
		$done = $node->safe_psql('stress', $COMMITTED) - $before;
		last unless $run->pumpable;
	}
	note(sprintf '%d times VACUUM, %.1f s, %d looks, %d transactions', $runs, $took, $looks, $done);
	is($output, '', 'VACUUM of the edges succeeds');
	is($waited, '', 'and no session waits for it');
	ok($looks > 10, "after $looks looks");
	$vacuum->finish;
}

# Autovacuum yields to those that wait for it, and is cancelled then.
{
	my $count = q{SELECT autovacuum_count FROM pg_stat_user_tables WHERE relid = 'dms.ReferenceEdge'::regclass};

	$node->safe_psql('stress', q{ALTER TABLE dms.ReferenceEdge SET (autovacuum_vacuum_threshold = 1,
		autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_cost_delay = 10, autovacuum_vacuum_cost_limit = 10)});
	my $before = $node->safe_psql('stress', $count);
	ok($node->poll_query_until('stress', "SELECT ($count) >= $before + 2"), 'autovacuum of the edges completes');
	unlike(slurp_file($node->logfile), qr/canceling autovacuum task/, 'and is not cancelled');
	$node->safe_psql('stress', q{ALTER TABLE dms.ReferenceEdge RESET (autovacuum_vacuum_threshold,
		autovacuum_vacuum_scale_factor, autovacuum_vacuum_cost_delay, autovacuum_vacuum_cost_limit)});
}

# Every table of the store that has an index.
{
	my $reindex = Dms::Session->new($node, 'stress');
	my @tables = split /\n/, $node->safe_psql('stress', q{
		SELECT DISTINCT i.indrelid::regclass::text FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indrelid
		WHERE c.relkind = 'r' AND c.relnamespace::regnamespace::text NOT IN ('pg_catalog', 'information_schema', 'public')
		ORDER BY 1});
	my ($failed, $waited, $looks, $times) = ('', '', 0, 0);

	foreach my $round (1 .. $rounds)
	{
		foreach my $table (@tables)
		{
			my ($output, $waits, $n) = run_watched($reindex, "REINDEX TABLE CONCURRENTLY $table;\n");

			$failed .= "$table: $output" if $output ne '';
			$waited .= "$table: $waits" if $waits ne '';
			$looks += $n;
			$times++;
		}
		# As an operator would; else most of the time would go into the indexes of what
		# has been recorded of old changes.
		$reindex->ask("SELECT dms.compact_changes(), dms.purge_tracked_changes('0');\n");
		last unless $run->pumpable;
	}
	note("reindexed @tables: $times times, $looks looks");
	cmp_ok(scalar @tables, '>', 10, 'there are tables of the store and of resources');
	is($times, @tables * $rounds, "REINDEX CONCURRENTLY of " . @tables . " tables, $rounds times each");
	is($failed, '', 'all of them succeed');
	is($waited, '', 'no session waits for it');
	is($node->safe_psql('stress', 'SELECT count(*) FROM pg_index WHERE NOT indisvalid'), '0', 'no index is left behind');
	$reindex->finish;
}

$watch->finish;
ok($run->pumpable, 'the stress test ran all the time');
$run->signal('INT');
$run->finish;
note($out);
is($err, '', 'the stress test has nothing to complain about');
is($run->result(0), 0, 'and found nothing');
like($out, qr/^0 findings$/m, 'nothing is stale');

$node->stop;
done_testing();
