# Every script of examples/ runs in a new database.
use strict;
use warnings;

use File::Basename;
use FindBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# They read files of the checkout.
chdir "$FindBin::RealBin/../.." or die "no top directory: $!";

my $node = PostgreSQL::Test::Cluster->new('examples');
$node->init;
$node->append_conf('postgresql.conf', q{shared_preload_libraries = 'dms'});
$node->start;

for my $file (sort glob "$FindBin::RealBin/../../examples/*.sql")
{
	my $name = basename($file, '.sql');

	$node->safe_psql('postgres', "CREATE DATABASE $name");
	$node->command_ok(
		[ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-d', $name, '-f', $file ],
		"examples/$name.sql");
}

# The parts of examples/system follow each other in one session.
$node->safe_psql('postgres', 'CREATE DATABASE system');
$node->command_ok(
	[ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-d', 'system', map { ('-f', "examples/system/$_.sql") } qw(setup grants tour) ],
	'examples/system');

$node->stop;
done_testing();
