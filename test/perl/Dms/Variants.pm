# Dms::Variants
#
# Changed versions of generated documents, to test writes.

package Dms::Variants;

use strict;
use warnings;

=head1 FUNCTIONS

=over

=item variants($generator, $entry)

Changed versions of a document, each still valid.  A list of

  kind      'root_scalar'     a scalar of the root that is no key
            'scalar'          a scalar inside a collection
            'swapped'         the first two elements of a collection swapped
            'removed'         the last element of a collection removed
            'added'           a new element at the end of a collection
            'descriptor_case' all descriptors in other case
  path      the changed value, array or '$', with indices
  array     JSON path of the collection (`$.addresses[*]`), where one changed
  scope     JSON path of the object whose row holds the changed scalar: the
            collection, or an extension of it (`$.addresses[*]._ext.sample`)
  document  the new body
  needs     entries that must be written before it (new targets and descriptors)

There is one for each place of the document where its kind is possible;
resources without such a place have none of that kind.

=cut

sub variants
{
	my ($generator, $entry) = @_;
	my $resource = $generator->{schema}->resource($entry->{project}, $entry->{resource});

	my @places;
	_collect_places($resource, $resource->{schema}, $entry->{document}, '$', '$', '$', undef,
		\@places);

	my @variants = _scalar_variants($generator, $resource, $entry, @places);
	foreach my $place (grep { $_->{is_array} } @places)
	{
		push @variants, _array_variants($generator, $resource, $entry, $place);
	}
	push @variants, _case_variant($generator, $resource, $entry);
	return @variants;
}

# Collects all scalars and arrays that a document has.
sub _collect_places
{
	my ($resource, $schema, $data, $wild, $path, $scope, $array, $places) = @_;

	if ($schema->{type} eq 'object')
	{
		return if $resource->{reference_at}{$wild};
		$scope = $wild if $wild =~ /\._ext\.[^.]+\z/;
		_collect_places($resource, $schema->{properties}{$_}, $data->{$_}, "$wild.$_",
			"$path.$_", $scope, $array, $places)
		  foreach grep { exists $data->{$_} } sort keys %{ $schema->{properties} };
		return;
	}
	my $place = {
		wild   => $wild,
		path   => $path,
		scope  => $scope,
		array  => $array,
		schema => $schema,
		data   => $data,
	};
	if ($schema->{type} eq 'array')
	{
		@$place{qw(is_array array)} = (1, "$wild\[*]");
		_collect_places($resource, $schema->{items}, $data->[$_], "$wild\[*]",
			"$path\[$_]", "$wild\[*]", "$wild\[*]", $places)
		  foreach 0 .. $#$data;
	}
	push @$places, $place;
	return;
}

# Returns one changed scalar for each scope, and one for each array.  A scalar that
# makes elements distinct is changed only if there is no other.
sub _scalar_variants
{
	my ($generator, $resource, $entry, @places) = @_;

	my %fixed = map { $_ => 1 } @{ $resource->{identity} },
	  map { @$_ } @{ $resource->{equality} };
	my %key = map { $_ => 1 } map { @{ $_->{paths} } } @{ $resource->{uniqueness} };
	my %done;
	my @variants;
	foreach my $place (sort { !!$key{ $a->{wild} } <=> !!$key{ $b->{wild} } } @places)
	{
		next if $place->{is_array} || $fixed{ $place->{wild} };
		next if $resource->{descriptor_at}{ $place->{wild} };
		next if $resource->{is_descriptor} && $place->{wild} =~ /\.(?:namespace|codeValue)\z/;
		next if $done{ $place->{scope} };

		my $value = _other_value($generator, $resource, $place);
		next unless defined $value;
		$done{ $place->{scope} } = 1;
		push @variants,
		  {
			kind     => $place->{array} ? 'scalar' : 'root_scalar',
			path     => $place->{path},
			array    => $place->{array},
			scope    => $place->{scope},
			document => _with($entry->{document}, $place->{path}, sub { $value }),
			needs    => [],
		  };
	}
	return @variants;
}

# Returns another value than the current one, or undef if there is none.
sub _other_value
{
	my ($generator, $resource, $place) = @_;
	my $values = $generator->{values};

	my ($leaf) = $place->{wild} =~ /([^.]+)\z/;
	foreach (1 .. 3)
	{
		my $value = $values->fresh($values->domain($resource, $place->{wild}), $leaf);
		return $value if $value ne $place->{data};
	}
	return;
}

sub _array_variants
{
	my ($generator, $resource, $entry, $place) = @_;
	my @variants;

	my $add = sub {
		my ($kind, $change) = @_;
		push @variants,
		  {
			kind     => $kind,
			path     => $place->{path},
			array    => $place->{array},
			scope    => $place->{array},
			document => _with($entry->{document}, $place->{path}, $change),
			needs    => [],
		  };
	};
	if (@{ $place->{data} } > 1)
	{
		$add->('swapped', sub { my ($x, $y, @z) = @{ $_[0] }; [ $y, $x, @z ] });
		$add->('removed', sub { my @e = @{ $_[0] }; pop @e; \@e })
		  if @{ $place->{data} } > ($place->{schema}{minItems} || 0);
	}

	# The new element may need new targets.
	my $before = @{ $generator->{entries} };
	my $draft  = $generator->_draft(
		$resource,
		full    => 1,
		attempt => 0,
		preset  => $entry->{document},
		extra   => $place->{path});
	push @variants,
	  {
		kind     => 'added',
		path     => $place->{path},
		array    => $place->{array},
		scope    => $place->{array},
		document => Dms::Generate::_fill($draft->{tree}, $draft),
		needs    => [ @{ $generator->{entries} }[ $before .. $#{ $generator->{entries} } ] ],
	  };
	return @variants;
}

sub _case_variant
{
	my ($generator, $resource, $entry) = @_;

	my $flip = sub { (my $text = $_[0]) =~ tr/a-zA-Z/A-Za-z/; $text };
	my $document = $entry->{document};
	if ($resource->{is_descriptor})
	{
		$document = _with($document, "\$.$_", $flip) foreach qw(namespace codeValue);
	}
	my $changed = $resource->{is_descriptor};
	foreach my $path (_leaf_paths($resource->{schema}, $document, '$', '$'))
	{
		next unless $generator->{schema}->descriptor_of($resource, $path->[0]);
		$document = _with($document, $path->[1], $flip);
		$changed = 1;
	}
	return unless $changed;
	return {
		kind     => 'descriptor_case',
		path     => '$',
		array    => undef,
		scope    => '$',
		document => $document,
		needs    => [],
	};
}

# [path without indices, path with indices] of all scalars.
sub _leaf_paths
{
	my ($schema, $data, $wild, $path) = @_;

	if ($schema->{type} eq 'object')
	{
		return map {
			_leaf_paths($schema->{properties}{$_}, $data->{$_}, "$wild.$_", "$path.$_")
		} sort keys %$data;
	}
	if ($schema->{type} eq 'array')
	{
		return map {
			_leaf_paths($schema->{items}, $data->[$_], "$wild\[*]", "$path\[$_]")
		} 0 .. $#$data;
	}
	return [ $wild, $path ];
}

# Returns a copy of the data with the value at one path (with indices) changed.
# Only the nodes on the path are copied.
sub _with
{
	my ($data, $path, $change) = @_;

	my (undef, @steps) = split /[.\[\]]+/, $path;
	my $walk;
	$walk = sub {
		my ($here, @rest) = @_;

		return $change->($here) unless @rest;
		my $step = shift @rest;
		if (ref $here eq 'ARRAY')
		{
			my @copy = @$here;
			$copy[$step] = $walk->($copy[$step], @rest);
			return \@copy;
		}
		return { %$here, $step => $walk->($here->{$step}, @rest) };
	};
	my $copy = $walk->($data, @steps);
	undef $walk;    # it refers to itself
	return $copy;
}

=back

=cut

1;
