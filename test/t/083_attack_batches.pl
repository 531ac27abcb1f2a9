# Attacks on calls with several documents: test/attack/batches has many sessions that
# write few documents, hostile arguments for every function, and a session that goes on
# while tables and models change under it.
use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $attacks = "$FindBin::RealBin/../attack/batches";
my $python  = '/usr/bin/python3';

plan skip_all => 'there is no Python with psycopg2'
  unless -x $python && system("$python -c 'import psycopg2' 2>/dev/null") == 0;

my $long = $ENV{DMS_LONG};

# Delays before each lock, which only the fault build has, let sessions meet.
my %install = $ENV{DMS_FAULTS_INSTALL} ? (install_path => $ENV{DMS_FAULTS_INSTALL}) : ();
my @delay = $ENV{DMS_FAULTS_INSTALL} ? ('--delay', 2) : ();

my $faults = start('storm', %install);
attack($faults, 'storm', $_, 'storm.py', '--seconds', $long ? 600 : 12, '--sessions', 6, '--prepare', '0.05', @delay)
  foreach $long ? 1 .. 4 : 1;
attack($faults, 'focus', 1, 'storm.py', '--seconds', $long ? 300 : 8, '--sessions', 6, '--focus', '--single', @delay);
attack($faults, 'known', undef, 'known.py') if $ENV{DMS_FAULTS_INSTALL};
$faults->stop;

my $node = start('hostile');
attack($node, 'hostile', $_, 'hostile.py', '--calls', $long ? 10000 : 800, $long ? '--large' : ())
  foreach $long ? 1 .. 3 : 1;
attack($node, 'session', undef, 'session.py', '--calls', $long ? 40000 : 1000, '--documents', $long ? 5000 : 200);
$node->stop;
done_testing();

sub start
{
	my ($name, @options) = @_;

	my $started = PostgreSQL::Test::Cluster->new($name, @options);
	$started->init;
	$started->append_conf('postgresql.conf', 'max_prepared_transactions = 20');
	$started->start;
	return $started;
}

# Run a script in a database of its own; it says what broke.
sub attack
{
	my ($server, $name, $seed, $script, @options) = @_;

	my $database = 'attack_' . $name . ($seed // '');
	$server->safe_psql('postgres', "CREATE DATABASE $database TEMPLATE template0 ENCODING 'UTF8'");
	push @options, '--seed', $seed if defined $seed;
	local $ENV{PGHOST} = $server->host;
	local $ENV{PGPORT} = $server->port;
	local $ENV{PGUSER} = 'postgres';
	local $ENV{PYTHONDONTWRITEBYTECODE} = 1;
	my ($out, $status) = ('');
	IPC::Run::run([ $python, "$attacks/$script", '--database', $database, @options ], '>', \$out, '2>&1');
	$status = $?;
	note($out);
	is($status, 0, "$script " . join(' ', @options));
	is(join("\n", $out =~ /^(?:BROKEN.*|SURPRISE.*|Traceback.*|\w*Error: .*)$/mg), '', '... nothing was broken');
	return;
}
