# Deploys in company: who may, next to whom, where, and under which settings;
# and schemas that somebody broke at random.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";

use Dms::Hold;
use Dms::Session;
use JSON::PP ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $top    = "$FindBin::RealBin/../..";
my $school = "\\set school `cat '$top/examples/schemas/school.json'`\n";
my $deploy = "SELECT dms.deploy_schema(:'school')";

# What broken schemas are made with.
my $json = JSON::PP->new->utf8->canonical->allow_nonref;
my @texts = ('', '$', '$.', '$[*]', '$.x', '$.id', 'x', '"; DROP TABLE dms.Document; --', "a\nb", 'a' x 300,
	'string', 'object', 'array', 'number', '$.rooms[*]', '$.rooms[*].roomName', '_ext', '(((', 'xmin', 'date',
	'association', "\x{e9}\x{1F600}", 'ordinal', 'documentId', 'House');
my @values = (undef, 0, -1, 1e30, -1.5, JSON::PP::true, JSON::PP::false, [], {}, [ 1, 'a', undef, {} ], { a => { b => 1 } }, [ [ [] ] ]);

my $node = PostgreSQL::Test::Cluster->new('deploy');
$node->init;
$node->append_conf('postgresql.conf', "log_statement = none\nlog_min_error_statement = panic\n");
$node->start;

subtest 'two at once'     => \&test_concurrent;
subtest 'encodings'       => \&test_encodings;
subtest 'owners'          => \&test_owners;
subtest 'search path'     => \&test_search_path;
subtest 'interrupted'     => \&test_interrupted;
subtest 'broken schemas'  => \&test_broken;

$node->stop;
done_testing();

sub new_database
{
	my ($name, $options) = @_;

	$node->safe_psql('postgres', "CREATE DATABASE $name TEMPLATE template0 " . ($options || "ENCODING 'UTF8'"));
	$node->safe_psql($name, 'CREATE EXTENSION dms');
	return;
}

# Deploys queue; whoever comes second finds it done, whatever its snapshot.
sub test_concurrent
{
	foreach my $level ('READ COMMITTED', 'REPEATABLE READ')
	{
		my $database = lc("at once $level") =~ s/ /_/gr;
		new_database($database);
		my ($first, $second) = map { Dms::Session->new($node, $database) } 1 .. 2;
		my ($hash) = $first->ask("SET client_min_messages = warning;\n${school}BEGIN;\n$deploy;\n") =~ /^([0-9a-f]{64})$/m;
		$second->ask("${school}BEGIN ISOLATION LEVEL $level;\nSELECT 1;\n");
		$second->say("$deploy;\nCOMMIT;\n");
		$node->poll_query_until('postgres', qq{
			SELECT count(*) > 0 FROM pg_stat_activity WHERE datname = '$database' AND wait_event_type = 'Lock'})
		  or die 'nobody waits';
		$first->ask("COMMIT;\n");
		is($second->ask("SELECT count(*) FROM dms.EffectiveSchema;\n"), "$hash\n1\n",
			"the second waits and has the same hash, one deploy is recorded ($level)");
		$_->finish foreach $first, $second;
	}
	return;
}

sub test_encodings
{
	foreach my $encoding (qw(LATIN1 SQL_ASCII))
	{
		my $database = 'in_' . lc $encoding;
		new_database($database, "ENCODING '$encoding' LOCALE 'C'");
		my ($status, $out, $err) = $node->psql($database, "\\set VERBOSITY verbose\n$school$deploy");
		like($err, qr/ZD422.*The encoding of the database is $encoding, and must be UTF8/s, "$encoding is refused");
		is($node->safe_psql($database, q{SELECT count(*) FROM pg_namespace WHERE nspname = 'edfi'}), 0, 'nothing is there');
	}
	return;
}

# The owner of a database needs nobody; others need the owner.
sub test_owners
{
	$node->safe_psql('postgres', q{
		CREATE ROLE district LOGIN; CREATE ROLE clerk LOGIN; CREATE ROLE deputy LOGIN IN ROLE district;
		CREATE DATABASE owned OWNER district TEMPLATE template0 ENCODING 'UTF8'});
	my $as = sub { return (extra_params => [ '-U', $_[0] ]) };
	my $call = sub { return ($node->psql('owned', "\\set VERBOSITY verbose\n$school$_[1]", $as->($_[0])))[2] };

	$node->safe_psql('owned', 'CREATE EXTENSION dms', $as->('district'));
	like($call->('clerk', $deploy), qr/42501: permission denied/, 'a clerk may not');
	my $hash = $node->safe_psql('owned', "$school$deploy", $as->('district'));
	like($hash, qr/^[0-9a-f]{64}$/, 'the owner of the database deploys, and is no superuser');
	is($node->safe_psql('owned', q{
		SELECT string_agg(DISTINCT relowner::regrole::text, ' ') FROM pg_class
		WHERE relnamespace IN ('edfi'::regnamespace, 'dms'::regnamespace) AND relkind <> 'c'}), 'district', 'and owns all that comes out');

	$node->safe_psql('owned', q{
		GRANT USAGE ON SCHEMA dms TO clerk, deputy;
		GRANT EXECUTE ON FUNCTION dms.deploy_schema(json[]), dms_internal.core_ddl() TO clerk, deputy}, $as->('district'));
	is($node->safe_psql('owned', "$school$deploy", $as->('clerk')), $hash, 'who is given the right may deploy, as the owner');
	is($node->safe_psql('owned', "$school$deploy", $as->('deputy')), $hash, 'and so may who acts for the owner');
	return;
}

# Names that the caller's session would find first are not found.
sub test_search_path
{
	new_database('hostile');
	$node->safe_psql('hostile', q{
		CREATE SCHEMA evil;
		CREATE FUNCTION evil.trap() RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE 'trapped'; END $$;
		CREATE FUNCTION evil.btrim(text, text) RETURNS text LANGUAGE sql AS 'SELECT evil.trap()';
		CREATE FUNCTION evil.max(bigint) RETURNS bigint LANGUAGE sql AS 'SELECT evil.trap()::bigint';
		CREATE FUNCTION evil.now() RETURNS timestamptz LANGUAGE sql AS 'SELECT evil.trap()::timestamptz';
		CREATE FUNCTION evil.same(bigint, bigint) RETURNS boolean LANGUAGE sql AS 'SELECT evil.trap()::boolean';
		CREATE OPERATOR evil.= (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = evil.same);
		CREATE DOMAIN evil.varchar AS text CHECK (false);
		CREATE DOMAIN evil.date AS text CHECK (false);
		CREATE TABLE evil.descriptor (documentid bigint PRIMARY KEY)});
	my $out = $node->safe_psql('hostile', qq{
		${school}SET search_path = evil, pg_catalog;
		CREATE TEMP TABLE document (documentid bigint);
		CREATE TEMP TABLE effectiveschema (effectiveschemahash text);
		$deploy;
		$deploy;
		DELETE FROM dms.document;
		SELECT pg_catalog.count(*) FROM pg_catalog.pg_constraint WHERE confrelid::pg_catalog.regclass::pg_catalog.text LIKE 'evil%'});
	like($out, qr/^([0-9a-f]{64})\n\1\n0$/, 'a hostile search path is not looked at');
	return;
}

# A deploy can be cancelled at any command of DDL, from the first to the last, and
# leaves nothing.
sub test_interrupted
{
	new_database('interrupted');
	my $hold = Dms::Hold->new($node, 'interrupted');
	my $is_empty = sub {
		is($node->safe_psql('interrupted', q{
			SELECT (SELECT count(*) FROM pg_class WHERE relnamespace = 'dms'::regnamespace AND relkind = 'r')
				+ (SELECT count(*) FROM pg_namespace WHERE nspname = 'edfi')}), 0, "nothing is left of a deploy that is $_[0]");
	};

	$node->safe_psql('interrupted', $hold->at(0) . "${school}BEGIN; $deploy; ROLLBACK");
	$is_empty->('rolled back');
	my $commands = $hold->commands;
	cmp_ok($commands, '>', 50, "a deploy has $commands commands");
	foreach my $n (1, int($commands / 4), int($commands / 2), $commands - 1, $commands)
	{
		my $session = Dms::Session->new($node, 'interrupted');
		$session->say($hold->at($n) . "$school$deploy;\n");
		$node->safe_psql('interrupted', 'SELECT pg_cancel_backend(' . $hold->wait_for . ')');
		like($session->ask(''), qr/ERROR:  canceling statement due to user request/, "cancelled at command $n");
		$session->finish;
		$is_empty->("cancelled at command $n");
	}
	$hold->finish;
	like($node->safe_psql('interrupted', "$school$deploy"), qr/^[0-9a-f]{64}$/, 'and it can be done again');
	return;
}

# --- schemas that are broken at random -------------------------------------

# All places of a tree: [container, key].
sub places
{
	my ($node) = @_;

	return map { ([ $node, $_ ], places($node->{$_})) } sort keys %$node if ref $node eq 'HASH';
	return map { ([ $node, $_ ], places($node->[$_])) } 0 .. $#$node if ref $node eq 'ARRAY';
	return;
}

sub value_at
{
	my ($container, $key) = @{ $_[0] };

	return ref $container eq 'HASH' ? $container->{$key} : $container->[$key];
}

sub put_at
{
	my ($place, $value) = @_;
	my ($container, $key) = @$place;

	if (ref $container eq 'HASH') { $container->{$key} = $value }
	else { $container->[$key] = $value }
	return;
}

sub copy { return $json->decode($json->encode($_[0])) }

# Take something away, put nonsense or another part there, rename or double it.
sub break
{
	my ($tree) = @_;
	my @places = places($tree);
	my $place = $places[ rand @places ];
	my ($container, $key) = @$place;
	my $way = int rand 6;

	if ($way == 0) { ref $container eq 'HASH' ? delete $container->{$key} : splice @$container, $key, 1 }
	elsif ($way == 1) { put_at($place, $values[ rand @values ]) }
	elsif ($way == 2) { put_at($place, $texts[ rand @texts ]) }
	elsif ($way == 3) { put_at($place, copy(value_at($places[ rand @places ]))) }
	elsif ($way == 4 && ref $container eq 'HASH') { $container->{ $texts[ rand @texts ] } = delete $container->{$key} }
	elsif (ref $container eq 'HASH') { $container->{ $texts[ rand @texts ] } = copy($container->{$key}) }
	else { push @$container, copy($container->[$key]) }
	return;
}

# Whatever comes, it is deployed or refused with places; never anything else.
sub test_broken
{
	my $seed = $ENV{DMS_FUZZ_SEED} || 20;
	my $rounds = $ENV{DMS_FUZZ_ROUNDS} || 250;
	my @files = map { slurp_file("$top/test/schemas/$_.json") } qw(sites sites-extra);
	my $script = '';

	srand $seed;
	foreach my $round (1 .. $rounds)
	{
		my $trees = [ map { $json->decode($_) } @files ];
		break($trees) foreach 1 .. 1 + int rand 3;
		$script .= 'SELECT try(' . join(', ', map { "'" . $json->encode($_) =~ s/'/''/gr . "'" } @$trees) . ");\n" if @$trees;
	}
	new_database('broken');
	$node->safe_psql('broken', q{
		CREATE FUNCTION try(VARIADIC schemas json[]) RETURNS text LANGUAGE plpgsql AS $$
		DECLARE
			state text; message text; detail text;
		BEGIN
			PERFORM dms.deploy_schema(VARIADIC schemas);
			RAISE 'undo' USING ERRCODE = 'ZZZZZ';
		EXCEPTION WHEN OTHERS THEN
			GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL;
			RETURN CASE WHEN state = 'ZZZZZ' THEN 'deployed'
				WHEN state = 'ZD422' AND (detail::json ->> 'status') = '422' THEN 'refused'
				ELSE state || ' ' || message END;
		END $$});
	append_to_file("$PostgreSQL::Test::Utils::tmp_check/broken.sql", "SET client_min_messages = warning;\n$script");
	my ($out, $err) = run_command([ 'psql', '-X', '-q', '-A', '-t', '-d', $node->connstr('broken'),
			'-f', "$PostgreSQL::Test::Utils::tmp_check/broken.sql" ]);
	my %count;
	$count{$_}++ foreach split /\n/, $out;
	note "seed $seed: " . join ', ', map { "$count{$_} $_" } sort keys %count;
	is($err, '', "$rounds broken schemas: no crash and no other error");
	is(join(' ', sort keys %count), 'deployed refused', 'all are deployed or refused');
	return;
}
