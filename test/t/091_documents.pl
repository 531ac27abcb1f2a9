# The document system of examples/documents, with a real Redis and a real BullMQ: what its
# API does, the four ways in which a part can fail, many writers at once, and its page.
# DMS_LONG=1 (./check --long) writes 2,000 times instead of 300.
use strict;
use warnings;

use Cwd qw(abs_path);
use File::Copy qw(copy);
use FindBin;
use HTTP::Tiny;
use IPC::Run;
use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $writes = $ENV{DMS_LONG} ? 2000 : 300;
my $example = abs_path("$FindBin::RealBin/../../examples/documents");
my $schema = abs_path("$FindBin::RealBin/../../examples/schemas/documents.json");
my $tests = abs_path("$FindBin::RealBin/../documents");
my $timeout = $PostgreSQL::Test::Utils::timeout_default;
my $dir = PostgreSQL::Test::Utils::tempdir_short();

foreach my $program (qw(redis-server redis-cli node npm))
{
	plan skip_all => "$program is not installed; .ci/run installs it" if system("$program --version >/dev/null 2>&1") != 0;
}
my $reason = install_packages();
plan skip_all => $reason if $reason;

my $node = PostgreSQL::Test::Cluster->new('documents');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', "fsync = off\nmax_connections = 80\nlog_statement = none");
$node->start;

# All programs find the database and Redis by these.
local $ENV{PGHOST} = $node->host;
local $ENV{PGPORT} = $node->port;
local $ENV{PGDATABASE} = 'postgres';
local $ENV{PGUSER} = $node->safe_psql('postgres', 'SELECT current_user');
local $ENV{REDIS} = "$dir/redis.sock";
local $ENV{BRIDGE_PAUSE} = 100;
local $ENV{DOCUMENTS_SCHEMA} = $schema;
$node->safe_psql('postgres', 'CREATE EXTENSION dms');
plan skip_all => 'this version of dms has no jobs' if $node->safe_psql('postgres', "SELECT to_regproc('dms.claim_jobs') IS NULL") eq 't';
run_ok('psql -X -q -v ON_ERROR_STOP=1 -f setup.sql -f views.sql', 'the store of the example is set up');

my %running;
my $http = HTTP::Tiny->new(timeout => $timeout);
start_redis();
start_program('server', qr/http:\S+\n/, 'server.mjs', 0);
my ($url) = slurp_file("$dir/server.log") =~ /(http:\S+)/;
start_program('bridge', qr/running/, 'bridge.mjs');
start_program('worker', qr/running/, 'worker.mjs');
$node->safe_psql('postgres', "SELECT dms.uuid_v7(); ALTER DATABASE postgres SET dms.notify = documents");
start_program('listener', qr/listening/, 'cache.mjs', '--listen');

# createDocument, updateDocument, getDocument, getVersion, listVersions, search, diff.
subtest 'a document and its versions' => sub {
	my $created = request('POST', '/documents', { title => 'First note', content => "one\ntwo\nthree" });
	my $id = $created->{json}{documentId};

	is("$created->{status} $created->{json}{version}", '201 1', 'createDocument');
	my $latest = latest($id);
	is($latest->{headers}{'x-from'}, 'cache', 'the cache was set by the writer');
	is(join(' ', sort keys %{ $latest->{json} }), 'content documentId title updatedAt version', 'the five fields of doc:latest:{documentId}');
	like($latest->{json}{updatedAt}, qr/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/, 'updatedAt is ISO 8601');
	my $updated = request('PUT', "/documents/$id", { title => 'First note', content => "one\n2\nthree" }, { 'If-Match' => '"1"' });
	is("$updated->{status} $updated->{json}{version}", '200 2', 'updateDocument');
	is(request('PUT', "/documents/$id", { title => 'x', content => '' }, { 'If-Match' => '"1"' })->{status}, 412, 'an old version is refused');
	is(latest($id)->{json}{content}, "one\n2\nthree", 'getDocument');
	is($http->get("$url/documents/$id", { headers => { 'If-None-Match' => '"2"' } })->{status}, 304, 'and it has not changed since');
	is(request('GET', "/documents/$id/versions/1")->{json}{content}, "one\ntwo\nthree", 'getVersion');
	is(join(' ', map { "$_->{version} $_->{kind}" } @{ request('GET', "/documents/$id/versions")->{json} }),
		'2 updated 1 inserted', 'listVersions');
	is(join(' ', map { $_->{id} } @{ request('GET', '/documents?q=notes')->{json} }), $id, 'search finds titles');
	is(scalar(@{ request('GET', '/documents?q=nothing')->{json} }), 0, 'and nothing else');
	my $changes = wait_for_changes($id);
	is_deeply(request('GET', "/documents/$id/versions/2/diff")->{json}, $changes->[0]{diff}, 'diff: it is what two versions differ in');
	like(request('GET', "/documents/$id/versions/1/diff?from=2")->{json}{text}{'/content'}, qr/^-2\n\+two\n/m, 'in both directions');
	like($changes->[0]{diff}{text}{'/content'}, qr/^-two\n\+2\n/m, 'the change has its diff');
	is(join(' ', map { "$_->{op} $_->{path}" } @{ $changes->[0]{diff}{patch} }), 'replace /content', 'and its patch');
	is($node->safe_psql('postgres', "SELECT title, current_version_id = '$id\@2' FROM docs.documents WHERE id = '$id'"),
		'First note|t', 'current_version_id points to the latest version');
	is($node->safe_psql('postgres', "SELECT string_agg(version_number || ' ' || length(content), ', ' ORDER BY version_number)
		FROM docs.versions WHERE document_id = '$id'"), '1 13, 2 11', 'versions are there as a table');
	is(request('GET', "/documents/$id?asOf=9999-12-31")->{json}{_etag}, 2, 'the version of a time comes from the store');
	is(join(' ', map { request('GET', $_)->{status} } "/documents/$id?asOf=x", '/documents/' . '-' x 36, '//', '/documents?q=%00', "/documents/$id/versions/" . '9' x 30),
		'400 404 400 400 400', 'what is no request is refused');
	is(request('DELETE', "/documents/$id")->{status}, 200, 'it is deleted');
	is(latest($id)->{status}, 404, 'and gone');
	is(redis("GET doc:latest:$id"), qq({"documentId":"$id","version":3,"deleted":true}), 'the cache keeps that it is');
};

# Interleavings of those who set and read the cache, and what happens without its guards.
subtest 'setters and fillers that are late' => sub {
	my $out = run_output('node', "$tests/cache.mjs", $dir);
	my %found = $out =~ /^(.*): (\w+)$/mg;

	is($found{'cache: late setter'}, 8, 'who sets 7 after 8 is too late');
	is($found{'cache: late filler'}, 8, 'and so is who has read 7 before');
	is($found{'cache: late setter after a delete'}, 'none', 'or who sets what was deleted');
	is($found{'cache: created again'}, 11, 'what is created again has a later version');
	is($found{'cache: deleted, after its time to live'}, 'none', 'what was deleted is not kept for ever');
	is($found{'without the script: late setter'}, 7, 'without the comparison 7 would stay');
	is($found{'without the script: late filler'}, 7, 'in both cases');
	is($found{'without the script: late setter after a delete'}, 8, 'and a document would come back');
	is($found{'without deleted values: late setter after a delete'}, 8, 'as it would if a delete left nothing');
};

subtest 'writes of others are heard of' => sub {
	my $id = $node->safe_psql('postgres', q{SELECT document_uuid FROM dms.upsert_document('docs', 'documents', '{"title": "Elsewhere", "content": "x"}')});

	ok(wait_until(sub { redis("GET doc:latest:$id") =~ /"version":1/ }), 'the cache is set by a notification');
	$node->safe_psql('postgres', q{SET dms."user" = 'ada'; SELECT dms.update_document('} . $id . q{', '{"title": "Elsewhere", "content": "y"}')});
	ok(wait_until(sub { redis("GET doc:latest:$id") =~ /"version":2/ }), 'and again');
	# Anybody can send on a channel.
	$node->safe_psql('postgres', "NOTIFY dms_documents, '$_'") foreach qq({"documentId": "$id", "version": 99, "kind": "deleted"}),
		'{"documentId": "x"}', '{"documentId": null}', '{"resource": "Docs.Document", "count": 7}', 'x', 'null', '[]', '{"documentId": "01890000-0000-7000-8000-000000000000"}';
	$node->safe_psql('postgres', q{SELECT dms.update_document('} . $id . q{', '{"title": "Elsewhere", "content": "z"}')});
	ok(wait_until(sub { redis("GET doc:latest:$id") =~ /"version":3/ }), 'a false notification changes nothing');
	$node->safe_psql('postgres', "SELECT dms.delete_document('$id')");
	ok(wait_until(sub { redis("GET doc:latest:$id") =~ /"version":4,"deleted":true/ }), 'and told of the delete');
};

# Failure table, row 1: the database fails -> no update of Redis.
subtest 'the database fails' => sub {
	my $id = create('Database');

	$node->stop('immediate');
	is(request('PUT', "/documents/$id", { title => 'Lost', content => '' })->{status}, 503, 'a write fails');
	like(redis("GET doc:latest:$id"), qr/"title":"Database","version":1/, 'and Redis is not updated');
	is(latest($id)->{json}{version}, 1, 'the latest version can be read all the while');
	$node->start;
	ok(wait_until(sub { request('PUT', "/documents/$id", { title => 'Again', content => '' })->{status} == 200 }), 'writes go on afterwards');
	is(latest($id)->{json}{title}, 'Again', 'and are read');
};

# Row 2: Redis fails -> a miss.  It comes back with its old file.
subtest 'Redis fails' => sub {
	my $id = create('Redis');
	my $expires = redis("PEXPIRETIME doc:latest:$id");

	run_output('node', "$tests/cache.mjs", $dir, 'before');
	redis('SAVE');
	kill_program('redis');
	my $updated = request('PUT', "/documents/$id", { title => 'Without Redis', content => "a\nb" });
	is("$updated->{status} $updated->{json}{version}", '200 2', 'writes do not need it');
	my $latest = latest($id);
	is("$latest->{status} $latest->{json}{title} $latest->{headers}{'x-from'}", '200 Without Redis store', 'reads ask the store');
	is(request('GET', '/documents?q=redis')->{status}, 200, 'searches never ask it');
	ok(wait_until(sub { job_state() =~ /^[1-9]\d* 0 0$/ }), 'jobs wait, and no attempt is counted') or diag(job_state());
	start_redis();
	is(redis("PEXPIRETIME doc:latest:$id"), $expires, 'what it still has expires when it would have');
	is(run_output('node', "$tests/cache.mjs", $dir, 'after'), "short: 8\neternal: 7\n", 'after that it is read from the store; without a time to live it would stay');
	ok(wait_until(sub { diff_states($id) eq 'done none' }), 'jobs are done when it is back');
	request('PUT', "/documents/$id", { title => 'With Redis', content => "a\nb" });
	ok(wait_until(sub { latest($id)->{headers}{'x-from'} eq 'cache' }), 'the cache serves again');
	is(latest($id)->{json}{version}, 3, 'the latest version');
	redis('FLUSHALL');
	is(latest($id)->{json}{version}, 3, 'it can be emptied at any time');
};

# Row 3: the worker fails -> retry.
subtest 'the worker fails' => sub {
	my $id = create('Worker');

	kill_program('worker');
	local $ENV{WORKER_FAILS} = 1;
	start_program('worker', qr/running/, 'worker.mjs');
	request('PUT', "/documents/$id", { title => 'Worker', content => "more\nlines" });
	ok(wait_until(sub { redis('ZCARD bull:documents:delayed') >= 1 }), 'the job has failed, and is tried again later');
	kill_program('worker');
	# The bridge may not have committed yet that it handed the job over.
	ok(wait_until(sub { diff_states($id) eq 'none none' }), 'there is no diff yet');
	is(latest($id)->{json}{version}, 2, 'which matters to nobody else');
	delete local $ENV{WORKER_FAILS};
	start_program('worker', qr/running/, 'worker.mjs');
	ok(wait_until(sub { diff_states($id) eq 'done none' }), 'another worker does it');
	is($node->safe_psql('postgres', "SELECT count(*) FROM dms.VersionDiff WHERE DocumentUuid = '$id'"), 1, 'once');
};

# Row 4: concurrent writes -> one after the other.
subtest 'concurrent writes' => sub {
	my $id = create('Concurrent');
	my $same = join '', map { qq(fetch("$url/documents/$id", {method: "PUT", headers: {"Content-Type": "application/json", "If-Match": '"1"'},
		body: JSON.stringify({title: "Concurrent $_", content: "$_"})}).then(r => r.status),) } 1 .. 8;
	my $free = $same =~ s/, "If-Match": '"1"'//gr =~ s/title: "Concurrent/title: "Free/gr;

	is(run_output('node', '-e', "Promise.all([$same]).then(all => console.log(all.sort().join(' ')))"), "200 412 412 412 412 412 412 412\n",
		'of eight that update one version, one does');
	is(run_output('node', '-e', "Promise.all([$free]).then(all => console.log(all.sort().join(' ')))"), "200 200 200 200 200 200 200 200\n",
		'eight without a condition all do');
	is($node->safe_psql('postgres', "SELECT string_agg(version::text, ' ' ORDER BY version) FROM dms.list_versions('$id')"),
		'1 2 3 4 5 6 7 8 9 10', 'numbers have no gaps');
	is(latest($id)->{json}{version}, 10, 'the cache has the last one');
};

subtest "$writes writes of 8 clients" => sub {
	my ($counts, $ids) = split /\n/, run_output('node', "$tests/load.mjs", $url, $writes);

	is($counts, "writes $writes, fell 0", 'no reader saw a version fall');
	foreach my $id (split / /, $ids)
	{
		my $stored = $node->safe_psql('postgres', "SELECT dms.latest_version('$id')");
		is(redis("GET doc:latest:$id"), $stored, 'the cache equals the store');
	}
	ok(wait_until(sub { $node->safe_psql('postgres', "SELECT count(*) FROM docs.document AS t,
		LATERAL dms.change_log(t.documentuuid::uuid, 10000) AS c WHERE c.kind = 'updated' AND c.diff IS NULL") == 0 }), 'all diffs are there');
	is(job_state(), '0 0 0', 'no job is left');
	is($node->safe_psql('postgres', 'SELECT * FROM dms.audit()'), '', 'the store is in order');
};

subtest 'the page' => sub {
	my ($browser) = grep { run_output($_, '--version') ne '' } qw(chromium chromium-browser);
	plan skip_all => 'chromium is not installed; .ci/run installs it' unless $browser;

	my $id = create('Meeting notes', "# Meeting\n\n- welcome\n- budget\n- questions\n\nNext: Monday");
	request('PUT', "/documents/$id", { title => 'Meeting notes', content => "# Meeting\n\n- welcome\n- budget 2027\n- questions\n- a walk\n\nNext: Tuesday" });
	create('Notes of another meeting');
	wait_for_changes($id);
	my @options = ('--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--hide-scrollbars', "--user-data-dir=$dir/browser",
		'--window-size=1100,800', '--virtual-time-budget=5000');
	my $page = "$url/#q=meeting&id=$id";
	my $picture = "$PostgreSQL::Test::Utils::log_path/documents.png";
	local $ENV{HOME} = $dir;
	my $dom = run_output($browser, @options, '--dump-dom', $page);
	like($dom, qr/data-ready="yes"/, 'it loads');
	like($dom, qr/<li><a class="here"[^>]*>Meeting notes<.*Notes of another meeting</s, 'it searches');
	like($dom, qr/<span class="remove">-- budget<.*<span class="add">\+- budget 2027</s, 'it shows the diff in colors');
	like($dom, qr/Version 2 .*updated by .*Version 1 .*inserted by /s, 'it shows the history');
	run_output($browser, @options, "--screenshot=$picture", $page);
	cmp_ok(-s $picture // 0, '>', 20_000, "$picture has something on it");
};

stop_program($_) foreach qw(listener worker bridge server redis);
$node->stop;
done_testing();

# --- programs ------------------------------------------------------------------------

# Copy the example into a scratch directory, and install its packages there.  Returns why
# that is not possible, or undef.
sub install_packages
{
	my $out = '';

	copy($_, $dir) or die "cannot copy $_: $!" foreach glob("$example/*");
	local $ENV{HOME} = $dir;
	my $done = eval {
		IPC::Run::run([ 'npm', 'install', '--no-package-lock', '--no-audit', '--no-fund', '--ignore-scripts', '--prefix', $dir ],
			'<', \undef, '>&', \$out, init => sub { chdir $dir }, IPC::Run::timeout($timeout));
	};
	return undef if $done;
	note($out);
	return 'npm cannot install the packages of the example: ' . ($out =~ /npm (?:ERR!|error) (\S.*)/ ? $1 : 'no answer');
}

# Start a program, and wait for a line of its output, which goes to a file.
sub start
{
	my ($name, $ready, @command) = @_;
	my $log = "$dir/$name.log";

	unlink $log;
	$running{$name} = {
		log => $log,
		process => IPC::Run::start(\@command, '<', \undef, '>&', $log, init => sub { chdir $dir })
	};
	wait_until(sub { -e $log && slurp_file($log) =~ $ready }) or BAIL_OUT("$name did not start: " . slurp_file($log));
	return;
}

sub start_program
{
	my ($name, $ready, @arguments) = @_;

	return start($name, $ready, unlimited('node', @arguments));
}

# A command without the limit on its addresses: node and browsers reserve many.
sub unlimited { return ('sh', '-c', 'ulimit -S -v $(ulimit -H -v); exec "$@"', 'sh', @_) }

sub start_redis
{
	start('redis', qr/ready to accept connections/i, 'redis-server', '--port', 0, '--unixsocket', "$dir/redis.sock",
		'--dir', $dir, '--save', '', '--daemonize', 'no');
	return wait_until(sub { redis('PING') eq 'PONG' });
}

# End a program as a crash does.
sub kill_program
{
	my ($name) = @_;

	$running{$name}{process}->signal('KILL');
	eval { $running{$name}{process}->finish };
	return;
}

# End a program, and show what it printed.
sub stop_program
{
	my ($name) = @_;

	$running{$name}{process}->signal('TERM');
	eval { $running{$name}{process}->finish };
	note("$name: " . slurp_file($running{$name}{log})) unless $name eq 'redis';
	return;
}

sub run_output
{
	my @command = @_;
	my ($out, $err) = ('', '');

	IPC::Run::run([ unlimited(@command) ], '<', \undef, '>', \$out, '2>', \$err, init => sub { chdir $dir }, IPC::Run::timeout(10 * $timeout));
	note($err) if $err ne '';
	return $out;
}

sub run_ok
{
	my ($command, $name) = @_;
	my ($out, $err) = ('', '');
	my $done = IPC::Run::run([ split / /, $command ], '<', \undef, '>', \$out, '2>', \$err, init => sub { chdir $dir });

	ok($done, $name) or diag($err);
	return;
}

# The answer of Redis to a command.
sub redis
{
	my ($command) = @_;

	return run_output('redis-cli', '-s', "$dir/redis.sock", split / /, $command) =~ s/\n$//r;
}

sub wait_until
{
	my ($condition) = @_;

	for (1 .. 20 * $timeout)
	{
		return 1 if $condition->();
		select(undef, undef, undef, 0.05);
	}
	return 0;
}

# --- requests ------------------------------------------------------------------------

sub request
{
	my ($method, $path, $body, $headers) = @_;
	my $answer = $http->request($method, "$url$path", {
		headers => { 'Content-Type' => 'application/json', %{ $headers // {} } }, content => $body ? JSON::PP->new->utf8->encode($body) : ''
	});

	$answer->{json} = eval { JSON::PP->new->utf8->decode($answer->{content}) };
	return $answer;
}

sub latest { return request('GET', "/documents/$_[0]") }

sub create
{
	my ($title, $content) = @_;

	return request('POST', '/documents', { title => $title, content => $content // 'content' })->{json}{documentId};
}

# The states of the diffs of a document, newest first.
sub diff_states
{
	my ($id) = @_;

	return $node->safe_psql('postgres', "SELECT string_agg(diff_state, ' ' ORDER BY version DESC) FROM dms.change_log('$id')");
}

# Wait for the diff of a document with two versions, and return its changes.
sub wait_for_changes
{
	my ($id) = @_;

	ok(wait_until(sub { diff_states($id) eq 'done none' }), 'a worker makes the diff');
	return request('GET', "/documents/$id/changes")->{json};
}

# The jobs of the bridge: how many there are, their attempts, how many are dead.
sub job_state
{
	return $node->safe_psql('postgres', "SELECT concat_ws(' ', count(*), coalesce(sum(Attempts), 0), (SELECT count(*) FROM dms.DeadJob)) FROM dms.Job");
}
