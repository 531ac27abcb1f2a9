# The stress test, while backends and the whole server are killed at random
# moments: what was acknowledged is there afterwards, and nothing is stale.
# DMS_LONG=1 (./check --long) kills more often.
use strict;
use warnings;

use Cwd;
use FindBin;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep);

my $stress = $ENV{DMS_STRESS};
plan skip_all => 'DMS_STRESS names no stress test' unless $stress && -x $stress;

my $crashes = $ENV{DMS_LONG} ? 24 : 3;
my $seed = $ENV{DMS_SEED} || int(rand(1_000_000));
srand($seed);
note("DMS_SEED=$seed repeats the choices of this run");

my $node = PostgreSQL::Test::Cluster->new('crash');
$node->init;

# Commits are acknowledged when they are in the log; small checkpoints make
# recoveries that start at various places.
$node->append_conf('postgresql.conf', q{
	restart_after_crash = on
	shared_preload_libraries = 'dms'
	max_connections = 50
	checkpoint_timeout = 30s
	max_wal_size = 64MB
	autovacuum_naptime = 1s
	log_statement = none
	log_min_messages = log
	log_min_error_statement = fatal
});
$node->start;
$node->safe_psql('postgres', 'CREATE DATABASE crash');

my $top = "$FindBin::RealBin/../..";
my ($out, $err) = ('', '');
my $run = IPC::Run::start(
	[
		$stress, '--dbname', $node->connstr('crash'), '--schema', "$top/test/schemas/stress.json",
		'--views', "$top/test/stress/views.sql", '--crashes', '--history', '--follow', '--seed', $seed, '--seconds', 1_000_000
	],
	'>', \$out, '2>', \$err);

# The server may be in recovery: then there is nobody to ask.
sub ask
{
	my ($sql) = @_;
	my ($status, $answer) = $node->psql('postgres', $sql);
	return defined $status && $status == 0 ? $answer : undef;
}

# Wait until everybody is connected, or is again, and has written something.
sub wait_for_work
{
	my $sessions = q{SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'stress _%'};
	my $written  = q{SELECT pg_current_wal_insert_lsn() - '0/0'};
	my $start;

	foreach my $attempt (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		my $answer = ask("SELECT ($sessions) >= 8, ($written)");
		my ($connected, $now) = split(/\|/, $answer // 'f|0');

		# Whoever was killed last may still be among them.
		$start = $connected eq 't' ? $start // $now : undef;
		return if defined $start && $now > $start + 100_000;
		last unless $run->pumpable;
		sleep(0.1);
	}
	die "the stress test does not work: $out$err";
}

# Killing one backend makes the postmaster throw all others out and recover.
sub kill_backend
{
	my $pid = ask(q{
		SELECT pid FROM pg_stat_activity
		WHERE application_name LIKE 'stress _%' ORDER BY state = 'active' DESC, random() LIMIT 1});
	return 0 unless $pid;
	# ./check looks for crashes in the log; this one is meant.
	append_to_file($node->logfile =~ s/\.log$/.killed/r, "(PID $pid) was terminated by signal 9\n");
	return kill('KILL', $pid);
}

# Killing the postmaster leaves backends behind that end by and by; a server
# cannot start beside them.
sub kill_postmaster
{
	my $data = Cwd::realpath($node->data_dir);
	my ($postmaster) = split(/\n/, slurp_file($node->data_dir . '/postmaster.pid'));
	my @processes = ($postmaster);

	$node->kill9;
	do
	{
		# All of its processes are in its data directory.
		push @processes, grep { (readlink("/proc/$_/cwd") // '') eq $data } map { m{^/proc/(\d+)$} } glob('/proc/*');
		@processes = grep { kill('KILL', $_) } @processes;
		sleep(0.1);
	} while (@processes);
	return $node->start;
}

my ($backends, $postmasters) = (0, 0);
foreach my $number (1 .. $crashes)
{
	wait_for_work();
	sleep(rand(2));
	if ($number % 3 == 0)
	{
		$postmasters += kill_postmaster();
	}
	else
	{
		sleep(0.1) until kill_backend();
		$backends++;
	}
}
wait_for_work();
note("killed: $backends backends, $postmasters times the postmaster");
ok($backends > 0 && $postmasters > 0, 'backends and the postmaster were killed, and work went on');

$run->signal('INT');
$run->finish;
note($out);

# A server that goes down says so to who is just connecting.
$err =~ s/^(?:WARNING:  terminating connection|DETAIL:  The postmaster has commanded|HINT:  In a moment).*\n//mg;
is($err, '', 'the stress test has nothing to complain about');
is($run->result(0), 0, 'and found nothing');
like($out, qr/^0 findings$/m, 'what was acknowledged is there, nothing is stale');
my ($lost) = $out =~ /(\d+) connections lost/;
ok($lost > 0, "$lost connections were lost");
is($node->safe_psql('crash', 'SELECT count(*) FROM dms.audit()'), '0', 'the audit finds nothing either');

$node->stop;
done_testing();
