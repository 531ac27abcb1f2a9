# A standby from a base backup answers what a reader asks, refuses what a writer
# wants, and is a store of its own when it is promoted.
use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $schema = slurp_file("$FindBin::RealBin/../schemas/cascade.json");
$schema =~ s/'/''/g;

my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 1);
$primary->start;
$primary->safe_psql('postgres', "SET client_min_messages = warning; CREATE EXTENSION dms; SELECT dms.deploy_schema('$schema'::json)");
my $school = $primary->safe_psql('postgres',
	q{SELECT document_uuid FROM dms.upsert_document('Cascade', 'School', '{"schoolId": 10, "name": "North"}')});

$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
# Reads may take as long as they like.
$standby->append_conf('postgresql.conf', 'max_standby_streaming_delay = -1');
$standby->start;

# What is written behind the backup arrives too.
my $session = $primary->safe_psql('postgres',
	q{SELECT document_uuid FROM dms.upsert_document('Cascade', 'Session',
		'{"schoolReference": {"schoolId": 10}, "sessionName": "Fall"}')});
$primary->wait_for_catchup($standby);

foreach my $query (
	'SELECT dms.instance_id()',
	"SELECT dms.get_document('$school')",
	"SELECT dms.get_document('$session')",
	'SELECT * FROM dms.resources()',
	q{SELECT * FROM dms_internal.stored_identities('Cascade', 'Session')},
	'SELECT * FROM dms.access_grants()')
{
	is($standby->safe_psql('postgres', $query), $primary->safe_psql('postgres', $query), "the same answer: $query");
}
is($standby->safe_psql('postgres', 'SELECT * FROM dms.audit()'), '', 'the standby can be audited');

foreach my $verb (
	q{dms.upsert_document('Cascade', 'School', '{"schoolId": 10, "name": "North"}')},
	"dms.update_document('$school', '{}')",
	"dms.delete_document('$school')",
	'dms.rebuild_edges()',
	q{dms.deploy_schema('{}')},
	q{dms.grant_access('postgres', 'admin')})
{
	my (undef, undef, $error) = $standby->psql('postgres', "\\set VERBOSITY sqlstate\nSELECT $verb");
	like($error, qr/25006/, "read-only: $verb");
}

# Models that a session of the standby holds follow the primary.
$primary->safe_psql('postgres', q{SELECT dms.update_document(DocumentUuid, '{"schoolId": 11, "name": "North"}')
	FROM dms.Document WHERE ResourceName = 'School'});
$primary->wait_for_catchup($standby);
like($standby->safe_psql('postgres', "SELECT dms.get_document('$session')"), qr/"schoolId":\s*11/,
	'a rename arrives with all that follows it');
is($standby->safe_psql('postgres', 'SELECT * FROM dms.audit()'), '', 'and all is well');

# The standby takes over.
$primary->stop;
$standby->promote;
is($standby->safe_psql('postgres', q{SELECT outcome FROM dms.upsert_document('Cascade', 'School', '{"schoolId": 11, "name": "North"}')}),
	'unchanged', 'the promoted store knows its documents');
is($standby->safe_psql('postgres', q{SELECT outcome FROM dms.upsert_document('Cascade', 'School', '{"schoolId": 12, "name": "South"}')}),
	'inserted', 'and takes new ones');
is($standby->safe_psql('postgres', 'SELECT * FROM dms.audit()'), '', 'and all is still well');

$standby->stop;
done_testing();
