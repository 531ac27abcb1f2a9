# Control file, install script, META.json and CHANGELOG agree on the version.
use strict;
use warnings;

use FindBin;
use JSON::PP;
use PostgreSQL::Test::Utils;
use Test::More;

my $top = "$FindBin::RealBin/../..";

my ($version) = slurp_file("$top/dms.control") =~ /^default_version = '([^']+)'/m;
like($version, qr/^\d+\.\d+$/, 'the control file has a version');
ok(-e "$top/dms--$version.sql", 'there is an install script of that version');

my $meta = decode_json(slurp_file("$top/META.json"));
is($meta->{version}, "$version.0", 'META.json has it');
is($meta->{provides}{dms}{version}, "$version.0", 'so does what it provides');
is($meta->{provides}{dms}{file}, "dms--$version.sql", 'and names that install script');

my ($newest) = slurp_file("$top/CHANGELOG.md") =~ /^## (\S+)/m;
is($newest, $version, 'it is the newest in the CHANGELOG');

my ($comment) = slurp_file("$top/dms--$version.sql") =~ /\A-- dms (\S+):/;
is($comment, $version, 'the install script says so too');

done_testing();
