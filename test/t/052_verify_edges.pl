# dms.verify_edges notices when edges are written wrongly.  The fault build drops
# the last edge of each document that it writes.
use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'there is no fault build' unless $ENV{DMS_FAULTS_INSTALL};

my $schema = slurp_file("$FindBin::RealBin/../schemas/cascade.json");
$schema =~ s/'/''/g;

my $node = PostgreSQL::Test::Cluster->new('verify', install_path => $ENV{DMS_FAULTS_INSTALL});
$node->init;
$node->start;
$node->safe_psql('postgres', qq{
	SET client_min_messages = warning;
	CREATE EXTENSION dms;
	SELECT dms.deploy_schema('$schema'::json);
	SELECT dms.upsert_document('Cascade', 'School', '{"schoolId": 10, "name": "North"}');
	SELECT dms.upsert_document('Cascade', 'School', '{"schoolId": 11, "name": "South"}');
});

sub upsert_note
{
	my ($settings, $note, $school) = @_;

	my (undef, $out, $error) = $node->psql('postgres',
		"$settings; \\set VERBOSITY verbose\nSELECT outcome FROM dms.upsert_document('Cascade', 'Note',"
		  . qq{'{"noteId": $note, "schoolReference": {"schoolId": $school}}')});
	return $out . $error;
}

my $sabotage = "SET dms.skip = 'last_edge'";
my $source   = 'Cascade.Note:docref:$.schoolReference';

is(upsert_note('SET dms.verify_edges = on', 1, 10), 'inserted', 'a sound insert passes');
is(upsert_note('SET dms.verify_edges = on', 1, 11), 'updated', 'a sound update passes');

my $error = upsert_note("$sabotage; SET dms.verify_edges = on", 2, 10);
like($error, qr/ERROR:  XX001: edges of document \d+ differ/, 'a sabotaged insert does not');
like($error, qr/"\Q$source\E": \["the edge to document 1 is missing\."\]/, 'the edge is named');
like(upsert_note("$sabotage; SET dms.verify_edges = on", 1, 10), qr/ERROR:  XX001/, 'nor does a sabotaged update');
my $uuid = $node->safe_psql('postgres', q{SELECT dms.resolve('Cascade', 'Note', '{"noteId": 1}')});
my (undef, undef, $many) = $node->psql('postgres', "$sabotage; SET dms.verify_edges = on;"
	  . qq{SELECT dms.update_documents('{$uuid}', ARRAY['{"noteId": 1, "schoolReference": {"schoolId": 10}}'::json])});
like($many, qr/edges of document \d+ differ/, 'nor does one of several');
is($node->safe_psql('postgres', 'SELECT * FROM dms.audit()'), '', 'nothing of it stays');

# A fraction verifies some, off none.
my $passed = 0;
my $failed = 0;
foreach my $note (100 .. 139)
{
	upsert_note("$sabotage; SET dms.verify_edges = 0.5", $note, 10) =~ /XX001/ ? $failed++ : $passed++;
}
cmp_ok($failed, '>', 0, "a fraction notices some ($failed of 40)");
cmp_ok($passed, '>', 0, "and lets others pass ($passed of 40)");
is(upsert_note("$sabotage; SET dms.verify_edges = off", 2, 10), 'inserted', 'off verifies nothing');

# What passed is found by the audit and mended.
is($node->safe_psql('postgres', "SELECT count(*) FROM dms.audit() WHERE kind = 'edge_missing' AND edge_source_key = '$source'"),
	$passed + 1, 'the audit finds every edge that is missing');
is($node->safe_psql('postgres', 'SELECT count(*) FROM dms.audit()'), $passed + 1, 'and nothing else');
is($node->safe_psql('postgres', 'SELECT dms.rebuild_edges()'), $passed + 1, 'they are rebuilt');
is($node->safe_psql('postgres', 'SELECT * FROM dms.audit()'), '', 'all is well again');

$node->stop;
done_testing();
