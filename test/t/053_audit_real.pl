# The audit on the real standard: documents of every resource, written with
# verification on, leave nothing to find; and edges that are lost can be read
# back from the columns, every one of them.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $dir = $ENV{APISCHEMA_DIR};
plan skip_all => 'APISCHEMA_DIR is not set: the real schema files are not tested'
  unless defined $dir && length $dir;
plan skip_all => "there is no ed-fi.json in APISCHEMA_DIR ($dir)" unless -e "$dir/ed-fi.json";

my $node = PostgreSQL::Test::Cluster->new('audit');
$node->init;
$node->append_conf('postgresql.conf', "max_locks_per_transaction = 256\nlog_statement = none\n");
$node->start;

my $files = join '', map { "\\set $_ `cat '$dir/$_.json'`\n" } qw(ed-fi tpdm sample homograph);
$files =~ s/\\set ed-fi/\\set edfi/;
$node->safe_psql('postgres', "${files}SET client_min_messages = warning; CREATE EXTENSION dms;"
	  . q{SELECT dms.deploy_schema(:'edfi', :'tpdm', :'sample', :'homograph')});

#
# Documents
#

my $generated = PostgreSQL::Test::Utils::tempdir() . '/generated.ndjson';
run_log([ $^X, "$FindBin::RealBin/../perl/dms-generate", '--descriptors', "$dir/descriptor-documents.ndjson", $dir ],
	'>', $generated);
is(load("$dir/descriptor-documents.ndjson", 'resourceName'), 'inserted|3288', 'the descriptors are loaded');
like(load($generated, 'resource'), qr/^inserted\|\d+\nunchanged\|\d+$/m, 'documents of every resource are loaded');
is($node->safe_psql('postgres', q{
		SELECT project, resource FROM dms.resources() AS r WHERE kind <> 'abstract' AND NOT EXISTS
			(SELECT FROM dms.Document AS d WHERE (d.ProjectName, d.ResourceName) = (r.project, r.resource))}),
	'', 'no resource is without one');

#
# Nothing is wrong
#

my $start = time;
my ($status, $findings, $notices) = $node->psql('postgres', 'SELECT * FROM dms.audit()');
is($findings, '', 'the audit finds nothing');
note(sprintf 'audited %d documents in %.1f s', $node->safe_psql('postgres', 'SELECT count(*) FROM dms.Document'), time - $start);
like($notices, qr/audited 100 of \d+ resources/, 'and tells how far it is');

#
# Everything is wrong: audit and rebuild agree on every edge
#

my $edges = $node->safe_psql('postgres', 'SELECT count(*) FROM dms.ReferenceEdge');
my $columns = 'SELECT ParentDocumentId, ChildDocumentId, EdgeSourceId, IsIdentityComponent FROM dms.ReferenceEdge ORDER BY 1, 2, 3';
my $before = $node->safe_psql('postgres', $columns);

$node->safe_psql('postgres', 'DELETE FROM dms.ReferenceEdge');
is($node->safe_psql('postgres', 'SELECT kind, count(*) FROM dms.audit() GROUP BY 1'), "edge_missing|$edges",
	"all $edges edges are missed");
$start = time;
is($node->safe_psql('postgres', 'SELECT dms.rebuild_edges()'), $edges, 'all are rebuilt');
note(sprintf 'rebuilt %d edges in %.1f s', $edges, time - $start);
is($node->safe_psql('postgres', $columns), $before, 'they are what they were');

$node->safe_psql('postgres', 'UPDATE dms.ReferenceEdge SET IsIdentityComponent = NOT IsIdentityComponent');
is($node->safe_psql('postgres', 'SELECT kind, count(*) FROM dms.audit() GROUP BY 1'), "edge_flag|$edges", 'every wrong flag is seen');
is($node->safe_psql('postgres', 'SELECT dms.rebuild_edges()'), $edges, 'and mended');

my $identities = $node->safe_psql('postgres', 'SELECT count(*) FROM dms.ReferentialIdentity');
$node->safe_psql('postgres', 'UPDATE dms.ReferentialIdentity SET ReferentialId = gen_random_uuid()');
is($node->safe_psql('postgres', 'SELECT kind, count(*) FROM dms.audit() GROUP BY 1'), "identity_wrong|$identities",
	"every one of $identities wrong identities is seen");

$node->stop;
done_testing();

# Write the documents of a file; how many had which outcome?
sub load
{
	my ($file, $member) = @_;

	return $node->safe_psql('postgres', qq{
		SET dms.verify_edges = on;
		CREATE TEMP TABLE given (n serial, line json);
		\\copy given (line) FROM '$file' CSV QUOTE E'\\x01' DELIMITER E'\\x02'
		SELECT w.outcome, count(*)
		FROM (SELECT line FROM given ORDER BY n OFFSET 0) AS g,
			dms.upsert_document(line ->> 'project', line ->> '$member', line -> 'document') AS w
		GROUP BY 1 ORDER BY 1});
}
