# Copies of a store that are kept by the feed of changes: a database and a directory
# follow random writes, are killed in between, and equal the store in the end.
use strict;
use warnings;

use FindBin;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# The first Python on the path may know nothing of Debian's packages.
my ($python) = grep { system(qq($_ -c "import psycopg2" 2>/dev/null)) == 0 } qw(python3 /usr/bin/python3);
plan skip_all => 'python3-psycopg2 is not installed' unless defined $python;

my $follow = "$FindBin::RealBin/../../examples/follow/follow.py";
my $node   = PostgreSQL::Test::Cluster->new('follow');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', "fsync = off\nlog_statement = none");
$node->start;
$node->safe_psql('postgres', "CREATE DATABASE $_") for qw(school copy);

my $schema = slurp_file("$FindBin::RealBin/../../examples/schemas/school.json");
$node->safe_psql('school', "SET client_min_messages = warning; CREATE EXTENSION dms; SELECT dms.deploy_schema(\$schema\$$schema\$schema\$);"
	  . q( SELECT dms.configure_resource('ed-fi', 'students', '{"history": true}')));
$node->safe_psql('school', <<'SQL');
SELECT dms.upsert_document('ed-fi', 'gradeLevelDescriptors', '{"namespace": "uri://g", "codeValue": "10", "shortDescription": "10"}');
SELECT dms.upsert_document('ed-fi', 'schools', json_build_object('schoolId', n, 'nameOfInstitution', 'Schule ' || n,
	'gradeLevels', '[{"gradeLevelDescriptor": "uri://g#10"}]'::json)) FROM generate_series(1, 3) AS n;

CREATE FUNCTION any_of(resource text) RETURNS uuid LANGUAGE sql VOLATILE AS $$
	SELECT DocumentUuid FROM dms.Document WHERE ResourceName = resource ORDER BY random() LIMIT 1
$$;
-- One write: a new document or another value, another key, or a delete.
CREATE FUNCTION act() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	what double precision := random();
	student uuid := any_of('Student');
	period uuid := any_of('ClassPeriod');
	restored uuid := (SELECT DocumentUuid FROM dms.DocumentVersion WHERE Kind = 'deleted' ORDER BY random() LIMIT 1);
BEGIN
	IF what < 0.5 THEN
		PERFORM dms.upsert_document('ed-fi', 'students', json_build_object('studentUniqueId', floor(random() * 80)::int::text,
			'firstName', 'Ünal ' || floor(random() * 3), 'lastSurname', 'King "X"', 'birthDate', '2014-02-03'));
	ELSIF what < 0.7 OR period IS NULL THEN
		PERFORM dms.upsert_document('ed-fi', 'classPeriods', json_build_object('classPeriodName', floor(random() * 20)::int::text,
			'schoolReference', json_build_object('schoolId', 1 + floor(random() * 3)::int)));
	ELSIF what < 0.8 THEN
		PERFORM dms.update_document(period, jsonb_set(dms.get_document(period)::jsonb, '{classPeriodName}', to_jsonb('p' || floor(random() * 20)::int))::json);
	ELSIF what < 0.9 THEN
		PERFORM dms.delete_document(student);
	ELSIF what < 0.95 THEN
		PERFORM dms.delete_document(period);
	ELSIF restored IS NOT NULL THEN
		PERFORM dms.restore_document(restored, (SELECT max(VersionNumber) FROM dms.DocumentVersion WHERE DocumentUuid = restored AND Content IS NOT NULL));
	END IF;
EXCEPTION WHEN unique_violation OR foreign_key_violation OR invalid_parameter_value OR SQLSTATE 'ZD404' THEN
	NULL;
END $$;
SQL

my $directory = PostgreSQL::Test::Utils::tempdir() . '/copy';
my %copies    = (
	database  => [ '--database',  $node->connstr('copy') ],
	directory => [ '--directory', $directory ],
);
my $seed = 0;

# The first run reads everything, in batches of any size; the next one finds nothing new.
change(300);
like(run_follow($_, '--once', '--batch', 7), qr/^follow: [1-9]\d+ changes$/, "$_: everything is copied") for sort keys %copies;
is(run_follow($_, '--once'), "follow: 0 changes\n", "$_: nothing has changed") for sort keys %copies;
verified($_, 'the first copy') for sort keys %copies;

# Followers that are killed while others write go on where they were.
for my $round (1 .. 3)
{
	my @running = map { start_follow($_, '--batch', 5, '--interval', 0.01) } sort keys %copies;

	change(150);
	$_->kill_kill(grace => 0) for @running;
}
run_follow($_, '--once', '--batch', 3) for sort keys %copies;
verified($_, 'after they were killed') for sort keys %copies;
is($node->safe_psql('school', "SELECT count(*) FILTER (WHERE Kind = 'D') > 0, count(*) FILTER (WHERE Kind = 'K') > 0 FROM dms.TrackedChange"),
	't|t', 'documents were deleted, and keys changed');
is( $node->safe_psql('copy', 'SELECT id, project, resource, etag, document::text FROM follow.document ORDER BY id'),
	$node->safe_psql('school',
		'SELECT DocumentUuid, ProjectName, ResourceName, Etag, dms.get_document(DocumentUuid)::text FROM dms.Document ORDER BY DocumentUuid'),
	'each document is there with its text');

# What was written to files after the cursor is removed again.
my ($file) = glob("$directory/*.Student.ndjson");
append_to_file($file, '{"id": "half a li');
append_to_file("$directory/Ed-Fi.New.ndjson", "{}\n");
verified('directory', 'after a crash between a file and the cursor');
ok(!-e "$directory/Ed-Fi.New.ndjson", 'a file of nothing is gone');
my $size = sizes();
is(run_follow('directory', '--compact'), '', 'files are written anew');
cmp_ok(sizes(), '<', $size, 'without old lines');
verified('directory', 'after that');

# Differences are found, with their place.
my $changed = $node->safe_psql('copy',
	"UPDATE follow.document SET document = '{}' WHERE id = (SELECT min(id::text)::uuid FROM follow.document WHERE resource = 'Student') RETURNING id");
($changed) = $changed =~ /([0-9a-f-]{36})/;
$node->safe_psql('copy', "DELETE FROM follow.document WHERE id = (SELECT min(id::text)::uuid FROM follow.document WHERE resource = 'School')");
my ($status, $out) = follow('database', '--verify');
is($status, 1, 'a copy that differs is reported');
my $bucket = hex(substr($changed, -8)) % 256;
like($out, qr/^follow: Ed-Fi\.Student, bucket $bucket: (\d+) documents in the store, \1 in the copy, of other content$/m, 'what was changed');
like($out, qr/^follow: Ed-Fi\.School, bucket \d+: (\d+) documents in the store, \d+ in the copy$/m, 'what is missing');
like($out, qr/, 2 differences$/m, 'and nothing else');

# A copy that cannot be continued begins anew: here all documents are gone at once.
$node->safe_psql('school', 'TRUNCATE dms.Document CASCADE');
change(100);
like(run_follow($_, '--once'), qr/^follow: .*; beginning anew$/m, "$_: begins anew") for sort keys %copies;
verified($_, 'which is complete') for sort keys %copies;

# While the database is away, a follower waits for it.
my $running = start_follow('database', '--interval', 0.01);
follows('a follower that is started');
$node->restart;
follows('a follower survives a restart');
$running->kill_kill(grace => 0);

$node->stop;
done_testing();

# Write at random, each time in a transaction of its own.
sub change
{
	my ($n) = @_;

	$node->safe_psql('school', 'SELECT setseed(' . (++$seed / 1009) . ");\n" . "SELECT act();\n" x $n);
	return;
}

# Run the program; returns its status, and what it printed.
sub follow
{
	my ($copy, @arguments) = @_;
	my ($out, $err) = ('', '');
	my $ok = IPC::Run::run([ $python, $follow, $node->connstr('school'), @{ $copies{$copy} }, @arguments ], '<', \undef, '>', \$out, '2>', \$err,
		IPC::Run::timeout(10 * $PostgreSQL::Test::Utils::timeout_default));

	diag($err) if $err ne '';
	return ($ok ? 0 : $? >> 8, $out);
}

# Run it without an error; returns what it printed.
sub run_follow
{
	my ($copy, @arguments) = @_;
	my ($status, $out) = follow($copy, @arguments);

	is($status, 0, "$copy: @arguments");
	return $out;
}

# Start it.
sub start_follow
{
	my ($copy, @arguments) = @_;

	return IPC::Run::start([ $python, $follow, $node->connstr('school'), @{ $copies{$copy} }, @arguments ], '<', \undef, '>', '/dev/null', '2>', '/dev/null');
}

# What is written now must reach the copy in the database.
sub follows
{
	my ($name) = @_;

	change(20);
	my $expected = $node->safe_psql('school', 'SELECT count(*), sum(Etag) FROM dms.Document');
	ok($node->poll_query_until('copy', 'SELECT count(*), sum(etag) FROM follow.document', $expected), $name);
	return;
}

# The copy must equal the store.
sub verified
{
	my ($copy, $name) = @_;

	like(run_follow($copy, '--verify'), qr/^follow: [1-9]\d* documents, 0 differences$/, "$copy: equal, $name");
	return;
}

# Returns the size of all files of the directory.
sub sizes
{
	my $size = 0;

	$size += -s foreach glob "$directory/*.ndjson";
	return $size;
}
