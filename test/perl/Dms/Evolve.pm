package Dms::Evolve;

# Schemas that change at random, for tests of dms.migrate_schema().
#
#	my $schema = Dms::Evolve::begin;
#	my $files = Dms::Evolve::files($schema);	# the ApiSchema file, as text
#	my @documents = Dms::Evolve::documents($schema, 5);	# [endpoint, body], five per resource
#	my ($next, $renames) = Dms::Evolve::change($schema);
#
# A schema has the project M, with an abstract resource Base and resources that refer to
# those before them in the alphabet.  Random numbers are those of rand(), so srand()
# repeats a test.

use strict;
use warnings;

use JSON::PP ();

my $json = JSON::PP->new->utf8->canonical->allow_nonref;

# Types of values: their JSON schema, the name of the type in mappings, and a value.
my %types = (
	text5    => [ { type => 'string', maxLength => 5 },   'string', sub { 't' . int rand 90 } ],
	text30   => [ { type => 'string', maxLength => 30 },  'string', sub { ('true', '17', '-4.50', 'some words', '2020-01-02')[ rand 5 ] } ],
	text300  => [ { type => 'string', maxLength => 300 }, 'string', sub { 'x' x (1 + int rand 60) } ],
	text     => [ { type => 'string' },                   'string', sub { "any 'text' \\ " . int rand 9 } ],
	int      => [ { type => 'integer' },                  'number', sub { int rand 200 } ],
	int64    => [ { type => 'integer', format => 'int64' }, 'number', sub { rand() < 0.5 ? int rand 200 : 10_000_000_000 } ],
	decimal5 => [ { type => 'number' },                   'number', sub { 0 + sprintf '%.2f', rand 900 }, [ 5, 2 ] ],
	decimal9 => [ { type => 'number' },                   'number', sub { 0 + sprintf '%.2f', rand 90000 }, [ 9, 2 ] ],
	decimal12 => [ { type => 'number' },                  'number', sub { 0 + sprintf '%.4f', rand 90000 }, [ 12, 4 ] ],
	bool     => [ { type => 'boolean' },                  'boolean', sub { rand() < 0.5 ? JSON::PP::true : JSON::PP::false } ],
	date     => [ { type => 'string', format => 'date' }, 'date', sub { sprintf '2020-0%d-0%d', 1 + rand 9, 1 + rand 9 } ],
	time     => [ { type => 'string', format => 'time' }, 'time', sub { sprintf '0%d:30:00', rand 9 } ],
	datetime => [ { type => 'string', format => 'date-time' }, 'date-time', sub { sprintf '2020-01-0%dT0%d:00:00Z', 1 + rand 9, rand 9 } ],
);
my @types = sort keys %types;
my @names = qw(size label note kind);
my @resources = qw(Ant Bee Cat Dog Elk);
my $serial = 0;

sub copy { return $json->decode($json->encode($_[0])) }
sub pick { return $_[ rand @_ ] }
sub maybe { return rand() < $_[0] }

# --- schemas -----------------------------------------------------------------

# Returns a schema with some resources.
sub begin
{
	my $schema = { resources => {}, abstract => maybe(0.6) ? 1 : 0 };

	$serial = 0;
	foreach my $name (@resources[ 0 .. 2 + rand 3 ])
	{
		$schema->{resources}{$name} = new_resource($schema, $name);
	}
	settle($schema);
	return $schema;
}

# Returns a new resource.
sub new_resource
{
	my ($schema, $name) = @_;
	my $resource = { id => pick(qw(text30 int int64)), references => {}, properties => {}, collections => {}, queries => {} };

	if ($name lt 'Cat' && $schema->{abstract} && maybe(0.6))
	{
		$resource->{subclass} = 1;
		$resource->{id} = 'int';
	}
	$resource->{properties}{$_} = new_property() foreach grep { maybe(0.6) } @names;
	$resource->{collections}{$_} = new_collection(1) foreach grep { maybe(0.5) } qw(parts tags);
	$resource->{references}{$_} = new_reference($schema, $name) foreach grep { maybe(0.6) } qw(near far);
	delete $resource->{references}{$_} foreach grep { !$resource->{references}{$_} } keys %{ $resource->{references} };
	return $resource;
}

sub new_property
{
	return { type => pick(@types), required => maybe(0.3) ? 1 : 0, query => maybe(0.4) ? 1 : 0 };
}

sub new_collection
{
	my ($nest) = @_;
	my $collection = { properties => {}, collections => {}, key => 'name' };

	$collection->{properties}{name} = { type => pick(qw(text30 int date)), required => 1 };
	$collection->{properties}{$_} = new_property() foreach grep { maybe(0.4) } @names;
	$collection->{collections}{bits} = new_collection(0) if $nest && maybe(0.3);
	return $collection;
}

# Returns a reference to an earlier resource, or to the abstract one; undef if there is none.
sub new_reference
{
	my ($schema, $name) = @_;
	my @targets = grep { $_ lt $name } sort keys %{ $schema->{resources} };

	push @targets, 'Base' if subclasses($schema) && $name gt 'Bee';
	return undef unless @targets;
	return { to => pick(@targets), identity => maybe(0.3) ? 1 : 0, required => maybe(0.3) ? 1 : 0 };
}

sub subclasses
{
	my ($schema) = @_;

	return $schema->{abstract} ? grep { $schema->{resources}{$_}{subclass} } sort keys %{ $schema->{resources} } : ();
}

# --- changes -----------------------------------------------------------------

# Returns a changed copy of a schema, and renames as text.
sub change
{
	my ($before) = @_;
	my $schema = copy($before);
	my %renames;

	foreach (1 .. 1 + rand 3)
	{
		my @there = sort keys %{ $schema->{resources} };
		my $name = pick(@there);
		my $resource = $schema->{resources}{$name};
		my $way = int rand 14;

		if ($way == 0)
		{
			my $new = pick(@resources);
			$schema->{resources}{$new} ||= new_resource($schema, $new);
		}
		elsif ($way == 1 && @there > 2)
		{
			delete $schema->{resources}{$name};
			foreach my $other (values %{ $schema->{resources} })
			{
				delete $other->{references}{$_} foreach grep { $other->{references}{$_}{to} eq $name } keys %{ $other->{references} };
			}
		}
		elsif ($way == 2) { $resource->{mutable} = !$resource->{mutable} ? 1 : 0 }
		elsif ($way == 3 && !$resource->{subclass}) { $resource->{id} = pick(qw(text30 int int64)) }
		elsif ($way == 4 && $name lt 'Cat')
		{
			$schema->{abstract} = 1;
			$resource->{subclass} = !$resource->{subclass} ? 1 : 0;
			$resource->{id} = 'int';
		}
		elsif ($way == 5)
		{
			my $reference = new_reference($schema, $name) or next;
			$resource->{references}{ pick(qw(near far)) } = $reference;
		}
		elsif ($way == 6)
		{
			my $which = pick(sort keys %{ $resource->{references} }) or next;
			if (maybe(0.4)) { delete $resource->{references}{$which} }
			else
			{
				my $flag = pick(qw(identity required));
				$resource->{references}{$which}{$flag} = !$resource->{references}{$which}{$flag} ? 1 : 0;
			}
		}
		elsif ($way == 7)
		{
			my $which = pick(qw(parts tags labels));
			if ($resource->{collections}{$which} && maybe(0.4)) { delete $resource->{collections}{$which} }
			else { $resource->{collections}{$which} ||= new_collection(1) }
		}
		elsif ($way == 8) { swap_names($resource) }
		elsif ($way == 9) { rename_one($before, $schema, $name, \%renames) }
		else { change_properties(scopes($resource)) }
	}
	settle($schema);
	return ($schema, $json->encode(\%renames));
}

# The places of a resource that have properties.
sub scopes
{
	my ($resource) = @_;
	my @all = ($resource);

	push @all, scopes($_) foreach map { $resource->{collections}{$_} } sort keys %{ $resource->{collections} };
	return @all;
}

# Changes a property of one of some scopes.
sub change_properties
{
	my $scope = pick(@_);
	my $name = pick(@names);
	my $property = $scope->{properties}{$name};

	if (!$property) { $scope->{properties}{$name} = new_property() }
	elsif (maybe(0.3)) { delete $scope->{properties}{$name} }
	elsif (maybe(0.6)) { $property->{type} = pick(@types) }
	else { $property->{required} = !$property->{required} ? 1 : 0 }
	$scope->{key} = pick(undef, 'name') if exists $scope->{key} && maybe(0.2);
	return;
}

# Lets two properties have the names of each other in the database, or gives the table
# another one.
sub swap_names
{
	my ($resource) = @_;
	my @there = sort keys %{ $resource->{properties} };

	if (maybe(0.3)) { $resource->{table} = pick(undef, 'Fox', 'Gnu') }
	elsif ($resource->{swapped}) { delete $resource->{swapped} }
	elsif (@there > 1) { $resource->{swapped} = [ @there[ 0, 1 ] ] }
	return;
}

# Renames a property, a collection or a resource, and says so.
sub rename_one
{
	my ($before, $schema, $name, $renames) = @_;
	my $resource = $schema->{resources}{$name};
	my $old = $before->{resources}{$name};
	my ($new) = grep { !$schema->{resources}{$_} && !$before->{resources}{$_} } @resources;
	my $table = lc($resource->{table} // $name);

	return if !$old || ($old->{table} // '') ne ($resource->{table} // '') || $resource->{swapped};
	if (maybe(0.5))
	{
		my $from = pick(grep { $old->{properties}{$_} } sort keys %{ $resource->{properties} }) or return;
		my $to = pick(grep { !$old->{properties}{$_} && !$resource->{properties}{$_} } @names) or return;
		$resource->{properties}{$to} = delete $resource->{properties}{$from};
		$renames->{"m.$table.$from"} = "m.$table.$to";
	}
	elsif ($resource->{collections}{parts} && $old->{collections}{parts} && !$resource->{collections}{shards})
	{
		$resource->{collections}{shards} = delete $resource->{collections}{parts};
		$renames->{"m.${table}part"} = "m.${table}shard";
	}
	return;
}

# Removes what a schema cannot have.
sub settle
{
	my ($schema) = @_;
	my @subclasses = subclasses($schema);

	foreach my $name (sort keys %{ $schema->{resources} })
	{
		my $resource = $schema->{resources}{$name};
		my $references = $resource->{references};

		$resource->{subclass} = 0 unless $schema->{abstract};
		if ($resource->{subclass})
		{
			$resource->{id} = 'int';
			$_->{identity} = 0 foreach values %$references;
		}
		foreach my $which (keys %$references)
		{
			my $to = $references->{$which}{to};
			delete $references->{$which} if $to eq 'Base' ? !@subclasses : !$schema->{resources}{$to};
		}
		delete $resource->{swapped} if grep { !$resource->{properties}{$_} } @{ $resource->{swapped} || [] };
	}
	$schema->{abstract} = 0 unless @subclasses;
	my %seen;
	foreach my $resource (map { $schema->{resources}{$_} } sort keys %{ $schema->{resources} })
	{
		delete $resource->{table} if $resource->{table} && $seen{ $resource->{table} }++;
	}
	return;
}

# --- files -------------------------------------------------------------------

# The identity of a resource: its paths, and the name and type of each in references.
sub identity
{
	my ($schema, $name) = @_;
	my $resource = $schema->{resources}{$name};
	my @identity = ({ path => '$.baseId', member => 'baseId', type => 'int' });

	return @identity if $name eq 'Base';
	@identity = ({ path => '$.' . lc($name) . 'Id', member => lc($name) . 'Id', type => $resource->{id} });
	foreach my $which (grep { $resource->{references}{$_}{identity} } sort keys %{ $resource->{references} })
	{
		push @identity, map { { path => "\$.${which}Reference.$_->{member}", member => $which . ucfirst $_->{member}, type => $_->{type} } }
		  identity($schema, $resource->{references}{$which}{to});
	}
	return @identity;
}

# Returns the ApiSchema file of a schema.
sub files
{
	my ($schema) = @_;
	my @there = sort keys %{ $schema->{resources} };

	return $json->encode(
		{
			apiSchemaVersion => '1.0.0',
			projectSchema => {
				projectName => 'M', projectEndpointName => 'm', projectVersion => '1.0.0', isExtensionProject => JSON::PP::false,
				description => 'A test.', abstractResources => $schema->{abstract} ? { Base => { identityJsonPaths => ['$.baseId'] } } : {},
				resourceNameMapping => { map { ($_ => lc($_) . 's') } @there },
				caseInsensitiveEndpointNameMapping => { map { (lc($_) . 's' => lc($_) . 's') } @there },
				resourceSchemas => { map { (lc($_) . 's' => resource_schema($schema, $_)) } @there } } });
}

sub resource_schema
{
	my ($schema, $name) = @_;
	my $resource = $schema->{resources}{$name};
	my @identity = identity($schema, $name);
	my $id = $identity[0];
	my (%mapping, %queries, @unique, @decimals);
	my $body = object_schema($resource, '$', \@unique, \@decimals);

	$body->{properties}{ $id->{member} } = $types{ $id->{type} }[0];
	push @{ $body->{required} }, $id->{member};
	$mapping{Id} = { isReference => JSON::PP::false, path => $id->{path}, type => $types{ $id->{type} }[1] };
	foreach my $property (sort keys %{ $resource->{properties} })
	{
		my $type = $types{ $resource->{properties}{$property}{type} }[1];
		$mapping{$property} = { isReference => JSON::PP::false, path => "\$.$property", type => $type };
		$queries{$property} = [ { path => "\$.$property", type => $type } ] if $resource->{properties}{$property}{query};
	}
	foreach my $which (sort keys %{ $resource->{references} })
	{
		my $reference = $resource->{references}{$which};
		my @members = identity($schema, $reference->{to});
		$body->{properties}{"${which}Reference"} = {
			type => 'object', additionalProperties => JSON::PP::false, required => [ map { $_->{member} } @members ],
			properties => { map { ($_->{member} => $types{ $_->{type} }[0]) } @members } };
		push @{ $body->{required} }, "${which}Reference" if $reference->{required} || $reference->{identity};
		$mapping{"$which reference"} = {
			isReference => JSON::PP::true, isDescriptor => JSON::PP::false, projectName => 'M', resourceName => $reference->{to},
			referenceJsonPaths => [
				map { { identityJsonPath => $_->{path}, referenceJsonPath => "\$.${which}Reference.$_->{member}", type => $types{ $_->{type} }[1] } }
				  @members ] };
	}
	my %relational;
	$relational{rootTableNameOverride} = $resource->{table} if $resource->{table};
	if (my ($one, $other) = @{ $resource->{swapped} || [] })
	{
		$relational{nameOverrides} = { "\$.$one" => ucfirst $other, "\$.$other" => ucfirst $one };
	}
	return {
		resourceName => $name, isDescriptor => JSON::PP::false, isResourceExtension => JSON::PP::false,
		isSchoolYearEnumeration => JSON::PP::false, isSubclass => $resource->{subclass} ? JSON::PP::true : JSON::PP::false,
		allowIdentityUpdates => $resource->{mutable} ? JSON::PP::true : JSON::PP::false,
		numericJsonPaths => [], booleanJsonPaths => [], dateJsonPaths => [], dateTimeJsonPaths => [], equalityConstraints => [],
		arrayUniquenessConstraints => \@unique, decimalPropertyValidationInfos => \@decimals,
		identityJsonPaths => [ map { $_->{path} } @identity ], documentPathsMapping => \%mapping,
		queryFieldMapping => { id => [ { path => '$.id', type => 'string' } ], %queries },
		jsonSchemaForInsert => { %$body, '$schema' => 'https://json-schema.org/draft/2020-12/schema', title => "M.$name" },
		(%relational ? (relational => \%relational) : ()),
		($resource->{subclass} ? (subclassType => 'domainEntity', superclassProjectName => 'M', superclassResourceName => 'Base',
				superclassIdentityJsonPath => '$.baseId') : ()) };
}

# The JSON schema of an object.
sub object_schema
{
	my ($scope, $path, $unique, $decimals) = @_;
	my %made = (type => 'object', additionalProperties => JSON::PP::false, properties => {}, required => []);

	foreach my $name (sort keys %{ $scope->{properties} })
	{
		my ($value, undef, undef, $digits) = @{ $types{ $scope->{properties}{$name}{type} } };
		$made{properties}{$name} = $value;
		push @{ $made{required} }, $name if $scope->{properties}{$name}{required};
		push @$decimals, { path => "$path.$name", totalDigits => $digits->[0], decimalPlaces => $digits->[1] } if $digits;
	}
	foreach my $name (sort keys %{ $scope->{collections} })
	{
		my $collection = $scope->{collections}{$name};
		$made{properties}{$name} = { type => 'array', items => object_schema($collection, "$path.$name\[*]", $unique, $decimals) };
		push @$unique, { paths => ["$path.$name\[*].$collection->{key}"] }
		  if $path eq '$' && $collection->{key} && $collection->{properties}{ $collection->{key} };
	}
	return \%made;
}

# --- documents ---------------------------------------------------------------

# Returns documents of all resources, each after those that it refers to: [endpoint, body].
sub documents
{
	my ($schema, $n) = @_;
	my (%made, @all);

	foreach my $name (sort keys %{ $schema->{resources} })
	{
		foreach (1 .. $n)
		{
			my $body = document($schema, $name, \%made) or next;
			push @{ $made{$name} }, $body;
			push @{ $made{Base} }, { baseId => $body->{ lc($name) . 'Id' } } if $schema->{resources}{$name}{subclass};
			push @all, [ lc($name) . 's', $json->encode($body) ];
		}
	}
	return @all;
}

# Returns a document; undef if there is nothing that it could refer to.
sub document
{
	my ($schema, $name, $made) = @_;
	my $resource = $schema->{resources}{$name};
	my $body = object($resource);

	$serial++;
	$body->{ lc($name) . 'Id' } = $resource->{id} eq 'text30' ? "k$serial" : $serial;
	foreach my $which (sort keys %{ $resource->{references} })
	{
		my $reference = $resource->{references}{$which};
		my $target = pick(@{ $made->{ $reference->{to} } || [] });
		my $needed = $reference->{required} || $reference->{identity};

		return undef if !$target && $needed;
		next if !$target || (!$needed && maybe(0.3));
		$body->{"${which}Reference"} = { map { ($_->{member} => value_at($target, $_->{path})) } identity($schema, $reference->{to}) };
	}
	return $body;
}

# The value of a document at a path.
sub value_at
{
	my ($body, $path) = @_;

	$body = $body->{$_} foreach split /\./, substr $path, 2;
	return $body;
}

# The values of an object.
sub object
{
	my ($scope) = @_;
	my %made;

	foreach my $name (sort keys %{ $scope->{properties} })
	{
		my $property = $scope->{properties}{$name};
		$made{$name} = $types{ $property->{type} }[2]->() if $property->{required} || maybe(0.6);
	}
	foreach my $name (sort keys %{ $scope->{collections} })
	{
		my $collection = $scope->{collections}{$name};
		my %seen;
		my @elements = grep { !$seen{ $json->encode([ $_->{name} ]) }++ } map { object($collection) } 1 .. rand 4;
		$made{$name} = \@elements if @elements;
	}
	return \%made;
}

1;
