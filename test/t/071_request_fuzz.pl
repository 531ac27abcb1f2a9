# Requests with anything in them are answered; nothing raises an error.
#
# The short form runs with every check; DMS_FUZZ_REQUESTS=200000 is the long one.
use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $requests = $ENV{DMS_FUZZ_REQUESTS} // 6000;
my $seed     = $ENV{DMS_FUZZ_SEED}     // 0.5;

my $node = PostgreSQL::Test::Cluster->new('request_fuzz');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', "fsync = off\nlog_statement = none");
$node->start;

my $schema = slurp_file("$FindBin::RealBin/../../examples/schemas/school.json");
$node->safe_psql('postgres', "SET client_min_messages = warning; CREATE EXTENSION dms; SELECT dms.deploy_schema(\$schema\$$schema\$schema\$); SELECT dms.configure_resource('ed-fi', 'students', '{\"history\": true}')");
$node->safe_psql('postgres', slurp_file("$FindBin::RealBin/../fuzz/requests.sql"));

# Each thousand is a transaction of its own: what it has changed a thousand
# times can be cleared away behind it.
my $script = join '', map { 'SELECT fuzz(1000, ' . (($seed + $_ / 1009) - int($seed + $_ / 1009)) . ");\n" } 1 .. $requests / 1000;
$node->safe_psql('postgres', $script, timeout => 3600);
my $result = $node->safe_psql('postgres', 'SELECT *, count(*) FROM tally GROUP BY 1, 2, 3 ORDER BY 2, 3, 1');
my ($good, %seen) = (0);

for my $line (split /\n/, $result)
{
	my ($method, $status, $type, $count) = $line =~ /^([^|]*)\|([^|]*)\|(.*)\|(\d+)$/ or next;

	diag(sprintf '%6d %6s %s %s', $count, $method, $status, $type) if $requests > 6000;
	fail("raised: $type") if $status < 0;
	$good += $count if $status >= 200 && $status < 300;
	$seen{"$method $status $type"} += $count;
}
cmp_ok($good, '>=', $requests / 5, 'at least a fifth succeed');

for my $row ('GET 200 ', 'GET 304 ', 'POST 201 ', 'POST 200 ', 'PUT 204 ', 'DELETE 204 ', 'POST 400 bad-request',
	'GET 400 bad-request', 'PUT 400 bad-request', 'POST 400 bad-request:data-validation-failed',
	'GET 400 bad-request:data-validation-failed', 'GET 400 bad-request:parameter-validation-failed',
	'POST 400 bad-request:parameter-validation-failed',
	'PUT 400 bad-request:data-validation-failed:key-change-not-supported',
	'POST 409 data-conflict:unresolved-reference', 'DELETE 409 data-conflict:dependent-item-exists',
	'PUT 409 identity-conflict', 'PUT 412 optimistic-lock-failed', 'POST 412 precondition-failed:if-none-match',
	'PUT 409 data-conflict:unresolved-reference',
	'POST 422 idempotency-key-reused', 'GET 404 ', 'DELETE 404 not-found', 'PUT 404 not-found', 'GET 404 not-found',
	'other 405 method-not-allowed', 'POST 415 unsupported-media-type')
{
	ok($seen{$row}, "answered: $row");
}
is($node->safe_psql('postgres', 'SELECT * FROM dms.audit()'), '', 'the store is in order');

$node->stop;
done_testing();
