# Logical replication of the tables of a store: rows that are written without
# statements are decoded like all others, and a subscriber ends with the rows of the
# publisher.  DMS_LONG=1 (./check --long) writes more.
use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $stress = $ENV{DMS_STRESS};
plan skip_all => 'DMS_STRESS names no stress test' unless $stress && -x $stress;

my $seconds = $ENV{DMS_LONG} ? 300 : 4;
my $seed = $ENV{DMS_SEED} || int(rand(1_000_000));
my $top = "$FindBin::RealBin/../..";
my $schema = "$top/test/schemas/stress.json";
note("DMS_SEED=$seed repeats the choices of this run");

# Returns a server with an empty database.
sub server
{
	my ($name, $streaming) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);

	$node->init(allows_streaming => $streaming, extra => [ '--encoding=UTF8', '--locale=C' ]);
	$node->append_conf('postgresql.conf', "max_locks_per_transaction = 256\nmax_connections = 50\n");
	$node->start;
	$node->safe_psql('postgres', 'CREATE DATABASE store');
	return $node;
}

# Writes at random, with versions and renames; ends when its own checks are done.
sub run_stress
{
	my ($node) = @_;
	my ($out, $err) = ('', '');
	my $done = IPC::Run::run(
		[
			$stress, '--dbname', $node->connstr('store'), '--schema', $schema, '--views',
			"$top/test/stress/views.sql", '--history', '--seed', $seed, '--seconds', $seconds
		],
		'>', \$out, '2>', \$err);

	note($out);
	ok($done, 'the stress test finds nothing wrong with the publisher') or diag($err);
	return;
}

my $publisher = server('publisher', 'logical');
my $subscriber = server('subscriber', 0);
$publisher->safe_psql('store', "CREATE EXTENSION dms; SELECT dms.deploy_schema(pg_read_file('$schema')::json)");

# What a subscriber needs are the tables, and functions that defaults call.
my $dump = PostgreSQL::Test::Utils::tempdir() . '/schema.sql';
$publisher->command_ok([ 'pg_dump', '--schema-only', '--file', $dump, $publisher->connstr('store') ],
	'pg_dump writes the tables of the store');
$subscriber->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', $dump, $subscriber->connstr('store') ],
	'a server for the copy takes them');

my $schemas = $publisher->safe_psql('store', q{SELECT string_agg(DISTINCT quote_ident(schemaname), ', ')
	FROM pg_tables WHERE schemaname !~ '^pg_|^information_schema$'});
$publisher->safe_psql('store', "CREATE PUBLICATION store FOR TABLES IN SCHEMA $schemas");
$subscriber->safe_psql('store', sprintf(q{CREATE SUBSCRIPTION store CONNECTION '%s' PUBLICATION store},
		$publisher->connstr('store') =~ s/'/''/gr));
$subscriber->wait_for_subscription_sync($publisher, 'store');

run_stress($publisher);
$publisher->wait_for_catchup('store');

# Each table, as a number of rows and a hash of them in their order as text.
my $tables = $publisher->safe_psql('store', q{SELECT format('%I.%I', schemaname, tablename)
	FROM pg_publication_tables WHERE pubname = 'store' ORDER BY 1});
my ($full, @differ) = (0);
foreach my $table (split(/\n/, $tables))
{
	my $sql = qq{SELECT count(*) || ' ' || coalesce(md5(string_agg(t::text, E'\\n' ORDER BY t::text COLLATE "C")), '')
		FROM $table AS t};
	my ($here, $there) = map { $_->safe_psql('store', $sql) } $publisher, $subscriber;

	$full++ if $here !~ /^0 /;
	push(@differ, "$table: $here, $there") if $here ne $there;
}
cmp_ok($full, '>', 15, 'many tables have rows');
is(join("\n", @differ), '', 'each table of the subscriber has the rows of the publisher');
is($publisher->safe_psql('store', 'SELECT kind FROM dms.audit()'), '', 'the audit of the publisher finds nothing');

# The copy can take over, once it has what is not copied: sequences, and the indexes and
# triggers of options that were set meanwhile.
$subscriber->safe_psql('store', <<'SQL');
DROP SUBSCRIPTION store;
SELECT setval('dms.document_documentid_seq', max(DocumentId)) FROM dms.Document;
SELECT DISTINCT expected FROM dms.audit() WHERE kind = 'option_without_object' \gexec
SQL
is($subscriber->safe_psql('store', 'SELECT kind FROM dms.audit()'), '', 'the audit of the subscriber finds nothing');
is( $subscriber->safe_psql('store', q{SELECT outcome FROM dms.upsert_document('ed-fi', 'gradeLevelDescriptors',
		'{"namespace": "uri://ed-fi.org/GradeLevelDescriptor", "codeValue": "new", "shortDescription": "new"}')}),
	'inserted', 'the subscriber can be written to');

$subscriber->stop;
$publisher->stop;
done_testing();
