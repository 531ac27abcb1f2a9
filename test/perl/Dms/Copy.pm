# Dms::Copy
#
# Texts for COPY.

package Dms::Copy;

use strict;
use warnings;

use Encode qw(encode);
use Exporter qw(import);

our @EXPORT_OK = qw(copy_text);

=head1 FUNCTIONS

=over

=item copy_text($text)

The text as COPY reads it, in bytes.

=back

=cut

sub copy_text
{
	my ($text) = @_;
	my %escape = ("\\" => '\\\\', "\t" => '\\t', "\n" => '\\n', "\r" => '\\r');

	$text =~ s/([\\\t\n\r])/$escape{$1}/g;
	return encode('UTF-8', $text);
}

1;
