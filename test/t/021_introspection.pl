# What dms tells about the real schema, compared with the files as the test
# library reads them and with the catalog of the database.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";

use Dms::ApiSchema;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $dir = $ENV{APISCHEMA_DIR};
plan skip_all => 'APISCHEMA_DIR is not set: the real schema files are not tested'
  unless defined $dir && length $dir;
plan skip_all => "there is no ed-fi.json in APISCHEMA_DIR ($dir)"
  unless -e "$dir/ed-fi.json";

my @files  = map { "$dir/$_.json" } qw(ed-fi tpdm sample homograph);
my $schema = Dms::ApiSchema->new(files => \@files);

my $node = PostgreSQL::Test::Cluster->new('introspection');
$node->init;
$node->start;
deploy(@files);

my %listed = map { ("$_->[0].$_->[1]" => $_) } rows(q{
	SELECT project, resource, kind, endpoint, table_name, load_order, reference_count,
	       descriptor_count, array_to_string(identity_paths, ' '), superclass
	FROM dms.resources()});

subtest 'resources'    => \&test_resources;
subtest 'load order'   => \&test_load_order;
subtest 'descriptions' => \&test_descriptions;
subtest 'diagrams'     => \&test_diagrams;

$node->stop;
done_testing();

# How a file of megabytes gets into a statement: as a variable of psql.
sub deploy
{
	my @paths = @_;
	my $sets = join '', map { "\\set schema$_ `cat '$paths[$_]'`\n" } 0 .. $#paths;
	my $list = join ', ', map { ":'schema$_'" } 0 .. $#paths;

	$node->safe_psql('postgres',
		"${sets}CREATE EXTENSION dms; SELECT dms.deploy_schema($list)");
	return;
}

# The rows of a query, as lists of texts.
sub rows
{
	my ($query) = @_;

	return map { [ split /\|/, $_, -1 ] } split /\n/, $node->safe_psql('postgres', $query);
}

# All that the files have, with what they say about it.
sub test_resources
{
	my @expected = sort map { $_->{key} } $schema->resources, $schema->abstracts;
	my @wrong;

	is_deeply([ sort keys %listed ], \@expected, 'all resources are listed, and no others');
	foreach my $resource ($schema->resources)
	{
		my $row  = $listed{ $resource->{key} };
		my $kind = $resource->{is_descriptor} ? 'descriptor'
		  : $resource->{is_school_year} ? 'schoolYear' : 'resource';
		my $identity =
		  $resource->{is_descriptor} ? '$.descriptor' : join ' ', @{ $resource->{identity} };
		my $super = $resource->{super} ? "$resource->{super}{project}.$resource->{super}{name}" : '';
		my @want = ($kind, $resource->{endpoint}, scalar @{ $resource->{references} },
			scalar @{ $resource->{descriptors} }, $identity, $super);

		push @wrong, $resource->{key}
		  unless "@want" eq "@$row[2, 3, 6 .. 9]";
	}
	is_deeply(\@wrong, [], 'with their kinds, endpoints, counts, identities and superclasses');
	is_deeply(
		[ map { $_->[1] } grep { $_->[2] eq 'abstract' } rows_of_kind('abstract') ],
		[ map { $_->{name} } $schema->abstracts ],
		'abstract resources are among them');
	is($node->safe_psql('postgres', q{
		SELECT count(*) FROM dms.resources() WHERE to_regclass(table_name) IS NULL}),
		0, 'their tables are there');
	return;
}

sub rows_of_kind
{
	my ($kind) = @_;

	return map { $listed{$_} } sort grep { $listed{$_}[2] eq $kind } keys %listed;
}

# Everything that a document may need exists when its turn comes.  Only where
# resources need each other can no order help.
sub test_load_order
{
	my (%needs, @early, $followed);

	foreach my $resource ($schema->resources)
	{
		foreach my $ref (@{ $resource->{references} }, @{ $resource->{descriptors} })
		{
			my $target = $schema->target($ref);
			my @targets = $target->{is_abstract} ? @{ $target->{subclasses} } : ($target);

			$needs{ $resource->{key} }{ $_->{key} } = 1 foreach @targets;
		}
	}
	foreach my $key (sort keys %needs)
	{
		foreach my $target (sort keys %{ $needs{$key} })
		{
			next if reaches(\%needs, $target, $key);
			$followed++;
			push @early, "$key before $target"
			  unless $listed{$key}[5] > $listed{$target}[5];
		}
	}
	cmp_ok($followed, '>', 500, 'there are many needs');
	is_deeply(\@early, [], 'each resource comes behind all that it refers to');
	my @order = map { $_->[5] } rows(q{
		SELECT project, resource, kind, endpoint, table_name, load_order FROM dms.resources()});
	is_deeply(\@order, [ sort { $a <=> $b } @order ], 'they are listed in that order');
	return;
}

# Does one resource need another, directly or through others?
sub reaches
{
	my ($needs, $from, $to) = @_;
	my %seen;
	my @open = ($from);

	while (defined(my $key = shift @open))
	{
		return 1 if $key eq $to;
		push @open, grep { !$seen{$_}++ } keys %{ $needs->{$key} || {} };
	}
	return 0;
}

# Descriptions of all resources agree with the catalog, both ways.
sub test_descriptions
{
	my $described = q{
		CREATE TEMP TABLE described AS
		SELECT r.project, r.resource, r.kind, d.*
		FROM dms.resources() r, dms.describe_resource(r.project_endpoint, upper(r.resource)) d;
		CREATE TEMP TABLE columns AS
		SELECT attrelid::regclass AS tab, attname AS name,
		       replace(format_type(atttypid, atttypmod), 'character varying', 'varchar') AS type,
		       NOT attnotnull AS nullable
		FROM pg_attribute JOIN pg_class c ON c.oid = attrelid
		WHERE relkind = 'r' AND attnum > 0 AND relname !~ '_member$'
		  AND relnamespace IN (SELECT oid FROM pg_namespace
		                       WHERE nspname IN ('edfi', 'tpdm', 'sample', 'homograph'));
	};
	my $column = q{part IN ('key', 'column') AND kind IN ('resource', 'schoolYear')};

	is($node->safe_psql('postgres', "$described SELECT count(DISTINCT (project, resource)) FROM described"),
		scalar(keys %listed), 'every resource can be described');
	is($node->safe_psql('postgres', "$described
		(SELECT table_name::regclass, name, type, nullable FROM described WHERE $column
		 EXCEPT SELECT * FROM columns)
		UNION ALL
		(SELECT * FROM columns
		 EXCEPT SELECT table_name::regclass, name, type, nullable FROM described WHERE $column)"),
		'', 'the columns are those of the tables, with their types');
	is($node->safe_psql('postgres', "$described
		(SELECT table_name::regclass, name FROM described
		 WHERE part IN ('natural key', 'unique') AND enforced_by = 'database'
		 EXCEPT SELECT conrelid, conname FROM pg_constraint WHERE contype = 'u')
		UNION ALL
		(SELECT conrelid, conname FROM pg_constraint
		 WHERE contype = 'u' AND conrelid IN (SELECT tab FROM columns)
		 EXCEPT SELECT table_name::regclass, name FROM described)"),
		'', 'what the database enforces are its unique constraints');
	is($node->safe_psql('postgres', "$described
		SELECT table_name::regclass, name FROM described
		WHERE enforced_by = 'database' AND refers_to IS NOT NULL
		EXCEPT
		SELECT conrelid, attname
		FROM pg_constraint JOIN pg_attribute ON attrelid = conrelid AND ARRAY[attnum] = conkey
		WHERE contype = 'f'"),
		'', 'and its foreign keys');
	return;
}

# Each diagram is written in the few forms of line that Mermaid knows, and
# draws what belongs to the resource.
sub test_diagrams
{
	my $name = qr/"[^"%\\\n]+"/;
	my $form = qr/\A(?:erDiagram
		|\ {4}$name\ \{|\ {4}\}
		|\ {8}[a-z]+(?:\(\d+\))?\ [a-z_]\w*(?:\ (?:PK|FK|UK)(?:,\ (?:FK|UK))*)?(?:\ "[^"\n]+")?
		|\ {4}$name\ (?:\|\||\|o|\}o)(?:--|\.\.)(?:o\{|o\|)\ $name\ :\ $name)\z/x;
	my @odd = grep { $_ !~ $form } split /\n/, $node->safe_psql('postgres',
		'SELECT dms.schema_diagram(project, resource) FROM dms.resources()');

	is_deeply(\@odd, [], 'every line of every diagram is one that Mermaid reads');

	my $section = $node->safe_psql('postgres', q{SELECT dms.schema_diagram('ed-fi', 'sections')});
	like($section, qr/"edfi.Section" \{\n.*\bsectionidentifier UK "sectionIdentifier"\n/s,
		'a section has its columns');
	like($section, qr/"edfi.Section" \|\|--o\{ "edfi.SectionClassPeriod" : "classPeriods"/,
		'and its collections');
	like($section, qr/"Ed-Fi.CourseOffering" \|\|--o\{ "edfi.Section" : "courseOfferingReference"/,
		'what it is known by is a solid line');
	like($section, qr/"Ed-Fi.Location" \|o\.\.o\{ "edfi.Section" : "locationReference"/,
		'what it may refer to is a dashed one');
	like($section, qr/"edfi.Section" \|\|--o\{ "Ed-Fi.StudentSectionAssociation" : "sectionReference"/,
		'what refers to it is there by name');

	my $school = $node->safe_psql('postgres', q{SELECT dms.schema_diagram('Ed-Fi', 'School')});
	like($school, qr/"Ed-Fi.EducationOrganization" \|\|--o\| "edfi.School" : "subclass"/,
		'a school is an education organization');
	isnt($school, $node->safe_psql('postgres', q{SELECT dms.schema_diagram('Homograph', 'School')}),
		'and not the school of another project');
	return;
}
