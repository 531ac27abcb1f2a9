# Schemas that change at random, step by step, on documents written through the verbs.
#
# Whatever the change is, it is made or refused.  If it is made, the tables are those of a
# first deploy of the same schema, the audit finds nothing, a document that
# reads otherwise has another etag, and writing what was read changes nothing.  If it is
# refused, nothing is changed.
#
# The seed is DMS_SEED, and the number of schemas DMS_ROUNDS.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";

use Dms::Evolve;
use Dms::Session;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $seed = $ENV{DMS_SEED} || 1;
my $rounds = $ENV{DMS_ROUNDS} || ($ENV{DMS_LONG} ? 200 : 3);
my $steps = 6;
my $catalog = slurp_file("$FindBin::RealBin/../catalog.sql");
my %outcomes;

# Errors that say that stored documents, or renames, do not fit the new schema.
my $refusals = qr/ZD422|22023|23503|23505|23001/;

my $node = PostgreSQL::Test::Cluster->new('random');
$node->init;
$node->append_conf('postgresql.conf', "fsync = off\nautovacuum = off\nlog_statement = none\nlog_min_error_statement = panic\n");
$node->start;
$node->safe_psql('postgres', 'CREATE DATABASE fresh TEMPLATE template0');
$node->safe_psql('fresh', 'CREATE EXTENSION dms');
my $fresh = Dms::Session->new($node, 'fresh');
$fresh->ask("SET client_min_messages = warning;\n\\set VERBOSITY verbose\n");

foreach my $round ($seed .. $seed + $rounds - 1)
{
	my @troubles = round($round);

	is(join("\n", @troubles), '', "seed $round");
}
$fresh->finish;
$node->stop;
note join ', ', map { "$outcomes{$_} $_" } sort keys %outcomes;
cmp_ok($outcomes{made}, '>', $rounds, 'many changes were made');
done_testing();

# Returns what went wrong with the schemas of a seed.
sub round
{
	my ($number) = @_;
	my @troubles;

	srand $number;
	$node->safe_psql('postgres', "CREATE DATABASE round$number TEMPLATE template0");
	my $session = Dms::Session->new($node, "round$number");
	my $schema = Dms::Evolve::begin();
	$session->ask(<<'SQL');
SET client_min_messages = warning;
SET check_function_bodies = off;
\set VERBOSITY verbose
CREATE EXTENSION dms;
SET dms_test.schemas = 'dms,m';
CREATE SCHEMA test;
-- What reads otherwise under the same etag.
CREATE FUNCTION test.changed() RETURNS SETOF text LANGUAGE sql AS $$
SELECT format('%s %s: etag %s, %s; was %s, %s', d.ResourceName, d.DocumentId, d.Etag, n.body, b.etag, b.body)
FROM test.before AS b JOIN dms.Document AS d USING (DocumentId)
CROSS JOIN LATERAL (SELECT dms.get_document(d.DocumentUuid)::jsonb - '{_etag,_lastModifiedDate}'::text[] AS body) AS n
WHERE d.Etag = b.etag AND n.body <> b.body $$;
-- What is not found unchanged if it is written as it was read.
CREATE FUNCTION test.rewritten() RETURNS SETOF text LANGUAGE sql AS $$
SELECT format('%s %s: %s, is %s', d.ResourceName, w.outcome, n.body, dms.get_document(d.DocumentUuid)) FROM dms.Document AS d
CROSS JOIN LATERAL (SELECT dms.get_document(d.DocumentUuid)::jsonb - '{id,_etag,_lastModifiedDate}'::text[] AS body) AS n
CROSS JOIN LATERAL dms.upsert_document('m', lower(d.ResourceName) || 's', n.body::json) AS w
WHERE w.outcome <> 'unchanged' $$;
SQL
	my $out = $session->ask('SELECT dms.deploy_schema(' . literal(Dms::Evolve::files($schema)) . ");\n");
	return "the first deploy: $out" if $out =~ /ERROR/;
	foreach my $step (1 .. $steps)
	{
		my @before = write_documents($session, $schema);
		my ($next, $renames) = Dms::Evolve::change($schema);
		my $outcome = change($session, Dms::Evolve::files($next), $renames, $step, \@troubles, \@before);

		$outcomes{$outcome}++;
		$schema = $next if $outcome eq 'made';
		last if @troubles;
	}
	$session->finish;
	$node->safe_psql('postgres', "DROP DATABASE round$number") unless @troubles;
	return @troubles;
}

# Writes some documents, and keeps what can be read.
sub write_documents
{
	my ($session, $schema) = @_;
	my $sql = join '', map { "SELECT FROM dms.upsert_document('m', '$_->[0]', " . literal($_->[1]) . ");\n" } Dms::Evolve::documents($schema, 3);
	my $out = $session->ask($sql);

	$out = join "\n", grep { !/^$/ } split /\n/, $out;
	$out .= $session->ask("DROP TABLE IF EXISTS test.before; CREATE TABLE test.before AS SELECT DocumentId, Etag,
		dms.get_document(DocumentUuid)::jsonb - '{_etag,_lastModifiedDate}'::text[] AS body FROM dms.Document;\n");
	return $out eq '' ? () : ("writing: $out");
}

# Changes the schema in one of several ways; returns whether it was "made" or "refused".
sub change
{
	my ($session, $files, $renames, $step, $troubles, $before) = @_;
	my $literal = literal($files);
	my $arguments = "ARRAY[$literal\::json], true, " . literal($renames);
	my $way = int rand 3;
	my $report = sub {
		push @$troubles, "step $step, way $way: $_[0]: $_[1]\n$files\n$renames" if $_[1] ne '';
	};
	$report->('before', $_) foreach @$before;
	return 'refused' if @$troubles;

	my $expected = $fresh->ask("BEGIN;\nSELECT dms.deploy_schema($literal) IS NULL;\nSET dms_test.schemas = 'dms,m';\n$catalog;\nROLLBACK;\n");
	if ($expected =~ /ERROR:  (\w+): .*/)
	{
		$report->('first deploy', $expected) if $1 ne 'ZD422';
		return 'not a schema';
	}
	$expected =~ s/^f\n//;

	# Where elements of a collection are deleted, writing the others moves them.
	my $deletes = $session->ask("SELECT count(*) FROM dms.plan_migration($arguments) WHERE statement LIKE 'DELETE FROM dms.Document%';\n") =~ /^[1-9]/;
	my $gaps = $session->ask("SELECT count(*) FROM dms.plan_migration($arguments) WHERE statement LIKE 'DELETE FROM m.%';\n") =~ /^[1-9]/;

	# Steps that are run by hand for a change that is refused would stay.
	my $out = $way == 0 ? '' : $session->ask("BEGIN;\nSELECT dms.migrate_schema($arguments) IS NULL;\nROLLBACK;\n");
	$way = 0 if $out =~ /ERROR/;
	$out = '';
	$out .= $session->ask("SELECT statement FROM dms.plan_migration($arguments) WHERE phase = 'before' ORDER BY step \\gexec\n") if $way > 0;
	$out .= $session->ask("BEGIN;\nLOCK TABLE dms.Store IN SHARE ROW EXCLUSIVE MODE;
		SELECT statement FROM dms.plan_migration($arguments) WHERE phase = 'gate' AND statement IS NOT NULL ORDER BY step \\gexec\n") if $way == 2 && $out !~ /ERROR/;
	$report->('steps that are left', $session->ask("SELECT statement FROM dms.plan_migration($arguments) WHERE phase <> 'after' AND statement IS NOT NULL;\n"))
		if $way == 2 && $out !~ /ERROR/;
	$out .= $session->ask("SELECT dms.migrate_schema($arguments) IS NULL;\n") if $out !~ /ERROR/;
	$out .= $session->ask("COMMIT;\n") if $way == 2;
	$out =~ s/^f\n//mg;
	if ($out =~ /ERROR:  (\w+): .*/)
	{
		my $kind = "refused with $1";
		$report->('migration', $out) if $1 !~ $refusals || ($1 eq '23503' && !$deletes);
		$report->('what is refused changes nothing', $session->ask("SELECT * FROM test.changed();\n")) if $way != 1;
		$report->('audit after a refusal', $session->ask("SELECT * FROM dms.audit();\n"));
		return $kind;
	}
	$report->('migration', $out);
	$report->('plan afterwards', $session->ask("SELECT * FROM dms.plan_migration($arguments);\n"));
	$report->('audit', $session->ask("SELECT * FROM dms.audit();\n"));
	$report->('etags', $session->ask("SELECT * FROM test.changed();\n"));
	my $rewritten = $session->ask("SELECT * FROM test.rewritten();\n");
	$report->('rewriting', $rewritten) unless $gaps;
	$report->('rewriting again', $session->ask("SELECT * FROM test.rewritten();\n"));
	$report->('catalog', difference($expected, $session->ask("$catalog;\n")));
	return 'made';
}

# Returns the lines that only one of two catalogs has.
sub difference
{
	my ($fresh_lines, $lines) = @_;
	my %count;

	$count{$_}++ foreach split /\n/, $fresh_lines;
	$count{$_}-- foreach split /\n/, $lines;
	return join "\n", map { ($count{$_} > 0 ? '- ' : '+ ') . $_ } grep { $count{$_} != 0 && !/^-?[0-9]+ M / } sort keys %count;
}

# A text as SQL.
sub literal
{
	my ($text) = @_;

	return "'" . $text =~ s/'/''/gr . "'";
}
