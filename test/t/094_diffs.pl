# Diffs of JSON values are patches of RFC 6902: another implementation of it, jsonpatch for
# Python, makes the new value of the old one.  Their diffs of lines are applied by the
# program patch.  Values are random ones and real documents.
# DMS_LONG=1 (./check --long) has 100,000 random pairs instead of 400.
use strict;
use warnings;

use FindBin;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $pairs   = $ENV{DMS_LONG} ? 100_000 : 400;
my $patches = "$FindBin::RealBin/../diffs/patches.py";
my $real    = $ENV{APISCHEMA_DIR};
my $dir     = PostgreSQL::Test::Utils::tempdir();

my ($python) = grep { system("$_ -c 'import jsonpatch' >/dev/null 2>&1") == 0 } qw(python3 /usr/bin/python3);
plan skip_all => 'python3 with jsonpatch is not installed (package python3-jsonpatch)' unless $python;

plan skip_all => 'patch is not installed' if system('patch --version >/dev/null 2>&1') != 0;

my $seed = $ENV{DMS_SEED} || int(rand(1_000_000));
note("DMS_SEED=$seed repeats the choices of this run");

my $node = PostgreSQL::Test::Cluster->new('diffs');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', "fsync = off\nlog_statement = none");
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION dms');

check_pairs('random values', $pairs, 'random', $pairs);
SKIP:
{
	skip 'APISCHEMA_DIR names no real documents', 3 unless defined $real && -r "$real/sample-documents.ndjson";
	check_pairs('real documents', 1000, 'real', $real);
}

$node->stop;
done_testing();

# Lets the extension compare pairs of values, and the other implementation apply the patches.
sub check_pairs
{
	my ($name, $least, @what) = @_;
	my ($out, $err) = ('', '');
	my $csv = q{WITH (FORMAT csv, QUOTE E'\x01', DELIMITER E'\x02')};

	run_log([ $python, $patches, @what, $seed ], '>', "$dir/pairs") or die "could not make pairs of $name";
	$node->safe_psql('postgres', qq{
		CREATE TABLE pair (n serial, line json);
		\\copy pair (line) FROM '$dir/pairs' $csv
		CREATE TABLE compared AS SELECT n, json_build_object('old', line -> 'old', 'new', line -> 'new',
			'patch', d -> 'patch', 'text', d -> 'text')::text AS line, d = dms.json_diff(line -> 'old', line -> 'new') AS same
		FROM pair, LATERAL dms.json_diff(line -> 'old', line -> 'new') AS d;
		\\copy (SELECT line FROM compared ORDER BY n) TO '$dir/compared' $csv
		});
	is($node->safe_psql('postgres', 'SELECT count(*) FROM compared WHERE NOT same'), 0, "$name: a diff is the same each time");
	$node->safe_psql('postgres', 'DROP TABLE pair, compared');
	IPC::Run::run([ $python, $patches, 'check', "$dir/compared", $dir ], '>', \$out, '2>', \$err);
	my ($checked, $texts, $wrong) = $out =~ /^(\d+) checked, (\d+) texts, (\d+) wrong$/m;
	cmp_ok($checked // 0, '>=', $least, "$name: " . ($checked // 0) . ' pairs are compared');
	is($wrong, 0, "$name: each patch makes the new value of the old one, and so do " . ($texts // 'no') . ' diffs of lines') or diag($out, $err);
	return;
}
