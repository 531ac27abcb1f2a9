# Connections of background workers to Redis, to servers that do what a real one does
# rarely: they hang in the middle, and go on with old commands when nobody waits for them.
# Commands of a connection that was given up must not come after those of the next one.
use strict;
use warnings;

use IO::Select;
use IO::Socket::UNIX;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep);

use Dms::Redis;
use Dms::RedisNode;

my $library = `$ENV{PG_CONFIG} --pkglibdir` =~ s/\s+$//r;
plan skip_all => 'dms_redis was built without hiredis' unless -e "$library/dms_redis.so";

my $dir = PostgreSQL::Test::Utils::tempdir_short();
my $node = new_node('redis_connections');
my $servers = 0;

# --- the connection before -----------------------------------------------------------

# What a connection does: the number that it tells, and what it does at the first SET.
my $log = converse('hangs with commands', { id => 7, set => 'hang' }, { id => 12 });
like($log, qr/^2 CLIENT ID\n2 CLIENT KILL ID 7\n2 PING\n2 SET/m, 'the next connection ends the one before, and then begins');

$log = converse('hangs, and hangs again before it greets', { id => 7, set => 'hang' }, { greet => 'hang' }, { id => 12 });
like($log, qr/^3 CLIENT ID\n3 CLIENT KILL ID 7\n3 PING\n3 SET/m, 'a connection that was never ready does not take its place');

$log = converse('hangs, and is started again', { id => 50, set => 'hang' }, { id => 3 });
like($log, qr/^2 CLIENT ID\n2 PING\n2 SET/m, 'a lower number: the server was started again, and nobody is ended');

$log = converse('closes', { id => 7, set => 'close' }, { id => 12 });
like($log, qr/^2 CLIENT ID\n2 PING\n2 SET/m, 'what the server itself has closed need not be ended, and its number may be taken');

$log = converse('refuses', { id => 7, set => '-OOM command not allowed' }, { id => 12 });
like($log, qr/^2 CLIENT ID\n2 CLIENT KILL ID 7\n2 PING\n2 SET/m, 'after an error there may be more commands on their way');

$log = converse('has no such connection any more', { id => 7, set => 'hang' }, { id => 12, kill => '-ERR No such client' });
like($log, qr/^2 PING\n2 SET/m, 'a connection that cannot be ended does not matter');

$log = converse('tells no number', { id => '-NOPERM no', set => 'hang' }, { id => '-NOPERM no' });
like($log, qr/^2 CLIENT ID\n2 PING\n2 SET/m, 'without the right everything else works');

$log = converse('does not know its number', { id => '$-1', set => 'hang' }, { id => '$-1' });
like($log, qr/^2 CLIENT ID\n2 PING\n2 SET/m, 'a null is no number');

append_to_file("$dir/password", "hush\n");
chmod 0600, "$dir/password";
$log = converse('has users', { user => 'me', id => 7, set => 'hang' }, { id => 12 });
like($log, qr/^2 AUTH me \S+\n2 CLIENT ID\n2 CLIENT KILL ID 7 USER me\n2 PING\n2 SET/m, 'only a connection of the same user is ended');

# What is no answer to SET.
foreach my $answer ('$-1', '*-1', '*1', "*2\r\n+OK\r\n+OK", '$2', '+QUEUED', ',1.5', '_', '%1', '>1', '+' . 'x' x 100_000)
{
	my $start = -s $node->logfile;

	$log = converse('answers ' . substr($answer, 0, 10) =~ s/\s+/ /gr, { id => 7, set => $answer }, { id => 12 });
	like($log, qr/^2 SET/m, 'is given up, and asked again');
	like(slurp_file($node->logfile, $start), qr/does not answer \((it answers what is not asked for|timeout)\)/, 'and the log says why');
}

# --- memory ---------------------------------------------------------------------------------

# A server that takes all and answers nothing is given no more than some thousand commands,
# however many changes there are.
my $taking = false_server('taking', { id => 7, set => 'hang' });
redis_set($node, redis_password_file => '', redis_timeout => '10min', redis_url => "unix://$taking->{path}");
ok(wait_until(sub { write_something(); sleep 0.1; slurp_file("$taking->{path}.log") =~ /SET/ }), 'a server that answers nothing');
my $worker = $node->safe_psql('postgres', q{SELECT pid FROM dms.worker_status() WHERE database = 'postgres'});
my ($before) = slurp_file("/proc/$worker/status") =~ /^RssAnon:\s+(\d+) kB/m;
$node->safe_psql('postgres', q{SELECT count(post('classPeriods', period('many ' || i))) FROM generate_series(1, 8000) AS i});
ok(wait_until(sub { (() = slurp_file("$taking->{path}.log") =~ /SET/g) >= 4000 }), 'it is given many commands');
sleep 1;
my $given = () = slurp_file("$taking->{path}.log") =~ /SET/g;
cmp_ok($given, '<=', 5000, "but not all: $given");
my ($after) = slurp_file("/proc/$worker/status") =~ /^RssAnon:\s+(\d+) kB/m;
SKIP:
{
	skip 'sanitizers keep freed memory', 1 if $ENV{DMS_SANITIZED};
	cmp_ok($after - $before, '<', 8192, 'and they take some memory at most');
}
kill 'KILL', $taking->{pid};
waitpid $taking->{pid}, 0;

# Changes without a command do not make a step long: the place is stored in between.
my $places = sub { $node->safe_psql('postgres', q{SELECT n_tup_upd FROM pg_stat_user_tables WHERE relid = 'dms.changeconsumer'::regclass}) };
my $cursor = sub { $node->safe_psql('postgres', q{SELECT Cursor FROM dms.ChangeConsumer WHERE Name = 'redis'}) };
my ($stored, $place) = ($places->(), $cursor->());
my $accepting = false_server('accepting', { id => 7 });
redis_set($node, redis_timeout => '1s', redis_kinds => 'uri', redis_url => "unix://$accepting->{path}");
ok(wait_until(sub { $cursor->() =~ /:$/ && $cursor->() ne $place }), 'changes of documents that have no key in Redis are passed');
ok(wait_until(sub { $places->() - $stored >= 2 }), 'in several steps');
unlike(slurp_file("$accepting->{path}.log"), qr/SET/, 'and nothing is written');
kill 'KILL', $accepting->{pid};
waitpid $accepting->{pid}, 0;
redis_set($node, redis_kinds => 'refid');

# --- a real one, which gets old commands late ---------------------------------------------

SKIP:
{
	skip Dms::Redis::missing(), 2 if Dms::Redis::missing();
	my $redis = Dms::Redis->new("$dir/redis.sock");

	is(late_commands($redis, $node), '', 'commands of a connection that hung do not come last');
	skip 'there is no fault build', 1 unless $ENV{DMS_FAULTS_INSTALL} && -e $ENV{DMS_FAULTS_INSTALL};
	my $faulty = new_node('redis_connections_faults', install_path => $ENV{DMS_FAULTS_INSTALL});
	$faulty->append_conf('postgresql.conf', "dms.skip = 'redis_kill'");
	$faulty->reload;
	isnt(late_commands($redis, $faulty), '', 'but they do if it is not ended');
	$faulty->stop;
}

# --- the configuration file ----------------------------------------------------------------

# A password in a URL is not repeated in the log, either.
$node->safe_psql('postgres', 'ALTER SYSTEM RESET dms.redis_url');
my $start = -s $node->logfile;
$node->append_conf('postgresql.conf', "dms.redis_url = 'redis://me:hush-hush\@localhost'");
$node->reload;
ok(wait_until(sub { slurp_file($node->logfile, $start) =~ /invalid value for parameter "dms.redis_url"/ }), 'a bad URL in the file is refused');
unlike(slurp_file($node->logfile), qr/hush-hush/, 'and not repeated');
$node->append_conf('postgresql.conf', "dms.redis_url = ''");
$node->reload;

# --- the end --------------------------------------------------------------------------------

# The server is stopped while its Redis hangs.
my $hanging = false_server('hanging', { greet => 'hang' });
redis_set($node, redis_url => "unix://$hanging->{path}", redis_timeout => '10min');
write_something();
ok(wait_until(sub { slurp_file("$hanging->{path}.log") =~ /^1 /m }), 'a worker waits for a Redis that hangs');
$node->stop('fast');
kill 'KILL', $hanging->{pid};
waitpid $hanging->{pid}, 0;
done_testing();

# --- helpers --------------------------------------------------------------------------------

sub new_node
{
	my ($name, @options) = @_;
	my $new = redis_node($name, "dms.worker_linger = 1h\ndms.redis_timeout = 1s", @options);

	redis_store($new, 'postgres');
	return $new;
}

# Writes a document with another identity than before.
my $written = 0;

sub write_something
{
	my $name = 'period ' . ++$written;

	$node->safe_psql('postgres', "SELECT post('classPeriods', period('$name'))");
	return;
}

# Lets the worker talk to a server until its last connection has got a value.  Returns all
# commands, without values.
sub converse
{
	my ($name, @connections) = @_;
	my $server = false_server('false' . ++$servers, @connections);
	my $last = @connections;
	my $user = $connections[0]{user};
	my $begun;

	redis_set($node, redis_password_file => $user ? "$dir/password" : '', redis_url => 'unix://' . ($user ? "$user\@" : '') . $server->{path});
	$begun = wait_until(sub {
		my $got = slurp_file("$server->{path}.log");

		write_something();
		sleep 0.1;
		return $got =~ /^$last SET/m;
	});
	ok($begun, "a server that $name");
	kill 'KILL', $server->{pid};
	waitpid $server->{pid}, 0;
	return slurp_file("$server->{path}.log");
}

# --- servers ---------------------------------------------------------------------------------

# Takes the first command from what was received; returns its words, or nothing.
sub take_command
{
	my ($received) = @_;
	my $rest = $$received;
	my @words;

	$rest =~ s/^\*(\d+)\r\n// or return;
	foreach (1 .. $1)
	{
		$rest =~ s/^\$(\d+)\r\n// or return;
		return if length $rest < $1 + 2;
		push @words, substr $rest, 0, $1;
		$rest = substr $rest, $1 + 2;
	}
	$$received = $rest;
	return @words;
}

# Answers a command as a connection is to answer it; undef: not at all.
sub answer_of
{
	my ($does, @words) = @_;
	my $what = "@words[0, $#words > 0 ? 1 : 0]";

	return undef if ($does->{greet} // '') eq 'hang';
	if ($what eq 'CLIENT ID')
	{
		return $does->{id} =~ /^\d/ ? ":$does->{id}" : $does->{id};
	}
	return $does->{kill} // ':1' if $what eq 'CLIENT KILL';
	return '+PONG' if $words[0] eq 'PING';
	return '+OK' if $words[0] ne 'SET' || !defined $does->{set};
	return $does->{set} eq 'hang' ? undef : $does->{set};
}

# A process that takes connections one after the other; each does what is said of it, the
# last one forever.  Commands are logged, keys and values are not.
sub false_server
{
	my ($name, @connections) = @_;
	my $path = "$dir/$name";

	append_to_file("$path.log", '');
	return { path => $path, pid => false_redis($path, sub {
		my ($client, $number) = @_;
		my $does = $connections[ $number < @connections ? $number - 1 : $#connections ];
		my $received = '';

		while (sysread $client, $received, 65536, length $received)
		{
			while (my @words = take_command(\$received))
			{
				append_to_file("$path.log", "$number @words[0 .. ($words[0] =~ /SET|PUBLISH/ ? 0 : $#words)]\n");
				my $answer = answer_of($does, @words) // next;
				return if $answer eq 'close';
				syswrite $client, "$answer\r\n";
			}
		}
	}) };
}

# A process between a worker and Redis.  From the first connection that has a text it keeps
# what comes, and gives it to Redis when a file is there, whether the worker is still
# connected or not.
sub holding_proxy
{
	my ($path, $upstream, $text) = @_;
	my $listener = IO::Socket::UNIX->new(Local => $path, Listen => 5) or die "cannot listen: $!";
	my $pid = fork // die "cannot fork: $!";
	my ($held, $first, %peer) = ('', '');

	return $pid if $pid > 0;
	local $SIG{PIPE} = 'IGNORE';
	my $select = IO::Select->new($listener);
	while (1)
	{
		foreach my $from ($select->can_read(0.02))
		{
			if ($from == $listener)
			{
				my $client = $listener->accept;
				my $server = IO::Socket::UNIX->new(Peer => $upstream) or die "cannot connect: $!";

				$peer{$client} = $server;
				$peer{$server} = $client;
				$select->add($client, $server);
				next;
			}
			my $n = sysread $from, my $data, 65536;
			$first = $from if $n && $first eq '' && $data =~ /\Q$text\E/;
			if (!$n)
			{
				$select->remove($from);
				shutdown $peer{$from}, 1 if $from ne $first;
			}
			elsif ($from eq $first)
			{
				$held .= $data;
			}
			else
			{
				syswrite $peer{$from}, $data;
			}
		}
		next unless $first ne '' && -e "$path.release" && !-e "$path.released";
		syswrite $peer{$first}, $held;
		shutdown $peer{$first}, 1;
		1 while sysread $peer{$first}, my $ignored, 65536;
		append_to_file("$path.released", 'released');
	}
}

# The first values hang on their way.  Meanwhile they become outdated, and then they
# arrive.  Returns what Redis has then for an identity that is gone.
sub late_commands
{
	my ($redis, $on) = @_;
	my $path = "$dir/" . $on->name;
	my $prefix = $on->safe_psql('postgres', q{SELECT 'dms:' || dms.instance_id() || ':' || EffectiveSchemaHash || ':refid:'
		FROM dms.EffectiveSchema ORDER BY EffectiveSchemaId DESC LIMIT 1});
	my ($old, $new) = map { $prefix . $on->safe_psql('postgres', qq{SELECT replace(dms.referential_id('Ed-Fi', 'ClassPeriod',
		'{\$.classPeriodName,\$.schoolReference.schoolId}', ARRAY['$_', '1'])::text, '-', '')}) } qw(held let);
	my $proxy = holding_proxy($path, "$dir/redis.sock", $old);
	my $uuid;

	$on->safe_psql('postgres', $_) foreach "ALTER SYSTEM SET dms.redis_url = 'unix://$path'", 'ALTER SYSTEM SET dms.redis_password_file = DEFAULT',
	  'ALTER SYSTEM SET dms.redis_timeout = DEFAULT', 'SELECT pg_reload_conf()';
	ok($on->poll_query_until('postgres', q{SELECT post('classPeriods', period('begin ' || random())) IS NOT NULL
		AND EXISTS (SELECT FROM dms.ChangeConsumer WHERE Name = 'redis')}), 'there is a worker');
	$uuid = $on->safe_psql('postgres', q{SELECT post('classPeriods', period('held'))});
	my $id = $on->safe_psql('postgres', "SELECT DocumentId FROM dms.Document WHERE DocumentUuid = '$uuid'");
	ok(wait_until(sub { ($redis->ask('GET', $old) // '') eq $id }), 'a second connection writes the values');
	$on->safe_psql('postgres', "SELECT dms.update_document('$uuid', period('let'))");
	ok(wait_until(sub { ($redis->ask('GET', $new) // '') eq $id }), 'and the next ones');
	is($redis->ask('GET', $old), '', 'the old identity is gone');
	append_to_file("$path.release", '');
	ok(wait_until(sub { -s "$path.released" }), 'the first connection goes on');
	kill 'KILL', $proxy;
	waitpid $proxy, 0;
	return $redis->ask('GET', $old);
}
