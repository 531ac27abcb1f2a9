# Runs the scripts of test/attack, each in a database of its own.  Comments in a
# script say what its output must contain; see test/attack/README.md.
package Dms::Attack;

use strict;
use warnings;

use Exporter qw(import);
use FindBin;
use IPC::Run;
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT_OK = qw(attack create_roles run_attacks);

# Creates the roles that the scripts use.
sub create_roles
{
	my ($node) = @_;

	$node->safe_psql('postgres', q{
		CREATE ROLE dbo LOGIN; CREATE ROLE dep LOGIN IN ROLE pg_execute_server_program;
		CREATE ROLE writer LOGIN; CREATE ROLE mallory LOGIN});
	return;
}

# Run all scripts of a directory below test/attack.
sub run_attacks
{
	my ($node, $directory) = @_;

	foreach my $file (sort glob "$FindBin::RealBin/../attack/$directory/*.sql")
	{
		my ($name) = $file =~ m{([^/]+)\.sql$};
		subtest $name => sub { attack($node, $name, $file) };
	}
	return;
}

# Run a script.
sub attack
{
	my ($node, $name, $file) = @_;
	my $schema = slurp_file("$FindBin::RealBin/../schemas/cascade.json");
	my $out;

	(my $database = $name) =~ tr/-/_/;
	$node->safe_psql('postgres', "CREATE DATABASE $database OWNER dbo TEMPLATE template0 ENCODING 'UTF8'");
	IPC::Run::run([ 'psql', '-X', '-q', '-A', '-t', '-d', $node->connstr($database) . ' user=postgres',
		'-v', 'VERBOSITY=verbose', '-v', 'SHOW_CONTEXT=never', '-v', "schema=$schema", '-f', $file ],
		'>', \$out, '2>&1');
	note($out);
	unlike($out, qr/pwned/, 'nobody got the rights of another');
	unlike($out, qr/syntax error|server closed|ERROR:  XX000/, 'the attack is what it should be');
	_expect($out, $_) foreach slurp_file($file) =~ /^-- expect: (.*)$/mg;
	unlike($out, qr/$_/m, "never $_") foreach slurp_file($file) =~ /^-- never: (.*)$/mg;
	is($node->safe_psql('postgres', q{SELECT string_agg(rolname, ' ') FROM pg_roles WHERE rolsuper AND rolname <> 'postgres'}),
		'', 'nobody became superuser');
	$node->safe_psql('postgres', "ALTER ROLE $_ NOSUPERUSER") foreach qw(dbo dep writer mallory);
	return;
}

# Checks for an expected text, optionally in a section, or a number of times.
sub _expect
{
	my ($out, $what) = @_;
	my ($section, $times, $pattern) = $what =~ /^(?:\[([A-Za-z ]*?) ?(?:x(\d+))?\] )?(.*)$/;

	($out) = $out =~ /^=$section=$(.*?)(?:^=|\z)/ms if $section;
	my $count = () = ($out // '') =~ /$pattern/mg;
	cmp_ok($count, '>=', $times // 1, $what);
	return;
}

1;
