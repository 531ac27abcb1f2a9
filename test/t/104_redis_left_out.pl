# An installation without dms_redis, as make REDIS=0 makes it: everything works but Redis,
# and a worker that is to write there says why it cannot.
use strict;
use warnings;

use Cwd qw(abs_path);
use File::Basename;
use FindBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $top = abs_path("$FindBin::RealBin/../..");
my $dir = PostgreSQL::Test::Utils::tempdir_short();
my %of = map { my $path = `$ENV{PG_CONFIG} --$_`; chomp $path; $_ => $path } qw(bindir sharedir pkglibdir);

# A copy of the installation; PostgreSQL finds its files by their places relative to it.
my ($root) = map { m{^((?:/[^/]+)*)/.*\n\1/.*\n\1/.*$}s ? $1 : '' } join "\n", values %of;
chdir($root || '/') or die "cannot enter $root";
system_or_bail('cp', '-a', '--parents', (map { substr $_, 1 + length $root } values %of), $dir);
unlink glob($dir . substr($of{pkglibdir}, length $root) . '/dms_redis*');

my $node = PostgreSQL::Test::Cluster->new('redis_left_out', install_path => dirname($dir . substr($of{bindir}, length $root)));
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', q{
	shared_preload_libraries = 'dms'
	fsync = off
	log_statement = none
	dms.worker_naptime = 1s
	max_prepared_transactions = 10
	dms.redis_url = 'redis://127.0.0.1:1'
});
$node->start;
like($node->safe_psql('postgres', q{SELECT setting FROM pg_config() WHERE name = 'PKGLIBDIR'}), qr/^\Q$dir\E/, 'the server is one of the copy');

# It cannot write to Redis, and does all else.
my $schema = slurp_file("$top/examples/schemas/school.json");
$node->safe_psql('postgres', <<"SQL");
SET client_min_messages = error;
CREATE EXTENSION dms;
SELECT dms.deploy_schema(\$schema\$$schema\$schema\$);
SELECT dms.set_cache_mode('eventual');
SELECT dms.upsert_document('ed-fi', 'students', json_build_object('studentUniqueId', i::text, 'firstName', 'A', 'lastSurname', 'B', 'birthDate', '2014-02-03'))
FROM generate_series(1, 100) AS i;
SQL
is($node->safe_psql('postgres', q{SELECT dms.wait_until_projected('10 min')}), 't', 'a worker projects documents');
$node->wait_for_log(qr/LOG:  dms: Redis of database "postgres" does not answer \(could not access file .*dms_redis.*\), trying again/);
pass('and says that there is no dms_redis');
$node->safe_psql('postgres', q{SELECT dms.upsert_document('ed-fi', 'students', json_build_object('studentUniqueId', '1', 'firstName', 'C', 'lastSurname', 'B', 'birthDate', '2014-02-03'))});
is($node->safe_psql('postgres', q{SELECT dms.wait_until_projected('10 min')}), 't', 'it goes on');
is($node->safe_psql('postgres', 'SELECT count(*) FROM dms.audit()'), 0, 'the store is in order');
is(scalar(() = slurp_file($node->logfile) =~ /does not answer/g), 1, 'it says so once');

# Some of the SQL tests, which expect no workers.
my @tests = qw(uuid write read query requests changes cache jobs);
my $results = PostgreSQL::Test::Utils::tempdir();
$node->append_conf('postgresql.conf', "dms.redis_url = ''\nshared_preload_libraries = ''");
$node->restart;
command_ok([ $ENV{PG_REGRESS}, "--inputdir=$top", "--outputdir=$results", '--host=' . $node->host, '--port=' . $node->port,
		'--user=' . $node->safe_psql('postgres', 'SELECT current_user'), '--bindir=' . $of{bindir}, '--dbname=contrib_regression', @tests ],
	"SQL tests: @tests") or diag(-e "$results/regression.diffs" ? slurp_file("$results/regression.diffs") : '');
$node->stop;
done_testing();
