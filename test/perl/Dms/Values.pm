# Dms::Values
#
# Fresh values for the scalars of a document.  Each value is valid at its place,
# and values repeat only if the place does not allow more.

package Dms::Values;

use strict;
use warnings;

use Carp qw(croak);
use JSON::PP ();
use List::Util qw(max min);
use POSIX qw(strftime);

my $DAY       = 86400;
my $FIRST_DAY = 1577836800;    # 2020-01-01

=head1 METHODS

=over

=item Dms::Values->new(schema => $api_schema, seed => $n, spice => $bool)

=cut

sub new
{
	my ($class, %args) = @_;

	my $self = bless {
		schema  => $args{schema} || croak("schema is missing"),
		seed    => $args{seed}  || 0,
		spice   => $args{spice} || 0,
		counter => {},
		domains => {},
	}, $class;
	$self->_collect_domains;
	return $self;
}

=item $v->domain($resource, $path, ...)

What a value that stands at all these paths must be: C<type>, C<format>,
C<minLength>, C<maxLength>, C<pattern>, C<minimum>, C<maximum>, C<digits>,
C<places>, as far as they are limited.

=cut

sub domain
{
	my ($self, $resource, @paths) = @_;

	my $known = $self->{domains}{ $resource->{key} } ||= {};
	return _intersect(
		map {
			$known->{$_} ||=
			  _read_domain($resource, $_, $self->{schema}->node($resource, $_))
		} @paths);
}

=item own_paths($subclass, @abstract_paths)

The subclass' own identity paths behind the paths of its superclass: renamed
for a domain entity, the same for an association.  A function.

=cut

sub own_paths
{
	my ($type, @paths) = @_;

	return @paths unless $type->{super}{identity_path};
	return ($type->{identity}[0]);
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
# narrowest of those places, too.
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
				my $domain = $self->domain($resource, $member->{path});
				push @{ $places{ $_->[0]{key} }{ $_->[1] } }, $domain
				  foreach $self->_origins($resource, $member->{path});
			}
		}
		foreach my $pair (@{ $resource->{equality} })
		{
			foreach my $side ([ @$pair ], [ reverse @$pair ])
			{
				push @{ $places{ $_->[0]{key} }{ $_->[1] } },
				  $self->domain($resource, $side->[1])
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
			  _intersect($self->domain($resource, $path), @{ $at->{$path} });
		}
	}
	return;
}

# Returns where the value of a reference member originates: [resource, path].
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
			push @origins, map { $self->_origins($_, own_paths($_, $member->{target})) }
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

=item $v->fresh($domain, $name)

A value of the domain.  The name chooses the number range: values under one
name differ from each other.

=cut

sub fresh
{
	my ($self, $domain, $name) = @_;
	my $n    = $self->_count($name);
	my $type = $domain->{type};

	# Properties of one type get different values, so that a mix-up of two
	# columns is noticed.
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

# Values that binary floating point represents exactly, unless spiced, because
# some readers of the list have no other numbers.
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

# Strings of full length that are hard to compress, mostly of four bytes per
# character, with characters that JSON and SQL must escape.  Only a string without
# a pattern may contain line breaks, and none may begin or end with a blank.
sub _spiced_text
{
	my ($domain, $length, $n) = @_;

	my @special = (
		'"',  '\\',     '/',       "'",       '%', '#',
		"\t", "\x{1}", "\x{7f}", "\x{e9}", '{', "e\x{301}");
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

=back

=cut

1;
