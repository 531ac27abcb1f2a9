# What sessions and workers keep stays good while the store grows: statements are planned in
# an empty store, whose tables were analyzed while they were empty.  Then documents are
# written, projected, compacted, read as changes, deleted and purged, in two rounds that do
# the same.  If the second one reads more rows of a table than the first, what is done for a
# document depends on how many there are.  The statistics of the server count rows that
# were read, also those of indexes, which a plan may read from end to end.
use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use Dms::Session;

my $many = $ENV{DMS_LONG} ? 20_000 : 1_000;
my $schema = slurp_file("$FindBin::RealBin/../../examples/schemas/school.json");
$schema =~ s/'/''/g;

# Rows of our tables that were read so far.
my $READ = q{
	SELECT relname, sum(n) FROM (
		SELECT relid, relname, seq_tup_read AS n FROM pg_stat_user_tables
		UNION ALL SELECT relid, relname, idx_tup_read FROM pg_stat_user_indexes) AS r
	WHERE relname NOT IN ('resourcemodel', 'resourcetype', 'store') GROUP BY relid, relname};
my $FLUSH = "SELECT pg_stat_force_next_flush();\n";

# What the worker does, and whoever follows changes.  Each of them is one session all the time.
my @worker = (
	'CALL dms.project_documents(600)',
	'CALL dms.run_jobs()',
	'SELECT dms.compact_changes()',
	'SELECT dms.purge_history(1000)',
	q{SELECT dms.purge_tracked_changes('0')},
	'SELECT dms.purge_idempotency_keys()',
	'SELECT count(*) FROM dms.claim_jobs(\'mine\', 10)',
	'CALL dms.project_documents(600)',
);
my $FOLLOW = q{
	DO $$
	DECLARE
		place text := current_setting('test.place', true);
		last text;
	BEGIN
		LOOP
			SELECT max(c.next_cursor) FILTER (WHERE c.kind = 'end'), max(c.next_cursor) INTO last, place
			FROM dms.read_changes(NULLIF(place, ''), 50) AS c;
			EXIT WHEN last IS NOT NULL OR place IS NULL;
		END LOOP;
		PERFORM set_config('test.place', COALESCE(last, place), false);
	END $$};

my ($stayed, @grown) = rounds('normal', '');
is($stayed, 0, 'a second round reads as many rows of each table as the first') or diag(join "\n", @grown);

SKIP:
{
	skip 'there is no test build', 1 unless $ENV{DMS_FAULTS_INSTALL};
	($stayed, @grown) = rounds('faults', 'plan_sizes', install_path => $ENV{DMS_FAULTS_INSTALL});
	ok((grep { /^documentcache:/ } @grown), 'without the guard, more rows of the cache are read') or diag(join "\n", @grown);
}
done_testing();

# Does the rounds on a new server; returns for how many tables a second one reads more, and
# these tables.
sub rounds
{
	my ($name, $skip, @options) = @_;
	my $node = PostgreSQL::Test::Cluster->new("scans_$name", @options);
	my @read;

	$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
	$node->append_conf('postgresql.conf', "fsync = off\nautovacuum = off\ndms.projector_batch = 10\nlog_statement = none\n");
	$node->append_conf('postgresql.conf', "shared_preload_libraries = 'dms'\ndms.worker = off\ndms.skip = '$skip'\n") if $skip;
	$node->start;
	$node->safe_psql('postgres', 'CREATE DATABASE store');
	$node->safe_psql('store', qq{
		SET client_min_messages = warning;
		CREATE EXTENSION dms;
		SELECT dms.deploy_schema('$schema'::json);
		SELECT dms.configure_resource('ed-fi', 'students', '{"history": true, "diff": true}');
		SELECT dms.set_cache_mode('eventual')});
	$node->safe_psql('store', 'ANALYZE');
	my %sessions = map { $_ => Dms::Session->new($node, 'store') } qw(writer worker follower);
	round(\%sessions, 1, 0);
	push @read, read_rows($node, \%sessions);
	foreach my $round (1, 2)
	{
		round(\%sessions, $round * $many + 1, ($round + 1) * $many);
		push @read, read_rows($node, \%sessions);
	}
	is($node->safe_psql('store', 'SELECT count(*) FROM dms.DocumentCache'), $node->safe_psql('store', 'SELECT count(*) FROM dms.Document'),
		"$name: the cache is filled");
	$_->finish foreach values %sessions;
	$node->stop;
	my @tables = grep { compare(@{ $_ }) } map { [ $_, map { $_ // 0 } $read[0]{$_}, $read[1]{$_}, $read[2]{$_} ] } sort keys %{ $read[2] };
	return (scalar @tables, map { "$_->[0]: " . ($_->[2] - $_->[1]) . ', then ' . ($_->[3] - $_->[2]) . ' rows' } @tables);
}

# Returns true if a second round read more rows of a table; a table that is hardly read does
# not count.
sub compare
{
	my ($table, $begin, $first, $second) = @_;
	my ($one, $two) = ($first - $begin, $second - $first);

	note("$table: $one, then $two rows") if $two > $many;
	return $two > 1.5 * $one + $many;
}

# Returns how many rows of each table were read so far.
sub read_rows
{
	my ($node, $sessions) = @_;

	$_->ask($FLUSH) foreach values %$sessions;
	return { map { split /\|/ } split /\n/, $node->safe_psql('store', $READ) };
}

# Writes students with these numbers, changes some, and deletes some, each in a transaction of
# its own; then all others do their work.
sub round
{
	my ($sessions, $first, $last) = @_;
	my $post = q{dms.upsert_document('ed-fi', 'students', json_build_object('studentUniqueId', 's' || n,
		'firstName', %s, 'lastSurname', 'L', 'birthDate', '2014-01-01'))};
	my $answer = $sessions->{writer}->ask(sprintf(q{
		DO $$
		DECLARE id uuid; BEGIN
			FOR n IN %d .. %d LOOP
				PERFORM %s; COMMIT;
				IF n %% 5 = 0 THEN PERFORM %s; COMMIT; END IF;
				IF n %% 10 = 0 THEN PERFORM dms.enqueue_job('mine', 'kind', '{}'); COMMIT; END IF;
			END LOOP;
		END $$;}, $first, $last, sprintf($post, q{'F'}), sprintf($post, q{'G'})) . "\n");
	unlike($answer, qr/ERROR/, "students $first to $last are written");
	unlike($sessions->{follower}->ask("$FOLLOW;\n"), qr/ERROR/, 'changes are followed');
	foreach my $statement (@worker)
	{
		$answer = $sessions->{worker}->ask("$statement;\n");
		unlike($answer, qr/ERROR/, $statement);
	}
	$answer = $sessions->{writer}->ask(sprintf(q{
		DO $$
		BEGIN
			FOR n IN %d .. %d LOOP
				IF n %% 20 = 0 THEN
					PERFORM dms.delete_document(dms.resolve('ed-fi', 'students', json_build_object('studentUniqueId', 's' || n)::jsonb)); COMMIT;
				END IF;
			END LOOP;
		END $$;}, $first, $last) . "\n");
	unlike($answer, qr/ERROR/, 'and some are deleted');
	unlike($sessions->{worker}->ask("$worker[0];\n"), qr/ERROR/, 'which the worker follows');
	return;
}
