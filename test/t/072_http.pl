# The HTTP front of the examples: one document from many retries of one request.
use strict;
use warnings;

use FindBin;
use HTTP::Tiny;
use IO::Socket::INET;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# The first Python on the path may know nothing of Debian's packages.
my ($python) = grep { system(qq($_ -c "import psycopg2" 2>/dev/null)) == 0 } qw(python3 /usr/bin/python3);
plan skip_all => 'python3-psycopg2 is not installed' unless defined $python;

my $node = PostgreSQL::Test::Cluster->new('http');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', "fsync = off\nmax_connections = 60\nlog_statement = none");
$node->start;

my $schema = slurp_file("$FindBin::RealBin/../../examples/schemas/school.json");
$node->safe_psql('postgres', "SET client_min_messages = warning; CREATE EXTENSION dms; SELECT dms.deploy_schema(\$schema\$$schema\$schema\$)");

my ($out, $err) = ('', '');
my $server = IPC::Run::start([ $python, "$FindBin::RealBin/../../examples/http/serve.py", '--port', 0, $node->connstr('postgres') ],
	'<', \undef, '>', \$out, '2>', \$err, IPC::Run::timeout(10 * $PostgreSQL::Test::Utils::timeout_default));
$server->pump until $out =~ /(http:\S+)\n/ || !$server->pumpable;
my ($url) = $out =~ /(http:\S+)\n/ or die "the front did not start: $err";

my $http = client();
my $body = '{"studentUniqueId": "1", "firstName": "Ünal", "lastSurname": "King", "birthDate": "2014-02-03"}';

# Sixteen processes send the request at the same time.
my @children;
for my $i (1 .. 16)
{
	my $pid = open(my $pipe, '-|') // die "cannot fork: $!";

	if ($pid == 0)
	{
		my $answer = client()->post("$url/ed-fi/students",
			{ headers => { 'Content-Type' => 'application/json', 'Idempotency-Key' => 'retry-1' }, content => $body });
		print join(' ', $answer->{status}, $answer->{headers}{location} // '', $answer->{headers}{etag} // ''), "\n";
		close STDOUT;
		require POSIX;
		POSIX::_exit(0);
	}
	push @children, $pipe;
}
my %answers;
$answers{ join '', <$_> }++ foreach @children;
is(scalar(keys %answers), 1, 'concurrent retries get one answer');
my ($first) = keys %answers;
like($first, qr{^201 /ed-fi/students/[0-9a-f-]{36} "1"$}m, 'which is 201 with Location and ETag');
my ($location) = $first =~ /^201 (\S+)/;
is($node->safe_psql('postgres', 'SELECT count(*), max(Etag) FROM dms.Document'), '1|1', 'and there is one document');

my $answer = $http->get("$url$location");
is("$answer->{status} $answer->{headers}{etag} $answer->{headers}{'content-type'}", '200 "1" application/json; charset=utf-8', 'it can be read');
like($answer->{content}, qr/"firstName":"Ünal"/, 'as it was written');
is($http->get("$url$location", { headers => { 'If-None-Match' => '"1"' } })->{status}, 304, 'it has not changed');
is($http->request('HEAD', "$url$location")->{status}, 200, 'HEAD is GET without a body');
$answer = $http->get("$url/ed-fi/students?totalCount=true&firstName=%C3%9Cnal");
is("$answer->{status} $answer->{headers}{'total-count'}", '200 1', 'it can be found');
$answer = $http->post("$url/ed-fi/students", { headers => { 'Idempotency-Key' => 'retry-1', 'Content-Type' => 'application/json' }, content => '{}' });
is($answer->{status}, 422, 'another body with the same key is refused');
$answer = $http->request('PATCH', "$url$location", { content => '{}' });
is("$answer->{status} $answer->{headers}{allow} $answer->{headers}{'content-type'}", '405 GET, PUT, DELETE application/json; charset=utf-8', 'a method that does not fit');
# What cannot be passed on is refused, and the text says why.
refused(400, qr/not UTF-8: byte 0/, 'a body that is no text', { content => "\xff" });
refused(400, qr/U\+0000/, 'a body with a null character', { content => "\0" });
refused(415, qr/gzip is not supported/, 'a compressed body', { content => 'x', headers => { 'Content-Encoding' => 'gzip' } });
like(refusal_of('Transfer-Encoding: chunked'), qr/^HTTP\/1.1 411 .*chunks are not supported/s, 'a body in chunks: says why');
like(refusal_of('Content-Length: 20000000'), qr/^HTTP\/1.1 413 .*may have \d+/s, 'a long body: says why');
like(refusal_of('Content-Length: -1'), qr/^HTTP\/1.1 400 .*must be a number/s, 'a length that is none: says why');
is($http->request('DELETE', "$url$location", { headers => { 'If-Match' => '"2"' } })->{status}, 412, 'changed meanwhile');
is($http->request('DELETE', "$url$location", { headers => { 'If-Match' => '"1"' } })->{status}, 204, 'deleted');
is($http->get("$url$location")->{status}, 404, 'and gone');

# The database goes away and comes back: the front connects again.
$node->restart;
my @statuses = map { $http->get("$url/ed-fi/students")->{status} } 1 .. 20;
is($statuses[-1], 200, 'the front survives a restart of the database');

# Secrets of clients do not get into the server's log.
$node->safe_psql('postgres', "ALTER SYSTEM SET log_statement = 'all'");
$node->restart;
$http->get("$url/ed-fi/students", { headers => { Authorization => 'Bearer secret-one', Cookie => 'secret-two', 'X-Seen' => 'seen' } })
  for 1 .. 20;
my $log = slurp_file($node->logfile);
like($log, qr/process_request.*seen/, 'statements are logged');
unlike($log, qr/secret-(?:one|two)/, 'without secrets');

$server->kill_kill;
$node->stop;
done_testing();

# Send a request that is refused by the front itself.
sub refused
{
	my ($status, $reason, $name, $request) = @_;
	my $refusal = client()->post("$url/ed-fi/students", $request);

	is($refusal->{status}, $status, $name);
	like($refusal->{content}, $reason, "$name: says why");
	return;
}

# The answer to a request whose body is refused by its header.
sub refusal_of
{
	my ($header) = @_;
	my ($host, $port) = $url =~ m{//([^:]+):(\d+)};
	my $socket = IO::Socket::INET->new(PeerAddr => $host, PeerPort => $port) or die "cannot connect: $!";

	$socket->send("POST /ed-fi/students HTTP/1.1\r\nHost: $host\r\n$header\r\n\r\n");
	local $/;
	return scalar <$socket>;
}

sub client { return HTTP::Tiny->new(timeout => $PostgreSQL::Test::Utils::timeout_default) }
