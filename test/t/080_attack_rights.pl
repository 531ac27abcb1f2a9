# The caller, the owner of the store and the owner of the database are three
# enemies: test/attack has what each of them tries, to get the rights of another.
use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $attacks = "$FindBin::RealBin/../attack";
my $schema  = slurp_file("$FindBin::RealBin/../schemas/cascade.json");

my $node = PostgreSQL::Test::Cluster->new('attack');
$node->init;
$node->append_conf("postgresql.conf", "max_prepared_transactions = 2");
$node->start;
$node->safe_psql('postgres', q{
	CREATE ROLE dbo LOGIN; CREATE ROLE dep LOGIN IN ROLE pg_execute_server_program;
	CREATE ROLE writer LOGIN; CREATE ROLE mallory LOGIN});

foreach my $file (sort glob "$attacks/*.sql")
{
	my ($name) = $file =~ m{([^/]+)\.sql$};
	subtest $name => sub { attack($name, $file) };
}

$node->stop;
done_testing();

# Run a script in a database of its own, as its comments say.
sub attack
{
	my ($name, $file) = @_;
	my ($out, $err);

	(my $database = $name) =~ tr/-/_/;
	$node->safe_psql('postgres', "CREATE DATABASE $database OWNER dbo TEMPLATE template0 ENCODING 'UTF8'");
	IPC::Run::run([ 'psql', '-X', '-q', '-A', '-t', '-d', $node->connstr($database) . ' user=postgres',
		'-v', 'VERBOSITY=verbose', '-v', 'SHOW_CONTEXT=never', '-v', "schema=$schema", '-f', $file ],
		'>', \$out, '2>&1');
	note($out);
	unlike($out, qr/pwned/, 'nobody got the rights of another');
	unlike($out, qr/syntax error|server closed|XX000/, 'the attack is what it should be');
	expect($out, $_) foreach slurp_file($file) =~ /^-- expect: (.*)$/mg;
	is($node->safe_psql('postgres', q{SELECT string_agg(rolname, ' ') FROM pg_roles WHERE rolsuper AND rolname <> 'postgres'}),
		'', 'nobody became superuser');
	$node->safe_psql('postgres', "ALTER ROLE $_ NOSUPERUSER") foreach qw(dbo dep writer mallory);
	return;
}

# Expect a text, maybe in one section of the output, maybe several times.
sub expect
{
	my ($out, $what) = @_;
	my ($section, $times, $pattern) = $what =~ /^(?:\[([A-Za-z ]*?) ?(?:x(\d+))?\] )?(.*)$/;

	($out) = $out =~ /^=$section=$(.*?)(?:^=|\z)/ms if $section;
	my $count = () = ($out // '') =~ /$pattern/mg;
	cmp_ok($count, '>=', $times // 1, $what);
	return;
}
