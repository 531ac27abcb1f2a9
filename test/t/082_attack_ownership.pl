# Whoever owns something that others use lays traps for them: test/attack/ownership
# has scripts for one session, and what needs two sessions is here.
use strict;
use warnings;

use Dms::Attack qw(create_roles run_attacks);
use Dms::Session;
use FindBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $schema = slurp_file("$FindBin::RealBin/../schemas/cascade.json");

my $node = PostgreSQL::Test::Cluster->new('ownership');
$node->init;
$node->start;
create_roles($node);
run_attacks($node, 'ownership');
handover();
$node->stop;
done_testing();

# A superuser gives a store away while a call waits for a table.  The call began as
# the superuser, and must not go on as one: what the new owner put behind the table
# is the new owner's code.
sub handover
{
	my $database = 'handover';

	$node->safe_psql('postgres', "CREATE DATABASE $database TEMPLATE template0 ENCODING 'UTF8'");
	$node->safe_psql($database, "SET client_min_messages = warning; CREATE EXTENSION dms; SELECT dms.deploy_schema(\$s\$$schema\$s\$);"
		. q{SELECT dms.grant_access('writer', 'writer'); GRANT USAGE ON SCHEMA dms TO mallory; GRANT TRIGGER ON dms.idempotencykeys TO mallory;
			CREATE SCHEMA evil AUTHORIZATION mallory});
	$node->safe_psql($database, q{
		CREATE FUNCTION evil.trap() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS
			$$ BEGIN RAISE NOTICE 'pwned as %', current_user; RETURN NEW; END $$;
		CREATE TRIGGER trap BEFORE INSERT ON dms.idempotencykeys FOR EACH ROW EXECUTE FUNCTION evil.trap()},
		connstr => $node->connstr($database) . ' user=mallory');

	my $giver = Dms::Session->new($node, $database);
	my $caller = Dms::Session->new($node, $database);
	$giver->ask(q{BEGIN; SELECT format('ALTER TABLE %s OWNER TO mallory', c.oid::regclass) FROM pg_class AS c
		WHERE c.relnamespace = 'dms'::regnamespace AND c.relkind = 'r' \gexec} . "\n");
	$caller->ask("SET SESSION AUTHORIZATION writer;\n");
	$caller->say(qq{SELECT state FROM dms.idempotency_begin('/x', 'POST', 'k');\n});
	$node->poll_query_until($database, q{SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted)}) or die 'the call does not wait';
	$giver->ask("COMMIT;\n");
	my $answer = $caller->ask('');
	unlike($answer, qr/pwned/, 'the new owner did not get the rights of the old one');
	like($answer, qr/the owner of the store changed during the call/, 'the call was refused');
	$_->finish foreach $giver, $caller;
	return;
}
