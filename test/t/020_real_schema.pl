# The whole Ed-Fi standard and three extensions of it: how it deploys, on which
# servers, and that every table and column is what the rules say.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";

use Dms::ApiSchema;
use Dms::Hold;
use Dms::Naming qw(collisions member_tables tables);
use Dms::Session;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $dir = $ENV{APISCHEMA_DIR};
plan skip_all => 'APISCHEMA_DIR is not set: the real schema files are not tested'
  unless defined $dir && length $dir;
plan skip_all => "there is no ed-fi.json in APISCHEMA_DIR ($dir)"
  unless -e "$dir/ed-fi.json";

my @names = qw(ed-fi tpdm sample homograph);
my $all   = ":'f0', :'f1', :'f2', :'f3'";

# Files of megabytes get into statements as variables of psql.
my $files = join '', map { "\\set f$_ `cat '$dir/$names[$_].json'`\n" } 0 .. $#names;
$files .= "SET client_min_messages = warning;\n";

# What the test framework sets for small servers goes back to PostgreSQL's own
# defaults.
my $defaults = "wal_level = replica\nmax_wal_senders = 10\nlog_statement = none\nlog_min_error_statement = panic\n";

my $node = PostgreSQL::Test::Cluster->new('default');
$node->init;
$node->append_conf('postgresql.conf', "$defaults\nfsync = on\n");
$node->start;
my $tight = PostgreSQL::Test::Cluster->new('tight');
$tight->init;
$tight->append_conf('postgresql.conf', "$defaults\nmax_connections = 20\n");
$tight->start;

my $schema = Dms::ApiSchema->new(files => [ map { "$dir/$_.json" } @names ]);
my $hash;

subtest 'default settings'  => \&test_default;
subtest 'every column'      => \&test_columns;
subtest 'paths'             => \&test_paths;
subtest 'the same again'    => \&test_again;
subtest 'twenty clients'    => \&test_tight;
subtest 'the same dump'     => \&test_dump;
subtest 'combinations'      => \&test_combinations;
subtest 'crash'             => \&test_crash;
subtest 'memory'            => \&test_memory;

$tight->stop;
$node->stop;
done_testing();

# A new database that has the extension.
sub new_database
{
	my ($server, $name) = @_;

	$server->safe_psql('postgres', "CREATE DATABASE $name TEMPLATE template0 ENCODING 'UTF8'");
	$server->safe_psql($name, 'CREATE EXTENSION dms');
	return $name;
}

# What a statement says, and the seconds that the server's processor spent on it: the
# clock would tell what else the machine is doing.
sub cost
{
	my ($server, $database, $prepare, $statement) = @_;
	my ($status, $out, $err) = $server->psql($database,
		"$files$prepare;\nSET client_min_messages = log;\nSET log_statement_stats = on;\n$statement");
	my ($user, $system) = $err =~ /^!\s+([\d.]+) s user, ([\d.]+) s system/m;

	is($status, 0, 'a statement to be measured') or diag $err;
	return ($user + $system, $out);
}

# How often the cost of one thing is the cost of another.
sub costs_at_most
{
	my ($limit, $cost, $other, $name) = @_;

	cmp_ok($cost, '<', $limit * $other, sprintf '%s: %.2f s of the processor, at most %.2f times %.2f s', $name, $cost, $limit, $other);
	return;
}

sub test_default
{
	is($node->safe_psql('postgres', q{
		SELECT string_agg(setting, ' ' ORDER BY name) FROM pg_settings
		WHERE name IN ('max_connections', 'max_locks_per_transaction', 'max_prepared_transactions')}),
		'100 64 0', 'a server with default settings');
	new_database($node, 'plain');
	my ($plain) = cost($node, 'plain', "CREATE TEMP TABLE file AS SELECT unnest(ARRAY[$all]::json[]) AS file; BEGIN", q{
		DO $$
		DECLARE
			statement text;
		BEGIN
			FOR statement IN SELECT dms.plan_schema(VARIADIC array_agg(file)) FROM file LOOP
				EXECUTE statement;
			END LOOP;
		END $$});
	new_database($node, 'one');
	(my $cost, $hash) = cost($node, 'one', '', "SELECT dms.deploy_schema($all)");
	like($hash, qr/^[0-9a-f]{64}$/, 'deploys all four files, and tells their hash');
	costs_at_most(3, $cost, $plain, 'a deploy beside its bare DDL');
	my ($again) = cost($node, 'one', '', "SELECT dms.deploy_schema($all)");
	costs_at_most(0.3, $again, $cost, 'the same again, which has nothing to do, beside the deploy');
	$node->append_conf('postgresql.conf', 'fsync = off');
	$node->reload;
	note $node->safe_psql('one', q{
		SELECT format('%s tables, %s indexes, %s foreign keys, %s',
			count(*) FILTER (WHERE relkind = 'r'), count(*) FILTER (WHERE relkind = 'i'),
			(SELECT count(*) FROM pg_constraint WHERE contype = 'f'),
			pg_size_pretty(pg_database_size(current_database())))
		FROM pg_class WHERE relnamespace::regnamespace::text IN ('dms', 'edfi', 'tpdm', 'sample', 'homograph')});
	return;
}

# The catalog against the test library's own reading of the rules.
sub test_columns
{
	my @tables = tables($schema);
	my %expected = map { ("$_->{pg_schema}.$_->{name}" => $_) } @tables;
	my %found;

	is(scalar @tables, 559, 'resource tables by the rules');
	is(join(', ', collisions($schema)), '', 'no collisions');
	foreach my $line (split /\n/, $node->safe_psql('one', q{
		SELECT nspname || '.' || relname, attname, format_type(atttypid, atttypmod),
		       CASE WHEN attnotnull THEN 0 ELSE 1 END, col_description(attrelid, attnum)
		FROM pg_attribute JOIN pg_class c ON c.oid = attrelid JOIN pg_namespace n ON n.oid = relnamespace
		WHERE attnum > 0 AND relkind = 'r' AND nspname IN ('edfi', 'tpdm', 'sample', 'homograph')
		ORDER BY attnum}))
	{
		my ($table, @column) = split /\|/, $line;
		push @{ $found{$table} }, \@column;
	}
	delete $found{"$_->{pg_schema}.$_->{name}"} foreach member_tables($schema);
	is_deeply([ sort keys %found ], [ sort keys %expected ], 'these tables are there, and no others');

	my @wrong;
	my $columns = 0;
	foreach my $name (sort keys %expected)
	{
		my @want = map { [ @$_{qw(name type nullable path)} ] } @{ $expected{$name}{columns} };
		my @have = @{ $found{$name} || [] };
		$columns += @want;
		foreach my $i (0 .. ($#want > $#have ? $#want : $#have))
		{
			my ($want, $have) = map { $_ ? join(' ', map { defined $_ ? $_ : '' } @$_) : 'none' }
			  ([ @{ $want[$i] || [] } ], [ @{ $have[$i] || [] } ]);
			$want = $want[$i] && defined $want[$i][3] ? $want : join ' ', @{ $want[$i] || [] }[0 .. 2];
			$have = join ' ', @{ $have[$i] || [] }[0 .. 2] if !($want[$i] && defined $want[$i][3]);
			push @wrong, "$name: $want, not $have" if $want ne $have;
		}
	}
	is(join("\n", @wrong), '', "all $columns columns: name, type, nullability, path");

	my @long = grep { length $_->{full_name} > 63 } @tables;
	my @names = map { "$_->{pg_schema}.$_->{name}" } @long;
	cmp_ok(scalar @long, '>', 0, scalar(@long) . ' names of tables are too long for PostgreSQL');
	is(scalar(grep { /_[0-9a-f]{10}\z/ && exists $found{$_} } @names), scalar @long, 'they end in a hash');
	return;
}

# What the stored models make of all paths, and that the database agrees.
sub test_paths
{
	my $counts = $schema->counts;
	my $models = "FROM dms.ResourceModel, json_array_elements(Model -> 'PART') AS part WHERE Kind <> 'abstract'";
	my $count = sub {
		my ($part, $condition) = @_;
		(my $from = $models) =~ s/PART/$part/;
		return $node->safe_psql('one', "SELECT count(*) $from AND $condition");
	};

	is($count->('identity', "Kind <> 'descriptor'"), 629, 'identity paths');
	is($count->('references', "part ->> 'descriptor' IS NULL"), 352, 'references');
	is($count->('references', "(part ->> 'descriptor')::boolean"), 597, 'descriptor references');
	is($node->safe_psql('one', q{
		SELECT count(*) FROM dms.ResourceModel, json_array_elements(Model -> 'queries') AS field,
			json_array_elements(field -> 'paths') AS path
		WHERE path ->> 'path' <> '$.id' AND Kind <> 'descriptor'}), 1390, 'query paths');
	is($counts->{query_paths}, 1390, 'as the files have them');
	is($node->safe_psql('one', 'SELECT count(*) FROM dms.EdgeSource'), 949, 'edge sources');

	# Each reference has a column with one foreign key, to the right table.
	my %target;
	foreach my $line (split /\n/, $node->safe_psql('one', q{
		SELECT conrelid::regclass, attname, confrelid::regclass, count(*) OVER (PARTITION BY conrelid, attname)
		FROM pg_constraint JOIN pg_attribute ON attrelid = conrelid AND ARRAY[attnum] = conkey
		WHERE contype = 'f' AND confdeltype = 'a' AND connamespace <> 'dms'::regnamespace}))
	{
		my ($table, $column, $target, $count) = split /\|/, $line;
		$target{"$table.$column"} = "$target $count";
	}
	my @tables = tables($schema);
	my %root = map { ($_->{resource} => $_) } grep { $_->{kind} eq 'root' } @tables;
	my @wrong;
	my $references = 0;
	foreach my $table (@tables)
	{
		my $resource = $schema->resource(split /\./, $table->{resource}, 2);
		my %at = map { ($_->{path} => $_) } @{ $resource->{references} };
		foreach my $column (grep { $_->{kind} =~ /reference|descriptor/ } @{ $table->{columns} })
		{
			my $place = "$table->{pg_schema}.$table->{name}.$column->{name}";
			my $want = 'dms.descriptor';
			if ($column->{kind} eq 'reference')
			{
				my $target = $schema->target($at{ $column->{path} });
				my $root = $root{ $target->{key} };
				$want = $root ? "$root->{pg_schema}.$root->{name}" : "$target->{pg_schema}." . lc "$target->{name}_Member";
			}
			$references++;
			push @wrong, "$place: $want, not " . ($target{$place} || 'none')
			  if ($target{$place} || '') ne "$want 1";
		}
	}
	is(join("\n", @wrong), '', "all $references references have their foreign key");
	is(scalar keys %target, $references, 'and nothing else has one');
	return;
}

# Neither the order of files nor that of properties nor white space matters.
sub test_again
{
	is($node->safe_psql('one', 'SELECT EffectiveSchemaHash FROM dms.EffectiveSchema'), $hash, 'the hash is recorded');
	is($node->safe_psql('one', "${files}SELECT dms.deploy_schema(:'f3', :'f1', :'f0', :'f2')"), $hash, 'files in another order');
	is($node->safe_psql('one', "${files}SELECT dms.deploy_schema(:'f3'::jsonb::json, :'f1'::jsonb::json, :'f0'::jsonb::json, :'f2'::jsonb::json)"),
		$hash, 'properties in another order, without white space');
	is($node->safe_psql('one', 'SELECT count(*) FROM dms.EffectiveSchema'), 1, 'was nothing to do');

	# The other ways that the README names.
	my $list = join ', ', map { "pg_read_file('$dir/$_.json')::json" } @names;
	is($node->safe_psql('one', "SELECT dms.deploy_schema($list)"), $hash, 'read by the server');
	my $import = join '', map { "\\lo_import '$dir/$names[$_].json'\n\\set o$_ :LASTOID\n" } 0 .. $#names;
	$list = join ', ', map { "convert_from(lo_get(:o$_), 'UTF8')::json" } 0 .. $#names;
	like($node->safe_psql('one', "${import}SELECT dms.deploy_schema($list)"), qr/$hash$/, 'sent as large objects');
	return;
}

# A small server refuses before it starts, and says what to change.
sub test_tight
{
	new_database($tight, 'two');
	my ($status, $out, $err) = $tight->psql('two', "\\set VERBOSITY verbose\n${files}SELECT dms.deploy_schema($all)");
	isnt($status, 0, 'is too small');
	like($err, qr/ERROR:  ZD422: the server's lock table is too small/, 'and says so');
	my ($value) = $err =~ /HINT:  Set max_locks_per_transaction to (\d+) or more/;
	ok($value, 'with the setting to change') or diag $err;
	is($tight->safe_psql('two', q{SELECT count(*) FROM pg_namespace WHERE nspname = 'edfi'}), 0, 'before it does anything');

	$tight->append_conf('postgresql.conf', "max_locks_per_transaction = $value\n");
	$tight->restart;
	is($tight->psql('two', "${files}SELECT dms.deploy_schema($all)"), 0, "and works with max_locks_per_transaction = $value");
	return;
}

# Two databases, of two servers, have the same schema down to the last byte.
sub test_dump
{
	my @dumps;

	foreach my $pair ([ $node, 'one' ], [ $tight, 'two' ])
	{
		my ($server, $database) = @$pair;
		my ($dump, $err) = run_command([ 'pg_dump', '--schema-only', '-h', $server->host, '-p', $server->port, $database ]);
		$dump =~ s/^\\(un)?restrict .*//mg;
		push @dumps, $dump;
	}
	cmp_ok(length $dumps[0], '>', 1_000_000, 'dumps of ' . length($dumps[0]) . ' bytes');
	ok($dumps[0] eq $dumps[1], 'are the same');
	return;
}

# Extensions are deployed or left out as one likes.
sub test_combinations
{
	new_database($node, 'combinations');
	foreach my $mask (0 .. 6)
	{
		my @chosen = (0, grep { $mask & (1 << $_ - 1) } 1 .. 3);
		my $list = join ', ', map { ":'f$_'" } reverse @chosen;
		my ($status, $out, $err) = $node->psql('combinations', "${files}BEGIN; SELECT dms.deploy_schema($list); ROLLBACK");

		is($status, 0, join ' and ', map { $names[$_] } @chosen) or diag $err;
	}
	my ($status, $out, $err) = $node->psql('combinations', "${files}SELECT dms.deploy_schema(:'f1', :'f2')");
	like($err, qr/There is no core project/, 'but not without the core');
	return;
}

# The server goes down in the middle: nothing of the deploy is left.
sub test_crash
{
	$node->safe_psql('postgres', 'CHECKPOINT');	# so that recovery is about this deploy only
	new_database($node, 'crashed');
	my $commands = $node->safe_psql('crashed', "${files}SELECT count(*) FROM dms.plan_schema($all)");
	my $hold = Dms::Hold->new($node, 'crashed');
	my $session = Dms::Session->new($node, 'crashed');
	$session->say($hold->at(int($commands / 2)) . "${files}SELECT dms.deploy_schema($all);\n");
	$hold->wait_for;
	my $locks = $node->safe_psql('postgres', 'SELECT count(*) FROM pg_locks');
	$node->stop('immediate');
	$_->finish foreach $session, $hold;
	$node->start;
	cmp_ok($locks, '>=', 1000, "stopped when the deploy held $locks locks");
	is($node->safe_psql('crashed', q{
		SELECT (SELECT count(*) FROM pg_namespace WHERE nspname IN ('edfi', 'tpdm', 'sample', 'homograph'))
			+ (SELECT count(*) FROM pg_class WHERE relnamespace = 'dms'::regnamespace AND relkind = 'r')}),
		0, 'nothing of it is there');
	is($node->psql('crashed', "${files}SELECT dms.deploy_schema($all)"), 0, 'and it can be done again');
	return;
}

# What a session costs that has seen every table.
sub test_memory
{
	my $used = q{(SELECT pg_size_pretty(sum(used_bytes)) FROM pg_backend_memory_contexts)};
	my $out = $node->safe_psql('one', qq{
		SELECT 'a new session: ' || $used;
		DO \$\$
		DECLARE
			t regclass;
		BEGIN
			FOR t IN SELECT oid FROM pg_class WHERE relkind = 'r' AND relnamespace::regnamespace::text IN ('edfi', 'tpdm', 'sample', 'homograph', 'dms') LOOP
				EXECUTE format('SELECT FROM %s LIMIT 0', t);
			END LOOP;
		END \$\$;
		SELECT 'one that has seen all tables: ' || $used;
		SELECT count(Model::text) > 0 FROM dms.ResourceModel;
		SELECT 'models: ' || pg_size_pretty(sum(length(Model::text))) FROM dms.ResourceModel});

	note $out;
	like($out, qr/seen all tables/, 'memory of a session');
	return;
}
