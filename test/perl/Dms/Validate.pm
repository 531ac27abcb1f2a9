# Dms::Validate
#
# A validator of documents, small and strict: the part of JSON Schema that
# ApiSchema files use, and the additional rules (decimals, equality constraints,
# complete references, uniqueness in arrays).  It checks generated documents, so
# it accepts only values in their normal spelling, without coercion, and refuses
# unknown properties.

package Dms::Validate;

use strict;
use warnings;

use Exporter qw(import);

use Dms::Canonical qw(date_text time_text date_time_text decimal_text parse_json render);

our @EXPORT_OK = qw(validate);

my %FORMAT = (
	'date'      => \&date_text,
	'time'      => \&time_text,
	'date-time' => \&date_time_text,
);

=head1 FUNCTIONS

=over

=item validate($schema, $resource, $text)

What is wrong with a document given as JSON text: a list of "path: reason".

=cut

sub validate
{
	my ($schema, $resource, $text) = @_;

	my $data = parse_json($text);
	my $check = { schema => $schema, resource => $resource, errors => [] };
	_check($check, $resource->{schema}, $data, '$', '$');
	_check_equality($check, $data);
	_check_uniqueness($check, $data);
	return @{ $check->{errors} };
}

sub _error
{
	my ($check, $path, $reason) = @_;

	push @{ $check->{errors} }, "$path: $reason";
	return;
}

sub _check
{
	my ($check, $node, $data, $wild, $path) = @_;

	if ($node->{type} eq 'object')
	{
		return _error($check, $path, 'not an object') unless ref $data eq 'HASH';
		_check_object($check, $node, $data, $wild, $path);
	}
	elsif ($node->{type} eq 'array')
	{
		return _error($check, $path, 'not an array') unless ref $data eq 'ARRAY';
		_error($check, $path, 'too few elements') if @$data < ($node->{minItems} || 0);
		_check($check, $node->{items}, $data->[$_], "${wild}[*]", "${path}[$_]")
		  foreach 0 .. $#$data;
	}
	elsif (ref $data ne 'Dms::Canonical::Leaf')
	{
		_error($check, $path, 'not a scalar');
	}
	elsif ($node->{type} eq 'string')
	{
		_check_string($check, $node, $data, $path);
	}
	elsif ($node->{type} eq 'boolean')
	{
		_error($check, $path, 'not a boolean') unless $data->kind eq 'boolean';
	}
	else
	{
		_check_number($check, $node, $data, $wild, $path);
	}
	return;
}

sub _check_object
{
	my ($check, $node, $data, $wild, $path) = @_;

	my $ref = $check->{resource}{reference_at}{$wild};
	my @required =
		$ref
	  ? map { $_->{property} } @{ $ref->{members} }
	  : @{ $node->{required} || [] };
	foreach my $name (@required)
	{
		_error($check, "$path.$name", 'missing') unless exists $data->{$name};
	}
	foreach my $name (sort keys %$data)
	{
		my $child = $node->{properties}{$name};
		if ($child)
		{
			_check($check, $child, $data->{$name}, "$wild.$name", "$path.$name");
		}
		else
		{
			_error($check, "$path.$name", 'unknown');
		}
	}
	return;
}

sub _check_string
{
	my ($check, $node, $data, $path) = @_;

	return _error($check, $path, 'not a string') unless $data->kind eq 'string';

	my $text = $data->text;
	_error($check, $path, 'too long')
	  if defined $node->{maxLength} && length $text > $node->{maxLength};
	_error($check, $path, 'too short')
	  if defined $node->{minLength} && length $text < $node->{minLength};
	_error($check, $path, 'does not match the pattern')
	  if defined $node->{pattern} && $text !~ _pattern($node->{pattern});
	if (my $normal = $FORMAT{ $node->{format} || '' })
	{
		my $spelling = eval { $normal->($text) };
		_error($check, $path, "not a $node->{format}")
		  unless defined $spelling && $spelling eq $text;
	}
	return;
}

# ECMA's dot stops at any line break, and its dollar only at the very end.
sub _pattern
{
	my ($pattern) = @_;

	$pattern =~ s/(\\.|\[[^\]]*\])|(\.)|(\$)/$1 || ($2 ? '[^\n\r\x{2028}\x{2029}]' : '\z')/ge;
	return qr/$pattern/;
}

sub _check_number
{
	my ($check, $node, $data, $wild, $path) = @_;

	return _error($check, $path, 'not a number') unless $data->kind eq 'number';

	my $text = decimal_text($data->text);
	_error($check, $path, 'too small') if defined $node->{minimum} && $text < $node->{minimum};
	_error($check, $path, 'too large') if defined $node->{maximum} && $text > $node->{maximum};
	if ($node->{type} eq 'integer')
	{
		return _error($check, $path, 'not an integer') if $text =~ /\./;

		# As text: floating point is not exact at the limits of int8.
		my $limit = ($node->{format} || '') eq 'int64' ? '9223372036854775807' : '2147483647';
		(my $digits = $text) =~ s/^-//;
		_error($check, $path, 'out of range')
		  if length $digits > length $limit
		  || (length $digits == length $limit && $digits gt $limit);
		return;
	}
	my ($digits, $places) = @{ $check->{resource}{decimals}{$wild} || [] };
	my ($whole, $fraction) = $text =~ /^-?0*(\d*)(?:\.(\d+))?\z/;
	$fraction = '' unless defined $fraction;
	_error($check, $path, 'too many decimal places')
	  if defined $places && length $fraction > $places;
	_error($check, $path, 'too many digits')
	  if defined $digits && length $whole > $digits - ($places || 0);
	return;
}

# All values at a path without indices.
sub _values_at
{
	my ($data, $path) = @_;

	my (undef, @steps) = split /\./, $path;
	my @found = ($data);
	foreach my $step (@steps)
	{
		my $is_array = ($step =~ s/\[\*\]\z//);
		@found = map { exists $_->{$step} ? $_->{$step} : () } @found;
		@found = map { @$_ } @found if $is_array;
	}
	return @found;
}

sub _check_equality
{
	my ($check, $data) = @_;

	foreach my $pair (@{ $check->{resource}{equality} })
	{
		my @values = map { [ map { lc $_->text } _values_at($data, $_) ] } @$pair;
		next unless @{ $values[0] } && @{ $values[1] };
		my %different = map { $_ => 1 } map { @$_ } @values;
		_error($check, $pair->[0], "differs from $pair->[1]") if keys %different > 1;
	}
	return;
}

# Constraints hold within one parent; equal references in a collection of bare
# references are refused in the whole document.
sub _check_uniqueness
{
	my ($check, $data) = @_;

	foreach my $constraint (@{ $check->{resource}{uniqueness} })
	{
		my $array = $constraint->{array};
		my ($parent, $name) = $array =~ /^(.*)\.([^.]+)\[\*\]\z/;
		my @tails = map { '$' . substr($_, length $array) } @{ $constraint->{paths} };
		foreach my $scope (_values_at($data, $parent))
		{
			my %seen;
			foreach my $element (@{ $scope->{$name} || [] })
			{
				my @values = map { [ _values_at($element, $_) ] } @tails;
				my $tuple  = join("\0", map { @$_ ? lc $_->[0]->text : "\1" } @values);
				_error($check, $array, 'two equal elements') if $seen{$tuple}++;
			}
		}
	}
	foreach my $ref (@{ $check->{resource}{references} })
	{
		my ($array) = $ref->{path} =~ /^(.*\[\*\])\.[^.]+\z/ or next;
		next if keys %{ $check->{schema}->node($check->{resource}, $array)->{properties} } > 1;
		my %seen;
		foreach my $reference (_values_at($data, $ref->{path}))
		{
			_error($check, $array, 'two equal references') if $seen{ lc render($reference) }++;
		}
	}
	return;
}

=back

=cut

1;
