# A dump is all that a store needs: plain and custom, restored by one or by four
# workers, in one piece or schema and data apart, by the superuser or by the
# owner of the database.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use Dms::ApiSchema;
use Dms::Generate;

my $schemas = "$FindBin::RealBin/../../examples/schemas";
my @files = map { "$schemas/$_.json" } qw(school school-transport);

my $node = PostgreSQL::Test::Cluster->new('dump');
$node->init;
$node->start;
my $dir = PostgreSQL::Test::Utils::tempdir();

$node->safe_psql('postgres', 'CREATE ROLE district LOGIN CREATEDB; CREATE ROLE teacher LOGIN; CREATE ROLE clerk LOGIN');
my @district = (extra_params => [ '-U', 'district' ]);
my @clerk    = (extra_params => [ '-U', 'clerk' ]);
my @teacher  = (extra_params => [ '-U', 'teacher' ]);

#
# The store: owned by somebody who is not superuser, with roles that use it
#

my $deploy = 'SELECT dms.deploy_schema('
  . join(', ', map { my $text = slurp_file($_); $text =~ s/'/''/g; "'$text'::json" } @files) . ')';
my $generator = Dms::Generate->new(schema => Dms::ApiSchema->new(files => \@files));
$generator->many($_, 3, full => 1) foreach $generator->{schema}->load_order;
my $upserts = join '', map {
	my $text = $generator->json($_->{document});
	$text =~ s/'/''/g;
	"SELECT outcome FROM dms.upsert_document('$_->{project_endpoint}', '$_->{endpoint}', '$text');\n"
} $generator->entries;

$node->safe_psql('postgres', 'CREATE DATABASE origin OWNER district');
$node->safe_psql('origin', "SET client_min_messages = warning; CREATE EXTENSION dms; $deploy;"
	  . "SELECT dms.grant_access('teacher', 'reader'), dms.grant_access('clerk', 'writer')", @district);
my %outcomes = outcomes('origin');
is(join(',', keys %outcomes), 'inserted', 'all documents are inserted');
cmp_ok($outcomes{inserted}, '>', 60, "there are $outcomes{inserted}");

my $all  = contents('origin');
my $id   = $node->safe_psql('origin', 'SELECT dms.instance_id()');
my $max  = $node->safe_psql('origin', 'SELECT max(DocumentId) FROM dms.Document');
my $rights = rights('origin');

#
# Dumps and restores
#

$node->command_ok([ 'pg_dump', '-f', "$dir/plain.sql", 'origin' ], 'pg_dump, plain');
$node->command_ok([ 'pg_dump', '-Fc', '-f', "$dir/custom", 'origin' ], 'pg_dump, custom');
$node->command_ok([ 'pg_dump', '-U', 'district', '-Fc', '-f', "$dir/owner", 'origin' ], 'pg_dump by the owner');
$node->command_ok([ 'pg_dump', '-s', '-f', "$dir/schema.sql", 'origin' ], 'pg_dump, schema only');
$node->command_ok([ 'pg_dump', '-a', '--disable-triggers', '-f', "$dir/data.sql", 'origin' ], 'pg_dump, data only');

restored('plain', sub { run_file('plain', "$dir/plain.sql") });
restored('custom', sub { pg_restore('custom', '-j4', "$dir/custom") });
restored('by_owner', sub { pg_restore('by_owner', '-U', 'district', "$dir/owner") });
restored('apart', sub {
	run_file('apart', "$dir/schema.sql");
	is($node->safe_psql('apart', 'SELECT count(*) FROM dms.Document'), 0, 'apart: first the schema');
	run_file('apart', "$dir/data.sql");
});
restored('sections', sub { pg_restore('sections', "--section=$_", '-j4', "$dir/custom") foreach qw(pre-data data post-data) });

# A dump of a restored store is the same again.
$node->command_ok([ 'pg_dump', '-f', "$dir/again.sql", 'custom' ], 'a restored store is dumped');
restored('again', sub { run_file('again', "$dir/again.sql") });

# The extension can go and come back; its rows do not belong to it.
$node->safe_psql('origin', 'DROP EXTENSION dms', @district);
is(contents('origin'), $all, 'rows stay when the extension is dropped');
$node->command_ok([ 'pg_dump', '-f', "$dir/bare.sql", 'origin' ], 'a store without the extension is dumped');
$node->safe_psql('origin', "CREATE EXTENSION dms; SELECT dms.grant_access('clerk', 'writer')", @district);
works('origin');

$node->stop;
done_testing();

# Restore into a new database and look at it from all sides.
sub restored
{
	my ($name, $restore) = @_;

	$node->safe_psql('postgres', "CREATE DATABASE $name OWNER district TEMPLATE template0");
	$restore->();

	# Who restores is the owner of the extension then; the owner of the store
	# need not be.
	$node->safe_psql($name, "SELECT dms.grant_access('district', 'admin')");
	is(contents($name), $all, "$name: every row is there");
	is($node->safe_psql($name, 'SELECT dms.instance_id()'), $id, "$name: it is the same store");
	is(rights($name), $rights, "$name: roles have the rights that they had");
	works($name);
	return;
}

# The store works as before.
sub works
{
	my ($name) = @_;

	is($node->safe_psql($name, 'SELECT * FROM dms.audit()'), '', "$name: the audit finds nothing");
	is(join(',', keys %{ { outcomes($name) } }), 'unchanged', "$name: the same documents change nothing");
	is($node->safe_psql($name, 'SELECT count(*) > 60 FROM dms.Document'), 't', "$name: there are documents");
	cmp_ok(
		$node->safe_psql($name,
			q{SELECT document_id FROM dms.upsert_document('ed-fi', 'schoolYearTypes',
				'{"schoolYear": 1901, "schoolYearDescription": "long ago", "currentSchoolYear": false}')}, @clerk),
		'>', $max, "$name: a new document gets a new id");
	is($node->safe_psql($name, 'SELECT * FROM dms.audit()'), '', "$name: and all is well");
	$node->safe_psql($name, q{SELECT dms.delete_document(DocumentUuid) FROM dms.Document
		JOIN edfi.schoolyeartype USING (DocumentId) WHERE schoolyear = 1901});
	is($node->safe_psql($name, 'SELECT dms.compact_changes()'), 1, "$name: its change is of no use any more");
	is($node->safe_psql($name, q{WITH gone AS (DELETE FROM dms.TrackedChange RETURNING Kind, OldKey) SELECT * FROM gone}),
		'D|{"schoolYear":1901}', "$name: its deletion is recorded");
	is($node->psql($name, q{SELECT dms.upsert_document('ed-fi', 'students', '{}')}, @teacher), 3,
		"$name: a reader cannot write");
	return;
}

# Write all documents, as somebody who has no right on any table.
sub outcomes
{
	my ($name) = @_;
	my %count;

	$count{$_}++ foreach split /\n/, $node->safe_psql($name, $upserts, @clerk);
	return %count;
}

# All rows of all tables and views.
sub contents
{
	my ($name) = @_;

	return $node->safe_psql($name, q{
		SELECT format('SELECT %L, count(*), md5(string_agg(t::text, chr(10) ORDER BY t::text COLLATE "C")) FROM %s AS t',
			c.oid::regclass, c.oid::regclass)
		FROM pg_class AS c WHERE c.relkind IN ('r', 'v') AND c.relnamespace IN
			('dms'::regnamespace, 'edfi'::regnamespace, 'transport'::regnamespace)
		ORDER BY c.oid::regclass::text COLLATE "C" \gexec});
}

# Who may do what, on tables, functions and schemas; and who owns the store.
sub rights
{
	my ($name) = @_;

	return $node->safe_psql($name, q{
		SELECT c.oid::regclass, c.relowner::regrole, r.role, has_table_privilege(r.role, c.oid, 'SELECT'),
			has_table_privilege(r.role, c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER')
		FROM pg_class AS c, (VALUES ('district'), ('teacher'), ('clerk')) AS r (role)
		WHERE c.relkind IN ('r', 'v') AND c.relnamespace IN
			('dms'::regnamespace, 'edfi'::regnamespace, 'transport'::regnamespace)
		ORDER BY c.oid::regclass::text COLLATE "C", 3;
		SELECT p.oid::regprocedure, r.role, has_function_privilege(r.role, p.oid, 'EXECUTE')
		FROM pg_proc AS p, (VALUES ('district'), ('teacher'), ('clerk')) AS r (role)
		WHERE p.pronamespace IN ('dms'::regnamespace, 'dms_internal'::regnamespace)
		ORDER BY p.oid::regprocedure::text COLLATE "C", 2;
		SELECT n.nspname, n.nspowner::regrole, r.role, has_schema_privilege(r.role, n.oid, 'USAGE'),
			has_schema_privilege(r.role, n.oid, 'CREATE')
		FROM pg_namespace AS n, (VALUES ('district'), ('teacher'), ('clerk')) AS r (role)
		WHERE n.nspname IN ('dms', 'dms_internal', 'edfi', 'transport') ORDER BY 1, 3});
}

sub run_file
{
	my ($name, $file) = @_;

	$node->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-d', $name, '-f', $file ],
		"$name: restored by psql");
	return;
}

sub pg_restore
{
	my ($name, @options) = @_;

	$node->command_ok([ 'pg_restore', '--exit-on-error', '-d', $name, @options ],
		"$name: pg_restore @options[0 .. $#options - 1]");
	return;
}
