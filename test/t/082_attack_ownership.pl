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
multitude();
SKIP:
{
	skip 'takes minutes; see ./check --long', 2 unless $ENV{DMS_LONG};
	race();
}
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

	# The session knows the version of the store, so its call does not wait for dms.Store.
	$caller->ask("SET SESSION AUTHORIZATION writer; SELECT dms.count_documents('Cascade', 'School');\n");
	$giver->ask(q{BEGIN; SELECT format('ALTER TABLE %s OWNER TO mallory', c.oid::regclass) FROM pg_class AS c
		WHERE c.relnamespace = 'dms'::regnamespace AND c.relkind = 'r' \gexec} . "\n");
	$caller->say(qq{SELECT state FROM dms.idempotency_begin('/x', 'POST', 'k');\n});
	$node->poll_query_until($database, q{SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted)}) or die 'the call does not wait';
	$giver->ask("COMMIT;\n");
	my $answer = $caller->ask('');
	unlike($answer, qr/pwned/, 'the new owner did not get the rights of the old one');
	like($answer, qr/the owner of the store changed during the call/, 'the call was refused');
	$_->finish foreach $giver, $caller;
	return;
}

# The owner drops the keys of dms.Document, stores a document thousands of times, and holds
# all of them.  Whoever fills the cache meets more rows that are busy than documents.
sub multitude
{
	my $database = 'multitude';

	$node->safe_psql('postgres', "CREATE DATABASE $database OWNER dbo TEMPLATE template0 ENCODING 'UTF8'");
	$node->safe_psql($database, "SET client_min_messages = error; CREATE EXTENSION dms; SELECT dms.deploy_schema(\$s\$$schema\$s\$);"
		. q{SELECT dms.set_change_tracking(true), dms.set_cache_mode('eventual');
			SELECT dms.upsert_document('Cascade', 'School', '{"schoolId": 1, "name": "x"}');
			ALTER TABLE dms.document DROP CONSTRAINT document_pkey CASCADE;
			ALTER TABLE dms.document DROP CONSTRAINT document_documentuuid_uq CASCADE;
			INSERT INTO dms.document OVERRIDING SYSTEM VALUE SELECT d.* FROM dms.document AS d, generate_series(1, 20000)},
		connstr => $node->connstr($database) . ' user=dbo');

	my $owner = Dms::Session->new($node, $database);
	$owner->ask("BEGIN; SELECT count(*) FROM (SELECT FROM dms.document FOR UPDATE) AS held;\n");
	my ($code, $out, $err) = $node->psql($database, 'SELECT dms_internal.project_some()');
	unlike($err, qr/server closed/, 'the projector lives through a document that is there thousands of times');
	$owner->ask("COMMIT;\n");
	$owner->finish;
	is($node->safe_psql($database, 'SELECT 1'), 1, 'and so does the server');
	return;
}

# The owner makes functions behind the tables careless and careful again, as fast as
# possible, while a caller with a trap writes.  Between any check and the function
# that was checked, something has changed.
sub race
{
	my $database = 'race';
	my @changes = (
		'ALTER FUNCTION public.note() RESET search_path', 'ALTER FUNCTION public.note() SET search_path = pg_catalog, public, pg_temp',
		'CREATE TRIGGER other BEFORE INSERT OR UPDATE ON cascade.school FOR EACH ROW EXECUTE FUNCTION public.careless()',
		'DROP TRIGGER other ON cascade.school',
		'ALTER DOMAIN public.checked ADD CONSTRAINT c CHECK (public.is_fine(VALUE))', 'ALTER DOMAIN public.checked DROP CONSTRAINT c',
		'ALTER TABLE cascade.school ALTER x SET DEFAULT public.is_fine(1)::int', 'ALTER TABLE cascade.school ALTER x DROP DEFAULT',
		'CREATE INDEX CONCURRENTLY fine ON dms.referentialidentity ((public.is_fine(1)))', 'DROP INDEX CONCURRENTLY dms.fine',
		'ALTER TABLE dms.identitylock OWNER TO mallory', 'ALTER TABLE dms.identitylock OWNER TO dbo',
		'ALTER SCHEMA dms RENAME TO dmsx', 'ALTER SCHEMA dmsx RENAME TO dms');
	my ($out, $err);

	$node->safe_psql('postgres', "CREATE DATABASE $database OWNER dbo TEMPLATE template0 ENCODING 'UTF8'; GRANT mallory TO dbo");
	$node->safe_psql($database, "SET client_min_messages = warning; CREATE EXTENSION dms; GRANT CREATE ON SCHEMA dms TO mallory;"
		. "SELECT dms.deploy_schema(\$s\$$schema\$s\$); SELECT dms.grant_access('writer', 'writer');" . q{
		CREATE TABLE public.log (line text);
		CREATE FUNCTION public.note() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS
			$$ BEGIN INSERT INTO log VALUES ('x'); RETURN NEW; END $$;
		CREATE FUNCTION public.careless() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO log VALUES ('x'); RETURN NEW; END $$;
		CREATE FUNCTION public.is_fine(bigint) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN PERFORM line FROM log; RETURN true; END $$;
		CREATE DOMAIN public.checked AS bigint;
		ALTER TABLE cascade.school ADD x public.checked DEFAULT 1;
		CREATE TRIGGER note BEFORE INSERT OR UPDATE ON cascade.school FOR EACH ROW EXECUTE FUNCTION public.note()},
		connstr => $node->connstr($database) . ' user=dbo');

	my $owner = Dms::Session->new($node, $database);
	my $caller = Dms::Session->new($node, $database);
	$owner->ask("SET SESSION AUTHORIZATION dbo;\n");
	$caller->ask(q{SET SESSION AUTHORIZATION writer;
		CREATE FUNCTION pg_temp.trap() RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE 'pwned as %', current_user; RETURN 'x'; END $$;
		CREATE TEMP TABLE log (line text, trap text DEFAULT pg_temp.trap()); GRANT ALL ON log TO PUBLIC;} . "\n");
	my ($answers, $written) = ('', 0);
	my $end = time + 120;
	while (time < $end)
	{
		$owner->say(join('', map { "$changes[rand @changes];\n" } 1 .. 50));
		$answers .= $caller->ask(join('', map { sprintf(
			"SELECT outcome FROM dms.upsert_document('Cascade', 'School', '{\"schoolId\": %d, \"name\": \"%d\"}');\n", rand 100, rand 1e6) } 1 .. 100));
		$owner->ask('');
	}
	$written = () = $answers =~ /^(?:inserted|updated)$/mg;
	unlike($answers, qr/pwned|server closed|XX000/, 'the caller got no rights of the owner');
	cmp_ok($written, '>', 100, "$written documents were written");
	$_->finish foreach $owner, $caller;
	return;
}
