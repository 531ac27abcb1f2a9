# A hot standby answers all reads, follows deploys, and refuses writes with
# PostgreSQL's own error.
use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $schemas = "$FindBin::RealBin/../../examples/schemas";

my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 1, extra => [ '--encoding=UTF8', '--locale=C' ]);
$primary->append_conf('postgresql.conf', 'max_locks_per_transaction = 256');
$primary->start;
$primary->safe_psql('postgres', 'CREATE DATABASE api');
$primary->safe_psql('api', <<SQL);
CREATE EXTENSION dms;
SELECT dms.deploy_schema(pg_read_file('$schemas/school.json')::json);
SQL
$primary->safe_psql('api', <<'SQL');
SELECT dms.upsert_document('ed-fi', 'gradeLevelDescriptors', json_build_object(
	'namespace', 'uri://ed-fi.org/GradeLevelDescriptor', 'codeValue', 'Ninth', 'shortDescription', 'Ninth'));
SELECT dms.upsert_document('ed-fi', 'schools', json_build_object('schoolId', s, 'nameOfInstitution', 'School ' || s,
	'gradeLevels', '[{"gradeLevelDescriptor": "uri://ed-fi.org/GradeLevelDescriptor#Ninth"}]'::json))
FROM generate_series(1, 3) AS s;
SELECT dms.upsert_document('ed-fi', 'classPeriods', json_build_object('classPeriodName', 'First',
	'schoolReference', json_build_object('schoolId', 1)));
SQL

$primary->safe_psql('postgres', 'CREATE DATABASE later');
$primary->safe_psql('later', 'CREATE EXTENSION dms');

$primary->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'backup', has_streaming => 1);
# Reads may take as long as they like.
$standby->append_conf('postgresql.conf', 'max_standby_streaming_delay = -1');
$standby->start;
$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert'));

my $school = $primary->safe_psql('api', q{SELECT dms.resolve('ed-fi', 'school', '{"schoolId": 1}')});
my %reads  = (
	get_document    => "SELECT dms.get_document('$school')",
	query_documents => q{SELECT dms.query_documents('ed-fi', 'schools')},
	'query_documents with filters' => q{SELECT dms.query_documents('ed-fi', 'classPeriods', '{"schoolId": 1}')},
	count_documents => q{SELECT dms.count_documents('ed-fi', 'schools')},
	document_digests => q{SELECT sum(documents) FROM dms.document_digests('ed-fi', 'schools')},
	referencing_documents => "SELECT * FROM dms.referencing_documents('$school')",
	resolve => q{SELECT dms.resolve('ed-fi', 'school', '{"schoolId": 1}')},
);
foreach my $name (sort keys %reads)
{
	my $expected = $primary->safe_psql('api', $reads{$name});
	isnt($expected, '', "$name gives something");
	is($standby->safe_psql('api', $reads{$name}), $expected, "$name on the standby");
}

my %writes = (
	upsert_document => q{SELECT dms.upsert_document('ed-fi', 'schools', '{}')},
	update_document => "SELECT dms.update_document('$school', '{}')",
	delete_document => "SELECT dms.delete_document('$school')",
);
foreach my $name (sort keys %writes)
{
	my ($status, $out, $err) = $standby->psql('api', "\\set VERBOSITY sqlstate\n$writes{$name};");
	like($err, qr/ERROR:\s+25006/, "$name on the standby is refused as read-only");
}

# A session of the standby that has tried before sees what the primary deploys.
my $dir = PostgreSQL::Test::Utils::tempdir();
my $tries = 10 * $PostgreSQL::Test::Utils::timeout_default;
my ($on_primary, $on_standby) = map { $_->connstr('later') } $primary, $standby;
append_to_file("$dir/deploy.sh", <<SH);
psql -XAtq -d "$on_primary" -c "SELECT dms.deploy_schema(pg_read_file('$schemas/school.json')::json)" >/dev/null 2>&1
for i in \$(seq $tries); do
	[ "\$(psql -XAtq -d "$on_standby" -c 'SELECT count(*) FROM dms.ResourceModel' 2>/dev/null)" ] && exit
	sleep 0.1
done
SH
append_to_file("$dir/follow.sql", <<SQL);
SELECT dms.count_documents('ed-fi', 'schools');
\\! sh $dir/deploy.sh
SELECT dms.count_documents('ed-fi', 'schools');
SQL
my ($out, $err) = run_command([ 'psql', '-XAtq', '-d', $on_standby, '-f', "$dir/follow.sql" ]);
like($err, qr/no schema is deployed/, 'before a deploy there is nothing to read');
is($out, '0', 'a session of the standby follows a deploy') or diag $err;

$standby->stop;
$primary->stop;
done_testing();
