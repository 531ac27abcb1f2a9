# The natural calls of drivers: psycopg2, psycopg 3 with text and binary results, and
# node-postgres, each directly and through pgbouncer in transaction mode.  The scripts
# are in test/drivers.
use strict;
use warnings;

use FindBin;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# The version of node-postgres, which is installed from npm.
my $PG_JS = '8.11.3';

# The members of a problem body.
my $PROBLEM = '{correlationId detail errors status title type validationErrors}';

my $drivers = "$FindBin::RealBin/../drivers";
my $dir = PostgreSQL::Test::Utils::tempdir();

my $node = PostgreSQL::Test::Cluster->new('drivers');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', "fsync = off");
$node->start;
my $schema = slurp_file("$FindBin::RealBin/../../examples/schemas/school.json");
$node->safe_psql('postgres', "SET client_min_messages = warning; CREATE EXTENSION dms; SELECT dms.deploy_schema(\$schema\$$schema\$schema\$)");
my $user = $node->safe_psql('postgres', 'SELECT current_user');

my %python = map { $_ => python_with($_) } qw(psycopg2 psycopg);
my $modules = install_pg_js();
my $bouncer = start_bouncer();

test_drivers('directly', $node->host, $node->port, 1);
SKIP:
{
	skip 'pgbouncer is not installed; .ci/run installs it', 1 unless $bouncer;
	test_drivers('pgbouncer', $dir, $bouncer->{port}, 0);
	test_clients();
	$bouncer->{process}->kill_kill;
}
is($node->safe_psql('postgres', 'SELECT * FROM dms.audit()'), '', 'the store is in order');
$node->stop;
done_testing();

# Run the calls of all drivers.
sub test_drivers
{
	my ($name, $host, $port, $names) = @_;
	my $conninfo = "host=$host port=$port dbname=postgres user=$user";

  SKIP:
	{
		skip 'python3-psycopg2 is not installed', 1 unless $python{psycopg2};
		test_calls("psycopg2 $name", psycopg2_lines(), $python{psycopg2}, "$drivers/psycopg2_calls.py", $conninfo);
	}
  SKIP:
	{
		skip 'python3-psycopg is not installed; .ci/run installs it', 1 unless $python{psycopg};

		# Statements that are prepared by name need a pooler that knows about them.
		test_calls("psycopg 3 $name, $_", psycopg3_lines($names), $python{psycopg}, "$drivers/psycopg3_calls.py", $conninfo, $_,
			$names ? 'prepare' : ())
		  foreach qw(text binary);
	}
  SKIP:
	{
		skip $modules->{reason}, 1 if $modules->{reason};
		local $ENV{PGUSER} = $user;
		test_calls("node-postgres $name", pg_js_lines(), 'node', "$drivers/pg_calls.js", $modules->{path}, $host, $port);
	}
	$node->safe_psql('postgres', 'SELECT dms.delete_document(DocumentUuid) FROM dms.Document');
	return;
}

# Run a script, and compare what it prints.
sub test_calls
{
	my ($name, $expected, @command) = @_;
	my ($out, $err);

	IPC::Run::run(\@command, '<', \undef, '>', \$out, '2>', \$err,
		IPC::Run::timeout(10 * $PostgreSQL::Test::Utils::timeout_default));
	is($out, join('', map { "$_\n" } @$expected), $name) or diag($err);
	return;
}

# A Python that has a package; the first one on the path may not have Debian's.
sub python_with
{
	my ($package) = @_;

	my ($found) = grep { system(qq($_ -c "import $package" 2>/dev/null)) == 0 } qw(python3 /usr/bin/python3);
	return $found;
}

# Install node-postgres into a scratch directory.
sub install_pg_js
{
	my $out = '';

	return { reason => 'node and npm are not installed; .ci/run installs them' }
	  if system('node --version >/dev/null 2>&1 && npm --version >/dev/null 2>&1') != 0;
	local $ENV{HOME} = $dir;
	my $done = eval {
		IPC::Run::run([ 'npm', 'install', '--no-package-lock', '--no-audit', '--no-fund', '--ignore-scripts', '--prefix', "$dir/js",
			"pg\@$PG_JS" ], '<', \undef, '>&', \$out, IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
	};
	return { path => "$dir/js/node_modules" } if $done;
	note($out);
	return { reason => "npm cannot install pg $PG_JS: " . ($out =~ /npm ERR! (\S.*)/ ? $1 : 'no answer') };
}

# Start a pooler whose connections serve another client after each transaction.
sub start_bouncer
{
	my $port = PostgreSQL::Test::Cluster::get_free_port();
	my ($program) = grep { -x $_ } map { "$_/pgbouncer" } split(/:/, $ENV{PATH}), '/usr/sbin';

	return unless $program;
	append_to_file("$dir/bouncer.ini", <<"INI");
[databases]
postgres = host=@{[ $node->host ]} port=@{[ $node->port ]} user=$user
[pgbouncer]
unix_socket_dir = $dir
listen_port = $port
auth_type = any
pool_mode = transaction
default_pool_size = 2
logfile = $dir/bouncer.log
INI
	my $process = IPC::Run::start([ $program, '-q', "$dir/bouncer.ini" ], '<', \undef, '>', '/dev/null', '2>', '/dev/null');
	my $up = 0;
	for (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		$up = system("psql -X -q -h $dir -p $port -U $user -d postgres -c 'SELECT 1' >/dev/null 2>&1") == 0;
		last if $up;
		select(undef, undef, undef, 0.1);
	}
	die 'pgbouncer did not start: ' . slurp_file("$dir/bouncer.log") unless $up;
	return { port => $port, process => $process };
}

# Several clients at once, through the pooler.
sub test_clients
{
	my $psql = "psql -X -q -A -t -h $dir -p $bouncer->{port} -U $user -d postgres";
	my @clients;

	for my $client (1 .. 8)
	{
		my $calls = join '', map {
			"CALL dms.process_request('POST', '/ed-fi/students', '{\"Idempotency-Key\": \"b$_\"}',
				'{\"studentUniqueId\": \"b$_\", \"firstName\": \"F\", \"lastSurname\": \"L\", \"birthDate\": \"2014-02-03\"}');\n"
		} 1 .. 10;
		my ($out, $err) = ('', '');
		push @clients, { out => \$out, run => IPC::Run::start([ split / /, $psql ], '<', \$calls, '>', \$out, '2>&1') };
	}
	my %statuses;
	foreach my $client (@clients)
	{
		$client->{run}->finish;
		$statuses{$_}++ foreach ${ $client->{out} } =~ /^([^|\n]*)/mg;
	}
	is(join(' ', map { "$_: $statuses{$_}" } sort keys %statuses), '201: 80', 'eight clients on two connections: each key runs once');
	is($node->safe_psql('postgres', 'SELECT count(*), max(Etag) FROM dms.Document'), '10|1', 'and there is one document for each');
	return;
}

# What the scripts print: JSON is parsed, and problems are answers.
sub calls
{
	my ($form, $first) = @_;

	return ("upsert $form: $first", "resolve $form: true", "update $form: unchanged", "query $form: ada", "count $form: 1",
		"handle_request $form: 412 {Content-Type}", "process_request $form: 400 {Content-Type} $PROBLEM");
}

sub psycopg2_lines
{
	return [ 'upsert a string: inserted', 'upsert Json: unchanged', 'upsert by name: unchanged', 'resolve: true', 'update: unchanged',
		'update many: unchanged', 'query: ada', 'count: 1', 'handle_request: 200 "1"',
		'process_request: 200 {Content-Type} [0]', "process_request, not valid: 400 {Content-Type} $PROBLEM", 'columns: status headers body' ];
}

sub psycopg3_lines
{
	my ($prepared) = @_;
	my $first = 'inserted';
	my @lines;

	foreach my $form ('a string', 'Json', 'Jsonb')
	{
		push @lines, calls($form, $first), "process_request, both $form: 404 {Content-Type} $PROBLEM";
		$first = 'unchanged';
	}
	return [ @lines, 'update many: unchanged', 'process_request: 200 {Content-Type} [0]', 'columns: status headers body',
		$prepared ? ('prepared: unchanged') x 3 : () ];
}

sub pg_js_lines
{
	return [ (map { s/ada/Ada/r } calls('a string', 'inserted'), calls('an object', 'unchanged')), 'update many: unchanged',
		'process_request: 200 {Content-Type} [0]', 'columns: status headers body', 'an error: ZD400 400' ];
}
