# Dms::Naming
#
# Tables and columns that follow from the storage rules for a set of ApiSchema
# files, derived independently of the extension, to compare with the catalogs of
# a deployed store.

package Dms::Naming;

use strict;
use warnings;

use Carp qw(croak);
use Digest::SHA qw(sha256_hex);
use Exporter qw(import);

our @EXPORT_OK = qw(tables member_tables columns collisions singular physical_name);

=head1 FUNCTIONS

=over

=item tables($schema)

The resource tables, by resource and in the order of the walk.  Each is a hash:

  pg_schema, name    physical names (lower case, at most 63 bytes)
  full_name          the unshortened PascalCase name
  resource           key of the resource ("Ed-Fi.School")
  path               JSON path of the rows: '$', '$.addresses[*]', '$._ext.sample'
  kind               'root', 'collection', 'extension'
  parent             the table that its key refers to (undef for a root)
  key                [column, ...]
  columns            [{name, full_name, type, nullable, path, kind}]
                     kind: key, scalar, reference, descriptor; key columns
                     have no path

Descriptor types share one core table and have none of their own.

=cut

sub tables
{
	my ($schema) = @_;

	return map { _resource_tables($schema, $_) }
	  grep { !$_->{is_descriptor} } $schema->resources;
}

=item member_tables($schema)

The membership tables of the abstract resources, with C<pg_schema>, C<name>.

=cut

sub member_tables
{
	my ($schema) = @_;

	return map { { pg_schema => $_->{pg_schema}, name => physical_name("$_->{name}_Member") } }
	  $schema->abstracts;
}

=item columns($schema)

The same as a flat list of [schema, table, column, type, nullable, path].

=cut

sub columns
{
	my ($schema) = @_;

	my @rows;
	foreach my $table (tables($schema))
	{
		push @rows,
		  map { [ @$table{qw(pg_schema name)}, @$_{qw(name type nullable path)} ] }
		  @{ $table->{columns} };
	}
	return @rows;
}

=item collisions($schema)

Names that two things claim, as text; empty when all is well.

=cut

sub collisions
{
	my ($schema) = @_;
	my (%tables, @collisions);

	foreach my $table (tables($schema), member_tables($schema))
	{
		my $name = "$table->{pg_schema}.$table->{name}";
		push @collisions, "table $name" if $tables{$name}++;
		my %columns;
		foreach my $column (@{ $table->{columns} || [] })
		{
			push @collisions, "column $name.$column->{name}" if $columns{ $column->{name} }++;
		}
	}
	return @collisions;
}

#
# Walking
#

sub _resource_tables
{
	my ($schema, $resource) = @_;

	my $root = {
		pg_schema => $resource->{pg_schema},
		full_name => $resource->{root_override} || $resource->{name},
		resource  => $resource->{key},
		path      => '$',
		kind      => 'root',
		ordinals  => [],
		columns   => [ _key_column('DocumentId', 'bigint') ],
	};
	my $walk = {
		schema   => $schema,
		resource => $resource,
		root     => $root,
		tables   => [$root],
		used     => {},
	};
	_walk_object($walk, $root, $resource->{schema}, '$', '', 1);
	_finish_table($_) foreach @{ $walk->{tables} };

	my @lost = grep { !$walk->{used}{$_} } sort keys %{ $resource->{name_overrides} };
	croak "$resource->{key}: overrides that match nothing: @lost" if @lost;
	return @{ $walk->{tables} };
}

# $prefix collects the names of inlined objects; $required is true if all of them
# are required, up to the row's own object.
sub _walk_object
{
	my ($walk, $table, $node, $path, $prefix, $required) = @_;
	my %required = map { $_ => 1 } @{ $node->{required} || [] };

	foreach my $name (sort keys %{ $node->{properties} })
	{
		my $child = $node->{properties}{$name};
		my $at    = "$path.$name";
		my $there = $required && $required{$name};

		if ($name eq '_ext')
		{
			_walk_extension($walk, $table, $_, $child->{properties}{$_}, "$at.$_")
			  foreach sort keys %{ $child->{properties} };
		}
		elsif ($child->{type} eq 'array')
		{
			_walk_array($walk, $table, $child, $at, $name);
		}
		elsif ($walk->{resource}{reference_at}{$at})
		{
			(my $base = $name) =~ s/Reference\z//;
			_add_column($walk, $table, $at, $prefix . ucfirst $base, '_DocumentId', 'bigint',
				$there, 'reference');
		}
		elsif ($child->{type} eq 'object')
		{
			_walk_object($walk, $table, $child, $at, $prefix . ucfirst $name, $there);
		}
		elsif ($walk->{resource}{descriptor_at}{$at})
		{
			_add_column($walk, $table, $at, $prefix . ucfirst $name, '_DescriptorId', 'bigint',
				$there, 'descriptor');
		}
		else
		{
			_add_column($walk, $table, $at, $prefix . ucfirst $name, '',
				_type($walk->{resource}, $child, $at),
				$there, 'scalar');
		}
	}
	return;
}

sub _walk_array
{
	my ($walk, $parent, $node, $path, $name) = @_;
	my $items = "${path}[*]";

	my $segment  = ucfirst singular($name);
	my $override = $walk->{resource}{name_overrides}{$items};
	if (defined $override)
	{
		$walk->{used}{$items} = 1;
		$segment = _without_overlap($parent->{full_name}, $override);
	}

	# School + schoolCategories is SchoolCategory, not SchoolSchoolCategory.  A
	# collection of bare references keeps both parts.
	my $full_name = $parent->{full_name} . $segment;
	my $resource  = $walk->{resource}{name};
	$full_name = $segment
	  if !defined $override
	  && $parent->{kind} eq 'root'
	  && $segment =~ /^\Q$resource\E./
	  && !_is_bare_reference($walk, $node->{items}, $items);

	my $table = {
		pg_schema => $parent->{pg_schema},
		full_name => $full_name,
		resource  => $walk->{resource}{key},
		path      => $items,
		kind      => 'collection',
		parent    => $parent,
		segment   => $segment,
		ordinals  => [ @{ $parent->{ordinals} }, $segment ],
	};
	$table->{columns} = [ _row_key($walk, $table) ];
	push @{ $walk->{tables} }, $table;
	_walk_object($walk, $table, $node->{items}, $items, '', 1);
	return;
}

# The extension of a row has that row's key, and is in the extension's schema:
# SchoolExtension, ContactExtensionAddress.
sub _walk_extension
{
	my ($walk, $extended, $endpoint, $node, $path) = @_;
	my $root = $walk->{root};

	(my $pg_schema = lc $endpoint) =~ s/[^a-z0-9]//g;
	my $name = $walk->{resource}{extension_root_override}{$endpoint}
	  || "$root->{full_name}Extension";
	if ($extended != $root)
	{
		my $rest = $extended->{full_name};
		$rest =~ s/^\Q$root->{full_name}\E//;
		$name .= $rest;
	}

	my $table = {
		pg_schema => $pg_schema,
		full_name => $name,
		resource  => $walk->{resource}{key},
		path      => $path,
		kind      => 'extension',
		parent    => $extended,
		ordinals  => $extended->{ordinals},
	};
	$table->{columns} =
	  $extended == $root
	  ? [ _key_column('DocumentId', 'bigint') ]
	  : [ _row_key($walk, $table) ];
	push @{ $walk->{tables} }, $table;
	_walk_object($walk, $table, $node, $path, '', 1);
	return;
}

# The key: the root's document id, the ordinals of the parent rows, its own ordinal.
sub _row_key
{
	my ($walk, $table) = @_;

	my @above = @{ $table->{ordinals} };
	pop @above;
	return (
		_key_column("$walk->{root}{full_name}_DocumentId", 'bigint'),
		(map { _key_column("${_}Ordinal", 'integer') } @above),
		_key_column('Ordinal', 'integer'));
}

sub _key_column
{
	my ($name, $type) = @_;

	return {
		full_name => $name,
		type      => $type,
		nullable  => 0,
		path      => undef,
		kind      => 'key',
	};
}

sub _add_column
{
	my ($walk, $table, $path, $name, $suffix, $type, $required, $kind) = @_;

	my $override = $walk->{resource}{name_overrides}{$path};
	if (defined $override)
	{
		$walk->{used}{$path} = 1;
		$name = $override;
	}
	push @{ $table->{columns} },
	  {
		full_name => "$name$suffix",
		type      => $type,
		nullable  => $required ? 0 : 1,
		path      => $path,
		kind      => $kind,
	  };
	return;
}

sub _finish_table
{
	my ($table) = @_;

	$table->{name} = physical_name($table->{full_name});
	$_->{name} = physical_name($_->{full_name}) foreach @{ $table->{columns} };
	$table->{key} = [ map { $_->{name} } grep { $_->{kind} eq 'key' } @{ $table->{columns} } ];
	return;
}

sub _is_bare_reference
{
	my ($walk, $node, $path) = @_;

	my @names = keys %{ $node->{properties} };
	return @names == 1 && exists $walk->{resource}{reference_at}{"$path.$names[0]"};
}

sub _type
{
	my ($resource, $node, $path) = @_;
	my $type   = $node->{type};
	my $format = $node->{format} || '';

	return 'boolean' if $type eq 'boolean';
	if ($type eq 'integer')
	{
		my $is_big =
			 $format eq 'int64'
		  || ($node->{maximum} || 0) > 2147483647
		  || ($node->{minimum} || 0) < -2147483648;
		return $is_big ? 'bigint' : 'integer';
	}
	if ($type eq 'number')
	{
		my ($digits, $places) = @{ $resource->{decimals}{$path} || [] };
		return 'numeric' unless defined $digits;
		return sprintf('numeric(%d,%d)', $digits, $places || 0);
	}
	return 'date'                           if $format eq 'date';
	return 'time(0) without time zone'      if $format eq 'time';
	return 'timestamp(0) with time zone'    if $format eq 'date-time';
	return defined $node->{maxLength} ? "character varying($node->{maxLength})" : 'text';
}

#
# Names
#

=item singular($name)

Singular of the last word of a camelCase name.

=cut

my %IRREGULAR = (
	uses      => 'use',
	diagnoses => 'diagnosis',
	analyses  => 'analysis',
	media     => 'medium',
);

sub singular
{
	my ($name) = @_;

	my ($head, $word) = $name =~ /^(.*?)([A-Z]?[^A-Z]*)\z/;
	if (my $known = $IRREGULAR{ lc $word })
	{
		$known = ucfirst $known if $word =~ /^[A-Z]/;
		return "$head$known";
	}
	return "$head$word" if $word =~ s/ies\z/y/;
	return "$head$word" if $word =~ s/(ss|us|ch|sh|x|z)es\z/$1/;
	$word =~ s/s\z// unless $word =~ /(?:ss|us)\z/;
	return "$head$word";
}

# An override of an array may begin with the end of the parent's name:
# EvaluationElement + ElementRatingLevel is EvaluationElementRatingLevel.
sub _without_overlap
{
	my ($parent, $segment) = @_;

	my @words = $parent =~ /([A-Z][^A-Z]*)/g;
	while (@words)
	{
		my $suffix = join('', @words);
		return $1 if $segment =~ /^\Q$suffix\E([A-Z].*)\z/;
		shift @words;
	}
	return $segment;
}

=item physical_name($name)

The name in the catalogs: lower case; a longer name than 63 bytes keeps 52 and
ends with 10 hex digits of the SHA-256 of the unshortened name.

=cut

sub physical_name
{
	my ($name) = @_;

	return lc $name if length $name <= 63;
	return lc(substr($name, 0, 52)) . '_' . substr(sha256_hex($name), 0, 10);
}

=back

=cut

1;
