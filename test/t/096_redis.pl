# Background workers write what they know to a real Redis, and only they do.  What Redis
# has is what the store has, or says to ask it.  Redis may be stopped, killed, emptied,
# full, read-only, or hang, or be something else: no writer and no projector notices, and
# it gets what it has missed.
use strict;
use warnings;

use FindBin;
use IO::Socket::INET;
use IO::Socket::UNIX;
use IPC::Run;
use List::Util qw(max sum);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

use Dms::Redis;
use Dms::RedisNode;
use Dms::Session;

my $timeout = $PostgreSQL::Test::Utils::timeout_default;
my $library = `$ENV{PG_CONFIG} --pkglibdir` =~ s/\s+$//r;

# The library itself needs no client of Redis, with and without dms_redis.
unlike(`readelf -d $library/dms.so`, qr/hiredis/, 'dms.so is not linked with hiredis');
plan skip_all => 'dms_redis was built without hiredis' unless -e "$library/dms_redis.so";
like(`readelf -d $library/dms_redis.so`, qr/NEEDED.*hiredis/, 'dms_redis.so is');
if (Dms::Redis::missing())
{
	note(Dms::Redis::missing() . ': the rest is left out');
	done_testing();
	exit;
}

my $dir = PostgreSQL::Test::Utils::tempdir_short();
my $schema = slurp_file("$FindBin::RealBin/../../examples/schemas/school.json");
my $redis = Dms::Redis->new("$dir/redis.sock");
my $node = new_node('redis');
my $prefix = $node->safe_psql('school', q{SELECT 'dms:' || dms.instance_id() || ':' || EffectiveSchemaHash || ':'
	FROM dms.EffectiveSchema ORDER BY EffectiveSchemaId DESC LIMIT 1});
my $outages = 0;

# --- settings -----------------------------------------------------------------------

# A password in the URL is refused, and not repeated.
foreach my $url ('redis://me:hush@localhost', 'redis://:hush@localhost/1')
{
	my ($code, undef, $err) = $node->psql('school', "SET dms.redis_url = '$url'");
	like($err, qr/ERROR:  invalid value for parameter "dms.redis_url"\nDETAIL:  A password belongs into the file/, "refused: a password");
	unlike($err =~ s/^LINE.*//mr, qr/hush/, 'and not repeated');
}
is(refusal($_->[0]), $_->[1], "refused: $_->[0]") foreach (
	[ 'rediss://localhost', 'TLS is not built in; use a socket, or a proxy on this machine.' ],
	[ 'http://localhost', 'It begins with "redis://" or "unix://".' ],
	[ 'redis://', 'The host is missing.' ],
	[ 'redis://@localhost', 'The name of the user is missing.' ],
	[ 'redis://localhost:0', 'The port is not a number from 1 to 65535.' ],
	[ 'redis://localhost:99999', 'The port is not a number from 1 to 65535.' ],
	[ 'redis://localhost/one', 'After the host, only "/" and a number may follow.' ],
	[ 'redis://[::1', 'An address with colons stands in brackets.' ],
	[ 'unix://redis.sock', 'The path of a socket begins with "/".' ],
	[ 'unix:///redis.sock?database=1', 'After the path, only "?db=" and a number may follow.' ],
	[ 'unix:///' . 'x' x 200, 'The path is too long for a socket.' ]);
is(refusal($_), '', "taken: $_") foreach ('', 'redis://localhost', 'redis://me@127.0.0.1:6380/2', 'redis://[::1]:6379/0',
	'unix:///tmp/redis.sock', 'unix://me@/tmp/redis.sock?db=3');
like(($node->psql('school', q{SET dms.redis_kinds = 'refid, secrets'}))[2], qr/The value is a list of refid, uuid, uri and doc/, 'a kind that there is not');

# Neither the owner of the database and of the store nor any other user may say where the
# server connects to, or see it.
foreach my $setting (qw(redis_url redis_password_file redis_kinds redis_channel redis_timeout redis_ttl))
{
	my $value = $setting =~ /timeout|ttl/ ? 1000 : "''";

	like(($node->psql('school', "SET ROLE owner; SET dms.$setting = $value"))[2], qr/permission denied to set parameter "dms.$setting"/, "the owner must not set dms.$setting");
	like(($node->psql('school', "SET ROLE owner; ALTER DATABASE school SET dms.$setting = $value"))[2], qr/permission denied to set parameter "dms.$setting"/, 'nor for the database');
	like(($node->psql('school', "SET ROLE owner; ALTER ROLE owner SET dms.$setting = $value"))[2], qr/permission denied to set parameter "dms.$setting"/, 'nor for himself');
	like(($node->psql('school', "SET ROLE owner; SHOW dms.$setting"))[2], qr/must be superuser|permission denied/, 'nor see it');
}

# --- what is written -------------------------------------------------------------------

redis_set($node, redis_url => "unix://$dir/redis.sock");
write_mark();
my $uuid = $node->safe_psql('school', q{SELECT post('classPeriods', period('first'))});
my $id = id_of($uuid);
$node->safe_psql('school', q{SELECT post('gradeLevelDescriptors', '{"namespace": "uri://g", "codeValue": "11", "shortDescription": "11"}')});
my $first = refid('first');
ok(becomes("refid:$first", $id), 'an identity has the id of its document');
is($redis->ask('GET', $prefix . 'uuid:' . hex_of($uuid)), $id, 'and so has the uuid');
like($redis->ask('GET', $prefix . 'doc:' . hex_of($uuid)), qr/^\{"etag": 1, "document": \{.*"classPeriodName":"first".*\}\}$/, 'the document is there, with its etag');
my $grade = $node->safe_psql('school', q{SELECT DocumentId FROM dms.Descriptor WHERE Uri = 'uri://g#11'});
ok(becomes("uri:$grade", 'uri://g#11'), 'URIs of descriptors are there');
my $ttl = $redis->ask('TTL', $prefix . "refid:$first");
ok($ttl > 500 && $ttl <= 600, 'it expires after ten minutes');
ok($redis->ask('TTL', "${prefix}uri:$grade") > 6000, 'and a URI after two hours');

$node->safe_psql('school', "SELECT dms.update_document('$uuid', period('second'))");
ok(becomes('refid:' . refid('second'), $id), 'a new identity');
is($redis->ask('GET', $prefix . "refid:$first"), '', 'and the old one is empty: ask the store');
ok($redis->ask('TTL', $prefix . "refid:$first") > 500, 'which expires, too');
like($redis->ask('GET', $prefix . 'doc:' . hex_of($uuid)), qr/^\{"etag": 2,.*"second"/, 'the document is the new one');
my $other = id_of($node->safe_psql('school', q{SELECT post('classPeriods', period('first'))}));
ok(becomes("refid:$first", $other), 'another document takes the old identity');
$node->safe_psql('school', "SELECT dms.delete_document('$uuid')");
ok(becomes($_, ''), "a delete: $_ is empty") foreach ('refid:' . refid('second'), 'uuid:' . hex_of($uuid), 'doc:' . hex_of($uuid));
is($redis->ask('GET', $prefix . "refid:$first"), $other, 'and no other key is');
$node->safe_psql('school', q{BEGIN; SELECT post('classPeriods', period('never')); ROLLBACK});
write_mark();
is($redis->ask('GET', $prefix . 'refid:' . refid('never')), undef, 'what did not commit is never there');

# Whoever is not the verb.
$node->safe_psql('school', "DELETE FROM dms.Document WHERE DocumentId = $other");
ok(becomes("refid:$first", ''), 'a plain DELETE is noticed, too');
$node->safe_psql('school', "SELECT count(change()) FROM generate_series(1, 300)");
settled('random writes');

# --- a client that fills ------------------------------------------------------------------

# It has read the old value, the identity changes, and then it stores what it has read.
sub fill_race
{
	my ($one) = @_;
	my ($name, $new) = ("race $one->{name}", "raced $one->{name}");
	my $uuid = $one->{node}->safe_psql('school', "SELECT post('classPeriods', period('$name'))");
	my $key = $one->{prefix} . 'refid:' . refid($name);
	my $read = $one->{node}->safe_psql('school', "SELECT DocumentId FROM dms.ReferentialIdentity WHERE ReferentialId = '" . refid($name) . "'");

	wait_until(sub { ($redis->ask('GET', $key) // '') eq $read }) or die 'nothing is written';
	$redis->ask('DEL', $key);
	$one->{node}->safe_psql('school', "SELECT dms.update_document('$uuid', period('$new'))");
	wait_until(sub { ($redis->ask('GET', $one->{prefix} . 'refid:' . refid($new)) // '') eq $read }) or die 'nothing is written';
	$redis->ask('SET', $key, $read, 'NX', 'EX', 600);
	return $redis->ask('GET', $key) eq $read ? 'the old value' : 'ask the store';
}
is(fill_race({ name => 'now', node => $node, prefix => $prefix }), 'ask the store', 'who fills late does not bring back an outdated value');
SKIP:
{
	skip 'there is no fault build', 1 unless $ENV{DMS_FAULTS_INSTALL} && -e $ENV{DMS_FAULTS_INSTALL};
	my $faulty = new_node('redis_faults', install_path => $ENV{DMS_FAULTS_INSTALL});

	$faulty->append_conf('postgresql.conf', "dms.redis_url = 'unix://$dir/redis.sock?db=1'\ndms.skip = 'redis_tombstone'");
	$faulty->restart;
	$redis->ask('SELECT', 1);
	my $there = $faulty->safe_psql('school', q{SELECT 'dms:' || dms.instance_id() || ':' || EffectiveSchemaHash || ':'
		FROM dms.EffectiveSchema ORDER BY EffectiveSchemaId DESC LIMIT 1});
	wait_until(sub { $faulty->safe_psql('school', q{SELECT count(*) FROM dms.ChangeConsumer WHERE Name = 'redis'}) }) or die 'nobody publishes';
	is(fill_race({ name => 'then', node => $faulty, prefix => $there }), 'the old value', 'without the empty value he does');
	$redis->ask('SELECT', 0);
	$faulty->stop;
}

# --- subscribers ------------------------------------------------------------------------

redis_set($node, redis_channel => 'dms-keys');
my $subscriber = IO::Socket::UNIX->new(Peer => "$dir/redis.sock") or die "cannot connect: $!";
print {$subscriber} "SUBSCRIBE dms-keys\r\n";
$subscriber->flush;
$uuid = $node->safe_psql('school', q{SELECT post('classPeriods', period('told'))});
settled('before a subscriber is told');
$node->safe_psql('school', "SELECT dms.delete_document('$uuid')");
my $heard = '';
my $wanted = $prefix . 'refid:' . refid('told');
eval
{
	local $SIG{ALRM} = sub { die "timeout\n" };
	alarm $timeout;
	sysread $subscriber, $heard, 65536, length $heard until $heard =~ /\Q$wanted\E/;
	alarm 0;
};
like($heard, qr/\Q$wanted\E/, 'subscribers are told the keys of outdated values');
close $subscriber;
redis_set($node, redis_channel => '');

# --- outages --------------------------------------------------------------------------------

$node->safe_psql('school', q{SELECT dms.set_cache_mode('eventual')});
outage('stopped', sub { $redis->kill('TERM') }, sub { $redis->start });
outage('killed, and back empty', sub { $redis->kill('KILL') }, sub { $redis->start });
outage('hanging', sub { $redis->kill('STOP') }, sub { $redis->kill('CONT') });
outage('locked', sub { $redis->ask('CONFIG', 'SET', 'requirepass', 'x'); $redis->ask('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes') },
	sub { $redis->ask('CONFIG', 'SET', 'requirepass', '') });
outage('read-only', sub { $redis->ask('REPLICAOF', '127.0.0.1', 1) }, sub { $redis->ask('REPLICAOF', 'NO', 'ONE') }, qr/READONLY/);
outage('full', sub { $redis->ask('CONFIG', 'SET', 'maxmemory', '1mb') }, sub { $redis->ask('CONFIG', 'SET', 'maxmemory', 0) }, qr/OOM/);

# A full Redis that evicts is none: what is not there is asked for.
my $logged = -s $node->logfile;
$redis->ask('CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru');
$redis->ask('CONFIG', 'SET', 'maxmemory', '2mb');
$node->safe_psql('school', 'SELECT count(change()) FROM generate_series(1, 100)');
settled('with eviction', 1);
$redis->ask('CONFIG', 'SET', 'maxmemory', 0);
$redis->ask('FLUSHALL');
$node->safe_psql('school', 'SELECT count(change()) FROM generate_series(1, 100)');
settled('after FLUSHALL');
unlike(slurp_file($node->logfile, $logged), qr/does not answer/, 'neither is an outage');

# Something else answers.
foreach my $what (
	[ 'garbage', 'HTTP/1.1 400 Bad Request', qr/it answers what is not asked for/ ],
	[ 'an endless answer', "\$1000000000\r\n" . 'x' x 200_000, qr/it answers what is not asked for/ ],
	[ 'a list without end', '*2147483647', qr/it answers what is not asked for/ ],
	[ 'another type', ':1', qr/it answers what is not asked for/ ],
	[ 'half an answer', '$10', qr/timeout/ ],
	[ 'a cluster', '-MOVED 3999 127.0.0.1:6381', qr/MOVED/ ],
	[ 'an error with the command', "-ERR unknown command 'SET', with args beginning with: 'dms:secret'", qr/ERR/ ],
	[ 'a closed connection', '', qr/the server has closed the connection|Connection reset by peer|Broken pipe/ ])
{
	my ($name, $answer, $problem) = @$what;
	my $false = false_server("$dir/false" . ++$outages, $answer);

	$logged = -s $node->logfile;
	redis_set($node, redis_url => "unix://$dir/false$outages");
	$node->safe_psql('school', q{SELECT count(change()) FROM generate_series(1, 10)});
	ok($node->poll_query_until('school', q{SELECT dms.wait_until_projected('10 s')}), "$name: the projector goes on");
	ok(wait_until(sub { slurp_file($node->logfile, $logged) =~ /does not answer \($problem\)/ }), "$name: it says why Redis cannot be used");
	kill 'KILL', $false;
	waitpid $false, 0;
}
redis_set($node, redis_url => "unix://$dir/redis.sock");
settled('with the real one again');

# --- waiting ---------------------------------------------------------------------------------

# Writers do not wait for Redis, whatever it does.  Redis answers and hangs in turn, for some
# writes each.  What counts is the time of a session without that in which it was ready and
# got no processor, so it does not matter what else the machine does.
{
	my ($rounds, $turns, $writes) = $ENV{DMS_LONG} ? (5, 20, 100) : (3, 5, 50);
	my $session = Dms::Session->new($node, 'school');
	my $median = sub { my @sorted = sort { $a <=> $b } @_; $sorted[ $#sorted / 2 ] };
	my (@ratios, @clock, %all);

	$session->ask(q{
		SET client_min_messages = warning;
		CREATE PROCEDURE timed_writes(state text, turn integer, writes integer) LANGUAGE plpgsql AS $$
		DECLARE
			began timestamptz := clock_timestamp();
			waited numeric := split_part(pg_read_file('/proc/self/schedstat'), ' ', 2)::numeric;
			took numeric;
		BEGIN
			FOR i IN 1 .. writes LOOP
				PERFORM post('students', student(state || i, 'Turn ' || turn));
				COMMIT;
			END LOOP;
			waited := (split_part(pg_read_file('/proc/self/schedstat'), ' ', 2)::numeric - waited) / 1000;
			took := 1000000 * extract(epoch FROM clock_timestamp() - began);
			RAISE NOTICE 'times: % %', took - waited, took;
		END $$;
		SET client_min_messages = notice;
	});
	foreach my $round (1 .. $rounds)
	{
		my (%took, %clock);

		foreach my $turn (1 .. $turns)
		{
			foreach my $state ($turn % 2 ? qw(up hanging) : qw(hanging up))
			{
				$redis->kill('STOP') if $state eq 'hanging';
				my $said = $session->ask("CALL timed_writes('$state', $round * 1000 + $turn, $writes);\n");
				$redis->kill('CONT') if $state eq 'hanging';
				my ($net, $gross) = $said =~ /times: ([\d.]+) ([\d.]+)/ or die "no times: $said";
				push @{ $took{$state} }, $net;
				push @{ $clock{$state} }, $gross;
				push @{ $all{$state} }, $net / $writes / 1000;
			}
		}
		push @ratios, $median->(@{ $took{hanging} }) / $median->(@{ $took{up} });
		push @clock, $median->(@{ $clock{hanging} }) / $median->(@{ $clock{up} });
	}
	my $ratio = $median->(@ratios);
	note(sprintf('a write takes %.3f ms while Redis answers, %.3f ms while it hangs, and %.3f ms at most; ratios of %d rounds: %s; by the clock: %s',
		$median->(@{ $all{up} }), $median->(@{ $all{hanging} }), max(@{ $all{hanging} }), $rounds,
		map { join ' ', map { sprintf '%.2f', $_ } @$_ } \@ratios, \@clock));
	is($node->safe_psql('school', qq{SELECT count(dms.resolve('ed-fi', 'students', json_build_object('studentUniqueId', 'hanging' || i)))
		FROM generate_series(1, $writes) AS i}), $writes, 'all writes were done while Redis hung');
	cmp_ok(max(@{ $all{hanging} }), '<', 500, 'and none waited for it, whose timeout is a second');
	cmp_ok($ratio, '>', 0.9, 'it is not faster') if $ENV{DMS_LONG};
	cmp_ok($ratio, '<', 1.1, 'nor slower') if $ENV{DMS_LONG};
	$session->finish;
	settled('after hanging');
}

# A database can be dropped while its Redis hangs.
$node->safe_psql('postgres', 'CREATE DATABASE dropped');
$node->safe_psql('dropped', "SET client_min_messages = warning; CREATE EXTENSION dms; SELECT dms.deploy_schema(\$schema\$$schema\$schema\$)");
$redis->kill('STOP');
$node->safe_psql('dropped', q{SELECT dms.upsert_document('ed-fi', 'gradeLevelDescriptors', '{"namespace": "uri://g", "codeValue": "10", "shortDescription": "10"}')});
$node->safe_psql('postgres', 'DROP DATABASE dropped');
$redis->kill('CONT');
pass('a database is dropped while its Redis hangs');

# --- TCP, users and passwords --------------------------------------------------------------------

my $port = PostgreSQL::Test::Cluster::get_free_port();
my $password = 'pa ss"w\'ord ' . int(rand(1e9));
my $secret = "$dir/secret";
my $line = (slurp_file("$FindBin::RealBin/../../doc/redis.md") =~ /^(ACL SETUSER .*)$/m)[0] // die 'the page has no ACL line';
append_to_file($secret, "$password\n");
chmod 0644, $secret;
$redis->ask('CONFIG', 'SET', 'port', $port);
$redis->ask('CONFIG', 'SET', 'bind', '127.0.0.1');
$redis->ask(map { s/PASSWORD/$password/r } split / /, $line);
$logged = -s $node->logfile;
redis_set($node, redis_url => "redis://dms\@127.0.0.1:$port/2", redis_password_file => $secret);
ok(says('others have rights on the file with the password'), 'a file that others can read is refused');
chmod 0600, $secret;
$redis->ask('SELECT', 2);
settled('by TCP, as a user with the rights that the page names');
ok(wait_until(sub { write_mark(); $redis->ask('CLIENT', 'LIST') =~ /addr=127\.0\.0\.1:\d+ .*user=dms / }), 'it is that user');
redis_set($node, redis_url => "redis://nobody\@127.0.0.1:$port/2");
ok(says('WRONGPASS'), 'a wrong user');
append_to_file($secret, '') if unlink $secret;
chmod 0600, $secret;
redis_set($node, redis_url => "redis://dms\@127.0.0.1:$port/3");
ok(says('the file with the password has none, or too much'), 'an empty password');
append_to_file($secret, 'wrong');
redis_set($node, redis_url => "redis://dms\@localhost:$port/2");
ok(says('WRONGPASS'), 'a wrong password');
redis_set($node, redis_url => "redis://127.0.0.1:1", redis_password_file => '');
ok(says('Connection refused'), 'nobody listens');
redis_set($node, redis_url => "redis://dms\@127.0.0.1:$port");
ok(says('dms.redis_password_file is not set'), 'a user without a password');

# --- memory ------------------------------------------------------------------------------------

# The same worker, through many outages.  What the server had before is not kept up to
# date while another one is written to.
$redis->ask('FLUSHALL');
redis_set($node, redis_url => "unix://$dir/redis.sock", worker_linger => '1h');
$redis->ask('SELECT', 0);
settled('before memory is measured');
my $worker = $node->safe_psql('postgres', q{SELECT pid FROM dms.worker_status() WHERE database = 'school'});
my @memory;
foreach my $round (1 .. ($ENV{DMS_LONG} ? 100 : 12))
{
	$node->safe_psql('school', 'SELECT count(change()) FROM generate_series(1, 100)');
	$redis->ask('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
	$node->safe_psql('school', 'SELECT count(change()) FROM generate_series(1, 100)');
	sleep 0.1;
	push @memory, slurp_file("/proc/$worker/status") =~ /^RssAnon:\s+(\d+) kB/m if $round % 4 == 0;
}
settled('after many connections');
is($node->safe_psql('postgres', q{SELECT pid FROM dms.worker_status() WHERE database = 'school'}), $worker, 'one worker did it all');
note("memory of the worker in kB: @memory");
SKIP:
{
	skip 'sanitizers keep freed memory', 1 if $ENV{DMS_SANITIZED};
	cmp_ok($memory[-1] - $memory[0], '<', 2048, 'its memory does not grow');
}

# --- logs and the end ---------------------------------------------------------------------------

my $log = slurp_file($node->logfile);
unlike($log, qr/\Q$password\E|hush\@.*LOG|dms:secret|refid:[0-9a-f]{32}/, 'no log has a password, a key or a value');
is($node->safe_psql('school', 'SELECT kind FROM dms.audit()'), '', 'the store is in order');
$node->stop;
done_testing();

# --- helpers -------------------------------------------------------------------------------------

# A server with a store of an owner who is not a superuser.
sub new_node
{
	my ($name, @options) = @_;
	my $new = redis_node($name, "dms.worker_linger = 500ms\ndms.redis_kinds = 'refid, uuid, uri, doc'", @options);

	$new->safe_psql('postgres', 'CREATE EXTENSION dms; CREATE ROLE owner; CREATE DATABASE school OWNER owner');
	redis_store($new, 'school', 'owner');
	$new->safe_psql('school', <<'SQL');
SET ROLE owner;
CREATE FUNCTION student(id text, name text) RETURNS json LANGUAGE sql AS $$
	SELECT json_build_object('studentUniqueId', id, 'firstName', name, 'lastSurname', 'King "X" Ünal', 'birthDate', '2014-02-03')
$$;
CREATE FUNCTION any_of(resource text) RETURNS uuid LANGUAGE sql VOLATILE AS $$
	SELECT DocumentUuid FROM dms.Document WHERE ResourceName = resource ORDER BY random() LIMIT 1
$$;
-- One write: a new document or another value, another key, or a delete.
CREATE FUNCTION change() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	what double precision := random();
	period uuid := any_of('ClassPeriod');
BEGIN
	IF what < 0.4 THEN
		PERFORM post('students', student(floor(random() * 80)::int::text, floor(random() * 3)::text));
	ELSIF what < 0.6 OR period IS NULL THEN
		PERFORM post('classPeriods', period(floor(random() * 20)::text));
	ELSIF what < 0.85 THEN
		PERFORM dms.update_document(period, period(floor(random() * 20)::text));
	ELSE
		PERFORM dms.delete_document(CASE WHEN what < 0.95 THEN period ELSE any_of('Student') END);
	END IF;
EXCEPTION WHEN unique_violation OR SQLSTATE 'ZD404' THEN
	NULL;
END $$;
SQL
	return $new;
}

# What is wrong with a URL.
sub refusal
{
	my ($url) = @_;
	my (undef, undef, $err) = $node->psql('school', "SET dms.redis_url = '$url'");

	return $err =~ /^DETAIL:  (.*)$/m ? $1 : $err;
}

# The ReferentialId of a class period.
sub refid
{
	my ($name) = @_;

	return $node->safe_psql('school', qq{SELECT replace(dms.referential_id('Ed-Fi', 'ClassPeriod',
		'{\$.classPeriodName,\$.schoolReference.schoolId}', ARRAY['$name', '1'])::text, '-', '')});
}

sub hex_of { return $_[0] =~ s/-//gr }

sub id_of
{
	my ($uuid) = @_;

	return $node->safe_psql('school', "SELECT DocumentId FROM dms.Document WHERE DocumentUuid = '$uuid'");
}

# Waits until a key has a value.
sub becomes
{
	my ($key, $value) = @_;

	return wait_until(sub { ($redis->ask('GET', $prefix . $key) // 'none') eq $value });
}

# Waits until the log says why Redis cannot be used.
sub says
{
	my ($problem) = @_;
	my $found;

	$found = wait_until(sub {
		$node->safe_psql('school', 'SELECT count(change()) FROM generate_series(1, 3)');
		slurp_file($node->logfile, $logged) =~ /does not answer \(\Q$problem\E\)/ });
	$logged = -s $node->logfile;
	return $found;
}

# Writes a document, and waits until it is in Redis: so is all that was written before.
my $marks = 0;

sub write_mark
{
	my $name = 'mark' . ++$marks;
	my $mark = $node->safe_psql('school', "SELECT replace(post('students', student('$name', 'x'))::text, '-', '')");

	return wait_until(sub {
		return 1 if defined eval { $redis->ask('GET', "${prefix}uuid:$mark") };
		$node->safe_psql('school', "SELECT post('students', student('$name', 'x' || random()))");
		sleep 0.1;
		return 0;
	});
}

# All that Redis may have, as the store knows it.
sub known
{
	my %known = map { my ($key, $value) = split /\|/, $_, 2; $prefix . $key => $value } split /\n/, $node->safe_psql('school', q{
		SET dms.cache_reads = off;
		SELECT 'refid:' || replace(ReferentialId::text, '-', ''), DocumentId::text FROM dms.ReferentialIdentity
		UNION ALL SELECT 'uuid:' || replace(DocumentUuid::text, '-', ''), DocumentId::text FROM dms.Document
		UNION ALL SELECT 'uri:' || DocumentId, Uri FROM dms.Descriptor
		UNION ALL SELECT 'doc:' || replace(DocumentUuid::text, '-', ''), format('{"etag": %s, "document": %s}', Etag, dms.get_document(DocumentUuid))
			FROM dms.Document});

	return \%known;
}

# Each key of Redis becomes that of the store, or empty, and most are not empty.
sub settled
{
	my ($name, $fewest) = @_;
	my @wrong;
	my ($known, $values);
	my $marked = write_mark();
	my $same = wait_until(sub {
		$known = known();
		$values = $redis->values_of($prefix);
		@wrong = grep { $values->{$_} ne '' && $values->{$_} ne ($known->{$_} // 'nothing') } keys %$values;
		return @wrong == 0;
	});

	ok($marked && $same, "$name: each key is that of the store, or empty") or diag(map { "$_: $values->{$_}, not " . ($known->{$_} // 'known') . "\n" } @wrong[ 0 .. ($#wrong > 4 ? 4 : $#wrong) ]);
	cmp_ok(scalar(grep { $_ ne '' } values %$values), '>=', $fewest // 3, "$name: there are values");
	return;
}

# Redis cannot be used for a while: nobody notices, the log says so once, and it gets what
# it has missed.
sub outage
{
	my ($name, $break, $mend, $reason) = @_;
	my $start = -s $node->logfile;
	my $log;

	settled("before it is $name");
	$break->();
	my $began = time;
	$node->safe_psql('school', "SELECT post('students', student('in ' || '$name', n::text)) FROM generate_series(1, 50) AS n");
	$node->safe_psql('school', 'SELECT count(change()) FROM generate_series(1, 50)');
	is($node->safe_psql('school', q{SELECT dms.wait_until_projected('10 min')}), 't', "$name: writers and the projector go on");
	ok(wait_until(sub { slurp_file($node->logfile, $start) =~ /does not answer \((.*)\)/ }), "$name: the log says so");
	like(slurp_file($node->logfile, $start), $reason, "$name: and why") if $reason;
	$mend->();
	settled("after it was $name");
	ok(wait_until(sub { slurp_file($node->logfile, $start) =~ /answers again after \d+ s/ }), "$name: the log says that it is over");
	$log = slurp_file($node->logfile, $start);
	is(scalar(() = $log =~ /does not answer/g), 1, "$name: once");
	return;
}

# A process that answers each command in the same way.  Returns its id.
sub false_server
{
	my ($path, $answer) = @_;

	return false_redis($path, sub {
		my ($client) = @_;

		while ($answer ne '' && sysread $client, my $command, 65536)
		{
			syswrite $client, "$answer\r\n";
		}
	});
}
