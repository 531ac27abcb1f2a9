# Dms::ApiSchema
#
# Reads ApiSchema files for the tests, independently of the extension's own
# reader.  Nothing here is shared with the C code, so that an error on one side
# shows up as a difference between the two.
#
# One object holds the merged model of a set of files.  Resource extensions
# (isResourceExtension, commonExtensionOverrides) are folded into the core
# resource they extend, so a caller sees one resource with one schema tree.

package Dms::ApiSchema;

use strict;
use warnings;

use Carp qw(croak);
use JSON::PP ();
use List::Util qw(first);

# Keys that hold lists of plain paths; an extension's lists are appended.
my @PATH_LISTS =
  qw(booleanJsonPaths numericJsonPaths dateJsonPaths dateTimeJsonPaths);

=head1 METHODS

=over

=item Dms::ApiSchema->new(dir => $dir), ->new(files => [...]), ->new(schemas => [...])

With a directory, every F<*.json> file in it that has a C<projectSchema> is
read; C<schemas> are files already read.  Dies when a file cannot be read or
two files claim one project.

=cut

sub new
{
	my ($class, %args) = @_;

	my @files = @{ $args{files} || [] };
	if (defined $args{dir})
	{
		opendir(my $dh, $args{dir}) or croak "could not open $args{dir}: $!";
		push @files, map { "$args{dir}/$_" } sort grep { /\.json\z/ } readdir $dh;
		closedir $dh;
	}
	croak "no ApiSchema files given" unless @files || $args{schemas};

	my $self = bless {
		projects  => {},    # projectName -> project
		resources => {},    # "Project.Resource" -> resource
		abstracts => {},    # "Project.Resource" -> abstract resource
		raw       => {},    # projectName -> projectSchema as read
	}, $class;

	my @schemas = grep { ref $_->{projectSchema} } @{ $args{schemas} || [] },
	  map { read_json($_) } @files;
	croak "none of the files is an ApiSchema file" unless @schemas;

	$self->_add_project($_->{projectSchema}) foreach @schemas;
	$self->_add_resources($_) foreach $self->projects;
	$self->_merge_extensions($_) foreach $self->projects;
	$self->_finish($_) foreach $self->resources;
	$self->_link_subclasses;

	return $self;
}

=item read_json($file)

A JSON file as Perl data.

=cut

sub read_json
{
	my ($file) = @_;

	open(my $fh, '<:raw', $file) or croak "could not open $file: $!";
	local $/ = undef;
	my $text = <$fh>;
	close $fh;
	return JSON::PP->new->utf8->decode($text);
}

=item $s->projects

The projects, core first, then the extensions by endpoint name: hashes with
C<name>, C<endpoint>, C<schema> (the physical schema), C<version>,
C<is_extension>.

=cut

sub projects
{
	my ($self) = @_;

	return sort {
			 $a->{is_extension} <=> $b->{is_extension}
		  || $a->{endpoint} cmp $b->{endpoint}
	} values %{ $self->{projects} };
}

=item $s->resources

All resources that can be stored (resource extensions are part of the resource
they extend), by project and name.  Each is a hash:

  key, project, project_endpoint, pg_schema, name, endpoint
  is_descriptor, is_school_year, allow_identity_updates, is_subclass
  super        {project, name, identity_path}, for a subclass
  schema       the merged JSON schema
  identity     [path, ...]
  references   [{key, path, property, project, name, is_abstract,
                 is_identity, extension,
                 members => [{target, path, property, type}]}]
  descriptors  [{key, path, project, name, extension}]
  equality     [[path, path], ...]
  uniqueness   [{array => '$.a[*]', paths => [absolute path, ...]}]
  decimals     {path => [total digits or undef, decimal places or undef]}
  query        {field => [{path, type}]}
  root_override, name_overrides {path => name}
  extensions   [project endpoint, ...]  the projects that extend it
  extension_root_override {project endpoint => table name}

=cut

sub resources
{
	my ($self) = @_;

	return map { $self->{resources}{$_} } sort keys %{ $self->{resources} };
}

=item $s->resource($project, $resource)

One resource; both may be names or endpoint names, in any case.

=cut

sub resource
{
	my ($self, $project, $name) = @_;

	my $exact = $self->{resources}{"$project.$name"};
	return $exact if $exact;
	return $self->{lookup}{ lc "$project/$name" };
}

=item $s->abstract($project, $name)

An abstract resource: C<key>, C<project>, C<name>, C<identity>, C<subclasses>
(resources, by project and name).

=cut

sub abstract
{
	my ($self, $project, $name) = @_;

	return $self->{abstracts}{"$project.$name"};
}

sub abstracts
{
	my ($self) = @_;

	return map { $self->{abstracts}{$_} } sort keys %{ $self->{abstracts} };
}

=item $s->target($reference)

What a reference or descriptor reference points to: a resource or an abstract.

=cut

sub target
{
	my ($self, $ref) = @_;

	my $key = "$ref->{project}.$ref->{name}";
	return $self->{resources}{$key} || $self->{abstracts}{$key};
}

sub _add_project
{
	my ($self, $p) = @_;

	my $name = $p->{projectName};
	croak "project $name is described by two files"
	  if exists $self->{projects}{$name};

	(my $pg_schema = lc $p->{projectEndpointName}) =~ s/[^a-z0-9]//g;
	$self->{raw}{$name}      = $p;
	$self->{projects}{$name} = {
		name         => $name,
		endpoint     => $p->{projectEndpointName},
		schema       => $pg_schema,
		version      => $p->{projectVersion},
		is_extension => $p->{isExtensionProject} ? 1 : 0,
	};
	return;
}

sub _add_resources
{
	my ($self, $project) = @_;
	my $raw = $self->{raw}{ $project->{name} };

	foreach my $name (keys %{ $raw->{abstractResources} || {} })
	{
		$self->{abstracts}{"$project->{name}.$name"} = {
			key         => "$project->{name}.$name",
			project     => $project->{name},
			name        => $name,
			pg_schema   => $project->{schema},
			is_abstract => 1,
			identity    => $raw->{abstractResources}{$name}{identityJsonPaths},
			subclasses  => [],
		};
	}
	foreach my $endpoint (keys %{ $raw->{resourceSchemas} })
	{
		my $r = $raw->{resourceSchemas}{$endpoint};
		next if $r->{isResourceExtension};

		my $resource = {
			key              => "$project->{name}.$r->{resourceName}",
			project          => $project->{name},
			project_endpoint => $project->{endpoint},
			pg_schema        => $project->{schema},
			name             => $r->{resourceName},
			endpoint         => $endpoint,
			is_descriptor    => $r->{isDescriptor}         ? 1 : 0,
			is_school_year   => $r->{isSchoolYearEnumeration} ? 1 : 0,
			is_subclass      => $r->{isSubclass}           ? 1 : 0,
			allow_identity_updates => $r->{allowIdentityUpdates} ? 1 : 0,
			identity       => $r->{identityJsonPaths} || [],
			schema         => _clone($r->{jsonSchemaForInsert}),
			query          => $r->{queryFieldMapping} || {},
			references     => [],
			descriptors    => [],
			equality       => [],
			uniqueness     => [],
			decimals       => {},
			name_overrides => {},
			extensions     => [],
			root_override  => $r->{relational}{rootTableNameOverride},
			extension_root_override => {},
			map { $_ => [] } @PATH_LISTS,
		};
		if ($r->{isSubclass})
		{
			$resource->{super} = {
				project       => $r->{superclassProjectName},
				name          => $r->{superclassResourceName},
				type          => $r->{subclassType},
				identity_path => $r->{superclassIdentityJsonPath},
			};
		}
		$self->{resources}{ $resource->{key} } = $resource;
		_add_metadata($resource, $r, undef);
	}
	return;
}

# Adds the metadata that both resources and extensions of resources have.
sub _add_metadata
{
	my ($resource, $r, $extension) = @_;

	foreach my $key (sort keys %{ $r->{documentPathsMapping} || {} })
	{
		my $m = $r->{documentPathsMapping}{$key};
		next unless $m->{isReference};
		if ($m->{isDescriptor})
		{
			push @{ $resource->{descriptors} },
			  {
				key       => $key,
				path      => $m->{path},
				project   => $m->{projectName},
				name      => $m->{resourceName},
				extension => $extension,
			  };
			next;
		}
		push @{ $resource->{references} },
		  _read_reference($resource, $key, $m, $extension);
	}

	push @{ $resource->{equality} },
	  map { [ $_->{sourceJsonPath}, $_->{targetJsonPath} ] }
	  @{ $r->{equalityConstraints} || [] };

	_add_uniqueness($resource, '$', $_)
	  foreach @{ $r->{arrayUniquenessConstraints} || [] };

	$resource->{decimals}{ $_->{path} } =
	  [ $_->{totalDigits}, $_->{decimalPlaces} ]
	  foreach @{ $r->{decimalPropertyValidationInfos} || [] };

	push @{ $resource->{$_} }, @{ $r->{$_} || [] } foreach @PATH_LISTS;

	my $overrides = $r->{relational}{nameOverrides} || {};
	$resource->{name_overrides}{$_} = $overrides->{$_} foreach keys %$overrides;
	return;
}

sub _read_reference
{
	my ($resource, $key, $m, $extension) = @_;

	my @members;
	my %object;
	foreach my $pair (@{ $m->{referenceJsonPaths} })
	{
		my ($object, $property) =
		  $pair->{referenceJsonPath} =~ /^(.*)\.([^.]+)\z/;
		$object{$object} = 1;
		push @members,
		  {
			target   => $pair->{identityJsonPath},
			path     => $pair->{referenceJsonPath},
			property => $property,
			type     => $pair->{type},
		  };
	}
	croak "$resource->{key}: reference $key is spread over several objects"
	  unless keys %object == 1;

	my ($path) = keys %object;
	my ($property) = $path =~ /([^.]+)\z/;
	my %identity = map { $_ => 1 } @{ $resource->{identity} };
	return {
		key         => $key,
		path        => $path,
		property    => $property,
		project     => $m->{projectName},
		name        => $m->{resourceName},
		extension   => $extension,
		is_identity => scalar(grep { $identity{ $_->{path} } } @members) ? 1 : 0,
		members     => \@members,
	};
}

# Makes nested constraints absolute, with the array that they apply to.
# Extension files repeat the core constraint of a common they extend.
sub _add_uniqueness
{
	my ($resource, $base, $constraint) = @_;

	if (my @paths = @{ $constraint->{paths} || [] })
	{
		s/^\$/$base/ foreach @paths;
		my ($array) = $paths[0] =~ /^(.*\[\*\])/;
		my $known = join("\n", $array, sort @paths);
		push @{ $resource->{uniqueness} }, { array => $array, paths => \@paths }
		  unless $resource->{uniqueness_seen}{$known}++;
	}
	_add_uniqueness($resource, $_->{basePath}, $_)
	  foreach @{ $constraint->{nestedConstraints} || [] };
	return;
}

sub _merge_extensions
{
	my ($self, $project) = @_;
	my $schemas = $self->{raw}{ $project->{name} }{resourceSchemas};

	foreach my $endpoint (sort keys %$schemas)
	{
		my $r = $schemas->{$endpoint};
		next unless $r->{isResourceExtension};

		# The extended resource has the same endpoint, in the core project.
		my $core = first
		{
			$_->{endpoint} eq $endpoint && !$self->{projects}{ $_->{project} }{is_extension}
		}
		$self->resources;
		croak "$project->{name}.$r->{resourceName} extends nothing" unless $core;

		push @{ $core->{extensions} }, $project->{endpoint};
		$core->{extension_root_override}{ $project->{endpoint} } =
		  $r->{relational}{rootTableNameOverride};
		_merge_schema($core->{schema}, $r->{jsonSchemaForInsert});
		foreach my $override (@{ $r->{commonExtensionOverrides} || [] })
		{
			foreach my $location (@{ $override->{insertionLocations} })
			{
				my $place = _schema_at($core->{schema}, $location)
				  or croak "$core->{key}: no place $location";
				_merge_schema($place,
					{ properties => { _ext => $override->{schemaFragment} } });
			}
		}
		_add_metadata($core, $r, $project->{endpoint});
	}
	return;
}

# "$.properties.addresses.items" is a path in the schema, not in a document.
sub _schema_at
{
	my ($schema, $location) = @_;

	foreach my $step (split /\./, $location)
	{
		next if $step eq '$';
		return unless ref $schema eq 'HASH';
		$schema = $schema->{$step};
	}
	return $schema;
}

# Adds missing properties, at any depth.  `required` of the extension file is
# ignored at places that the core describes: it names properties below _ext,
# which must not become required in the core.
sub _merge_schema
{
	my ($into, $from) = @_;

	if ($from->{items})
	{
		_merge_schema($into->{items}, $from->{items});
	}
	foreach my $name (keys %{ $from->{properties} || {} })
	{
		my $there = $into->{properties}{$name};
		if ($there)
		{
			_merge_schema($there, $from->{properties}{$name});
		}
		else
		{
			$into->{properties}{$name} = _clone($from->{properties}{$name});
		}
	}
	return;
}

sub _clone
{
	my ($data) = @_;

	return { map { $_ => _clone($data->{$_}) } keys %$data } if ref $data eq 'HASH';
	return [ map { _clone($_) } @$data ] if ref $data eq 'ARRAY';
	return $data;
}

sub _finish
{
	my ($self, $resource) = @_;

	delete $resource->{uniqueness_seen};
	foreach my $ref (@{ $resource->{references} })
	{
		my $target = $self->target($ref)
		  or croak "$resource->{key}: $ref->{path} points to nothing";
		$ref->{is_abstract} = $target->{is_abstract} ? 1 : 0;
	}
	foreach my $desc (@{ $resource->{descriptors} })
	{
		$self->target($desc)
		  or croak "$resource->{key}: $desc->{path} points to nothing";
	}
	$resource->{reference_at} =
	  { map { $_->{path} => $_ } @{ $resource->{references} } };
	$resource->{descriptor_at} =
	  { map { $_->{path} => $_ } @{ $resource->{descriptors} } };

	foreach my $p (lc $resource->{project}, lc $resource->{project_endpoint})
	{
		$self->{lookup}{ "$p/" . lc $_ } = $resource
		  foreach ($resource->{name}, $resource->{endpoint});
	}
	return;
}

sub _link_subclasses
{
	my ($self) = @_;

	foreach my $resource (grep { $_->{super} } $self->resources)
	{
		my $super =
		  $self->abstract($resource->{super}{project}, $resource->{super}{name})
		  or croak "$resource->{key}: no superclass $resource->{super}{name}";
		push @{ $super->{subclasses} }, $resource;
	}
	return;
}

=item $s->node($resource, $path)

The JSON schema of one path (C<[*]> goes into an array), or undef.

=cut

sub node
{
	my ($self, $resource, $path) = @_;

	my $schema = $resource->{schema};
	foreach my $step (split /\./, $path)
	{
		next if $step eq '$';
		my $is_array = ($step =~ s/\[\*\]\z//);
		$schema = $schema->{properties}{$step} or return;
		$schema = $schema->{items} if $is_array;
	}
	return $schema;
}

=item $s->descriptor_of($resource, $path)

The descriptor resource whose URI stands at this path, also when the path is a
member of a reference and the descriptor belongs to the target's identity.

=cut

sub descriptor_of
{
	my ($self, $resource, $path) = @_;

	return $self->{descriptor_of}{ $resource->{key} }{$path}
	  if exists $self->{descriptor_of}{ $resource->{key} }{$path};

	my $found;
	my $own = $resource->{descriptor_at}{$path};
	$found = $self->target($own) if $own;
	foreach my $ref (@{ $resource->{references} })
	{
		last if $found;
		my $member = first { $_->{path} eq $path } @{ $ref->{members} } or next;
		my $target = $self->target($ref);
		$target = $target->{subclasses}[0] if $target->{is_abstract};
		$found = $self->descriptor_of($target, $member->{target});
	}
	return $self->{descriptor_of}{ $resource->{key} }{$path} = $found;
}

=item $s->load_order

Resources in an order in which the targets of their references come first
(descriptors before everything else).  References that make a cycle, self
references included, are left out of the order and listed by C<cycles>.

=cut

sub load_order
{
	my ($self) = @_;

	$self->_sort_resources unless $self->{load_order};
	return @{ $self->{load_order} };
}

=item $s->cycles

What load_order could not satisfy: [resource key, reference path, target key].

=cut

sub cycles
{
	my ($self) = @_;

	$self->_sort_resources unless $self->{load_order};
	return @{ $self->{cycles} };
}

# Depth first.  Identity and required references are followed before optional
# ones, so that a cycle is cut at a reference that a document need not have.
sub _sort_resources
{
	my ($self) = @_;
	my (%state, @order, @cycles);

	my $visit;
	$visit = sub {
		my ($resource) = @_;

		$state{ $resource->{key} } = 'open';
		foreach my $ref ($self->_references_by_need($resource))
		{
			my $target = $self->target($ref);
			my @targets =
			  $target->{is_abstract} ? @{ $target->{subclasses} } : ($target);
			foreach my $t (@targets)
			{
				my $state = $state{ $t->{key} } || 'new';
				push @cycles, [ $resource->{key}, $ref->{path}, $t->{key} ]
				  if $state eq 'open';
				$visit->($t) if $state eq 'new';
			}
		}
		$state{ $resource->{key} } = 'done';
		push @order, $resource;
	};
	foreach my $resource ((grep { $_->{is_descriptor} } $self->resources),
		(grep { !$_->{is_descriptor} } $self->resources))
	{
		$visit->($resource) unless $state{ $resource->{key} };
	}
	undef $visit;    # it refers to itself

	$self->{load_order} = \@order;
	$self->{cycles}     = \@cycles;
	return;
}

sub _references_by_need
{
	my ($self, $resource) = @_;

	my %need;
	foreach my $ref (@{ $resource->{references} })
	{
		$need{ $ref->{path} } =
			$ref->{is_identity}                             ? 0
		  : $self->is_required($resource, $ref->{path}) ? 1
		  :                                                   2;
	}
	return
	  sort { $need{ $a->{path} } <=> $need{ $b->{path} } || $a->{path} cmp $b->{path} }
	  @{ $resource->{references} };
}

=item $s->is_required($resource, $path)

True when every step down to the path is required.

=cut

sub is_required
{
	my ($self, $resource, $path) = @_;

	my $schema = $resource->{schema};
	foreach my $step (split /\./, $path)
	{
		next if $step eq '$';
		my $is_array = ($step =~ s/\[\*\]\z//);
		return 0 unless grep { $_ eq $step } @{ $schema->{required} || [] };
		$schema = $schema->{properties}{$step} or return 0;
		$schema = $schema->{items} if $is_array;
	}
	return 1;
}

=item $s->counts

How many things the files describe, file by file as they are written (an
extension's entries count where they stand):

  identity_paths   entries of identityJsonPaths of every resource schema
  references       entries of documentPathsMapping that are document references
  descriptors      entries of documentPathsMapping that are descriptor references
  query_paths      paths of queryFieldMapping other than $.id, of all resources
                   that are no descriptors (descriptor endpoints all have the
                   same six fields; they would add 1,380 in the real files)
  query_through_reference  those query paths that end inside a reference object

=cut

sub counts
{
	my ($self) = @_;
	my %n = map { $_ => 0 }
	  qw(identity_paths references descriptors query_paths query_through_reference
	  resources extensions descriptor_resources abstracts);

	$n{abstracts} = scalar $self->abstracts;
	foreach my $raw (values %{ $self->{raw} })
	{
		foreach my $r (values %{ $raw->{resourceSchemas} })
		{
			my @mappings = grep { $_->{isReference} } values %{ $r->{documentPathsMapping} };

			$n{ $r->{isResourceExtension} ? 'extensions' : 'resources' }++;
			$n{descriptor_resources}++ if $r->{isDescriptor};
			$n{identity_paths} += @{ $r->{identityJsonPaths} };
			$n{references}  += grep { !$_->{isDescriptor} } @mappings;
			$n{descriptors} += grep { $_->{isDescriptor} } @mappings;
			next if $r->{isDescriptor};

			my %member = map { $_->{referenceJsonPath} => 1 }
			  map { @{ $_->{referenceJsonPaths} || [] } } @mappings;
			my @paths = grep { $_ ne '$.id' }
			  map { $_->{path} } map { @$_ } values %{ $r->{queryFieldMapping} || {} };
			$n{query_paths} += @paths;
			$n{query_through_reference} += grep { $member{$_} } @paths;
		}
	}
	return \%n;
}

=back

=cut

1;
