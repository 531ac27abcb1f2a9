# The test library itself: its readers, its generator and its own ideas of
# identity, canonical form and names, checked without a server.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";

use JSON::PP ();
use Test::More;

use Dms::ApiSchema;
use Dms::Canonical qw(canonical_text decimal_text date_text date_time_text
  parse_json returned_body time_text);
use Dms::Generate;
use Dms::Identity qw(document_ids edge_source lower_invariant reference_ids
  referential_id uuid_v5);
use Dms::Naming qw(collisions member_tables physical_name singular tables);
use Dms::Validate qw(validate);

binmode(Test::More->builder->$_, ':encoding(UTF-8)')
  foreach qw(output failure_output todo_output);

subtest 'identity vectors'   => \&test_vectors;
subtest 'values'             => \&test_values;
subtest 'names'              => \&test_names;
subtest 'a small schema'     => \&test_small_schema;

my $dir = $ENV{APISCHEMA_DIR};
SKIP:
{
	skip 'APISCHEMA_DIR is not set: the real schema files are not tested', 5
	  unless defined $dir && length $dir;
	skip "there is no ed-fi.json in APISCHEMA_DIR ($dir)", 5 unless -e "$dir/ed-fi.json";

	my $schema = Dms::ApiSchema->new(dir => $dir);
	subtest 'the real files: counts'         => sub { test_counts($schema) };
	subtest 'the real files: tables'         => sub { test_tables($schema) };
	subtest 'the real files: documents'      => sub { test_documents($schema) };
	subtest 'the real files: variants'       => sub { test_variants($schema) };
	subtest 'the real files: real documents' => sub { test_real_documents($schema) };
}
done_testing();

sub test_vectors
{
	my @vectors = (
		[
			'Ed-FiSchool$.schoolId=123', '3af6ad85-1212-5833-be6f-f8df6f4d6402',
			'Ed-Fi', 'School', [ '$.schoolId', 123 ]
		],
		[
			'Ed-FiSection$.localCourseCode=abc#$.schoolReference.schoolId=123'
			  . '#$.sessionReference.schoolYear=2030#$.sectionIdentifier=sectionId'
			  . '#$.sessionReference.sessionName=d',
			'7400934a-8a00-551b-a1ba-4db0b3a4d556',
			'Ed-Fi',
			'Section',
			[ '$.localCourseCode',             'abc' ],
			[ '$.schoolReference.schoolId',    123 ],
			[ '$.sessionReference.schoolYear', 2030 ],
			[ '$.sectionIdentifier',           'sectionId' ],
			[ '$.sessionReference.sessionName', 'd' ]
		],
		[
			'Ed-FiEducationOrganization$.educationOrganizationId=123',
			'7589fd2c-6eac-5a70-a328-2d5e1ca6afa6',
			'Ed-Fi', 'EducationOrganization', [ '$.educationOrganizationId', 123 ]
		],
		[
			'Ed-FiGradeLevelDescriptor$.descriptor='
			  . 'uri://ed-fi.org/gradeleveldescriptor#tenth grade',
			'a0154e45-ee01-5789-9992-267c73f71f22',
			'Ed-Fi',
			'GradeLevelDescriptor',
			[ '$.descriptor', 'uri://ed-fi.org/GradeLevelDescriptor#Tenth Grade' ]
		]);
	foreach my $vector (@vectors)
	{
		my ($name, $uuid, @parts) = @$vector;
		is_deeply([ referential_id(@parts) ], [ $name, $uuid ], $name);
	}

	# RFC 4122's own namespace for DNS names, a well-known example.
	is(uuid_v5('www.example.org', '6ba7b810-9dad-11d1-80b4-00c04fd430c8'),
		'74738ff5-5367-5958-9aee-98fffdcd1876', 'a vector from elsewhere');
	is(lower_invariant("\x{c4}\x{3a3} \x{130}I"), "\x{e4}\x{3c3} \x{130}i",
		'lower case without a language');

	my ($key, $id) = edge_source({ project => 'Ed-Fi', name => 'Section' },
		'docref', '$.classPeriods[*].classPeriodReference');
	is($key, 'Ed-Fi.Section:docref:$.classPeriods[*].classPeriodReference', 'edge source');
	my ($long) = edge_source({ project => 'Ed-Fi', name => 'X' x 300 }, 'desc', '$.y');
	is(length $long, 256, 'a long edge source is cut to 256 characters');
	like($long, qr/\AEd-Fi\.X+\|[0-9a-f]{8}\z/, '... and ends with a hash');
	return;
}

sub test_values
{
	my %decimals = (
		'1.50' => '1.5',
		'1e2'  => '100',
		'-0.0' => '0',
		'+7'   => '7',
		' 42 ' => '42',
		'1.5e-3' => '0.0015',
		'-12.0100' => '-12.01',
		'99999999999999.9999' => '99999999999999.9999',
	);
	is(decimal_text($_), $decimals{$_}, "number $_") foreach sort keys %decimals;
	is(decimal_text('0.05',    1), '0.1',  'rounds half up');
	is(decimal_text('-9.95',   1), '-10',  'rounds away from zero');
	is(decimal_text('999.995', 2), '1000', 'carries');
	is(decimal_text('1.004',   2), '1',    'rounds down');

	is(date_text('2025-01-31'), '2025-01-31', 'date');
	is(date_text('1/31/2025'),  '2025-01-31', 'month first');
	is(date_text('01/02/25'),   '2025-01-02', 'month first wins');
	is(date_text('31/1/2025'),  '2025-01-31', 'day first when it must be');
	ok(!defined eval { date_text('2025-02-29') }, 'no leap day in 2025');

	is(time_text('08:30:00'), '08:30:00', 'time');
	is(date_time_text('2025-01-31'), '2025-01-31T00:00:00Z', 'a bare date is midnight');
	is(date_time_text('2025-01-31T08:30:00.999'), '2025-01-31T08:30:00Z', 'no zone is UTC');
	is(date_time_text('2024-02-28T23:30:00-01:00'), '2024-02-29T00:30:00Z', 'to UTC, later');
	is(date_time_text('2025-01-01T00:30:00+01:00'), '2024-12-31T23:30:00Z', 'to UTC, earlier');

	is(parse_json('"\ud83d\ude00\u00e9\n\/"')->text, "\x{1F600}\x{e9}\n/", 'escapes');
	ok(!defined eval { parse_json('{"a":1,"a":2}') }, 'duplicate names are refused');
	return;
}

sub test_names
{
	my %singular = (
		uses               => 'use',
		languageUses       => 'languageUse',
		directlyOwnedBuses => 'directlyOwnedBus',
		diagnoses          => 'diagnosis',
		artMedia           => 'artMedium',
		addresses          => 'address',
		schoolCategories   => 'schoolCategory',
		statuses           => 'status',
		branches           => 'branch',
		indexes            => 'index',
		courses            => 'course',
		address            => 'address',
		status             => 'status',
		staffs             => 'staff',
	);
	is(singular($_), $singular{$_}, "singular of $_") foreach sort keys %singular;

	is(physical_name('SchoolAddress'), 'schooladdress', 'lower case');
	my $name = 'Ab' x 40;
	is(length physical_name($name), 63, 'a long name has 63 bytes');
	like(physical_name($name), qr/\A(?:ab){26}_[0-9a-f]{10}\z/, '... and ends with a hash');
	return;
}

# One resource with one of everything that the canonical form speaks about.
sub small_schema
{
	my $element = { type => 'object', properties => { a => { type => 'string' } } };
	my %common = (
		isDescriptor               => JSON::PP::false,
		isResourceExtension        => JSON::PP::false,
		isSubclass                 => JSON::PP::false,
		allowIdentityUpdates       => JSON::PP::false,
		equalityConstraints        => [],
		arrayUniquenessConstraints => [],
		queryFieldMapping          => {},
	);
	return Dms::ApiSchema->new(
		schemas => [
			{
				projectSchema => {
					projectName         => 'Small',
					projectEndpointName => 'sma-ll',
					isExtensionProject  => JSON::PP::false,
					resourceSchemas     => {
						colorDescriptors => {
							%common,
							resourceName         => 'ColorDescriptor',
							isDescriptor         => JSON::PP::true,
							identityJsonPaths    => [],
							documentPathsMapping => {},
							jsonSchemaForInsert  => {
								type       => 'object',
								properties => {
									map { $_ => { type => 'string' } }
									  qw(namespace codeValue shortDescription)
								},
							},
						},
						things => {
							%common,
							resourceName         => 'Thing',
							identityJsonPaths    => ['$.number'],
							documentPathsMapping => {
								Color => {
									isReference  => JSON::PP::true,
									isDescriptor => JSON::PP::true,
									projectName  => 'Small',
									resourceName => 'ColorDescriptor',
									path         => '$.colorDescriptor',
								},
								Parent => {
									isReference        => JSON::PP::true,
									isDescriptor       => JSON::PP::false,
									projectName        => 'Small',
									resourceName       => 'Thing',
									referenceJsonPaths => [
										{
											identityJsonPath => '$.number',
											referenceJsonPath =>
											  '$.inner.parentThingReference.number',
										}
									],
								},
							},
							decimalPropertyValidationInfos =>
							  [ { path => '$.amount', totalDigits => 5, decimalPlaces => 2 } ],
							jsonSchemaForInsert => {
								type       => 'object',
								required   => ['number'],
								properties => {
									number          => { type => 'integer' },
									amount          => { type => 'number' },
									flag            => { type => 'boolean' },
									day             => { type => 'string', format => 'date' },
									moment => { type => 'string', format => 'date-time' },
									hour            => { type => 'string', format => 'time' },
									text            => { type => 'string', maxLength => 20 },
									colorDescriptor => { type => 'string', maxLength => 306 },
									shortDescription => { type => 'string' },
									Big             => { type => 'string' },
									inner           => {
										type       => 'object',
										properties => {
											a                    => { type => 'string' },
											parentThingReference => {
												type       => 'object',
												properties => { number => { type => 'integer' } },
											},
										},
									},
									list => { type => 'array', items => $element },
									deep => {
										type  => 'array',
										items => {
											type       => 'object',
											properties => {
												b    => { type => 'string' },
												list => { type => 'array', items => $element },
											},
										},
									},
									_ext => {
										type       => 'object',
										properties => { more => $element },
									},
								},
							},
						},
					},
				},
			}
		]);
}

sub test_small_schema
{
	my $schema = small_schema();
	my $thing  = $schema->resource('SMA-LL', 'Things');
	is($thing->{key}, 'Small.Thing', 'found by endpoint, in any case');

	my @samples = (
		[ 'order', '{"text":"t","number":1,"Big":"B","_ext":{"more":{"a":"x"}}}',
			'{"Big":"B","number":1,"text":"t","_ext":{"more":{"a":"x"}}}' ],
		[ 'unknown and null', '{"number":1,"text":null,"Text":"x","inner":{"z":1,"a":"y"}}',
			'{"inner":{"a":"y"},"number":1}' ],
		[ 'fields of the store',
			'{"id":"x","number":1,"_etag":"1","_lastModifiedDate":"y","link":{}}',
			'{"number":1}' ],
		[ 'empty objects and scopes', '{"number":1,"inner":{"a":null},"_ext":{"more":{}}}',
			'{"number":1}' ],
		[ 'arrays without content', '{"number":1,"list":[{}],"deep":[]}', '{"number":1}' ],
		[ 'nested arrays', '{"number":1,"deep":[{"list":[]},{"b":"x","list":[{}]}]}',
			'{"deep":[{},{"b":"x","list":[{}]}],"number":1}' ],
		[ 'numbers', '{"number":"+7","amount":12.50}', '{"amount":12.5,"number":7}' ],
		[ 'rounding', '{"number":1e1,"amount":"999.994"}', '{"amount":999.99,"number":10}' ],
		[ 'booleans', '{"number":1,"flag":"False"}', '{"flag":false,"number":1}' ],
		[ 'boolean digit', '{"number":1,"flag":1}', '{"flag":true,"number":1}' ],
		[ 'dates', '{"number":1,"day":"1/31/2025","moment":"2025-01-31T01:00:00+02:00"}',
			'{"day":"2025-01-31","moment":"2025-01-30T23:00:00Z","number":1}' ],
		[ 'times', '{"number":1,"hour":"08:30:00"}', '{"hour":"08:30:00","number":1}' ],
		[ 'blanks', '{"number":1,"text":" t ","shortDescription":" s "}',
			'{"number":1,"shortDescription":"s","text":" t "}' ],
		[ 'strings', '{"number":1,"text":"\u0001\t\"\\\/\ud83d\ude00"}',
			'{"number":1,"text":"\u0001\t\"\\\\/' . "\x{1F600}" . '"}' ],
	);
	foreach my $sample (@samples)
	{
		my ($name, $in, $out) = @$sample;
		is(canonical_text($schema, $thing, $in), $out, $name);
		is(canonical_text($schema, $thing, $out), $out, "$name, again");
	}
	is(
		canonical_text(
			$schema, $thing,
			'{"number":1,"colorDescriptor":"URI://x#RED"}',
			descriptors => { 'uri://x#red' => 'uri://x#Red' }),
		'{"colorDescriptor":"uri://x#Red","number":1}',
		'descriptors come back in their stored case');

	my ($body, $added) =
	  returned_body('{ "id": "u", "b" : 1.50, "a": [ ], "_etag":"3", "_lastModifiedDate":"d"}');
	is($body, '{"b":1.50,"a":[]}', 'a returned body keeps its order and spelling');
	is_deeply($added, { id => 'u', _etag => '3', _lastModifiedDate => 'd' }, 'the added fields');
	ok(!eval { returned_body('{"b":1,"id":"u","_etag":"3","_lastModifiedDate":"d"}') },
		'id must be first');

	my $text = '{"number":"7","colorDescriptor":"URI://x#RED",'
	  . '"inner":{"parentThingReference":{"number":5.0}}}';
	my @ids = (document_ids($schema, $thing, $text), reference_ids($schema, $thing, $text));
	is_deeply(
		[ map { $_->{name} } @ids ],
		[
			'SmallThing$.number=7', 'SmallColorDescriptor$.descriptor=uri://x#red',
			'SmallThing$.number=5'
		],
		'identities of a document and of its references');

	my $wrong = '{"text":"012345678901234567890","amount":1234,"x":1}';
	is(
		join(' ', validate($schema, $thing, $wrong)),
		'$.number: missing $.amount: too many digits $.text: too long $.x: unknown',
		'the validator sees errors');

	my @tables = tables($schema);
	is_deeply(
		[ map { "$_->{pg_schema}.$_->{name}" } @tables ],
		[qw(small.thing more.thingextension small.thingdeep small.thingdeeplist small.thinglist)],
		'tables');
	is_deeply($tables[3]{key}, [qw(thing_documentid deepordinal ordinal)],
		'key of a nested collection');
	is_deeply(
		[ map { $_->{name} } grep { $_->{kind} eq 'reference' } @{ $tables[0]{columns} } ],
		['innerparentthing_documentid'],
		'a reference in an inlined object');
	return;
}

sub test_counts
{
	my ($schema) = @_;
	my $counts = $schema->counts;

	is($counts->{identity_paths}, 629,  'identity paths');
	is($counts->{references},     352,  'document references');
	is($counts->{descriptors},    597,  'descriptor references');
	is($counts->{query_paths},    1390, 'query paths');
	is($counts->{query_through_reference}, 540, 'query paths through references');
	is(scalar $schema->resources, 387, 'resources');

	my @order = $schema->load_order;
	is(scalar @order, 387, 'all are in the load order');
	my %position;
	$position{ $order[$_]{key} } = $_ foreach 0 .. $#order;
	my %cut = map { ("$_->[0] $_->[1]" => 1) } $schema->cycles;
	my @wrong;
	foreach my $resource (@order)
	{
		foreach my $ref (@{ $resource->{references} })
		{
			next if $ref->{is_abstract} || $cut{"$resource->{key} $ref->{path}"};
			my $target = $schema->target($ref);
			push @wrong, "$resource->{key} $ref->{path}"
			  if $position{ $target->{key} } >= $position{ $resource->{key} };
		}
	}
	is("@wrong", '', 'targets come first in the load order');
	note "cycle cut: @$_" foreach $schema->cycles;

	# The rule that lower-cases identity values goes by the path's name.
	my @odd;
	foreach my $resource ($schema->resources)
	{
		foreach my $path (@{ $resource->{identity} })
		{
			my $is_descriptor = $schema->descriptor_of($resource, $path) ? 1 : 0;
			my $is_called_so  = $path =~ /Descriptor\z/                  ? 1 : 0;
			push @odd, "$resource->{key} $path" if $is_descriptor != $is_called_so;
		}
	}
	is("@odd", '', 'identity paths that end in Descriptor are the descriptors');
	return;
}

sub test_tables
{
	my ($schema) = @_;
	my @tables = tables($schema);

	is(scalar @tables, 559, 'resource tables');
	is(scalar(member_tables($schema)), 2, 'member tables');
	is(join(', ', collisions($schema)), '', 'no collisions');

	my %table = map { $_->{full_name} => $_ } @tables;
	my %at = (
		SchoolCategory                        => '$.schoolCategories[*]',
		InterventionInterventionPrescription  => '$.interventionPrescriptions[*]',
		SchoolAddressPeriod                   => '$.addresses[*].periods[*]',
		EvaluationElementRatingLevel          => '$.ratingLevels[*]',
		ContactExtensionAddress               => '$.addresses[*]._ext.sample',
		ContactExtensionAddressSchoolDistrict => '$.addresses[*]._ext.sample.schoolDistricts[*]',
	);
	is($table{$_} && $table{$_}{path}, $at{$_}, $_) foreach sort keys %at;
	is_deeply($table{ContactExtensionAddress}{key}, [qw(contact_documentid ordinal)],
		'an extension row has the key of the row it extends');
	is_deeply($table{ContactExtensionAddressSchoolDistrict}{key},
		[qw(contact_documentid addressordinal ordinal)],
		'a collection below it hangs on it');
	return;
}

# Writes the list in mind: each reference must find what came before.
sub test_documents
{
	my ($schema) = @_;

	foreach my $opt ([ plain => {} ], [ spiced => { spice => 1, seed => 3 } ])
	{
		my ($name, $args) = @$opt;
		my $generator = Dms::Generate->new(schema => $schema, %$args);
		my @entries   = $generator->all;

		my @skipped = map { $_->{key} } $generator->skipped;
		note scalar(@entries) . " documents, " . scalar(@skipped) . " resources skipped";
		is("@skipped", '', "$name: no resource is skipped");
		is(scalar(grep { $_->{kind} eq 'full' } @entries), 387, "$name: full documents");
		is(join("\n", problems($schema, $generator, @entries)),
			'', "$name: valid, and all references resolve");
		is(join(' ', incomplete($schema, $generator)), '', "$name: full documents are full");

		my $again = Dms::Generate->new(schema => $schema, %$args);
		is(texts($again, $again->all), texts($generator, @entries), "$name: the same again");
	}

	test_validator_sees($schema);

	my $minimal = Dms::Generate->new(schema => $schema);
	$minimal->minimal($_) foreach $schema->load_order;
	is(join("\n", problems($schema, $minimal, $minimal->entries)), '', 'minimal documents');

	my $many  = Dms::Generate->new(schema => $schema);
	my @types = map { $schema->resource('ed-fi', $_) }
	  qw(students studentSchoolAssociations sections grades);
	$many->many($_, 30, fresh_references => 1) foreach @types;
	is(join("\n", problems($schema, $many, $many->entries)),
		'', 'many documents of one resource');
	return;
}

# The verdicts above mean something only if the validator can say no.
sub test_validator_sees
{
	my ($schema) = @_;
	my $generator = Dms::Generate->new(schema => $schema);
	my $resource  = $schema->resource('ed-fi', 'bellSchedules');
	my $verdict   = sub {
		my ($change) = @_;
		my $text     = $generator->json($generator->full($resource)->{document});
		my $document = JSON::PP->new->decode($text);
		$change->($document);
		return join(' ', validate($schema, $resource, $generator->json($document)));
	};

	like($verdict->(sub { $_[0]{classPeriods}[1]{classPeriodReference}{schoolId}++ }),
		qr/schoolId: differs from/, 'the validator sees a broken equality constraint');
	like($verdict->(sub { $_[0]{classPeriods}[1] = $_[0]{classPeriods}[0] }),
		qr/two equal references/, '... equal references');
	like($verdict->(sub { $_[0]{gradeLevels}[1] = $_[0]{gradeLevels}[0] }),
		qr/two equal elements/, '... equal elements');
	like($verdict->(sub { delete $_[0]{schoolReference}{schoolId} }),
		qr/schoolReference\.schoolId: missing/, '... an incomplete reference');
	like($verdict->(sub { $_[0]{bellScheduleName} = ' x' }),
		qr/does not match the pattern/, '... a pattern');
	return;
}

sub texts
{
	my ($generator, @entries) = @_;
	return join("\n", map { $generator->json($_->{document}) } @entries);
}

sub problems
{
	my ($schema, $generator, @entries) = @_;
	my (%known, @problems);

	foreach my $entry (@entries)
	{
		my $resource = $schema->resource($entry->{project}, $entry->{resource});
		my $text = $generator->json($entry->{document});
		push @problems, document_problems($schema, $resource, $text, \%known);
		foreach my $id (document_ids($schema, $resource, $text))
		{
			push @problems, "$resource->{key}: $id->{name} is there already"
			  if $known{ $id->{uuid} }++;
		}
	}
	return @problems;
}

sub document_problems
{
	my ($schema, $resource, $text, $known) = @_;

	my @problems = validate($schema, $resource, $text);
	push @problems, map { "$_->{path} does not resolve: $_->{name}" }
	  grep { !$known->{ $_->{uuid} } } reference_ids($schema, $resource, $text);

	my $canonical = canonical_text($schema, $resource, $text);
	push @problems, 'the canonical form changes when taken twice'
	  if canonical_text($schema, $resource, $canonical) ne $canonical;
	return map { "$resource->{key}: $_" } @problems;
}

# Every path of the schema must be there, twice for each array.
sub incomplete
{
	my ($schema, $generator) = @_;
	my @missing;

	foreach my $resource ($schema->resources)
	{
		my $check;
		$check = sub {
			my ($node, $data, $path) = @_;

			if (!defined $data) { push @missing, "$resource->{key} $path" }
			elsif ($node->{type} eq 'object')
			{
				$check->($node->{properties}{$_}, $data->{$_}, "$path.$_")
				  foreach sort keys %{ $node->{properties} };
			}
			elsif ($node->{type} eq 'array')
			{
				push @missing, "$resource->{key} $path second element" if @$data < 2;
				$check->($node->{items}, $_, "${path}[*]") foreach @$data;
			}
		};
		$check->($resource->{schema}, $generator->full($resource)->{document}, '$');
		undef $check;    # it holds itself
	}
	return @missing;
}

sub test_variants
{
	my ($schema) = @_;
	my $generator = Dms::Generate->new(schema => $schema);
	my @entries = $generator->all;

	my %known;
	foreach my $entry (@entries)
	{
		my $resource = $schema->resource($entry->{project}, $entry->{resource});
		$known{ $_->{uuid} } = 1 foreach document_ids($schema, $resource, $entry->{document});
	}

	my (@problems, %count, %arrays);
	foreach my $entry (grep { $_->{kind} eq 'full' } @entries)
	{
		my $resource = $schema->resource($entry->{project}, $entry->{resource});
		my $before   = canonical_text($schema, $resource, $entry->{document});
		my ($id)     = document_ids($schema, $resource, $entry->{document});
		foreach my $variant ($generator->variants($entry))
		{
			$count{ $variant->{kind} }++;
			$arrays{"$resource->{key} $variant->{array}"}++ if $variant->{kind} eq 'added';
			foreach my $needed (@{ $variant->{needs} })
			{
				my $type = $schema->resource($needed->{project}, $needed->{resource});
				my $text = $generator->json($needed->{document});
				push @problems, document_problems($schema, $type, $text, \%known);
				$known{ $_->{uuid} } = 1 foreach document_ids($schema, $type, $text);
			}
			my $text = $generator->json($variant->{document});
			my $name = "$resource->{key}: $variant->{kind} at $variant->{path}";
			push @problems, document_problems($schema, $resource, $text, \%known);
			push @problems, "$name changes nothing"
			  if canonical_text($schema, $resource, $text) eq $before;
			push @problems, "$name changes the identity"
			  if (document_ids($schema, $resource, $text))[0]{uuid} ne $id->{uuid};
		}
	}
	is(join("\n", @problems), '', 'variants are valid, differ and keep the identity');
	note "$_: $count{$_}" foreach sort keys %count;

	my $collections = grep { $_->{kind} eq 'collection' } tables($schema);
	is(scalar keys %arrays, $collections, 'an element is added to each collection');
	return;
}

# Documents that people really send, as far as the files are there.
sub test_real_documents
{
	my ($schema) = @_;

	foreach my $file (qw(descriptor-documents.ndjson sample-documents.ndjson))
	{
	  SKIP:
		{
			skip "there is no $file in APISCHEMA_DIR", 1 unless -e "$dir/$file";
			open(my $fh, '<:encoding(UTF-8)', "$dir/$file") or die "could not open $file: $!";
			my (@problems, $count);
			while (my $line = <$fh>)
			{
				my $data = parse_json($line);
				my $resource = $schema->resource("$data->{project}", "$data->{resourceName}");
				my $canonical = eval { canonical_text($schema, $resource, $data->{document}) };
				$count++;
				push @problems, "$resource->{key}: " . ($@ || 'not stable')
				  unless defined $canonical
				  && canonical_text($schema, $resource, $canonical) eq $canonical;
			}
			close $fh;
			is(join("\n", @problems), '', "canonical form of $count documents of $file");
		}
	}
	return;
}
