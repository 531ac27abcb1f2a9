# Reading documents of every resource of the real schema files: what comes back
# is the canonical form of what went in, and every filter finds what it should.
#
# What must come back is worked out by the test's own library from the bodies.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";

use Dms::ApiSchema;
use Dms::Canonical qw(canonical_tree parse_json render);
use Dms::Copy qw(copy_text);
use Dms::Generate;
use Encode qw(decode encode);
use JSON::PP ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $dir = $ENV{APISCHEMA_DIR};
plan skip_all => 'APISCHEMA_DIR names no schema files' unless defined $dir && -r "$dir/ed-fi.json";

my $schema = Dms::ApiSchema->new(dir => $dir);
my $json   = JSON::PP->new->canonical->allow_bignum->allow_nonref;

my $node = PostgreSQL::Test::Cluster->new('read_real');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', "fsync = off\nautovacuum = off");
$node->start;
$node->safe_psql('postgres', 'CREATE DATABASE deployed');
deploy('deployed');
foreach my $database (qw(real generated spice equal))
{
	$node->safe_psql('postgres', "CREATE DATABASE $database TEMPLATE deployed");
	hostile_settings($database);
}

test_real_documents();
test_generated_documents();
test_spice();
test_equal_paths();

$node->stop;
done_testing();

#
# What is tested
#

# The descriptors and request bodies that the Ed-Fi Alliance publishes, as far
# as all that they refer to is among them.
sub test_real_documents
{
	my @documents =
	  write_documents('real', read_documents('descriptor-documents.ndjson'), read_documents('sample-documents.ndjson'));

	note scalar(@documents) . ' real documents';
	cmp_ok(scalar(@documents), '>', 3000, 'real documents are written');
	check_bodies('real', @documents);
	check_filters('real', grep { !$_->{resource}{is_descriptor} } @documents);
	return;
}

# Of every resource a full document, one with other values, and one of other
# values with other targets.
sub test_generated_documents
{
	my @generators = map { Dms::Generate->new(schema => $schema, %$_) } {}, { seed => 1, descriptors => other_descriptors() };
	my @entries;

	foreach my $generator (@generators)
	{
		$generator->all;
		$generator->many($_, 1, fresh_references => 1) foreach $schema->load_order;
		is(scalar($generator->skipped), 0, 'no resource is skipped');
		push @entries, map {
			{   resource => $schema->resource($_->{project}, $_->{resource}),
				text     => $generator->json($_->{document})
			}
		} $generator->entries;
	}
	my @documents = write_documents('generated', @entries);
	is(query('generated', 'SELECT project, resource, document FROM t.input WHERE document_id IS NULL LIMIT 3'), '',
		'every generated document is written');
	my %of = map { $_->{resource}{key} => 1 } @documents;
	is(scalar(keys %of), scalar($schema->resources), 'of every resource');

	check_bodies('generated', @documents);
	check_filters('generated', @documents);
	check_every_field(@documents);
	check_pages('generated', @documents);
	check_owner_changes('generated');
	check_bad_input('generated');
	return;
}

# Strings of full length with all that has to be escaped, numbers at the limits
# of their types.
sub test_spice
{
	my $generator = Dms::Generate->new(schema => $schema, spice => 1);
	my @documents = write_documents('spice', map {
		{   resource => $schema->resource($_->{project}, $_->{resource}),
			text     => $generator->json($_->{document})
		}
	} $generator->all);

	check_bodies('spice', @documents);
	check_filters('spice', @documents);
	return;
}

# Fields whose path lies in an optional reference, and that equality constraints
# tie to other paths.  Of the four documents of a resource one has both, two lack
# one of them, and the last lacks both.
sub test_equal_paths
{
	my (%tied, %left);

	foreach my $resource ($schema->resources)
	{
		foreach my $field (sort keys %{ $resource->{query} })
		{
			my ($own) = map { $_->{path} } @{ $resource->{query}{$field} };
			next unless optional_reference($resource, $own) && (() = connected($resource, $own));
			my @equal = equal_paths($resource, $field);
			push @{ $tied{ $resource->{key} } }, { field => $field, own => $own, equal => \@equal } if @equal;
			$left{"$resource->{key} $field"} = 1 unless @equal;
		}
	}
	is(scalar(map { @$_ } values %tied), 18, 'fields that match at equal paths');
	is(scalar(keys %left), 11, 'fields whose equal paths have fields of their own, or are in collections');
	ok($left{'Ed-Fi.ChartOfAccount balanceSheetFiscalYear'}, 'among them that of a balance sheet');

	my @documents = write_documents('equal', entries_for(\%tied));
	my @tied      = grep { $tied{ $_->{resource}{key} } } @documents;
	check_filters('equal', @tied);
	foreach my $key (sort keys %tied)
	{
		foreach my $tie (@{ $tied{$key} })
		{
			my %kinds;
			foreach my $document (grep { $_->{resource}{key} eq $key } @tied)
			{
				my @at = map { defined value_at($document->{tree}, $_) ? 1 : 0 } $tie->{own}, @{ $tie->{equal} };
				$kinds{"@at"} = 1;
			}
			ok($kinds{'1 1'} && $kinds{'0 1'}, "$key $tie->{field}: there are documents with and without the reference");
		}
	}
	check_plans('equal', \%tied, @tied);
	return;
}

# Documents of all resources; in those of the ties, references are left out.
sub entries_for
{
	my ($tied) = @_;
	my $generator = Dms::Generate->new(schema => $schema);
	my (@entries, %seen);

	$generator->all;
	$generator->many($_, 3, full => 1, fresh_references => 1) foreach grep { $tied->{ $_->{key} } } $schema->load_order;
	foreach my $entry ($generator->entries)
	{
		my $resource = $schema->resource($entry->{project}, $entry->{resource});
		my $document = $json->decode($generator->json($entry->{document}));
		my $n        = $entry->{kind} eq 'full' ? $seen{ $resource->{key} }++ : 0;

		foreach my $tie (@{ $tied->{ $resource->{key} } || [] })
		{
			my @paths = (($n & 1 ? $tie->{own} : ()), ($n & 2 ? @{ $tie->{equal} } : ()));
			delete $document->{$_}
			  foreach grep { !$schema->is_required($resource, "\$.$_") } map { /^\$\.(\w+)/ } @paths;
		}
		push @entries, { resource => $resource, text => $json->encode($document) };
	}
	return @entries;
}

# In tables that are large, each way that a document can match is searched by the
# index of its column.
sub check_plans
{
	my ($database, $tied, @documents) = @_;

	foreach my $key (sort keys %$tied)
	{
		my ($document) = grep { $_->{resource}{key} eq $key } @documents;
		my $resource = $document->{resource};
		my $table = query($database, "SELECT t.enlarge(table_name, $document->{id}) FROM dms.resources()
			WHERE project = '$resource->{project}' AND resource = '$resource->{name}'");
		foreach my $tie (@{ $tied->{$key} })
		{
			my ($leaf) = values_of($resource, $tie->{field}, grep { $_->{resource}{key} eq $key } @documents);
			my $value = literal($leaf->{ (sort keys %$leaf)[0] }{leaf});
			foreach my $verb (qw(query_documents count_documents))
			{
				my $filters = '{' . $json->encode($tie->{field}) . ": $value}";
				my $plans = plans_of($database, "SELECT dms.$verb('$resource->{project}', '$resource->{name}', \$f\$$filters\$f\$)");
				my @scans = $plans =~ /Scan[^\n]* on (?:\w+\.)?\Q$table\E[^\n]*\n[^\n]*/g;
				my @bad   = grep { !/Index Cond|Recheck Cond/ } @scans;
				ok(@scans && !@bad && $plans !~ /Seq Scan/, "$key $tie->{field}: $verb searches by index") or diag $plans;
			}
		}
	}
	return;
}

# Each document reads as its body says, the same in every session.
sub check_bodies
{
	my ($database, @documents) = @_;
	my $sql = 'SELECT n, etag, last_modified, dms.get_document(document_uuid) FROM t.written ORDER BY n';

	my @first = split /\n/, query($database, $sql);
	my @again = split /\n/, query($database, "SET TimeZone = 'UTC'; SET DateStyle = 'ISO'; $sql");
	is_deeply(\@again, \@first, "$database: reading again gives the same bytes");

	my %document = map { $_->{n} => $_ } @documents;
	my @wrong;
	foreach (@first)
	{
		my ($n, $etag, $modified, $read) = split /\|/, $_, 4;
		my $document = $document{$n};
		my $body     = substr(render($document->{tree}), 1, -1);
		my $expected =
			qq({"id":"$document->{uuid}",$body)
		  . ($body eq '' ? '' : ',')
		  . qq("_etag":"$etag","_lastModifiedDate":"$modified"});
		push @wrong, "$document->{resource}{key}:\n  $read\n  $expected" if $read ne $expected;
	}
	is(scalar(@first), scalar(@documents), "$database: every document is read");
	is(scalar(@wrong), 0, "$database: what is read is what was written")
	  or diag join "\n", @wrong > 3 ? @wrong[ 0 .. 2 ] : @wrong;

	is( query($database, q{
			SELECT r.ProjectName, r.ResourceName
			FROM dms.ResourceModel AS r,
				LATERAL (SELECT string_agg(q::text, ',') AS page, count(*) AS n
					FROM dms.query_documents(r.ProjectName, r.ResourceName, '{}', 100000) AS q) AS p,
				LATERAL (SELECT string_agg(dms.get_document(document_uuid)::text, ',' ORDER BY document_id) AS each
					FROM t.written WHERE project = r.ProjectName AND resource = r.ResourceName) AS g
			WHERE r.Kind <> 'abstract' AND (page IS DISTINCT FROM each
				OR n <> dms.count_documents(r.ProjectName, r.ResourceName))}),
		'', "$database: pages hold the documents as they are by themselves, in order");
	return;
}

# Every field of every resource: with each value that a document has there, with
# two, in other case, as a string, and with one that none has.
sub check_filters
{
	my ($database, @documents) = @_;
	my (%by_resource, @queries);

	push @{ $by_resource{ $_->{resource}{key} } }, $_ foreach @documents;
	foreach my $key (sort keys %by_resource)
	{
		my @here     = sort { $a->{id} <=> $b->{id} } @{ $by_resource{$key} };
		my $resource = $here[0]{resource};
		foreach my $field (sort keys %{ $resource->{query} })
		{
			push @queries, map { { resource => $resource, %$_ } } queries_of($resource, $field, @here);
		}
		push @queries, map { { resource => $resource, %$_ } } queries_of_references($resource, @here);
	}
	my $file = write_file("$database.queries", join '', map {
		join("\t", @{ $_->{resource} }{qw(project name)}, copy_text($_->{filters}), join(',', @{ $_->{expected} })) . "\n"
	} @queries);
	query($database, "CREATE TABLE t.query (project text, resource text, filters jsonb, expected text);
		COPY t.query FROM '$file'");
	is( query($database, q{
			SELECT project, resource, filters, expected, found FROM t.query,
				LATERAL (SELECT coalesce(string_agg(d ->> 'id', ','), '') AS found
					FROM dms.query_documents(project, resource, filters, 100000) AS d) AS f
			WHERE expected <> found
				OR dms.count_documents(project, resource, filters) <> cardinality(string_to_array(found, ',')) LIMIT 5}),
		'', "$database: " . @queries . ' queries find what they should');
	return;
}

# Values that documents have at the paths of a field, and who has each.
sub values_of
{
	my ($resource, $field, @documents) = @_;
	my (%leaf, %who);

	foreach my $document (@documents)
	{
		foreach my $path ((map { $_->{path} } @{ $resource->{query}{$field} }), equal_paths($resource, $field))
		{
			my $leaf = $path eq '$.id' ? $document->{uuid} : value_at($document->{tree}, $path);
			next unless defined $leaf;
			my $descriptor = $path ne '$.id' && $schema->descriptor_of($resource, $path);
			my $value = $descriptor ? lc "$leaf" : "$leaf";
			$leaf{$value} = { leaf => $leaf, descriptor => $descriptor };
			$who{$value}{ $document->{uuid} } = 1;
		}
	}
	return (\%leaf, \%who);
}

# The reference that a path lies in, if documents need not have it.
sub optional_reference
{
	my ($resource, $path) = @_;
	my ($reference) = grep { my $r = $_; grep { $_->{path} eq $path } @{ $r->{members} } } @{ $resource->{references} };

	return $reference && !$schema->is_required($resource, $reference->{path});
}

# All paths that equality constraints connect with a path.
sub connected
{
	my ($resource, $path) = @_;
	my %found = ($path => 1);
	my $before = 0;

	while (keys %found > $before)
	{
		$before = keys %found;
		foreach my $pair (@{ $resource->{equality} })
		{
			@found{@$pair} = (1, 1) if grep { $found{$_} } @$pair;
		}
	}
	delete $found{$path};
	return sort keys %found;
}

# The other paths at which a field must match: equal to one of its own that lies
# in an optional reference, in no collection, and without a field of their own.
sub equal_paths
{
	my ($resource, $field) = @_;
	my %has_field = map { $_->{path} => 1 } map { @$_ } values %{ $resource->{query} };

	return grep { !$has_field{$_} && !/\[/ } map { connected($resource, $_) }
	  grep { optional_reference($resource, $_) } map { $_->{path} } @{ $resource->{query}{$field} };
}

sub queries_of
{
	my ($resource, $field, @documents) = @_;
	my ($leaf, $who) = values_of($resource, $field, @documents);
	my @values = sort keys %$who;
	my @queries;

	@values = @values[ 0 .. 4 ] if @values > 5;
	foreach my $value (@values)
	{
		push @queries, [ $field, literal($leaf->{$value}{leaf}), $value ];
		push @queries, [ uc $field, $json->encode("$leaf->{$value}{leaf}"), $value ];
		push @queries, [ $field, $json->encode(uc "$leaf->{$value}{leaf}"), $value ] if $leaf->{$value}{descriptor};
	}
	push @queries, [ $field, '[' . join(',', map { literal($leaf->{$_}{leaf}) } @values[ 0, 1 ]) . ']', @values[ 0, 1 ] ]
	  if @values > 1;
	push @queries, [ $field, '[]' ];
	my $none = no_value($resource, $field, $who);
	push @queries, [ $field, $none ] if defined $none;
	return map {
		my ($name, $value, @expected) = @$_;
		{   filters  => '{' . $json->encode($name) . ": $value}",
			expected => [ having($who, \@documents, @expected) ]
		}
	} @queries;
}

# All values of a reference at once name its target in full.
sub queries_of_references
{
	my ($resource, @documents) = @_;
	my @queries;

	foreach my $reference (@{ $resource->{references} })
	{
		my %field;
		foreach my $field (keys %{ $resource->{query} })
		{
			my @paths = @{ $resource->{query}{$field} };
			$field{ $paths[0]{path} } = $field if @paths == 1;
		}
		my @members = map { $_->{path} } @{ $reference->{members} };
		next if @members < 2 || grep { !$field{$_} } @members;
		foreach my $document (@documents)
		{
			my %value = map { $_ => value_at($document->{tree}, $_) } @members;
			next if grep { !defined } values %value;
			my @same = grep {
				my $other = $_;
				!grep {
					my $there = value_at($other->{tree}, $_);
					!defined $there || lc "$there" ne lc "$value{$_}"
				} @members
			} @documents;
			push @queries,
			  {
				filters => '{' . join(', ', map { $json->encode($field{$_}) . ': ' . literal($value{$_}) } sort keys %value) . '}',
				expected => [ map { $_->{uuid} } @same ]
			  };
			last;
		}
	}
	return @queries;
}

# A value of the right type that no document has; nothing for booleans.
sub no_value
{
	my ($resource, $field, $who) = @_;
	my $path = $resource->{query}{$field}[0]{path};

	return '"00000000-0000-0000-0000-000000000000"' if $path eq '$.id';
	my $node = $schema->node($resource, $path) or return;
	return if $node->{type} eq 'boolean';
	my $value =
	    $node->{type} ne 'string'                 ? '987654321'
	  : ($node->{format} || '') eq 'date'         ? '"1901-01-01"'
	  : ($node->{format} || '') eq 'date-time'    ? '"1901-01-01T00:00:00Z"'
	  : ($node->{format} || '') eq 'time'         ? '"03:03:03"'
	  :                                             '"no such value\' OR true --"';
	return $who->{ $value =~ s/"//gr } ? undef : $value;
}

# Every field must have been tried on a document that matches and on another.
sub check_every_field
{
	my (@documents) = @_;
	my (%by_resource, @never, @always);

	push @{ $by_resource{ $_->{resource}{key} } }, $_ foreach @documents;
	foreach my $resource ($schema->resources)
	{
		my @here = @{ $by_resource{ $resource->{key} } };
		foreach my $field (sort keys %{ $resource->{query} })
		{
			my ($leaf, $who) = values_of($resource, $field, @here);
			push @never, "$resource->{key} $field" unless %$who;
			push @always, "$resource->{key} $field" unless grep { keys %$_ < @here } values %$who;
		}
	}
	is_deeply(\@never, [], 'every field has a document that matches');
	is_deeply(\@always, [], 'every field has a document that does not match') or diag join "\n", @always;
	return;
}

# Limit, offset and after cut the same list.
sub check_pages
{
	my ($database, @documents) = @_;
	my $ids = q{SELECT coalesce(string_agg(d ->> 'id', ','), '') FROM dms.query_documents('ed-fi', 'studentSchoolAssociations'};
	my @all = split /,/, query($database, "$ids, '{}', 500) AS d");

	cmp_ok(scalar(@all), '>', 1, 'there is more than one document to page through');
	is(query($database, "$ids, page_limit => 0) AS d"), '', 'a limit of 0');
	is(query($database, "$ids, page_limit => 1) AS d"), $all[0], 'the first');
	is(query($database, "$ids, page_limit => 1, page_offset => 1) AS d"), $all[1], 'the second, by offset');
	is(query($database, "$ids, page_limit => 1, after => '$all[0]') AS d"), $all[1], 'the second, by after');
	is(query($database, "$ids, after => '$all[-1]') AS d"), '', 'nothing behind the last');
	is(query($database, "$ids, page_offset => 1000000000000) AS d"), '', 'nothing behind the end');
	return;
}

# Columns are the truth: what their owner changes by SQL, reads show.
sub check_owner_changes
{
	my ($database) = @_;
	my $get = 'SELECT dms.get_document(DocumentUuid) FROM dms.Document WHERE DocumentId = ';

	my $student = query($database, 'SELECT min(DocumentId) FROM edfi.Student');
	query($database, "UPDATE edfi.Student SET FirstName = 'somebody \"else\"' WHERE DocumentId = $student");
	like(query($database, "$get$student"), qr/"firstName":"somebody \\"else\\""/, 'a changed column');

	my $association = query($database, "SELECT min(DocumentId) FROM edfi.StudentSchoolAssociation
		WHERE Student_DocumentId = $student");
	query($database, "UPDATE edfi.Student SET StudentUniqueId = 'renamed' WHERE DocumentId = $student");
	like(query($database, "$get$association"), qr/"studentReference":\{"studentUniqueId":"renamed"\}/,
		'the identity of what is referred to is read, not remembered');
	query($database, "UPDATE edfi.StudentSchoolAssociation SET ExitWithdrawDate = 'infinity' WHERE DocumentId = $association");
	is(query($database, "SELECT json_typeof(dms.get_document(DocumentUuid)) FROM dms.Document WHERE DocumentId = $association"),
		'object', 'values that no body can hold still give JSON');
	return;
}

# Whatever a caller sends: a clear error, never SQL.
sub check_bad_input
{
	my ($database) = @_;
	my $documents = query($database, 'SELECT count(*) FROM dms.Document');

	my %filters = (
		'unknown field'        => '{"noSuchField": 1}',
		'unknown, like SQL'    => '{"firstName = firstName OR true; --": "x"}',
		'malformed uuid'       => '{"id": "not-a-uuid"}',
		'malformed date'       => '{"birthDate": "2024-02-30"}',
		'malformed boolean'    => '{"multipleBirthStatus": "perhaps"}',
		'null'                 => '{"firstName": null}',
		'object'               => '{"firstName": {"a": 1}}',
		'nested array'         => '{"firstName": [["a"]]}',
		'number for a string'  => '{"firstName": 1}',
		'no object'            => '["firstName"]',
	);
	foreach my $name (sort keys %filters)
	{
		foreach my $verb (qw(query_documents count_documents))
		{
			is(query($database, "SELECT t.sqlstate(\$q\$SELECT dms.$verb('ed-fi', 'students', '$filters{$name}')\$q\$)"),
				'22023', "$verb, $name");
		}
	}
	my %calls = (
		'malformed number' => [ '22023', q{dms.query_documents('ed-fi', 'schools', '{"schoolId": "12x"}')} ],
		'number out of reach' => [ '22023', q{dms.query_documents('ed-fi', 'schools', '{"schoolId": 1e30}')} ],
		'negative limit'   => [ '22023', q{dms.query_documents('ed-fi', 'schools', page_limit => -1)} ],
		'negative offset'  => [ '22023', q{dms.query_documents('ed-fi', 'schools', page_offset => -1)} ],
		'null limit'       => [ '22023', q{dms.query_documents('ed-fi', 'schools', page_limit => NULL)} ],
		'null filters'     => [ '22023', q{dms.count_documents('ed-fi', 'schools', NULL)} ],
		'no such document to go on behind' => [ '22023', q{dms.query_documents('ed-fi', 'schools', after => dms.uuid_v7())} ],
		'unknown resource' => [ '42704', q{dms.query_documents('ed-fi', 'students"; DROP TABLE edfi.student; --')} ],
		'unknown project'  => [ '42704', q{dms.count_documents('nobody', 'students')} ],
		'abstract'         => [ '42704', q{dms.query_documents('ed-fi', 'EducationOrganization')} ],
		'part of an identity' => [ '22023', q{dms.resolve('ed-fi', 'session', '{"schoolId": 1}')} ],
		'no part of it'    => [ '22023', q{dms.resolve('ed-fi', 'school', '{"schoolId": 1, "name": 2}')} ],
	);
	foreach my $name (sort keys %calls)
	{
		my ($state, $call) = @{ $calls{$name} };
		is(query($database, "SELECT t.sqlstate(\$q\$SELECT $call\$q\$)"), $state, $name);
	}
	foreach my $value ("' OR true --", '"; DROP TABLE edfi.student; --', '\\', '$1', '%', "a#\$.b=c")
	{
		my $filter = $json->encode({ firstName => $value }) =~ s/'/''/gr;
		is(query($database, "SELECT dms.count_documents('ed-fi', 'students', '$filter')"), 0, "the value $value is a value");
	}
	is(query($database, 'SELECT count(*) FROM dms.Document'), $documents, 'nothing happened to the documents');
	return;
}

#
# Documents
#

# Writes until nothing more can be written; returns what is there: the last body
# of each document, and its canonical form.
sub write_documents
{
	my ($database, @entries) = @_;
	my ($n, %last, %stored) = (0);

	my $file = write_file("$database.input", join '', map {
		$_->{n} = ++$n;
		join("\t", $n, @{ $_->{resource} }{qw(project name)}, copy_text($_->{text})) . "\n"
	} @entries);
	query($database, "COPY t.input (n, project, resource, document) FROM '$file'; SELECT t.write_all()");

	my %entry = map { $_->{n} => $_ } @entries;
	foreach (split /\n/, query($database, 'SELECT document_id, n, document_uuid FROM t.input
		WHERE document_id IS NOT NULL ORDER BY written'))
	{
		my ($id, $written, $uuid) = split /\|/;
		$last{$id} = { %{ $entry{$written} }, id => $id, uuid => $uuid };
	}
	query($database, 'SELECT t.keep_last()');

	# A descriptor keeps the case in which it was first written.
	foreach (split /\n/, query($database, 'SELECT Uri FROM dms.Descriptor'))
	{
		$stored{ lc $_ } = $_;
	}
	foreach my $document (values %last)
	{
		$document->{tree} = canonical_tree($schema, $document->{resource}, $document->{text}, descriptors => \%stored);
		keep_case($document->{tree}, \%stored) if $document->{resource}{is_descriptor};
	}
	return values %last;
}

# A descriptor that was written again in other case is still the first one.
sub keep_case
{
	my ($tree, $stored) = @_;

	my ($namespace, $code) = map { "$tree->{$_}" } qw(namespace codeValue);
	my $uri = $stored->{ lc "$namespace#$code" };
	$tree->{namespace} = parse_json($json->encode(substr $uri, 0, length $namespace));
	$tree->{codeValue} = parse_json($json->encode(substr $uri, 1 + length $namespace));
	return;
}

# Two of each type, in another namespace than those that are made up.
sub other_descriptors
{
	my %documents;

	foreach my $resource (grep { $_->{is_descriptor} } $schema->resources)
	{
		$documents{ $resource->{key} } = [ map {
			{   namespace        => "uri://example.org/$resource->{name}",
				codeValue        => $_,
				shortDescription => "short $_",
			}
		} qw(Other Another) ];
	}
	return \%documents;
}

sub read_documents
{
	my ($name) = @_;
	my @documents;

	open(my $fh, '<:raw', "$dir/$name") or die "could not open $name: $!";
	while (my $line = <$fh>)
	{
		my $data = $json->utf8(1)->decode($line);
		push @documents,
		  {
			resource => $schema->resource($data->{project}, $data->{resourceName}),
			text     => $json->utf8(0)->encode($data->{document}),
		  };
	}
	close $fh;
	return @documents;
}

sub value_at
{
	my ($tree, $path) = @_;

	foreach my $name (split /\./, substr $path, 2)
	{
		return undef unless ref $tree eq 'HASH';
		$tree = $tree->{$name};
	}
	return $tree;
}

# A value as JSON, of the kind that it has in documents.
sub literal
{
	my ($leaf) = @_;

	return ref $leaf ? render($leaf) : $json->encode($leaf);
}

# The ids of the documents, in order, that have one of the values.
sub having
{
	my ($who, $documents, @values) = @_;

	return grep { my $uuid = $_; grep { $who->{$_}{$uuid} } @values } map { $_->{uuid} } @$documents;
}

#
# Setting up
#

sub deploy
{
	my ($database) = @_;

	query($database, 'SET client_min_messages = warning; CREATE EXTENSION dms; SELECT dms.deploy_schema('
		  . join(', ', map { "pg_read_file('$dir/$_.json')::json" } qw(ed-fi tpdm sample homograph)) . ')');
	query($database, <<'SQL');
CREATE SCHEMA t;
CREATE TABLE t.input (n int PRIMARY KEY, project text, resource text, document json,
	document_id bigint, document_uuid uuid, refused bool NOT NULL DEFAULT false, written serial);

-- Writes documents again and again until a pass writes none.
CREATE FUNCTION t.write_all() RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog AS $$
DECLARE
	progress bool := true;
	i t.input;
	r dms.write_result;
BEGIN
	WHILE progress LOOP
		progress := false;
		FOR i IN SELECT * FROM t.input WHERE document_id IS NULL AND NOT refused ORDER BY n LOOP
			BEGIN
				r := dms.upsert_document(i.project, i.resource, i.document);
				UPDATE t.input SET document_id = r.document_id, document_uuid = r.document_uuid,
					written = DEFAULT WHERE n = i.n;
				progress := true;
			EXCEPTION WHEN foreign_key_violation THEN
				NULL;
			WHEN OTHERS THEN
				UPDATE t.input SET refused = true WHERE n = i.n;
			END;
		END LOOP;
	END LOOP;
END $$;

-- One row for each document that is there, with the last body it was given.
CREATE FUNCTION t.keep_last() RETURNS void
LANGUAGE sql SET search_path = pg_catalog AS $$
	CREATE TABLE t.written AS
		SELECT DISTINCT ON (i.document_id) i.n, i.project, i.resource, i.document_id, i.document_uuid, d.Etag AS etag,
			to_char(d.LastModifiedAt AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS last_modified
		FROM t.input AS i JOIN dms.Document AS d ON d.DocumentId = i.document_id
		ORDER BY i.document_id, i.written DESC
$$;

-- Adds rows to a root table that are like a given one but refer to other documents,
-- as many as a large store has.  Returns the table's name.
CREATE FUNCTION t.enlarge(root text, document bigint) RETURNS text
LANGUAGE plpgsql SET search_path = pg_catalog SET session_replication_role = replica AS $$
DECLARE
	relation regclass := root;
	names text;
	sources text;
BEGIN
	SELECT string_agg(quote_ident(attname), ', '),
		string_agg(CASE WHEN attname LIKE '%documentid' THEN '1000000000 + g'
			WHEN attnum = ANY (conkey) AND atttypid = 'varchar'::regtype THEN '''v'' || g'
			ELSE quote_ident(attname) END, ', ')
	INTO names, sources
	FROM pg_attribute LEFT JOIN pg_constraint ON conrelid = attrelid AND contype = 'u'
	WHERE attrelid = relation AND attnum > 0 AND NOT attisdropped;
	EXECUTE format('INSERT INTO %1$s (%2$s) SELECT %3$s FROM %1$s, generate_series(1, 20000) AS g WHERE documentid = %4$s',
		relation, names, sources, document);
	EXECUTE format('ANALYZE %s', relation);
	RETURN relname FROM pg_class WHERE oid = relation;
END $$;

CREATE FUNCTION t.sqlstate(statement text) RETURNS text
LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE statement;
	RETURN 'no error';
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE;
END $$;
SQL
	return;
}

sub hostile_settings
{
	my ($database) = @_;

	query('postgres', "ALTER DATABASE $database SET $_")
	  foreach "DateStyle = 'SQL, DMY'", "TimeZone = 'Asia/Kathmandu'", "IntervalStyle = 'sql_standard'",
	  'extra_float_digits = -15', 'search_path = t';
	return;
}

# A file of bytes that the server can read.
sub write_file
{
	my ($name, $content) = @_;
	my $file = PostgreSQL::Test::Utils::tempdir() . "/$name";

	open(my $fh, '>:raw', $file) or die "could not create $file: $!";
	print $fh $content;
	close $fh;
	return $file;
}

# The plans of all statements that a statement runs.
sub plans_of
{
	my ($database, $sql) = @_;
	my $file = write_file('plans.sql', encode('UTF-8', "LOAD 'auto_explain'; SET auto_explain.log_min_duration = 0;
		SET auto_explain.log_nested_statements = on; SET client_min_messages = log; $sql"));
	my ($out, $err);

	IPC::Run::run([ 'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr($database), '-f', $file ],
		'>', \$out, '2>', \$err)
	  or die "psql failed on $database: $err";
	return decode('UTF-8', $err);
}

# What a script of SQL prints, as characters.
sub query
{
	my ($database, $sql) = @_;
	my $file = write_file('query.sql', encode('UTF-8', $sql));
	my ($out, $err);

	IPC::Run::run([ 'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr($database), '-f', $file ],
		'>', \$out, '2>', \$err)
	  or die "psql failed on $database: $err";
	$out = decode('UTF-8', $out);
	chomp $out;
	return $out;
}
