# Dms::Generate
#
# Makes valid documents for every resource of a set of ApiSchema files: a
# "full" one with all properties, extensions included, and two elements in
# each array, and the smaller documents that those refer to.  The list that
# comes out is in an order in which every reference resolves.
#
# How it works.  The places of a document that hold a value are slots.  Slots
# that must be equal (equality constraints, one path that feeds two parts of a
# reference, equalities inside the target's identity) are joined into classes
# first.  Then each reference looks for a document that fits the values its
# classes already have, or makes one that does, and hands its identity back to
# the classes.  What is still open gets a fresh value that all slots of the
# class accept.  All choices follow counters, so a seed gives the same list
# always.

package Dms::Generate;

use strict;
use warnings;

use Carp qw(croak);
use JSON::PP ();
use List::Util qw(max min);
use POSIX qw(strftime);

# Variation runs out somewhere (a boolean, a year); give up clearly after this.
my $MAX_ATTEMPTS = 60;

my $DAY       = 86400;
my $FIRST_DAY = 1577836800;    # 2020-01-01

=head1 METHODS

=over

=item Dms::Generate->new(schema => $api_schema, ...)

  seed         a number; another seed gives other values (default 0)
  elements     elements of each array of a full document (default 2)
  spice        true: strings of full length with all that has to be escaped,
               numbers at the limits of their types
  descriptors  {"Project.Resource" => [document, ...]} to use first, before
               inventing any; they are part of the list when used

=cut

sub new
{
	my ($class, %args) = @_;

	my $self = bless {
		schema      => $args{schema} || croak("schema is missing"),
		seed        => $args{seed}     || 0,
		elements    => $args{elements} || 2,
		spice       => $args{spice}    || 0,
		given       => $args{descriptors} || {},
		entries     => [],    # in load order
		by_resource => {},    # resource key -> [entry, ...]
		taken       => {},    # identity -> entry; aliases included
		counter     => {},
		making      => {},
	}, $class;
	$self->_collect_domains;
	return $self;
}

=item $g->all

Makes a full document of every resource (once) and returns all entries so far:

  project, project_endpoint, resource, endpoint   names
  document                                        Perl data for JSON::PP
  kind       'full', 'minimal' or 'descriptor'
  identity   {path => value}

=cut

sub all
{
	my ($self) = @_;

	$self->full($_) foreach $self->{schema}->load_order;
	return @{ $self->{entries} };
}

=item $g->entries

The entries made so far, in load order.

=cut

sub entries
{
	my ($self) = @_;
	return @{ $self->{entries} };
}

=item $g->skipped

Resources without a full document; none after C<all>.

=cut

sub skipped
{
	my ($self) = @_;
	return grep { !$self->{full}{ $_->{key} } } $self->{schema}->resources;
}

=item $g->full($resource)

The entry of the full document of a resource; made when it is not there yet.

=cut

sub full
{
	my ($self, $resource) = @_;

	return $self->{full}{ $resource->{key} } ||=
	  $self->_make($resource, full => 1);
}

=item $g->minimal($resource)

A new entry with a new identity and only what is required.

=cut

sub minimal
{
	my ($self, $resource) = @_;

	return $self->_make($resource);
}

=item $g->many($resource, $count, full => 0, fresh_references => 0)

Entries with distinct identities.  With C<fresh_references> each gets targets
of its own for the references in its identity, as far as they can vary.

=cut

sub many
{
	my ($self, $resource, $count, %opt) = @_;

	return map { $self->_make($resource, %opt) } 1 .. $count;
}

=item $g->json($data)

JSON text (characters, not bytes) of a document, keys sorted.

=cut

sub json
{
	my ($self, $data) = @_;

	$self->{json} ||= JSON::PP->new->canonical->allow_bignum;
	return $self->{json}->encode($data);
}

=item $g->variants($entry)

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
	my ($self, $entry) = @_;
	my $resource = $self->{schema}->resource($entry->{project}, $entry->{resource});

	my @places;
	_collect_places($resource, $resource->{schema}, $entry->{document}, '$', '$', '$', undef,
		\@places);

	my @variants = $self->_scalar_variants($resource, $entry, @places);
	foreach my $place (grep { $_->{is_array} } @places)
	{
		push @variants, $self->_array_variants($resource, $entry, $place);
	}
	push @variants, $self->_case_variant($resource, $entry);
	return @variants;
}

# All scalars and arrays that a document really has.
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

# One changed scalar for each scope, and one for each array.  A scalar that
# makes elements distinct is changed only when there is no other.
sub _scalar_variants
{
	my ($self, $resource, $entry, @places) = @_;

	my %fixed = map { $_ => 1 } @{ $resource->{identity} }, map { @$_ } @{ $resource->{equality} };
	my %key = map { $_ => 1 } map { @{ $_->{paths} } } @{ $resource->{uniqueness} };
	my %done;
	my @variants;
	foreach my $place (sort { !!$key{ $a->{wild} } <=> !!$key{ $b->{wild} } } @places)
	{
		next if $place->{is_array} || $fixed{ $place->{wild} };
		next if $resource->{descriptor_at}{ $place->{wild} };
		next if $resource->{is_descriptor} && $place->{wild} =~ /\.(?:namespace|codeValue)\z/;
		next if $done{ $place->{scope} };

		my $value = $self->_other_value($resource, $place);
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

# A value other than the present one, or undef when there is none.
sub _other_value
{
	my ($self, $resource, $place) = @_;

	my ($leaf) = $place->{wild} =~ /([^.]+)\z/;
	foreach (1 .. 3)
	{
		my $value = $self->_fresh($self->_domain($resource, $place->{wild}), $leaf);
		return $value if $value ne $place->{data};
	}
	return;
}

sub _array_variants
{
	my ($self, $resource, $entry, $place) = @_;
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
	my $before = @{ $self->{entries} };
	my $draft  = $self->_draft(
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
		document => _fill($draft->{tree}, $draft),
		needs    => [ @{ $self->{entries} }[ $before .. $#{ $self->{entries} } ] ],
	  };
	return @variants;
}

sub _case_variant
{
	my ($self, $resource, $entry) = @_;

	my $flip = sub { (my $text = $_[0]) =~ tr/a-zA-Z/A-Za-z/; $text };
	my $document = $entry->{document};
	if ($resource->{is_descriptor})
	{
		$document = _with($document, "\$.$_", $flip) foreach qw(namespace codeValue);
	}
	my $changed = $resource->{is_descriptor};
	foreach my $path ($self->_leaf_paths($resource->{schema}, $document, '$', '$'))
	{
		next unless $self->{schema}->descriptor_of($resource, $path->[0]);
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
	my ($self, $schema, $data, $wild, $path) = @_;

	if ($schema->{type} eq 'object')
	{
		return map {
			$self->_leaf_paths($schema->{properties}{$_}, $data->{$_}, "$wild.$_", "$path.$_")
		} sort keys %$data;
	}
	if ($schema->{type} eq 'array')
	{
		return map {
			$self->_leaf_paths($schema->{items}, $data->[$_], "$wild\[*]", "$path\[$_]")
		} 0 .. $#$data;
	}
	return [ $wild, $path ];
}

# A copy of the data with the value at one path (with indices) changed.  Only
# the way down to it is copied.
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
	undef $walk;    # it holds itself
	return $copy;
}

#
# Making one document
#

sub _make
{
	my ($self, $resource, %opt) = @_;

	return $self->_make_descriptor($resource, %opt) if $resource->{is_descriptor};

	# A document that needs one of its own kind first could never be written.
	croak "$resource->{key} requires itself"
	  if !$opt{full} && $self->{making}{ $resource->{key} };
	local $self->{making}{ $resource->{key} } = 1 unless $opt{full};

	# Nothing can vary when the whole identity is given.
	my $given = $opt{given} || {};
	my $last  = keys %$given == @{ $resource->{identity} } ? 0 : $MAX_ATTEMPTS;
	foreach my $attempt (0 .. $last)
	{
		last if !$last && $self->{taken}{ $self->_keys($resource, $given)->[0] };
		my $draft = $self->_draft($resource, %opt, attempt => $attempt);
		my $entry = $self->_entry($resource, _fill($draft->{tree}, $draft), %opt);
		next if grep { $self->{taken}{$_} } @{ $entry->{keys} };

		$self->_add($entry);
		$self->{identity_targets}{"$resource->{key} $_->{ref}{path}"}{ $_->{target} } = 1
		  foreach grep { $_->{ref}{is_identity} } @{ $draft->{refs} };
		return $entry;
	}
	croak "$resource->{key}: no free identity for " . $self->json($given);
}

# Chooses values for all slots of a new document.
sub _draft
{
	my ($self, $resource, %opt) = @_;

	my $draft = {
		resource => $resource,
		full     => $opt{full},
		attempt  => $opt{attempt},
		fresh    => $opt{fresh_references},
		slots    => [],
		by_wild  => {},
		refs     => [],
		parent   => [],    # union-find over slot numbers
		value    => {},    # class -> value
		used     => {},    # reference path -> {identity => 1}
	};
	$draft->{extra} = $opt{extra};
	$draft->{tree} = $self->_expand($draft, $resource->{schema},
		{ wild => '$', path => '$', element => 0, have => $opt{preset} });
	$self->_join_equal($draft);

	_set($draft, $_, $_->{have}) foreach grep { defined $_->{have} } @{ $draft->{slots} };
	my $given = $opt{given} || {};
	foreach my $path (keys %$given)
	{
		my ($slot) = @{ $draft->{by_wild}{$path} };
		_set($draft, $slot, $given->{$path});
	}
	$self->_resolve($draft, $_) foreach $self->_reference_order($draft);
	$self->_choose($draft, $_) foreach @{ $draft->{slots} };
	return $draft;
}

# Document tree with slots as leaves.  $at says where we are: wild and path are
# the JSON path without and with indices, element is the index in the innermost
# array, have is what an earlier version of the document holds there.
sub _expand
{
	my ($self, $draft, $schema, $at) = @_;

	return _slot($draft, $schema, $at) unless $schema->{type} =~ /^(?:object|array)\z/;

	if ($schema->{type} eq 'object')
	{
		my %tree = map {
			$_ => $self->_expand(
				$draft,
				$schema->{properties}{$_},
				{
					wild    => "$at->{wild}.$_",
					path    => "$at->{path}.$_",
					element => $at->{element},
					have    => $at->{have} ? $at->{have}{$_} : undef,
				})
		} $self->_properties($draft, $schema, $at);

		my $ref = $draft->{resource}{reference_at}{ $at->{wild} };
		push @{ $draft->{refs} }, { ref => $ref, path => $at->{path}, tree => \%tree }
		  if $ref;
		return \%tree;
	}
	return [
		map {
			$self->_expand(
				$draft,
				$schema->{items},
				{
					wild    => "$at->{wild}\[*]",
					path    => "$at->{path}\[$_]",
					element => $_,
					have    => $at->{have} ? $at->{have}[$_] : undef,
				})
		} 0 .. $self->_array_size($draft, $schema, $at) - 1
	];
}

sub _array_size
{
	my ($self, $draft, $schema, $at) = @_;

	my $size =
		$at->{have} ? @{ $at->{have} }
	  : max(1, $schema->{minItems} || 0, $draft->{full} ? $self->{elements} : 0);
	$size++ if defined $draft->{extra} && $draft->{extra} eq $at->{path};
	return $size;
}

sub _properties
{
	my ($self, $draft, $schema, $at) = @_;
	my $resource = $draft->{resource};

	my @all = sort keys %{ $schema->{properties} };
	return grep { exists $at->{have}{$_} } @all if $at->{have};

	# A reference is all or nothing, whatever `required` says inside it.
	return @all if $draft->{full} || $resource->{reference_at}{ $at->{wild} };

	my %wanted = map { $_ => 1 } @{ $schema->{required} || [] };
	foreach my $path (@{ $resource->{identity} })
	{
		$wanted{$1} = 1 if $path =~ /^\Q$at->{wild}\E\.([^.\[]+)/;
	}

	# An object that only optional properties could fill would count as absent,
	# so a required one without required properties gets all of them.
	my @names = grep { $wanted{$_} } @all;
	return @names ? @names : @all;
}

sub _slot
{
	my ($draft, $schema, $at) = @_;

	my $slot = { %$at, number => scalar @{ $draft->{slots} }, schema => $schema };
	push @{ $draft->{slots} },  $slot;
	push @{ $draft->{parent} }, $slot->{number};
	push @{ $draft->{by_wild}{ $at->{wild} } }, $slot;
	return $slot;
}

sub _class
{
	my ($draft, $slot) = @_;

	my $n = $slot->{number};
	$n = $draft->{parent}[$n] while $draft->{parent}[$n] != $n;
	return $n;
}

sub _join
{
	my ($draft, @slots) = @_;

	my $first = _class($draft, shift @slots);
	$draft->{parent}[ _class($draft, $_) ] = $first foreach @slots;
	return;
}

# An equality constraint joins every value at one path with every value at the
# other, when both are there.
sub _join_equal
{
	my ($self, $draft) = @_;

	foreach my $pair (@{ $draft->{resource}{equality} })
	{
		my ($left, $right) = map { $draft->{by_wild}{$_} || [] } @$pair;
		_join($draft, @$left, @$right) if @$left && @$right;
	}
	foreach my $r (@{ $draft->{refs} })
	{
		my %slot = map { $_->{target} => $r->{tree}{ $_->{property} } }
		  @{ $r->{ref}{members} };
		my $target = $self->{schema}->target($r->{ref});
		_join($draft, map { $slot{$_} } @$_)
		  foreach $self->_identity_equalities($target);
	}
	return;
}

# Groups of identity paths of a resource that always have one value, because a
# constraint says so here or deeper in the chain of identities.
sub _identity_equalities
{
	my ($self, $target) = @_;

	return if $target->{is_abstract};
	$self->{equalities}{ $target->{key} } ||= do
	{
		my %identity = map { $_ => 1 } @{ $target->{identity} };
		my %group = map { $_ => $_ } @{ $target->{identity} };
		my $unite = sub {
			my ($from, $to) = map { $group{$_} } @_;
			$_ = $to foreach grep { $_ eq $from } values %group;
		};

		foreach my $pair (@{ $target->{equality} })
		{
			$unite->(@$pair) if $identity{ $pair->[0] } && $identity{ $pair->[1] };
		}
		foreach my $ref (grep { $_->{is_identity} } @{ $target->{references} })
		{
			my %path = map { $_->{target} => $_->{path} } @{ $ref->{members} };
			foreach my $equal ($self->_identity_equalities($self->{schema}->target($ref)))
			{
				my ($first, @rest) = map { $path{$_} } @$equal;
				$unite->($_, $first) foreach @rest;
			}
		}
		my %groups;
		push @{ $groups{ $group{$_} } }, $_ foreach @{ $target->{identity} };
		[ grep { @$_ > 1 } map { $groups{$_} } sort keys %groups ];
	};
	return @{ $self->{equalities}{ $target->{key} } };
}

sub _set
{
	my ($draft, $slot, $value) = @_;

	my $class = _class($draft, $slot);
	my $old   = $draft->{value}{$class};
	croak "$draft->{resource}{key}: $slot->{path} cannot be both $old and $value"
	  if defined $old && lc $old ne lc $value;
	$draft->{value}{$class} = $value unless defined $old;
	return;
}

sub _get
{
	my ($draft, $slot) = @_;
	return $draft->{value}{ _class($draft, $slot) };
}

#
# References
#

# References that are settled come first, so that others keep clear of their
# targets.  A value that a concrete type must give has to be chosen before an
# abstract reference to the same value takes any type that comes.
sub _reference_order
{
	my ($self, $draft) = @_;

	my (%weight, %open);
	foreach my $r (@{ $draft->{refs} })
	{
		$open{ $r->{path} } =
		  (grep { !defined _get($draft, $_) } values %{ $r->{tree} }) ? 1 : 0;
		my @abstract =
		  grep { $self->_is_abstract_origin($draft->{resource}, $_->{path}) }
		  @{ $r->{ref}{members} };
		$weight{ $r->{path} } = @abstract;
	}
	return sort {
			 $open{ $a->{path} } <=> $open{ $b->{path} }
		  || $weight{ $a->{path} } <=> $weight{ $b->{path} }
		  || $b->{ref}{is_identity} <=> $a->{ref}{is_identity}
		  || @{ $b->{ref}{members} } <=> @{ $a->{ref}{members} }
		  || $a->{path} cmp $b->{path}
	} @{ $draft->{refs} };
}

sub _is_abstract_origin
{
	my ($self, $resource, $path) = @_;

	foreach my $ref (@{ $resource->{references} })
	{
		foreach my $member (grep { $_->{path} eq $path } @{ $ref->{members} })
		{
			return 1 if $ref->{is_abstract};
			return 1
			  if $self->_is_abstract_origin($self->{schema}->target($ref),
				$member->{target});
		}
	}
	return 0;
}

sub _resolve
{
	my ($self, $draft, $r) = @_;

	my $ref = $r->{ref};
	my %partial;
	foreach my $member (@{ $ref->{members} })
	{
		my $value = _get($draft, $r->{tree}{ $member->{property} });
		$partial{ $member->{target} } = $value if defined $value;
	}

	my $entry = $self->_find_or_make($draft, $r, \%partial);
	$r->{target} = $entry->{keys}[0];
	$draft->{used}{ $ref->{path} }{ $r->{target} } = 1;
	$draft->{used_anywhere}{ $r->{target} } = 1;

	my $identity =
	  $ref->{is_abstract} ? $entry->{super_identity} : $entry->{identity};
	_set($draft, $r->{tree}{ $_->{property} }, $identity->{ $_->{target} })
	  foreach @{ $ref->{members} };
	return;
}

# Two elements of an array need different targets.  Two references of one
# document should have different ones too, as far as possible: a mix-up of the
# two would stay unseen otherwise.
sub _find_or_make
{
	my ($self, $draft, $r, $partial) = @_;
	my $ref    = $r->{ref};
	my %avoid  = %{ $draft->{used}{ $ref->{path} } || {} };
	my %prefer = $draft->{full} ? (%avoid, %{ $draft->{used_anywhere} || {} }) : %avoid;

	# On a second attempt, or when asked to, identity references go to targets
	# that no other document of this resource uses at this place.
	if ($ref->{is_identity} && ($draft->{attempt} || $draft->{fresh}))
	{
		my $seen = $self->{identity_targets}{"$draft->{resource}{key} $ref->{path}"} || {};
		%prefer = (%prefer, %$seen);
	}
	my $salt = length($draft->{resource}{name}) + length $ref->{path};
	my $found = $self->_find($ref, $partial, \%prefer, $salt,
		{ map { $_ => 1 } values %{ $draft->{value} } });
	foreach my $not (\%prefer, \%avoid)
	{
		last if $found;
		$found = $self->_find($ref, $partial, $not, $salt)
		  || eval { $self->_make_target($ref, $partial, $not, $salt) };
		$draft->{why} = $@;
	}
	croak "$draft->{resource}{key}: no target for $r->{path}: $draft->{why}"
	  unless $found;
	return $found;
}

sub _target_types
{
	my ($self, $ref, $salt) = @_;

	my $target = $self->{schema}->target($ref);
	return $target unless $target->{is_abstract};

	# Spread abstract references over the subclasses.
	my @types = @{ $target->{subclasses} };
	return map { $types[ ($_ + $salt) % @types ] } 0 .. $#types;
}

# An entry that fits the values in %$partial; with %$clash, one that brings
# none of these values along at another place.
sub _find
{
	my ($self, $ref, $partial, $avoid, $salt, $clash) = @_;

	foreach my $type ($self->_target_types($ref, $salt))
	{
	  ENTRY:
		foreach my $entry (@{ $self->{by_resource}{ $type->{key} } || [] })
		{
			next if $avoid->{ $entry->{keys}[0] };
			my $identity =
			  $ref->{is_abstract} ? $entry->{super_identity} : $entry->{identity};
			foreach my $path (keys %$partial)
			{
				next ENTRY if lc $identity->{$path} ne lc $partial->{$path};
			}
			next
			  if $clash && grep { !defined $partial->{$_} && $clash->{ $identity->{$_} } }
			  keys %$identity;
			return $entry;
		}
	}
	return;
}

sub _make_target
{
	my ($self, $ref, $partial, $avoid, $salt) = @_;

	my $why = '';
	foreach my $type ($self->_target_types($ref, $salt))
	{
		my %given = %$partial;
		if ($ref->{is_abstract})
		{
			my @paths = @{ $self->{schema}->target($ref)->{identity} };
			my %own;
			@own{@paths} = _super_order($type, @paths);
			%given = map { $own{$_} => $partial->{$_} } keys %$partial;
		}
		my $entry = eval { $self->_make($type, given => \%given) };
		return $entry if $entry;
		$why .= $@;
	}
	die $why;
}

# The subclass' own identity paths behind the given abstract paths: renamed for
# a domain entity, the same for an association.
sub _super_order
{
	my ($type, @paths) = @_;

	return @paths unless $type->{super}{identity_path};
	return ($type->{identity}[0]);
}

#
# Values
#

sub _choose
{
	my ($self, $draft, $slot) = @_;
	my $class = _class($draft, $slot);
	my $resource = $draft->{resource};

	return if defined $draft->{value}{$class};

	if (my $desc = $resource->{descriptor_at}{ $slot->{wild} })
	{
		my $type = $self->{schema}->target($desc);
		my $n = $slot->{element} + $self->{seed} + $self->_descriptor_rank($resource, $desc);
		$n += $draft->{attempt} if grep { $_ eq $slot->{wild} } @{ $resource->{identity} };
		$draft->{value}{$class} = $self->_descriptor_uri($type, $n);
		return;
	}
	my @same = grep { _class($draft, $_) == $class } @{ $draft->{slots} };
	my $domain =
	  _intersect(map { $self->_domain($resource, $_->{wild}) } @same);
	$draft->{value}{$class} = $self->_fresh($domain, $self->_counter_name($resource, $slot));
	return;
}

# Descriptors of one type in one object get different values: 0, 1, ...
sub _descriptor_rank
{
	my ($self, $resource, $desc) = @_;

	return $resource->{descriptor_rank}{ $desc->{path} } ||= do
	{
		my ($object) = $desc->{path} =~ /^(.*)\./;
		scalar grep {
				 $_->{project} eq $desc->{project}
			  && $_->{name} eq $desc->{name}
			  && $_->{path} lt $desc->{path}
			  && $_->{path} =~ /^\Q$object\E\.[^.]+\z/
		} @{ $resource->{descriptors} };
	};
}

# Identities of sibling types share one number range: a School and a
# LocalEducationAgency must not have the same id.
sub _counter_name
{
	my ($self, $resource, $slot) = @_;

	my ($leaf) = $slot->{wild} =~ /([^.]+)\z/;
	return $leaf unless $resource->{super};
	return $leaf unless grep { $_ eq $slot->{wild} } @{ $resource->{identity} };
	return "$resource->{super}{name} key";
}

sub _domain
{
	my ($self, $resource, $path) = @_;

	return $self->{domains}{ $resource->{key} }{$path} ||=
	  _read_domain($resource, $path, $self->{schema}->node($resource, $path));
}

sub _read_domain
{
	my ($resource, $path, $schema) = @_;

	my %domain;
	$domain{$_} = $schema->{$_}
	  foreach grep { defined $schema->{$_} }
	  qw(type format minimum maximum minLength maxLength pattern);
	if (my $decimal = $resource->{decimals}{$path})
	{
		@domain{qw(digits places)} = @$decimal;
	}
	return \%domain;
}

sub _intersect
{
	my ($first, @rest) = @_;

	my %domain = %$first;
	foreach my $other (@rest)
	{
		foreach my $key (keys %$other)
		{
			my ($here, $there) = ($domain{$key}, $other->{$key});
			if (!defined $here) { $domain{$key} = $there }
			elsif ($key =~ /^min/) { $domain{$key} = max($here, $there) }
			elsif ($key =~ /^(?:max|digits|places)/) { $domain{$key} = min($here, $there) }
		}
	}
	return \%domain;
}

# A value of an identity is repeated in every reference to it; it must suit the
# narrowest of those places as well.
sub _collect_domains
{
	my ($self) = @_;
	my $schema = $self->{schema};

	my %places;
	foreach my $resource ($schema->resources)
	{
		foreach my $ref (@{ $resource->{references} })
		{
			foreach my $member (@{ $ref->{members} })
			{
				my $domain = $self->_domain($resource, $member->{path});
				push @{ $places{ $_->[0]{key} }{ $_->[1] } }, $domain
				  foreach $self->_origins($resource, $member->{path});
			}
		}
		foreach my $pair (@{ $resource->{equality} })
		{
			foreach my $side ([ @$pair ], [ reverse @$pair ])
			{
				push @{ $places{ $_->[0]{key} }{ $_->[1] } },
				  $self->_domain($resource, $side->[1])
				  foreach $self->_origins($resource, $side->[0]);
			}
		}
	}
	foreach my $resource ($schema->resources)
	{
		my $at = $places{ $resource->{key} } or next;
		foreach my $path (keys %$at)
		{
			$self->{domains}{ $resource->{key} }{$path} =
			  _intersect($self->_domain($resource, $path), @{ $at->{$path} });
		}
	}
	return;
}

# Where the value of a reference member is really kept: [resource, path].
sub _origins
{
	my ($self, $resource, $path) = @_;

	my @origins;
	foreach my $ref (@{ $resource->{references} })
	{
		foreach my $member (grep { $_->{path} eq $path } @{ $ref->{members} })
		{
			my $target = $self->{schema}->target($ref);
			if (!$target->{is_abstract})
			{
				push @origins, $self->_origins($target, $member->{target});
				next;
			}
			push @origins, map { $self->_origins($_, _super_order($_, $member->{target})) }
			  @{ $target->{subclasses} };
		}
	}
	return @origins ? @origins : ([ $resource, $path ]);
}

sub _count
{
	my ($self, $name) = @_;
	return $self->{seed} * 101 + ($self->{counter}{$name}++ || 0);
}

sub _fresh
{
	my ($self, $domain, $name) = @_;
	my $n    = $self->_count($name);
	my $type = $domain->{type};

	# Properties of one type get different values, so that no two columns can be
	# mixed up unseen.
	my $shift = unpack('%16C*', $name) % 997;

	return $n % 2 ? JSON::PP::false() : JSON::PP::true() if $type eq 'boolean';
	return $self->_fresh_integer($domain, $name, $n, $shift) if $type eq 'integer';
	return $self->_fresh_decimal($domain, $n + $shift) if $type eq 'number';

	my $format = $domain->{format} || '';
	return strftime('%Y-%m-%d', gmtime($FIRST_DAY + (($n + $shift) % 18000) * $DAY))
	  if $format eq 'date';
	return strftime('%H:%M:%S', gmtime($n * 367 + $shift * 61)) if $format eq 'time';
	return strftime('%Y-%m-%dT%H:%M:%SZ', gmtime($FIRST_DAY + $n * 3671 + $shift * $DAY))
	  if $format eq 'date-time';
	return $self->_fresh_string($domain, $name, $n);
}

sub _fresh_integer
{
	my ($self, $domain, $name, $n, $shift) = @_;

	my $is_big = ($domain->{format} || '') eq 'int64';
	my $low    = $domain->{minimum};
	my $high   = $domain->{maximum};
	if ($name =~ /year/i)
	{
		$low  = max($low  || 0,    2020);
		$high = min($high || 2100, 2100);
	}
	elsif ($self->{spice} && !defined $high)
	{
		return ($is_big ? 9007199254740993 : 2147483647) - $n - 1000 * $shift;
	}
	$low  = defined $high ? 0 : 1000 * (1 + $shift) unless defined $low;
	$high = 2147483647 unless defined $high;
	return $low + $n % ($high - $low + 1);
}

# Exact through binary floating point, unless spiced, for the sake of readers
# of the list that know no better numbers.
sub _fresh_decimal
{
	my ($self, $domain, $n) = @_;

	my $places = defined $domain->{places} ? $domain->{places} : 2;
	my $digits = defined $domain->{digits} ? $domain->{digits} : 9;
	my $whole  = $digits - $places;

	if ($self->{spice} && !defined $domain->{maximum})
	{
		require Math::BigFloat;
		my $text = ('9' x max(0, $whole - 4)) . sprintf('%04d', $n % 10000);
		$text = $whole > 0 ? substr($text, -$whole) : '0';
		my $sign = $n % 2 && !defined $domain->{minimum} ? '-' : '';
		return Math::BigFloat->new("$sign$text." . ('9' x $places));
	}
	my $limit = $whole > 0 ? 10**min($whole, 4) : 1;
	$limit = min($limit, $domain->{maximum}) if defined $domain->{maximum};
	my $scale = 10**min($places, 4);
	my $text = sprintf('%d.%0*d', $n % $limit, min($places, 4), ($n * 37 + 5) % $scale);
	$text = sprintf('%d', $n % $limit) unless $places;
	return 0 + $text;
}

sub _fresh_string
{
	my ($self, $domain, $name, $n) = @_;
	my $low  = $domain->{minLength} || 1;
	my $high = $domain->{maxLength} || 1000;

	my $text = ucfirst($name) . " $n";
	$text = _spiced_text($domain, $high, $n) if $self->{spice} && $high >= 20;
	if (length $text > $high)
	{
		# Letters and digits, most varying last, so that short fields differ.
		my $short = '';
		my $rest  = $n;
		do
		{
			$short = substr('0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ', $rest % 36, 1) . $short;
			$rest  = int($rest / 36);
		} while ($rest);
		$text = substr($short, -$high);
	}
	$text = ('A' x ($low - length $text)) . $text if length $text < $low;
	return $text;
}

# Full length, hard to compress, mostly of four bytes a character, with what
# JSON and SQL have to escape.  Only a string without a pattern may hold line
# breaks, and none may begin or end with a blank.
sub _spiced_text
{
	my ($domain, $length, $n) = @_;

	my @special = ('"', '\\', '/', "'", '%', '#', '{', "\t", "\x{1}", "\x{7f}", "\x{e9}", "e\x{301}");
	push @special, "\n", "\x{2028}" unless defined $domain->{pattern};
	my $end    = " $n.";
	my $text   = "\x{c9}t\x{e9}";
	my $random = $n + 1;
	while (1)
	{
		$random = ($random * 1103515245 + 12345) % 2147483648;
		my $pick = $random >> 8;
		my $next = $pick % 8 ? chr(0x20000 + $pick % 42000) : $special[ ($pick >> 3) % @special ];
		last if length("$text$next$end") > $length;
		$text .= $next;
	}
	return "$text$end";
}

#
# Descriptors
#

# The n-th descriptor of a type; makes it when it is not there.
sub _descriptor_uri
{
	my ($self, $type, $n) = @_;

	my $made = $self->{by_resource}{ $type->{key} } ||= [];
	$self->_make_descriptor($type) while @$made <= $n;
	return $made->[$n]{identity}{'$.descriptor'};
}

sub _make_descriptor
{
	my ($self, $resource, %opt) = @_;

	my $n     = @{ $self->{by_resource}{ $resource->{key} } || [] };
	my $given = $self->{given}{ $resource->{key} };
	my $document;
	if (my $uri = $opt{given} && $opt{given}{'$.descriptor'})
	{
		my ($namespace, $code) = $uri =~ /^(.*)#(.*)\z/;
		$document = _descriptor_document($namespace, $code);
	}
	elsif ($given && $given->[$n])
	{
		$document = $given->[$n];
	}
	else
	{
		$document =
		  _descriptor_document("uri://$resource->{project_endpoint}.org/$resource->{name}",
			$self->{spice} ? "V\x{c4}rde \"$n\" \x{4e2d}" : "Value $n");
		if ($opt{full} || !$n)
		{
			$document->{description} = "$resource->{name} number $n";
			$document->{effectiveBeginDate} = $self->_fresh({ type => 'string', format => 'date' }, 'effectiveBeginDate');
			$document->{effectiveEndDate} = $self->_fresh({ type => 'string', format => 'date' }, 'effectiveEndDate');
		}
	}
	my $entry = $self->_entry($resource, $document, %opt);
	$self->_add($entry);
	return $entry;
}

sub _descriptor_document
{
	my ($namespace, $code) = @_;

	return {
		namespace        => $namespace,
		codeValue        => $code,
		shortDescription => $code,
	};
}

#
# Entries
#

sub _fill
{
	my ($tree, $draft) = @_;

	return [ map { _fill($_, $draft) } @$tree ] if ref $tree eq 'ARRAY';
	return _get($draft, $tree) if exists $tree->{number} && exists $tree->{wild};
	return { map { $_ => _fill($tree->{$_}, $draft) } keys %$tree };
}

sub _entry
{
	my ($self, $resource, $document, %opt) = @_;

	my %identity;
	%identity = ('$.descriptor' => "$document->{namespace}#$document->{codeValue}")
	  if $resource->{is_descriptor};
	foreach my $path (@{ $resource->{identity} })
	{
		my $value = $document;
		$value = $value->{$_} foreach grep { $_ ne '$' } split /\./, $path;
		$identity{$path} = $value;
	}

	my %super;
	if (my $super = $resource->{super})
	{
		my @paths =
		  @{ $self->{schema}->abstract($super->{project}, $super->{name})->{identity} };
		@super{@paths} = @identity{ _super_order($resource, @paths) };
	}
	return {
		project          => $resource->{project},
		project_endpoint => $resource->{project_endpoint},
		resource         => $resource->{name},
		endpoint         => $resource->{endpoint},
		document         => $document,
		kind             => $opt{full} ? 'full'
		: $resource->{is_descriptor} ? 'descriptor'
		:                              'minimal',
		identity       => \%identity,
		super_identity => \%super,
		keys           => $self->_keys($resource, \%identity),
	};
}

# Keys tell identities apart: all subclasses share the keys of their
# superclass, whose key comes first because it is the narrower rule.  Case is
# ignored altogether, which is stricter than the store is.
sub _keys
{
	my ($self, $resource, $identity) = @_;

	my @paths = $resource->{is_descriptor} ? '$.descriptor' : @{ $resource->{identity} };
	my $tail = lc join("\0", map { $identity->{$_} } @paths);
	my @keys = ("$resource->{key}\0$tail");
	unshift @keys, "$resource->{super}{project}.$resource->{super}{name}\0$tail"
	  if $resource->{super};
	return \@keys;
}

sub _add
{
	my ($self, $entry) = @_;
	my $key = "$entry->{project}.$entry->{resource}";

	$self->{taken}{$_} = $entry foreach @{ $entry->{keys} };
	push @{ $self->{entries} }, $entry;
	push @{ $self->{by_resource}{$key} }, $entry;
	return;
}

=back

=cut

1;
