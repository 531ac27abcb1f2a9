# Dms::Canonical
#
# The canonical form of a document: the body that a read must return for the
# body that was written.  It is written from the description of the wire format
# alone, independently of the extension.
#
#   canonical_text   a body as exact text: compact JSON, properties in byte
#                    order, _ext after them, values in their normal spelling
#   returned_body    text that a read returned, split into that form and the
#                    three fields that the store adds
#
# Only valid bodies have a canonical form; for others the functions here die.

package Dms::Canonical;

use strict;
use warnings;

use Carp qw(croak);
use Exporter qw(import);
use Scalar::Util qw(blessed);

our @EXPORT_OK = qw(canonical_text canonical_tree decimal_text date_text
  time_text date_time_text parse_json render returned_body);

# Fields that the store adds to a body it returns, and ignores in one it gets.
my %ADDED = map { $_ => 1 } qw(id _etag _lastModifiedDate link);

=head1 FUNCTIONS

=over

=item canonical_text($schema, $resource, $document, descriptors => {...})

$document is JSON text, or Perl data as JSON::PP makes it.  With
C<descriptors> (lower-case URI => URI as stored) descriptors come back in their
stored case.

=cut

sub canonical_text
{
	return render(canonical_tree(@_));
}

=item canonical_tree($schema, $resource, $document, ...)

The same as data: hashes, arrays, and leaves with the methods C<kind> (string,
number, boolean) and C<text>.

=cut

sub canonical_tree
{
	my ($schema, $resource, $document, %opt) = @_;

	my $data = ref $document ? $document : parse_json($document);
	my $context = { schema => $schema, resource => $resource, %opt };
	return _object($context, $resource->{schema}, $data, '$') || {};
}

sub _value
{
	my ($context, $node, $data, $path) = @_;

	return unless defined $data && !_is_null($data);
	return _object($context, $node, $data, $path) if $node->{type} eq 'object';
	return _array($context, $node, $data, $path) if $node->{type} eq 'array';
	return _scalar($context, $node, $data, $path);
}

# Unknown properties are not visited, and thereby dropped.
sub _object
{
	my ($context, $node, $data, $path) = @_;

	croak "$path is not an object" unless ref $data eq 'HASH';
	my %object;
	foreach my $name (keys %{ $node->{properties} })
	{
		next if $path eq '$' && $ADDED{$name};
		my $value = _value($context, $node->{properties}{$name}, $data->{$name}, "$path.$name");
		$object{$name} = $value if defined $value;
	}
	return %object ? \%object : undef;
}

# An element without properties is kept, but a top-level array of such elements
# only is dropped, and so is any empty array.
sub _array
{
	my ($context, $node, $data, $path) = @_;

	croak "$path is not an array" unless ref $data eq 'ARRAY';
	my @elements;
	foreach my $element (grep { defined && !_is_null($_) } @$data)
	{
		push @elements, _value($context, $node->{items}, $element, "${path}[*]") || {};
	}
	return if $path =~ /^\$\.[^.]+\z/ && !grep { %$_ } @elements;
	return @elements ? \@elements : undef;
}

sub _scalar
{
	my ($context, $node, $data, $path) = @_;
	my $type   = $node->{type};
	my $format = $node->{format} || '';

	return _leaf(boolean => _boolean_text($data, $path)) if $type eq 'boolean';
	croak "$path is not a scalar" if ref $data && !blessed $data;

	my $text = "$data";
	return _leaf(number => _integer_text($text, $path)) if $type eq 'integer';
	if ($type eq 'number')
	{
		my $decimal = $context->{resource}{decimals}{$path} || [];
		return _leaf(number => decimal_text($text, $decimal->[1]));
	}
	return _leaf(string => date_text($text))      if $format eq 'date';
	return _leaf(string => time_text($text))      if $format eq 'time';
	return _leaf(string => date_time_text($text)) if $format eq 'date-time';

	$text =~ s/^\s+|\s+\z//g if $path =~ /^\$\.(?:codeValue|shortDescription)\z/;
	if ($context->{descriptors}
		&& $context->{schema}->descriptor_of($context->{resource}, $path))
	{
		my $stored = $context->{descriptors}{ lc $text };
		$text = $stored if defined $stored;
	}
	return _leaf(string => $text);
}

sub _leaf
{
	my ($kind, $text) = @_;
	return bless [ $kind, $text ], 'Dms::Canonical::Leaf';
}

sub _is_null
{
	my ($data) = @_;
	return ref $data eq 'Dms::Canonical::Leaf' && $data->kind eq 'null';
}

#
# Values
#

sub _boolean_text
{
	my ($data, $path) = @_;

	# JSON::PP's booleans print as 1 and 0.
	my $text = lc "$data";
	return 'true'  if $text eq 'true'  || $text eq '1';
	return 'false' if $text eq 'false' || $text eq '0';
	croak "$path is not a boolean: $data";
}

sub _integer_text
{
	my ($text, $path) = @_;

	my $number = decimal_text($text, undef);
	croak "$path is not an integer: $text" if $number =~ /\./;
	return $number;
}

=item decimal_text($number, $places)

Fixed-point, rounded half away from zero to so many places (undef: not at all),
no trailing zeros, no exponent, no negative zero.

=cut

sub decimal_text
{
	my ($text, $places) = @_;

	my ($sign, $whole, $fraction, $exponent) =
	  $text =~ /^\s*([-+]?)(\d*)(?:\.(\d*))?(?:[eE]([-+]?\d+))?\s*\z/
	  or croak "not a number: $text";
	$fraction = '' unless defined $fraction;
	croak "not a number: $text" unless length "$whole$fraction";

	# Move the point.
	my $shift = $exponent || 0;
	croak "number out of reach: $text" if abs $shift > 10_000;
	my $digits = "$whole$fraction";
	my $point  = length($whole) + $shift;
	$digits = ('0' x -$point) . $digits, $point = 0 if $point < 0;
	$digits .= '0' x ($point - length $digits) if $point > length $digits;
	($whole, $fraction) = (substr($digits, 0, $point), substr($digits, $point));

	if (defined $places && length $fraction > $places)
	{
		my $up = substr($fraction, $places, 1) >= 5;
		$digits = '0' . $whole . substr($fraction, 0, $places);
		if ($up)
		{
			# Carry: nines become zeros, the digit before them is incremented.
			$digits =~ s/([0-8])(9*)\z/($1 + 1) . '0' x length $2/e;
		}
		$whole    = substr($digits, 0, length($digits) - $places);
		$fraction = substr($digits, length($digits) - $places);
	}
	$whole    =~ s/^0+(?=\d)//;
	$fraction =~ s/0+\z//;
	$whole = '0' unless length $whole;
	my $number = length $fraction ? "$whole.$fraction" : $whole;
	return $sign eq '-' && $number ne '0' ? "-$number" : $number;
}

=item date_text($text), time_text($text), date_time_text($text)

The normal spellings C<YYYY-MM-DD>, C<HH:MM:SS> and C<YYYY-MM-DDTHH:MM:SSZ>.
Dates with slashes are month-first, and day-first when that is no date.

=cut

sub date_text
{
	my ($text) = @_;

	if (my ($year, $month, $day) = $text =~ /^\s*(\d{4})-(\d{1,2})-(\d{1,2})\s*\z/)
	{
		return sprintf('%04d-%02d-%02d', $year, $month, $day)
		  if _is_date($year, $month, $day);
	}
	if (my ($first, $second, $year) = $text =~ m{^\s*(\d{1,2})/(\d{1,2})/(\d{4}|\d{2})\s*\z})
	{
		$year += 2000 if length $year == 2;
		foreach my $order ([ $first, $second ], [ $second, $first ])
		{
			return sprintf('%04d-%02d-%02d', $year, @$order) if _is_date($year, @$order);
		}
	}
	croak "not a date: $text";
}

sub time_text
{
	my ($text) = @_;

	my ($hour, $minute, $second) = $text =~ /^\s*(\d{1,2}):(\d{2})(?::(\d{2})(?:\.\d+)?)?\s*\z/
	  or croak "not a time: $text";
	return sprintf('%02d:%02d:%02d', $hour, $minute, $second || 0);
}

sub date_time_text
{
	my ($text) = @_;

	my ($date, $rest) = $text =~ m{^\s*([-\d/]+?)(?:[T ]\s*(\S.*?))?\s*\z}i
	  or croak "not a date-time: $text";
	my $day = _day_number(split /-/, date_text($date));
	my $seconds = 0;
	if (defined $rest)
	{
		my ($hour, $minute, $second, $half, $zone) = $rest =~
		  /^(\d{1,2}):(\d{2})(?::(\d{2})(?:\.\d+)?)?\s*([AP]M)?\s*(Z|[-+]\d{2}(?::?\d{2})?)?\z/i
		  or croak "not a date-time: $text";
		if ($half)
		{
			$hour %= 12;
			$hour += 12 if uc $half eq 'PM';
		}
		$seconds = $hour * 3600 + $minute * 60 + ($second || 0);
		if (my ($sign, $h, $m) = ($zone || '') =~ /^([-+])(\d{2}):?(\d{2})?\z/)
		{
			my $offset = $h * 3600 + ($m || 0) * 60;
			$seconds += $sign eq '-' ? $offset : -$offset;
		}
	}
	while ($seconds < 0)       { $seconds += 86400; $day-- }
	while ($seconds >= 86400) { $seconds -= 86400; $day++ }
	return sprintf(
		'%04d-%02d-%02dT%02d:%02d:%02dZ',
		_civil_date($day), int($seconds / 3600),
		int($seconds / 60) % 60, $seconds % 60);
}

sub _is_date
{
	my ($year, $month, $day) = @_;

	return 0 if $month < 1 || $month > 12 || $day < 1 || $year < 1;
	my @days = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31);
	$days[1] = 29 if $year % 4 == 0 && ($year % 100 || $year % 400 == 0);
	return $day <= $days[ $month - 1 ];
}

# Days since 0000-03-01 of the Gregorian calendar; years begin in March so that
# the leap day is the last of its year.
sub _day_number
{
	my ($year, $month, $day) = @_;

	$year-- if $month <= 2;
	my $m = ($month + 9) % 12;
	return $year * 365 + int($year / 4) - int($year / 100) + int($year / 400)
	  + int((153 * $m + 2) / 5) + $day - 1;
}

sub _civil_date
{
	my ($number) = @_;

	my $year = int(($number + 1) / 365.2425);
	$year++ while _day_number($year + 1, 3, 1) <= $number;
	$year-- while _day_number($year,     3, 1) > $number;
	my $rest  = $number - _day_number($year, 3, 1);
	my $m     = int((5 * $rest + 2) / 153);
	my $day   = $rest - int((153 * $m + 2) / 5) + 1;
	my $month = ($m + 2) % 12 + 1;
	return ($month <= 2 ? $year + 1 : $year, $month, $day);
}

#
# Text
#

=item render($tree)

A tree as compact text.

=cut

sub render
{
	my ($tree) = @_;

	if (ref $tree eq 'HASH')
	{
		my @names = sort grep { $_ ne '_ext' } keys %$tree;
		push @names, '_ext' if exists $tree->{_ext};
		return '{' . join(',', map { _quote($_) . ':' . render($tree->{$_}) } @names) . '}';
	}
	return '[' . join(',', map { render($_) } @$tree) . ']' if ref $tree eq 'ARRAY';
	return $tree->kind eq 'string' ? _quote($tree->text) : $tree->text;
}

my %ESCAPE = (
	"\b" => '\\b',
	"\f" => '\\f',
	"\n" => '\\n',
	"\r" => '\\r',
	"\t" => '\\t',
	'"'  => '\\"',
	'\\' => '\\\\',
);

sub _quote
{
	my ($text) = @_;

	$text =~ s/([\x00-\x1f"\\])/$ESCAPE{$1} || sprintf('\\u%04x', ord $1)/ge;
	return qq("$text");
}

=item parse_json($text)

Perl data of JSON text (characters), with numbers as they are written.  Dies on
duplicate names.

=cut

# Object -> its names in order; filled only if a caller needs it.
our $order;

sub parse_json
{
	my ($text) = @_;

	pos($text) = 0;
	my $data = _parse_value(\$text);
	$text =~ /\G\s*\z/gc or croak 'text after the JSON value at ' . pos $text;
	return $data;
}

sub _parse_value
{
	my ($text) = @_;

	$$text =~ /\G\s+/gc;
	return _parse_object($text) if $$text =~ /\G\{/gc;
	return _parse_array($text)  if $$text =~ /\G\[/gc;
	return _parse_string($text) if $$text =~ /\G"/gc;
	return _leaf(number => $1)
	  if $$text =~ /\G(-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?)/gc;
	return _leaf(boolean => $1) if $$text =~ /\G(true|false)/gc;
	return _leaf(null => 'null') if $$text =~ /\Gnull/gc;
	croak 'no JSON value at ' . pos $$text;
}

sub _parse_object
{
	my ($text) = @_;
	my (%object, @names);

	unless ($$text =~ /\G\s*\}/gc)
	{
		do
		{
			$$text =~ /\G\s*"/gc or croak 'no property name at ' . pos $$text;
			my $name = _parse_string($text)->text;
			croak "property $name twice" if exists $object{$name};
			$$text =~ /\G\s*:/gc or croak 'no colon at ' . pos $$text;
			$object{$name} = _parse_value($text);
			push @names, $name;
		} while ($$text =~ /\G\s*,/gc);
		$$text =~ /\G\s*\}/gc or croak 'no end of object at ' . pos $$text;
	}
	my $object = \%object;
	$order->{$object} = \@names if $order;
	return $object;
}

sub _parse_array
{
	my ($text) = @_;
	my @array;

	return \@array if $$text =~ /\G\s*\]/gc;
	do
	{
		push @array, _parse_value($text);
	} while ($$text =~ /\G\s*,/gc);
	$$text =~ /\G\s*\]/gc or croak 'no end of array at ' . pos $$text;
	return \@array;
}

my %UNESCAPE = reverse(%ESCAPE);
$UNESCAPE{'\\/'} = '/';

sub _parse_string
{
	my ($text) = @_;

	$$text =~ /\G((?:[^"\\\x00-\x1f]|\\.)*)"/gc or croak 'no string at ' . pos $$text;
	my $string = $1;
	$string =~ s{\\u([dD][89abAB]..)\\u([dD][c-fC-F]..)|\\u([0-9a-fA-F]{4})|(\\.)}{
		  defined $1 ? chr(0x10000 + ((hex($1) - 0xd800) << 10) + (hex($2) - 0xdc00))
		: defined $3 ? chr(hex $3)
		: exists $UNESCAPE{$4} ? $UNESCAPE{$4}
		: croak "unknown escape $4"
	}gex;
	return _leaf(string => $string);
}

=item returned_body($text)

Cuts what a read returned into its body, as compact text in the order that it
had, and a hash of C<id>, C<_etag>, C<_lastModifiedDate>.  Dies when one of the
three is missing or not in its place.  The text of two reads can be compared
with canonical_text by C<eq>.

=cut

sub returned_body
{
	my ($text) = @_;

	local $order = {};
	my $data  = parse_json($text);
	my @names = @{ $order->{$data} };
	croak 'id is not the first property' unless @names && $names[0] eq 'id';
	croak '_etag and _lastModifiedDate are not the last properties'
	  unless join(' ', @names[ -2, -1 ]) eq '_etag _lastModifiedDate';

	my %added = map { $_ => delete($data->{$_})->text } qw(id _etag _lastModifiedDate);
	$order->{$data} = [ grep { !exists $added{$_} } @names ];
	return (_render_ordered($data), \%added);
}

sub _render_ordered
{
	my ($data) = @_;

	if (ref $data eq 'HASH')
	{
		my @pairs =
		  map { _quote($_) . ':' . _render_ordered($data->{$_}) } @{ $order->{$data} };
		return '{' . join(',', @pairs) . '}';
	}
	return '[' . join(',', map { _render_ordered($_) } @$data) . ']' if ref $data eq 'ARRAY';
	return render($data);
}

=back

=cut

package Dms::Canonical::Leaf;

use overload
  '""'   => sub { $_[0][1] },
  'bool' => sub { 1 },
  'eq'   => sub { "$_[0]" eq "$_[1]" };

sub kind { return $_[0][0] }
sub text { return $_[0][1] }

1;
