package Dms::RedisNode;

# What tests of the way to Redis share: a PostgreSQL server with background workers and a
# small school, false Redis servers, and patience.
#
#	my $node = redis_node('redis', "dms.redis_kinds = 'uri'");	# a store in the database postgres
#	redis_set($node, redis_url => "unix://$path");
#	my $pid = false_redis($path, sub { my ($client, $number) = @_; ... });
#	wait_until(sub { ... }) or die;

use strict;
use warnings;

use Exporter qw(import);
use FindBin;
use IO::Socket::UNIX;
use POSIX ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Time::HiRes qw(sleep time);

our @EXPORT = qw(redis_node redis_store redis_set false_redis wait_until);

# Starts a server with some settings; options are those of PostgreSQL::Test::Cluster.
sub redis_node
{
	my ($name, $settings, @options) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name, @options);

	$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
	$node->append_conf('postgresql.conf', qq{
		shared_preload_libraries = 'dms'
		fsync = off
		log_statement = none
		log_min_error_statement = panic
		dms.worker_naptime = 1s
		$settings
	});
	$node->start;
	return $node;
}

# Makes a store with a school, and functions that write; for another role if one is given.
sub redis_store
{
	my ($node, $database, $role) = @_;
	my $schema = slurp_file("$FindBin::RealBin/../../examples/schemas/school.json");
	my $become = defined $role ? "SET ROLE $role;" : '';

	$node->safe_psql($database, <<"SQL");
$become
SET client_min_messages = warning;
CREATE EXTENSION dms;
SELECT dms.deploy_schema(\$schema\$$schema\$schema\$);
CREATE FUNCTION post(resource text, document json) RETURNS uuid LANGUAGE sql AS 'SELECT document_uuid FROM dms.upsert_document(\$\$ed-fi\$\$, resource, document)';
CREATE FUNCTION period(name text) RETURNS json LANGUAGE sql AS \$\$
	SELECT json_build_object('classPeriodName', name, 'schoolReference', '{"schoolId": 1}'::json)
\$\$;
SELECT post('gradeLevelDescriptors', '{"namespace": "uri://g", "codeValue": "10", "shortDescription": "10"}'),
	post('schools', '{"schoolId": 1, "nameOfInstitution": "Schule", "gradeLevels": [{"gradeLevelDescriptor": "uri://g#10"}]}');
SQL
	return;
}

# Sets parameters for all databases.
sub redis_set
{
	my ($node, %settings) = @_;

	$node->safe_psql('postgres', "ALTER SYSTEM SET dms.$_ = '$settings{$_}'") foreach sort keys %settings;
	$node->reload;
	return;
}

# Starts a process that takes connections one after the other, and serves each of them by a
# function, which gets its number.  Returns its id.
sub false_redis
{
	my ($path, $serve) = @_;
	my $number = 0;

	unlink $path;
	my $listener = IO::Socket::UNIX->new(Local => $path, Listen => 5) or die "cannot listen: $!";
	my $pid = fork // die "cannot fork: $!";
	return $pid if $pid > 0;
	local $SIG{PIPE} = 'IGNORE';
	while (my $client = $listener->accept)
	{
		$serve->($client, ++$number);
		close $client;
	}
	POSIX::_exit(0);
}

# Waits for something; returns false if it does not come.
sub wait_until
{
	my ($condition) = @_;
	my $end = time + $PostgreSQL::Test::Utils::timeout_default;

	while (time < $end)
	{
		return 1 if $condition->();
		sleep 0.02;
	}
	return 0;
}

1;
