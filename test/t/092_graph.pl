# Trees: sessions create, move and delete documents at random, and a program keeps its
# own forest of the answers (test/forest).  Afterwards there is no orphan in the tables
# of relations, and the view of records shows what the tables have.  A tree of many levels
# is read, moved and deleted as any other.  DMS_LONG=1 (./check --long) runs 200,000
# operations, and has 100,000 levels.
use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $forest = $ENV{DMS_FOREST};
plan skip_all => 'DMS_FOREST names no test of trees' unless $forest && -x $forest;

my $top = "$FindBin::RealBin/../..";
my $operations = $ENV{DMS_LONG} ? 200_000 : 3_000;
my $seed = $ENV{DMS_SEED} || int(rand(1_000_000));
note("DMS_SEED=$seed repeats the choices of this run");

my $node = PostgreSQL::Test::Cluster->new('graph');
$node->init;
$node->append_conf('postgresql.conf', "deadlock_timeout = 200ms\nlog_min_error_statement = fatal\nlog_min_messages = log\n");
$node->start;
$node->safe_psql('postgres', 'CREATE DATABASE forest');
my $schema = slurp_file("$top/examples/schemas/system.json");
$schema =~ s/'/''/g;
$node->safe_psql('forest', "CREATE EXTENSION dms; SELECT dms.deploy_schema('$schema')");

my ($out, $err) = run_command([ $forest, $node->connstr('forest'), 8, $operations, $seed ]);
note($out);
is($err, '', 'the program ran');
like($out, qr/no finding\s*$/, 'the forest of the store is that of the answers');

# Some more relations, so that all records have rows.
$node->safe_psql('forest', q{
	WITH d AS (SELECT DocumentUuid AS id, row_number() OVER (ORDER BY DocumentUuid) AS n FROM dms.Document)
	SELECT dms.add_member(a.id, b.id, a.n % 2 = 0), dms.set_account(b.id, a.id, false),
		dms.claim_unique_key('System.System', 'code', a.n::text, a.id)
	FROM d AS a JOIN d AS b ON b.n = a.n + 1 WHERE a.n < 200
});
is($node->safe_psql('forest', 'SELECT * FROM dms.audit()'), '', 'the store contradicts itself nowhere');
is($node->safe_psql('forest', q{
	SELECT (SELECT count(*) FROM dms.ParentChild) + (SELECT count(*) FROM dms.CollectionMember)
		+ (SELECT count(*) FROM dms.UniqueKeyValue) + (SELECT count(*) FROM dms.Document)
		- (SELECT count(*) FROM dms.Record)
}), '0', 'there is a record for each row');

# Each key is taken apart, and leads back to its rows.
is($node->safe_psql('forest', q{
	SELECT count(*) FROM dms.Record AS r
	WHERE CASE "_recordType"
		WHEN 'Resource' THEN "PK" <> "SK" OR 'Resource#' || dms.urn(split_part("PK", '::', 2)::uuid) <> "PK"
		WHEN 'ParentChildRelationship' THEN dms.parent(dms.id_of(substr("SK", 7))) IS DISTINCT FROM dms.id_of(substr("PK", 8))
		WHEN 'CollectionMemberRelationship' THEN NOT EXISTS (SELECT FROM dms.CollectionMember AS m
			JOIN dms.Document AS c ON c.DocumentId = m.CollectionDocumentId
			WHERE (c.DocumentUuid, m.MemberUuid) = (dms.id_of(substr("PK", 12)), dms.id_of(substr("SK", 8))))
		ELSE dms.find_unique_key(split_part("PK", '#', 2), split_part("PK", '#', 3), split_part("PK", '#', 4)) <> "associatedRecordUrn" END
}), '0', 'records lead back to their rows');
is($node->safe_psql('forest', q{
	SELECT count(*) FROM (SELECT * FROM dms.Record ORDER BY md5("PK") LIMIT 500) AS r
	WHERE dms.get_record("PK", "SK") ->> 'PK' IS DISTINCT FROM "PK"
}), '0', 'dms.get_record() finds them');

# A tree in which each document has one child: many levels, of which each is one step.
# It is made by plain SQL, which takes less time.
my $levels = $ENV{DMS_LONG} ? 100_000 : 10_000;
$node->safe_psql('postgres', 'CREATE DATABASE deep');
$node->safe_psql('deep', qq{
	SET client_min_messages = warning;
	CREATE EXTENSION dms;
	SELECT dms.deploy_schema('$schema');
	CREATE TABLE made AS SELECT nextval('dms.document_documentid_seq') AS id, dms.uuid_v7() AS uuid, n,
		(SELECT ResourceTypeId FROM dms.ResourceType WHERE ResourceName = 'System') AS type FROM generate_series(1, $levels) AS n;
	INSERT INTO dms.Document (DocumentId, DocumentUuid, ProjectName, ResourceName, ResourceVersion) SELECT id, uuid, 'System', 'System', '1.0.0' FROM made;
	INSERT INTO dms.IdentityLock (DocumentId) SELECT id FROM made;
	INSERT INTO system.system (documentid, systemid, name) SELECT id, n, 'x' FROM made;
	INSERT INTO dms.ParentChild (ChildDocumentId, ParentDocumentId, ChildTypeId, ChildUuid)
		SELECT c.id, p.id, c.type, c.uuid FROM made AS c JOIN made AS p ON p.n = c.n - 1;
	VACUUM ANALYZE;
	CREATE FUNCTION place(level integer) RETURNS uuid LANGUAGE sql STABLE RETURN (SELECT uuid FROM made WHERE n = level);
	CREATE FUNCTION memory() RETURNS bigint LANGUAGE sql
		RETURN substring(pg_read_file('/proc/self/status') FROM 'RssAnon:\\s*(\\d+) kB')::bigint;
});
my $top_and_bottom = "place(1), place($levels)";
is($node->safe_psql('deep', "SELECT count(*), min(document_uuid::text) = place(1)::text FROM dms.ancestors(place($levels))"),
	$levels - 1 . '|t', 'all that is above the last document');
is($node->safe_psql('deep', "SELECT count(*), max(depth) FROM dms.grant_sources(place($levels))"), "$levels|" . ($levels - 1), 'grants reach it');
is($node->safe_psql('deep', "SELECT count(*) FROM dms.covered_documents(ARRAY[place(1)])"), $levels, 'from the first document, too');
is($node->safe_psql('deep', "SELECT dms.covers(place(1), place($levels)), dms.covers(place($levels), place(1))"), 't|f', 'in one direction');
my ($code, $said, $error) = $node->psql('deep', "SELECT dms.set_parent($top_and_bottom)");
like($error, qr/cannot be the parent/, 'no ring is closed around it');
SKIP:
{
	skip 'sanitizers keep freed memory', 1 if $ENV{DMS_SANITIZED};
	cmp_ok($node->safe_psql('deep', qq{
		SELECT memory() AS before, count(*) FROM dms.covered_documents(ARRAY[place(2)]) \\gset
		SELECT count(*) FROM dms.ancestors(place($levels)) \\gset
		SELECT count(*) FROM dms.grant_sources(place($levels)) \\gset
		SELECT (memory() - :before) * 1024 / $levels}), '<', 1000, 'each level takes less than 1,000 bytes of memory');
}
is($node->safe_psql('deep', "SET client_min_messages = warning; SELECT dms.delete_document(place(1)), (SELECT count(*) FROM dms.Document)"),
	"t|$levels", 'it is deleted at once');
is($node->safe_psql('deep', 'SELECT (SELECT count(*) FROM dms.Document) + (SELECT count(*) FROM dms.ParentChild)'), '0', 'and nothing is left');

$node->stop;
done_testing();
