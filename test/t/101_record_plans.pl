# Records are read by index: each kind of key is looked up among 20,000 relations (a
# million in the long form), and the statistics of the server tell which indexes were
# searched, and that no table was read from end to end.  The plans that the planner makes
# for the same questions use these indexes, too.
use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use Dms::Session;

my $size = $ENV{DMS_LONG} ? 1_000_000 : 20_000;
my $schema = slurp_file("$FindBin::RealBin/../../examples/schemas/system.json");
$schema =~ s/'/''/g;

my $node = PostgreSQL::Test::Cluster->new('plans');
$node->init(extra => ['--encoding=UTF8']);
$node->append_conf('postgresql.conf', "fsync = off\nautovacuum = off\nmax_wal_size = 4GB\n");
$node->start;
$node->safe_psql('postgres', 'CREATE DATABASE store');
$node->safe_psql('store', qq{
	SET client_min_messages = warning;
	CREATE EXTENSION dms;
	SELECT dms.deploy_schema('$schema');
	SELECT dms.configure_resource('system', 'users', '{"uniqueKeys": ["\$.emailAddress"]}');
	SELECT dms.upsert_document('system', 'systems', '{"systemId": "s", "name": "S"}');
});

# Users that are all below the system, its members, and documents of its account, each
# with a unique value.  They are made by plain SQL, which takes less time.
$node->safe_psql('store', qq{
	CREATE TABLE made AS SELECT nextval('dms.document_documentid_seq') AS id, dms.uuid_v7() AS uuid, n,
		(SELECT ResourceTypeId FROM dms.ResourceType WHERE ResourceName = 'User') AS type,
		(SELECT DocumentId FROM dms.Document) AS near
	FROM generate_series(1, $size) AS n;
	INSERT INTO dms.Document (DocumentId, DocumentUuid, ProjectName, ResourceName, ResourceVersion)
		SELECT id, uuid, 'System', 'User', '1.0.0' FROM made;
	INSERT INTO dms.IdentityLock (DocumentId) SELECT id FROM made;
	INSERT INTO system."user" (documentid, userid, name, emailaddress) SELECT id, n, 'x', n || '\@example.org' FROM made;
	INSERT INTO dms.ParentChild (ChildDocumentId, ParentDocumentId, ChildTypeId, ChildUuid) SELECT id, near, type, uuid FROM made;
	INSERT INTO dms.CollectionMember (CollectionDocumentId, MemberDocumentId, MemberTypeId, MemberUuid, Conveys)
		SELECT near, id, type, uuid, false FROM made;
	INSERT INTO dms.DocumentAccount (AccountId, DocumentId, ResourceTypeId, DocumentUuid) SELECT near, id, type, uuid FROM made;
	INSERT INTO dms.UniqueKeyValue (ResourceType, Key, Value, DocumentId) SELECT 'System.User', 'code', n::text, id FROM made;
});
$node->safe_psql('store', 'VACUUM ANALYZE');

my $near = $node->safe_psql('store', q{SELECT dms.urn(DocumentUuid) FROM dms.Document WHERE ResourceName = 'System'});
my $far = $node->safe_psql('store', 'SELECT dms.urn(uuid) FROM made WHERE n = 10000');
my $session = Dms::Session->new($node, 'store');

# The scans of the indexes and tables of relations that a query makes: of each index that is
# searched, its name, and of each table that is read from end to end, the rows that were read.
sub scans
{
	my ($query) = @_;
	my $counters = q{
		SELECT indexrelname || ' ' || idx_scan FROM pg_stat_user_indexes WHERE idx_scan > 0 AND relname ~ '^(document|parentchild|collectionmember|documentaccount|uniquekeyvalue|user)$'
		UNION ALL SELECT 'all rows of ' || relname || ' ' || seq_tup_read FROM pg_stat_user_tables WHERE relname ~ '^(document|parentchild|collectionmember|documentaccount|uniquekeyvalue|user)$'
		ORDER BY 1;};
	my (@before, %before, @after);

	# The first call reads models and makes plans, which looks at other tables.
	$session->ask("$query;\n");
	$session->ask("SELECT pg_stat_force_next_flush();\n");
	@before = split /\n/, $session->ask($counters . "\n");
	$before{$_} = 1 foreach @before;
	chomp(my $found = $session->ask("$query;\n"));
	$session->ask("SELECT pg_stat_force_next_flush();\n");
	@after = split /\n/, $session->ask($counters . "\n");
	return ($found, map { s/ \d+$//r } grep { !$before{$_} } @after);
}

# What is asked for, the query, the records that it finds, and the indexes behind it.  The
# documents that records name are found by their ids.
my @rows = (
	[ 'Resource#{urn}', "dms.query_records('Resource#$far')", 1, ['document_documentuuid_uq'] ],
	[ 'Parent#{urn}', "dms.query_records('Parent#$near')", 25, ['parentchild_parent_ix'] ],
	[ 'Parent#{urn}, Child#{type}', "dms.query_records('Parent#$near', 'Child#urn:dms:System.User::')", 25, ['parentchild_parent_ix'] ],
	[ 'Parent#{urn}, Child#{urn}', "dms.query_records('Parent#$near', 'Child#$far')", 1, ['parentchild_parent_ix'] ],
	[ 'Child#{urn}, inverted', "dms.query_records('Child#$far', '', 'InvertedIndex')", 1, ['parentchild_pkey'] ],
	[ 'Collection#{urn}', "dms.query_records('Collection#$near')", 25, ['collectionmember_collection_ix'] ],
	[ 'Collection#{urn}, Member#{urn}', "dms.query_records('Collection#$near', 'Member#$far')", 1, ['collectionmember_collection_ix'] ],
	[ 'Member#{urn}, inverted', "dms.query_records('Member#$far', '', 'InvertedIndex')", 1, [ 'collectionmember_member_ix', 'collectionmember_pkey' ] ],
	[ 'UniqueKeyValue#{type}#{key}#{value}', "dms.query_records('UniqueKeyValue#System.User#code#10000')", 1, ['uniquekeyvalue_pkey'] ],
	[ 'UniqueKeyValue#{type}#{key}, inverted', "dms.query_records('UniqueKeyValue#System.User#code', '', 'InvertedIndex')", 25, ['uniquekeyvalue_value_ix'] ],
	[ 'the value of a declared key', "dms.query_records('UniqueKeyValue#System.User#emailAddress#10000\@example.org')", 1, ['user_emailaddress_uk'] ],
	[ '{urn} of an account', "dms.query_records('$near', '', 'ResourcesByAccountIndex')", 25, ['documentaccount_account_ix'] ],
);

foreach my $row (@rows)
{
	my ($name, $query, $records, $indexes) = @$row;
	my ($found, @scans) = scans("SELECT count(*) FROM $query");

	is($found, $records, "$name: $records records");
	is_deeply([ grep { /^all rows/ } @scans ], [], "$name: no table is read from end to end");
	foreach my $index (@$indexes)
	{
		ok((grep { $_ eq $index } @scans), "$name: by $index") or diag("searched: @scans");
	}
}

# The same questions in plain SQL.
my ($near_id, $far_id, $type) = split /\|/, $node->safe_psql('store', 'SELECT near, id, type FROM made WHERE n = 10000');
my $uuid = $far =~ s/.*:://r;
my @plans = (
	[ 'document_documentuuid_uq', "SELECT * FROM dms.Document WHERE DocumentUuid = '$uuid'" ],
	[ 'parentchild_parent_ix', "SELECT ChildUuid FROM dms.ParentChild WHERE ParentDocumentId = $near_id AND ChildTypeId = $type ORDER BY ChildUuid LIMIT 25" ],
	[ 'parentchild_pkey', "SELECT ParentDocumentId FROM dms.ParentChild WHERE ChildDocumentId = $far_id" ],
	[ 'collectionmember_collection_ix',
		"SELECT MemberUuid FROM dms.CollectionMember WHERE CollectionDocumentId = $near_id AND MemberTypeId = $type ORDER BY MemberUuid LIMIT 25" ],
	[ 'collectionmember_(pkey|member_ix)', "SELECT * FROM dms.CollectionMember WHERE CollectionDocumentId = $near_id AND MemberDocumentId = $far_id" ],
	[ 'collectionmember_member_ix', "SELECT CollectionDocumentId FROM dms.CollectionMember WHERE MemberDocumentId = $far_id" ],
	[ 'documentaccount_account_ix',
		"SELECT DocumentUuid FROM dms.DocumentAccount WHERE AccountId = $near_id AND ResourceTypeId = $type ORDER BY DocumentUuid LIMIT 25" ],
	[ 'uniquekeyvalue_(pkey|value_ix)', "SELECT * FROM dms.UniqueKeyValue WHERE ResourceType = 'System.User' AND Key = 'code' AND Value = '10000'" ],
	[ 'uniquekeyvalue_value_ix', "SELECT Value FROM dms.UniqueKeyValue WHERE ResourceType = 'System.User' AND Key = 'code' ORDER BY Value COLLATE \"C\" LIMIT 25" ],
	[ 'user_emailaddress_uk', "SELECT DocumentId FROM system.\"user\" WHERE emailaddress = '10000\@example.org'" ],
);

foreach my $plan (@plans)
{
	my ($index, $query) = @$plan;
	my $explained = $node->safe_psql('store', "EXPLAIN (COSTS OFF) $query");

	like($explained, qr/Index (Only )?Scan using $index/, "the planner chooses $index");
	unlike($explained, qr/Seq Scan|Sort/, 'and needs no other step');
}

$session->finish;
$node->stop;
done_testing();
