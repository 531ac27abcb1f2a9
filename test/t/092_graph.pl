# Trees: sessions create, move and delete documents at random, and a program keeps its
# own forest of the answers (test/forest).  Afterwards there is no orphan in the tables
# of relations, and the view of records shows what the tables have.  DMS_LONG=1
# (./check --long) runs 200,000 operations.
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

$node->stop;
done_testing();
