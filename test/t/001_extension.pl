# The extension in a whole server: two databases, and an owner who is nobody
# special.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('extension');
$node->init;
$node->start;

my $vector = q{SELECT dms.referential_id('Ed-Fi', 'School', ARRAY['$.schoolId'], ARRAY['123'])};
my $expected = '3af6ad85-1212-5833-be6f-f8df6f4d6402';

$node->safe_psql('postgres', q{
	CREATE ROLE district LOGIN NOSUPERUSER;
	CREATE DATABASE one;
	CREATE DATABASE two OWNER district;
});

# Each database of a cluster has its own.
$node->safe_psql('one', 'CREATE EXTENSION dms');
is($node->safe_psql('one', $vector), $expected, 'works in one database');
isnt($node->psql('two', $vector), 0, 'and is not there in another');

# The owner of a database is not superuser, and need not be.
my @as_owner = (extra_params => [ '-U', 'district' ]);
$node->safe_psql('two', 'CREATE EXTENSION dms', @as_owner);
is($node->safe_psql('two', $vector, @as_owner), $expected, 'the owner of a database creates it');

$node->safe_psql('two', 'DROP EXTENSION dms', @as_owner);
isnt($node->psql('two', $vector), 0, 'the owner drops it');
is($node->safe_psql('one', $vector), $expected, 'the other database keeps its own');

$node->safe_psql('two', 'CREATE EXTENSION dms', @as_owner);
is($node->safe_psql('two', $vector, @as_owner), $expected, 'and creates it again');

# In one session, where the library stays loaded.
is($node->safe_psql('two', "CREATE SCHEMA other; DROP EXTENSION dms; CREATE EXTENSION dms; $vector", @as_owner),
	$expected, 'dropped and created within a session');

# Somebody who owns nothing may use what is public, and cannot create it.
$node->safe_psql('postgres', 'CREATE ROLE visitor LOGIN');
my @as_visitor = (extra_params => [ '-U', 'visitor' ]);
$node->safe_psql('two', 'GRANT USAGE ON SCHEMA dms TO visitor', @as_owner);
is($node->safe_psql('two', $vector, @as_visitor), $expected, 'pure functions are for everybody');
my ($status, $out, $err) = $node->psql('postgres', 'CREATE EXTENSION dms', @as_visitor);
isnt($status, 0, 'a visitor cannot create it');
like($err, qr/permission denied/, 'and is told why');

# The script runs as superuser, in a schema that the owner of the database may
# have made before: what stands there is not found.
$node->safe_psql('postgres', 'CREATE ROLE mallory LOGIN; CREATE DATABASE three OWNER mallory');
my @as_mallory = (extra_params => [ '-U', 'mallory' ]);
my $superusers = q{SELECT string_agg(rolname, ',') FROM pg_roles WHERE rolsuper AND rolname = 'mallory'};
$node->safe_psql('three', q{
	CREATE SCHEMA dms;
	CREATE FUNCTION dms.evil(oid, regclass) RETURNS boolean LANGUAGE plpgsql
		AS $$ BEGIN RAISE EXCEPTION 'evil runs as %', current_user; END $$;
	CREATE OPERATOR dms.= (LEFTARG = oid, RIGHTARG = regclass, FUNCTION = dms.evil);
	CREATE EXTENSION dms;
}, @as_mallory);

# Whoever owns the schema may rename it, and put another in its place.  Nothing
# there is called; test/attack has more of this.
($status, $out, $err) = $node->psql('three', q{
	ALTER SCHEMA dms RENAME TO moved;
	CREATE SCHEMA dms;
	CREATE FUNCTION dms.access_ddl(role name, level text) RETURNS SETOF text
		LANGUAGE sql AS $$ SELECT 'ALTER ROLE mallory SUPERUSER' $$;
	SELECT moved.grant_access('mallory', 'admin');
}, @as_mallory);
like($err, qr/the schema of the extension is called "moved"/, 'the schema has its name');
is($node->safe_psql('postgres', $superusers), '', 'nobody became superuser');

$node->stop;
done_testing();
