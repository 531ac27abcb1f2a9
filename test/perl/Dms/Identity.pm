# Dms::Identity
#
# ReferentialIds and edge sources, computed from a body and the ApiSchema alone,
# to compare with those that the extension stores.

package Dms::Identity;

use strict;
use warnings;

use Carp qw(croak);
use Digest::SHA qw(sha1 sha256 sha256_hex);
use Encode qw(encode);
use Exporter qw(import);

use Dms::Canonical qw(canonical_tree);

our @EXPORT_OK = qw(uuid_v5 lower_invariant referential_id document_ids
  reference_ids edge_source);

my $NAMESPACE = 'edf1edf1-3df1-3df1-3df1-3df1edf1edf1';

=head1 FUNCTIONS

=over

=item uuid_v5($name, $namespace)

UUID version 5 (RFC 4122) of a name in characters; the namespace is the one of
ReferentialIds unless given.

=cut

sub uuid_v5
{
	my ($name, $namespace) = @_;

	(my $hex = defined $namespace ? $namespace : $NAMESPACE) =~ tr/-//d;
	my @bytes = unpack 'C16', sha1(pack('H32', $hex) . encode('UTF-8', $name));
	$bytes[6] = ($bytes[6] & 0x0f) | 0x50;
	$bytes[8] = ($bytes[8] & 0x3f) | 0x80;
	return join('-', unpack('H8 H4 H4 H4 H12', pack('C16', @bytes)));
}

=item lower_invariant($text)

Lower case, each character by itself and without a language; a dotted capital I
stays as it is.

=cut

sub lower_invariant
{
	my ($text) = @_;

	$text =~ s/([^\x{130}])/lc $1/ge;
	return $text;
}

=item referential_id($project, $resource, [path, value], ...)

The name that is hashed, and its ReferentialId.

=cut

sub referential_id
{
	my ($project, $resource, @elements) = @_;

	my @parts;
	foreach my $element (@elements)
	{
		my ($path, $value) = @$element;
		$value = lower_invariant($value) if $path =~ /(?:Descriptor|^\$\.descriptor)\z/;
		push @parts, "$path=$value";
	}
	my $name = "$project$resource" . join('#', @parts);
	return ($name, uuid_v5($name));
}

=item document_ids($schema, $resource, $document)

The ReferentialIds of a document: its own, and for a subclass the one under its
superclass.  Hashes with C<role> (primary, alias), C<project>, C<resource>,
C<name>, C<uuid>.

=cut

sub document_ids
{
	my ($schema, $resource, $document) = @_;
	my $tree = canonical_tree($schema, $resource, $document);

	my @elements =
		$resource->{is_descriptor}
	  ? [ '$.descriptor', "$tree->{namespace}#$tree->{codeValue}" ]
	  : map { [ $_, _text_at($tree, $_) ] } @{ $resource->{identity} };

	my @ids = _id('primary', $resource->{project}, $resource->{name}, @elements);
	if (my $super = $resource->{super})
	{
		@elements = ([ $super->{identity_path}, $elements[0][1] ]) if $super->{identity_path};
		push @ids, _id('alias', $super->{project}, $super->{name}, @elements);
	}
	return @ids;
}

sub _id
{
	my ($role, $project, $resource, @elements) = @_;

	my ($name, $uuid) = referential_id($project, $resource, @elements);
	return {
		role     => $role,
		project  => $project,
		resource => $resource,
		name     => $name,
		uuid     => $uuid,
	};
}

sub _text_at
{
	my ($tree, $path) = @_;

	my (undef, @steps) = split /\./, $path;
	foreach my $step (@steps)
	{
		$tree = $tree->{$step};
		croak "there is no $path" unless defined $tree;
	}
	return $tree->text;
}

=item reference_ids($schema, $resource, $document)

Every document reference and descriptor of a body, in document order.  Hashes:

  kind          'document' or 'descriptor'
  path, wild    place with indices, and without ([*])
  project, resource, name, uuid   what it points to
  is_identity   true when it is part of the document's own identity
  edge_source   the EdgeSourceKey of the place

=cut

sub reference_ids
{
	my ($schema, $resource, $document) = @_;
	my @found;

	_collect($schema, $resource, canonical_tree($schema, $resource, $document),
		'$', '$', \@found);
	return @found;
}

sub _collect
{
	my ($schema, $resource, $tree, $wild, $path, $found) = @_;

	if (ref $tree eq 'ARRAY')
	{
		_collect($schema, $resource, $tree->[$_], "${wild}[*]", "${path}[$_]", $found)
		  foreach 0 .. $#$tree;
		return;
	}
	if (ref $tree eq 'HASH' && (my $ref = $resource->{reference_at}{$wild}))
	{
		my $target = $schema->target($ref);
		my %text;
		foreach my $member (@{ $ref->{members} })
		{
			my $leaf = $tree->{ $member->{property} };
			croak "$path is incomplete" unless defined $leaf;
			$text{ $member->{target} } = $leaf->text;
		}
		push @$found,
		  {
			%{ _id('reference', $ref->{project}, $ref->{name},
					map { [ $_, $text{$_} ] } @{ $target->{identity} }) },
			kind        => 'document',
			path        => $path,
			wild        => $wild,
			is_identity => $ref->{is_identity},
			edge_source => (edge_source($resource, 'docref', $wild))[0],
		  };
		return;
	}
	if (ref $tree eq 'HASH')
	{
		_collect($schema, $resource, $tree->{$_}, "$wild.$_", "$path.$_", $found)
		  foreach sort keys %$tree;
		return;
	}
	if (my $desc = $resource->{descriptor_at}{$wild})
	{
		push @$found,
		  {
			%{ _id('reference', $desc->{project}, $desc->{name},
					[ '$.descriptor', $tree->text ]) },
			kind        => 'descriptor',
			path        => $path,
			wild        => $wild,
			is_identity => scalar(grep { $_ eq $wild } @{ $resource->{identity} }),
			edge_source => (edge_source($resource, 'desc', $wild))[0],
		  };
	}
	return;
}

=item edge_source($resource, $kind, $path)

EdgeSourceKey and EdgeSourceId of a reference; $kind is C<docref> or C<desc>.

=cut

sub edge_source
{
	my ($resource, $kind, $path) = @_;

	my $raw = "$resource->{project}.$resource->{name}:$kind:$path";
	my $id  = unpack('q>', sha256(encode('UTF-8', $raw)));
	my $key = $raw;
	$key = substr($raw, 0, 247) . '|' . substr(sha256_hex(encode('UTF-8', $raw)), 0, 8)
	  if length $raw > 256;
	return ($key, $id);
}

=back

=cut

1;
