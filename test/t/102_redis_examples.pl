# The programs of examples/redis with a real Redis: a client that looks for documents in its
# memory, in Redis and in the store, and a publisher that does from outside what workers do.
use strict;
use warnings;

use Cwd qw(abs_path);
use FindBin;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

use Dms::Redis;

my ($python) = grep { system(qq($_ -c "import psycopg2" 2>/dev/null)) == 0 } qw(python3 /usr/bin/python3);
plan skip_all => 'python3-psycopg2 is not installed' unless defined $python;
plan skip_all => Dms::Redis::missing() if Dms::Redis::missing();

my $library = `$ENV{PG_CONFIG} --pkglibdir` =~ s/\s+$//r;
my $example = abs_path("$FindBin::RealBin/../../examples/redis");
my $dir = PostgreSQL::Test::Utils::tempdir_short();
my $redis = Dms::Redis->new("$dir/redis.sock");
my $node = PostgreSQL::Test::Cluster->new('redis_examples');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', "fsync = off\nlog_statement = none\nshared_preload_libraries = 'dms'\n"
	  . "dms.worker_naptime = 1s\ndms.redis_url = 'unix://$dir/redis.sock?db=1'\ndms.redis_channel = 'dms-keys'");
$node->start;

my $schema = slurp_file("$FindBin::RealBin/../../examples/schemas/school.json");
$node->safe_psql('postgres', "SET client_min_messages = warning; CREATE EXTENSION dms; SELECT dms.deploy_schema(\$schema\$$schema\$schema\$)");
$node->safe_psql('postgres', <<'SQL');
CREATE FUNCTION post(resource text, document json) RETURNS uuid LANGUAGE sql AS 'SELECT document_uuid FROM dms.upsert_document($$ed-fi$$, resource, document)';
CREATE FUNCTION period(name text) RETURNS json LANGUAGE sql AS $$
	SELECT json_build_object('classPeriodName', name, 'schoolReference', '{"schoolId": 1}'::json)
$$;
SELECT post('gradeLevelDescriptors', '{"namespace": "uri://g", "codeValue": "10", "shortDescription": "10"}'),
	post('schools', '{"schoolId": 1, "nameOfInstitution": "Schule", "gradeLevels": [{"gradeLevelDescriptor": "uri://g#10"}]}');
CREATE FUNCTION any_of() RETURNS uuid LANGUAGE sql VOLATILE AS $$
	SELECT DocumentUuid FROM dms.Document WHERE ResourceName = 'ClassPeriod' ORDER BY random() LIMIT 1
$$;
CREATE FUNCTION change() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	what double precision := random();
	period uuid := any_of();
BEGIN
	IF what < 0.5 OR period IS NULL THEN
		PERFORM post('classPeriods', period(floor(random() * 20)::text));
	ELSIF what < 0.8 THEN
		PERFORM dms.update_document(period, period(floor(random() * 20)::text));
	ELSE
		PERFORM dms.delete_document(period);
	END IF;
EXCEPTION WHEN unique_violation OR SQLSTATE 'ZD404' THEN
	NULL;
END $$;
SQL
my $prefix = $node->safe_psql('postgres', q{SELECT 'dms:' || dms.instance_id() || ':' || EffectiveSchemaHash || ':'
	FROM dms.EffectiveSchema ORDER BY EffectiveSchemaId DESC LIMIT 1});

# --- the publisher --------------------------------------------------------------------

my @publish = ($python, "$example/publish.py", $node->connstr('postgres'), "unix://$dir/redis.sock", '--cursor', "$dir/cursor");

change(200);
run_log([ @publish, '--once' ]);
published('the first run', 1);
change(100);
run_log([ @publish, '--once' ]);
published('the next one', 1);
my $place = slurp_file("$dir/cursor");
run_log([ @publish, '--once' ]);
is(slurp_file("$dir/cursor"), $place, 'nothing has changed, and nothing is done');

# It is killed while others write, and Redis hangs and is emptied.
foreach my $round (1 .. 3)
{
	my ($out, $err) = ('', '');
	my $publisher = IPC::Run::start([ @publish, '--interval', 0.01 ], '>', \$out, '2>', \$err);

	change(50);
	$redis->kill('STOP') if $round == 2;
	change(50);
	sleep 0.2;
	$publisher->kill_kill(grace => 0);
	$redis->kill('CONT') if $round == 2;
	$redis->ask('FLUSHALL') if $round == 3;
	change(50);
	run_log([ @publish, '--once' ]);
	published("round $round", 0);
}
append_to_file("$dir/lost", $place =~ s/^1\.[0-9a-f]+/1.0/r);
my (undef, $told) = run_command([ map { s{/cursor$}{/lost}r } @publish, '--once' ]);
like($told, qr/^publish: beginning anew$/m, 'a cursor of another store: it begins anew');
published('then', 1);

# --- the client -------------------------------------------------------------------------

my $uuid = $node->safe_psql('postgres', q{SELECT post('classPeriods', period('mine'))});
my $id = $node->safe_psql('postgres', "SELECT DocumentId FROM dms.Document WHERE DocumentUuid = '$uuid'");
my $client = start_client("unix://$dir/redis.sock?db=2", '--memory', 600);
is($client->('mine'), "$id (store)", 'at first it asks the store');
is($client->('mine'), "$id (memory)", 'and remembers the answer');
is(start_client("unix://$dir/redis.sock?db=2")->('mine'), "$id (Redis)", 'another one finds it in Redis');
is($client->('yours'), 'none (store)', 'what is not there is not remembered');
$node->safe_psql('postgres', q{SELECT post('classPeriods', period('yours'))});
like($client->('yours'), qr/^\d+ \(store\)$/, 'so it is found as soon as it is there');
$client = start_client("unix://$dir/redis.sock?db=2");
$client->('mine');
sleep 1.1;
is($client->('mine'), "$id (Redis)", 'without a channel it does not remember for long');
$redis->kill('STOP');
is(start_client("unix://$dir/redis.sock?db=2")->('mine'), "$id (store)", 'if Redis hangs, it asks the store');
$redis->kill('CONT');
is(start_client("unix://$dir/nowhere")->('mine'), "$id (store)", 'or if it is not there');

# What is given in a call, with a blank, and a value that is none.
$node->safe_psql('postgres', q{SELECT post('classPeriods', period('with a blank'))});
like(run_client("unix://$dir/redis.sock?db=2", 'Ed-Fi:ClassPeriod', '$.classPeriodName=with a blank', '$.schoolReference.schoolId=1'), qr/^\d+ \(store\)$/, 'an identity with a blank');
$redis->ask('SELECT', 2);
$redis->ask('SET', $_, 'garbage') foreach keys %{ $redis->values_of($prefix) };
$redis->ask('SELECT', 0);
is(start_client("unix://$dir/redis.sock?db=2")->('mine'), "$id (store)", 'a value that is no id is none');

# Neither program sends anything where it would be seen, nor repeats a password.
foreach my $program ([ 'client.py' ], [ 'publish.py', '--cursor', "$dir/none" ])
{
	my ($name, @options) = @$program;

	foreach my $refused ([ 'rediss://localhost', 'there is no TLS' ], [ 'redis://me:hush@localhost', 'a password belongs into REDIS_PASSWORD' ])
	{
		my ($out, $err) = run_command([ $python, "$example/$name", $node->connstr('postgres'), $refused->[0], @options ]);

		like($err, qr/$refused->[1]/, "$name refuses " . $refused->[0] =~ s/hush/.../r);
		unlike($err, qr/hush/, 'and does not repeat it');
	}
}
my ($said, $complaint) = ('', '');
my $lonely = IPC::Run::start([ $python, "$example/publish.py", $node->connstr('postgres'), 'redis://127.0.0.1:1', '--cursor', "$dir/none" ], '>', \$said, '2>', \$complaint,
	IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
$lonely->pump until $complaint =~ /\n/;
is(($complaint =~ /^(.*)$/m)[0], 'publish: Redis: Connection refused', 'the publisher says why it cannot reach Redis');
$lonely->kill_kill(grace => 0);

# It stores what it has read after the identity has changed: too late.
is(run_python(qq{
	import sys; sys.path.insert(0, "$example")
	from client import Lookup, REFERENTIAL_ID
	import psycopg2
	one = Lookup("host=@{[$node->host]} port=@{[$node->port]} dbname=postgres", "unix://$dir/redis.sock?db=3")
	writer = psycopg2.connect("host=@{[$node->host]} port=@{[$node->port]} dbname=postgres"); writer.autocommit = True
	def change():
		writer.cursor().execute("SELECT dms.update_document('$uuid', period('renamed'))")
		one.redis.ask("SET", one.key("refid", refid), "", "EX", 600)
	refid = one.query(REFERENTIAL_ID, "Ed-Fi", "ClassPeriod", ["\$.classPeriodName", "\$.schoolReference.schoolId"], ["mine", "1"])
	one.before_fill = change
	print(one.document_id(refid), repr(one.redis.ask("GET", one.key("refid", refid))))
}), "($id, 'store') ''\n", 'a client that is late brings back nothing');

# --- the client with a worker -------------------------------------------------------------

SKIP:
{
	skip 'dms_redis was built without hiredis', 6 unless -e "$library/dms_redis.so";
	my $near = start_client("unix://$dir/redis.sock?db=1", '--channel', 'dms-keys');

	like(until_from('Redis', 'renamed', sub { start_client("unix://$dir/redis.sock?db=1") }), qr/^$id /, 'a worker has written it');
	is($near->('renamed'), "$id (Redis)", 'the client finds it');
	sleep 1.1;
	is($near->('renamed'), "$id (memory)", 'and remembers it, because it would hear of a change');
	$node->safe_psql('postgres', "SELECT dms.update_document('$uuid', period('again'))");
	like(until_from('store', 'renamed', sub { $near }), qr/^none /, 'it hears of it');
	like(until_from('Redis', 'again', sub { start_client("unix://$dir/redis.sock?db=1") }), qr/^$id /, 'and the new identity is there');
	$redis->kill('KILL');
	is(until_from('store', 'again', sub { $near }), "$id (store)", 'when Redis is gone, it forgets, and asks the store');
	$redis->start;
}

$node->stop;
done_testing();

sub change
{
	my ($n) = @_;

	$node->safe_psql('postgres', "SELECT count(change()) FROM generate_series(1, $n)");
	return;
}

# Each key of Redis is that of the store, or empty.  After a run with nothing lost all are there.
sub published
{
	my ($name, $complete) = @_;
	my %known = map { my ($key, $value) = split /\|/; $prefix . $key => $value } split /\n/, $node->safe_psql('postgres', q{
		SELECT 'refid:' || replace(ReferentialId::text, '-', ''), DocumentId FROM dms.ReferentialIdentity
		UNION ALL SELECT 'uuid:' || replace(DocumentUuid::text, '-', ''), DocumentId FROM dms.Document});
	my $values = $redis->values_of($prefix);
	my @wrong = grep { $values->{$_} ne '' && $values->{$_} ne ($known{$_} // 'none') } keys %$values;
	my @missing = grep { !defined $values->{$_} } keys %known;

	is("@wrong", '', "$name: each key is that of the store, or empty");
	is("@missing", '', "$name: and none is missing") if $complete;
	return;
}

# Runs a program, and returns what it prints.
sub run_python
{
	my ($program) = @_;
	my ($indent) = $program =~ /^\n(\s+)/;

	$program =~ s/^$indent//mg;
	return (run_command([ $python, '-c', $program ]))[0] . "\n";
}

# Runs a client for one identity; returns what it prints.
sub run_client
{
	return (run_command([ $python, "$example/client.py", $node->connstr('postgres'), @_ ]))[0];
}

# Starts a client; returns a function that asks it for a class period.
sub start_client
{
	my ($url, @options) = @_;
	my ($in, $out) = ('', '');
	my $process = IPC::Run::start([ $python, '-u', "$example/client.py", $node->connstr('postgres'), $url, @options ],
		'<', \$in, '>', \$out, IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));

	return sub {
		my ($name) = @_;

		$out = '';
		$in .= "Ed-Fi:ClassPeriod \$.classPeriodName=$name \$.schoolReference.schoolId=1\n";
		$process->pump until $out =~ /\n/;
		return $out =~ s/\n//r;
	};
}

# Asks until the answer is from a place.
sub until_from
{
	my ($place, $name, $client) = @_;
	my $end = time + $PostgreSQL::Test::Utils::timeout_default;
	my $answer = '';

	while (time < $end)
	{
		$answer = $client->()->($name);
		return $answer if $answer =~ /\($place\)/;
		sleep 0.1;
	}
	return $answer;
}
