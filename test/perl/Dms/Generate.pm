# Dms::Generate
#
# Generates valid documents for every resource of a set of ApiSchema files: a
# "full" one with all properties, including extensions, and two elements in
# each array, and the smaller documents that those refer to.  The resulting
# list is in an order in which every reference resolves.
#
# How it works.  The places of a document that hold a value are slots.  First,
# slots that must be equal (equality constraints, one path that feeds two parts
# of a reference, equalities inside the target's identity) are joined into
# classes.  Then, for each reference, a document is found or made that fits the
# values that its classes already have, and its identity is assigned to the
# classes.  The remaining classes get fresh values that all of their slots
# accept.  All choices depend on counters, so a seed always gives the same list.

package Dms::Generate;

use strict;
use warnings;

use Carp qw(croak);
use JSON::PP ();
use List::Util qw(max);

use Dms::Values;
use Dms::Variants;

# Some values have few variants (a boolean, a year); give up after this number.
my $MAX_ATTEMPTS = 60;

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

	return bless {
		schema      => $args{schema} || croak("schema is missing"),
		seed        => $args{seed}     || 0,
		elements    => $args{elements} || 2,
		spice       => $args{spice}    || 0,
		values      => Dms::Values->new(%args),
		given       => $args{descriptors} || {},
		entries     => [],    # in load order
		by_resource => {},    # resource key -> [entry, ...]
		taken       => {},    # identity -> entry; aliases included
		making      => {},
	}, $class;
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

Changed versions of a document; see Dms::Variants.

=cut

sub variants
{
	my ($self, $entry) = @_;

	return Dms::Variants::variants($self, $entry);
}

#
# Making one document
#

sub _make
{
	my ($self, $resource, %opt) = @_;

	return $self->_make_descriptor($resource, %opt) if $resource->{is_descriptor};

	# A document that requires another of its own kind could never be written.
	croak "$resource->{key} requires itself"
	  if !$opt{full} && $self->{making}{ $resource->{key} };
	local $self->{making}{ $resource->{key} } = 1 unless $opt{full};

	# Nothing can vary if the whole identity is given.
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

# Makes the document tree with slots as leaves.  $at is the current place: wild
# and path are the JSON path without and with indices, element is the index in
# the innermost array, have is the value there in an earlier version of the
# document.
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

	# An object without values counts as absent, so a required object that has
	# only optional properties gets all of them.
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
# other, if both exist.
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

# References whose targets are determined come first, so that others can avoid
# these targets.  A value that must come from a concrete type has to be chosen
# before an abstract reference to the same value chooses any type.
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
# document should have different ones, too, if possible: otherwise a mix-up of
# the two would remain unnoticed.
sub _find_or_make
{
	my ($self, $draft, $r, $partial) = @_;
	my $ref    = $r->{ref};
	my %avoid  = %{ $draft->{used}{ $ref->{path} } || {} };
	my %prefer = $draft->{full} ? (%avoid, %{ $draft->{used_anywhere} || {} }) : %avoid;

	# On a second attempt, or on request, identity references get targets that
	# no other document of this resource uses at this place.
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
		  || eval { $self->_make_target($ref, $partial, $salt) };
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

# Returns an entry that fits the values in %$partial; with %$clash, one that does
# not have any of these values at another place.
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
	my ($self, $ref, $partial, $salt) = @_;

	my $why = '';
	foreach my $type ($self->_target_types($ref, $salt))
	{
		my %given = %$partial;
		if ($ref->{is_abstract})
		{
			my @paths = @{ $self->{schema}->target($ref)->{identity} };
			my %own;
			@own{@paths} = Dms::Values::own_paths($type, @paths);
			%given = map { $own{$_} => $partial->{$_} } keys %$partial;
		}
		my $entry = eval { $self->_make($type, given => \%given) };
		return $entry if $entry;
		$why .= $@;
	}
	die $why;
}

#
# Values that no reference gives
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
	$draft->{value}{$class} = $self->{values}->fresh(
		$self->{values}->domain($resource, map { $_->{wild} } @same),
		$self->_counter_name($resource, $slot));
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

#
# Descriptors
#

# Returns the n-th descriptor of a type, which is made if it does not exist.
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
			$document->{$_} =
			  $self->{values}->fresh({ type => 'string', format => 'date' }, $_)
			  foreach qw(effectiveBeginDate effectiveEndDate);
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
		@super{@paths} = @identity{ Dms::Values::own_paths($resource, @paths) };
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

# Returns the keys of an identity.  All subclasses share the keys of their
# superclass, whose key comes first because it is the stricter rule.  Case is
# ignored, which is stricter than the store.
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
