# A store that an older version of the extension made is recognized by every call.
# dms.upgrade_store() brings it to the version of today, as if it were new.
#
# test/upgrade/store-1.sql is the dump of such a store.
use strict;
use warnings;

use FindBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $top = "$FindBin::RealBin/..";
my $node = PostgreSQL::Test::Cluster->new('upgrade');
$node->init;
$node->start;
$node->safe_psql('postgres', 'CREATE ROLE district LOGIN CREATEDB; CREATE ROLE clerk LOGIN');
my @district = (extra_params => [ '-U', 'district' ]);
my @clerk    = (extra_params => [ '-U', 'clerk' ]);

my $schema = slurp_file("$top/schemas/equalities.json");
$schema =~ s/'/''/g;
my $deploy = "SELECT dms.deploy_schema('$schema')";

$node->safe_psql('postgres', "CREATE DATABASE $_ OWNER district TEMPLATE template0") foreach qw(old fresh);
$node->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-U', 'district', '-f', "$top/upgrade/store-1.sql", 'old' ],
	'the dump is restored by the owner of the store');
$node->safe_psql('fresh', "SET client_min_messages = warning; CREATE EXTENSION dms; $deploy", @district);

#
# Whoever calls is told what to do
#

my $version = $node->safe_psql('fresh', 'SELECT StoreVersion FROM dms.Store');
my $hint = qr/the store has version 1, and this library works with version $version\b.*HINT:  Call dms\.upgrade_store\(\)/s;
my $uuid = $node->safe_psql('old', 'SELECT DocumentUuid FROM dms.Document ORDER BY DocumentId LIMIT 1');
my $school = q{'{"schoolId": 1}'};
my @calls = (
	"SELECT dms.upsert_document('equalities', 'schools', $school)",
	"SELECT dms.update_document('$uuid', $school)",
	"SELECT * FROM dms.update_documents(ARRAY['$uuid']::uuid[], ARRAY[$school]::json[])",
	"SELECT dms.delete_document('$uuid')",
	"SELECT dms.get_document('$uuid')",
	"SELECT * FROM dms.query_documents('equalities', 'schools')",
	"SELECT dms.count_documents('equalities', 'schools')",
	"SELECT * FROM dms.referencing_documents('$uuid')",
	"SELECT dms.resolve('equalities', 'schools', $school)",
	"SELECT * FROM dms.idempotency_begin('/x', 'POST', 'k')",
	"SELECT * FROM dms.handle_request('GET', '/equalities/schools')",
	"SELECT dms.instance_id()",
	"SELECT * FROM dms.resources()",
	"SELECT * FROM dms.describe_resource('equalities', 'schools')",
	"SELECT * FROM dms.audit()",
	"SELECT * FROM dms.repair()",
	"SELECT dms.rebuild_edges()",
	"SELECT dms.lock_identity_closure(ARRAY[1]::bigint[])",
	"SELECT dms.recompute_identities(ARRAY[1]::bigint[])",
	"SELECT dms.configure_store('{}')",
	"SELECT dms.grant_access('clerk', 'writer')",
	"SELECT * FROM dms.plan_schema('$schema')",
	$deploy);
foreach my $call (@calls)
{
	my ($name) = $call =~ /(dms\.\w+)/;

	like(refusal('old', $call), $hint, "$name is refused, with a hint");
}

#
# The upgrade
#

my $before = contents('old');
like(refusal('old', 'SELECT dms.upgrade_store()', @clerk), qr/permission denied/, 'it is for admins');
is($node->safe_psql('old', 'BEGIN; SELECT dms.upgrade_store(); ROLLBACK', @district), $version, 'an upgrade is rolled back');
like(refusal('old', $calls[0]), $hint, 'the store is as it was');

my ($status, $stdout, $stderr) = $node->psql('old', 'SELECT dms.upgrade_store()', @district);
is($stdout, $version, 'the store is upgraded');
like($stderr, qr/upgraded the store from version 1 to version $version/, 'which is reported');
my $row = $node->safe_psql('old', 'SELECT xmin, * FROM dms.Store');
($status, $stdout, $stderr) = $node->psql('old', 'SELECT dms.upgrade_store()', @district);
is("$stdout$stderr", $version, 'again: nothing is reported');
is($node->safe_psql('old', 'SELECT xmin, * FROM dms.Store'), $row, 'and nothing is done');
is($node->safe_psql('fresh', 'SELECT dms.upgrade_store()', @district), $version, 'nor in a new store');

is($node->safe_psql('old', 'SELECT * FROM dms.audit()', @district), '', 'the audit finds nothing');
is(contents('old'), $before, 'every document is there, with its etag');
# Restoring changes the spelling of some expressions, so the new store is restored, too.
my $dump = PostgreSQL::Test::Utils::tempdir() . '/fresh.sql';
$node->command_ok([ 'pg_dump', '-U', 'district', '--no-owner', '-x', '-f', $dump, 'fresh' ], 'a new store is dumped');
$node->safe_psql('postgres', 'CREATE DATABASE again OWNER district TEMPLATE template0');
$node->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-U', 'district', '-f', $dump, 'again' ], 'and restored');
is_deeply([ split /\n/, catalog('old') ], [ split /\n/, catalog('again') ], 'the catalog is that of a new store');
is(models('old'), models('fresh'), 'and so are the models');
is($node->safe_psql('old', $deploy, @district), $node->safe_psql('fresh', $deploy, @district), 'the schema is deployed');

#
# It is used like any other
#

is($node->safe_psql('old', "SELECT dms.count_documents('equalities', 'enrollments', '{\"year\": 2024}')", @district),
	2, 'filters follow equal paths');
$node->safe_psql('old', "SELECT dms.grant_access('clerk', 'writer')", @district);
is( $node->safe_psql('old', q{SELECT outcome FROM dms.upsert_document('equalities', 'enrollments',
		'{"enrollmentId": 3, "schoolReference": {"schoolId": 2}, "yearReference": {"year": 2024}}')}, @clerk),
	'inserted', 'a document is written');
is( $node->safe_psql('old', q{SELECT outcome FROM dms.update_document(dms.resolve('equalities', 'school', '{"schoolId": 1}'),
		'{"schoolId": 9, "name": "One"}')}, @clerk),
	'updated', 'an identity changes');
is($node->safe_psql('old', 'SELECT * FROM dms.audit()', @district), '', 'the audit finds nothing again');

#
# A store of a later version, and one whose version is not known
#

$node->safe_psql('old', "UPDATE dms.Store SET StoreVersion = '4711'", @district);
like(refusal('old', $_), qr/has version 4711, and .*HINT:  Install the version of the extension/s, 'a later version is refused')
  foreach $calls[0], 'SELECT dms.upgrade_store()';

$node->stop;
done_testing();

# Returns what a call that must fail reports.
sub refusal
{
	my ($db, $call, @role) = @_;
	my ($code, $out, $err) = $node->psql($db, $call, @role ? @role : @district);

	return $code == 0 ? "no error: $out" : $err;
}

# Returns all documents: numbers, ids, etags, and rows of the store that belong to them.
sub contents
{
	my ($db) = @_;

	return $node->safe_psql($db, 'SELECT DocumentId, DocumentUuid, ResourceName, Etag, LastModifiedAt FROM dms.Document ORDER BY 1;'
		  . 'SELECT * FROM dms.ReferentialIdentity ORDER BY ReferentialId; SELECT * FROM dms.Descriptor ORDER BY DocumentId;'
		  . 'SELECT ParentDocumentId, ChildDocumentId, EdgeSourceId, IsIdentityComponent FROM dms.ReferenceEdge ORDER BY 1, 2, 3;'
		  . 'SELECT * FROM equalities.Enrollment ORDER BY 1; SELECT * FROM equalities.Calendar ORDER BY 1');
}

# Returns the stored models.
sub models
{
	my ($db) = @_;

	return $node->safe_psql($db, 'SELECT ProjectName, ResourceName, Kind, CanChange, IdentityRank, LoadOrder, Model
		FROM dms.ResourceModel ORDER BY 1, 2; SELECT ResourceTypeId, ProjectName, ResourceName, ResourceType, Options
		FROM dms.ResourceType ORDER BY 1');
}

# Returns all objects of a store that are not members of the extension, without
# regard to positions of columns.
sub catalog
{
	my ($db) = @_;

	return $node->safe_psql($db, <<'SQL');
WITH place AS (SELECT oid FROM pg_namespace WHERE nspname IN ('dms', 'equalities')),
relation AS (SELECT c.* FROM pg_class c JOIN place p ON p.oid = c.relnamespace)
SELECT format('%s %s %s %s %s %s', oid::regclass, relkind, relowner::regrole, relacl, reloptions, obj_description(oid, 'pg_class'))
FROM relation WHERE relkind <> 'c'
UNION ALL
SELECT format('%s.%s %s %s %s %s %s', r.oid::regclass, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attidentity,
	pg_get_expr(d.adbin, d.adrelid), col_description(r.oid, a.attnum))
FROM relation r JOIN pg_attribute a ON a.attrelid = r.oid AND a.attnum > 0 AND NOT a.attisdropped
LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
WHERE r.relkind IN ('r', 'v')
UNION ALL
SELECT format('%s %s %s', conrelid::regclass, conname, pg_get_constraintdef(k.oid)) FROM pg_constraint k JOIN relation r ON r.oid = k.conrelid
UNION ALL
SELECT pg_get_indexdef(oid) FROM relation WHERE relkind = 'i'
UNION ALL
SELECT format('%s %s', oid::regclass, pg_get_viewdef(oid)) FROM relation WHERE relkind = 'v'
UNION ALL
SELECT pg_get_triggerdef(t.oid) FROM pg_trigger t JOIN relation r ON r.oid = t.tgrelid WHERE NOT t.tgisinternal
UNION ALL
SELECT format('%s %s %s', p.proowner::regrole, p.proacl, pg_get_functiondef(p.oid)) FROM pg_proc p JOIN place s ON s.oid = p.pronamespace
WHERE NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e')
UNION ALL
SELECT format('%s %s', EdgeSourceId, EdgeSourceKey) FROM dms.EdgeSource
ORDER BY 1
SQL
}
