# Whoever follows the changes of a store misses none and keeps none that are lost: after a
# crash, after a restore elsewhere or to an earlier time, from a standby and after its promotion.
use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $schema = slurp_file("$FindBin::RealBin/../schemas/isolation.json");
$schema =~ s/'/''/g;

my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 1, has_archiving => 1);
# Commits that nobody waits for stay in memory until they are flushed with something else.
$primary->append_conf('postgresql.conf', "synchronous_commit = off\nwal_writer_delay = 10s\nautovacuum = off\n"
	. "max_prepared_transactions = 2");
$primary->start;
$primary->safe_psql('postgres', "SET client_min_messages = warning; CREATE EXTENSION dms; SELECT dms.deploy_schema('$schema'::json)");

#
# A crash: what was delivered is there, and ids of lost transactions that are given again
# are delivered, too
#

my %copy;
my $cursor;
foreach my $round (1 .. 3)
{
	post($primary, "kept $round");
	follow($primary);
	ok(holds("kept $round"), "round $round: the change is delivered");
	post($primary, "lost $round");
	$primary->stop('immediate');
	$primary->start;
	is($primary->safe_psql('postgres', named("kept $round")), 1, "round $round: what was delivered has survived");
	post($primary, "again $round");
	follow($primary);
	ok(holds("again $round"), "round $round: a change after the crash is delivered");
	is_copy_of($primary, "round $round");
}

#
# A transaction in another database does not hold the newest number, one in this database does
#

$primary->safe_psql('postgres', 'CREATE DATABASE other');
my $elsewhere = $primary->background_psql('other');
$elsewhere->query_safe('BEGIN; CREATE TABLE t ()');
my $before = newest($primary);
post($primary, 'beside another database');
cmp_ok(newest($primary), '>', $before, 'a transaction in another database does not hold the newest number');
is($primary->safe_psql('postgres', 'SELECT count(*) FROM dms.change_blockers()'), 0, 'and is not listed');
# ... neither prepared nor after its end, which a snapshot may be older than: the number would fall
my $fixed = $primary->background_psql('postgres');
my $told_newest = $fixed->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT newest FROM dms.available_change_versions()');
$elsewhere->query_safe(q{PREPARE TRANSACTION 'elsewhere'});
is(newest($primary), $told_newest, 'nor does one that is prepared there');
is($fixed->query_safe('SELECT newest FROM dms.available_change_versions()'), $told_newest, 'also for an older snapshot');
$elsewhere->query_safe(q{COMMIT PREPARED 'elsewhere'});
is($fixed->query_safe('SELECT newest FROM dms.available_change_versions()'), $told_newest, 'nor one that has ended there');
$fixed->query_safe('COMMIT');
$fixed->quit;
$elsewhere->quit;
my $here = $primary->background_psql('postgres');
$here->query_safe('BEGIN; CREATE TABLE held ()');
$before = newest($primary);
post($primary, 'beside a transaction here');
is(newest($primary), $before, 'one in this database does');
is($primary->safe_psql('postgres', 'SELECT count(*) FROM dms.change_blockers()'), 1, 'and is listed');
follow($primary);
ok(holds('beside a transaction here'), 'the feed does not wait for it');
$here->query_safe('ROLLBACK');
$here->quit;
cmp_ok(newest($primary), '>', $before, 'the newest number grows when it ends');

#
# A standby: the same changes, perhaps more than once; after its promotion it goes on
#

$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->append_conf('postgresql.conf', 'max_standby_streaming_delay = -1');
$standby->start;
post($primary, 'for the standby');
catch_up();
follow($standby);
ok(holds('for the standby'), 'a standby delivers changes');
is(newest($standby), newest($primary), 'it knows the same newest number');
is_copy_of($standby, 'standby');
$primary->safe_psql('postgres', q{SELECT dms.delete_document(DocumentUuid) FROM dms.Document JOIN isolation.session USING (DocumentId)
	WHERE sessionname = 'for the standby'});
post($primary, 'by both');
follow($primary);
catch_up();
follow($standby);
is_copy_of($standby, 'a cursor of the primary on the standby');
follow($primary);
is_copy_of($primary, 'a cursor of the standby on the primary');

#
# Recovery to a point in time: a follower that has seen later changes is told, another one goes on
#

post($primary, 'before the point');
follow($primary);
my ($early, %early) = ($cursor, %copy);
$primary->safe_psql('postgres', q{SELECT pg_create_restore_point('point')});
post($primary, 'after the point');
$primary->safe_psql('postgres', q{SELECT dms.delete_document(DocumentUuid) FROM dms.Document JOIN isolation.session USING (DocumentId)
	WHERE sessionname = 'before the point'});
follow($primary);
my ($late, %late) = ($cursor, %copy);
my $told = newest($primary);
my $segment = $primary->safe_psql('postgres', 'SELECT pg_walfile_name(pg_switch_wal())');
$primary->poll_query_until('postgres', "SELECT last_archived_wal >= '$segment' FROM pg_stat_archiver") or die 'nothing is archived';
my $earlier = PostgreSQL::Test::Cluster->new('earlier');
$earlier->init_from_backup($primary, 'base', has_restoring => 1, standby => 0);
$earlier->append_conf('postgresql.conf', "archive_mode = off\nrecovery_target_name = 'point'\nrecovery_target_action = promote");
$earlier->start;
$earlier->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()') or die 'the recovery does not end';
my (undef, undef, $refusal) = $earlier->psql('postgres', "SELECT * FROM dms.read_changes('$late')");
like($refusal, qr/not known completely/, 'a cursor that has seen what came after the point is refused');
post($earlier, 'instead');
($cursor, %copy) = ($early, %early);
follow($earlier);
ok(holds('instead') && holds('before the point') && !holds('after the point'), 'a cursor from before the point goes on from there');
is_copy_of($earlier, 'recovered');
is($earlier->safe_psql('postgres', 'SELECT * FROM dms.audit()'), '', 'the recovered store has no contradictions');

# Clients may have read up to numbers that are given again, unless they are skipped.
cmp_ok(newest($earlier), '<=', $told, 'numbers of lost changes are given again');
cmp_ok($earlier->safe_psql('postgres', 'SELECT dms.skip_change_versions()'), '>', $told, 'unless they are skipped');
is($earlier->safe_psql('postgres', "SELECT count(*) FROM dms.changed_documents('isolation', 'sessions', $told + 1)"), 0,
	'then a client that was told more hears of nothing that it has');
post($earlier, 'after the skip');
is($earlier->safe_psql('postgres', "SELECT count(*) FROM dms.changed_documents('isolation', 'sessions', $told + 1)"), 1,
	'and of all that comes');
$earlier->stop;
($cursor, %copy) = ($late, %late);

# What the primary alone has is lost by the promotion, and a follower that has it is told.
my $safe = $cursor;
$standby->append_conf('postgresql.conf', "primary_conninfo = ''");
$standby->reload;
$standby->poll_query_until('postgres', 'SELECT count(*) = 0 FROM pg_stat_wal_receiver') or die 'the standby still streams';
post($primary, 'lost by the promotion');
follow($primary);
my $lost = $cursor;
$primary->stop('immediate');
$standby->promote;
$cursor = $safe;
%copy = ();
post($standby, 'after the promotion');
my (undef, undef, $error) = $standby->psql('postgres', "SELECT * FROM dms.read_changes('$lost')");
like($error, qr/not known completely/, 'a cursor that has seen what is lost is refused');
is($standby->psql('postgres', "SELECT count(*) FROM dms.read_changes('$safe')"), 0, 'one that has not is good');
$cursor = undef;
%copy = ();
follow($standby);
is_copy_of($standby, 'promoted');
is($standby->safe_psql('postgres', 'SELECT * FROM dms.audit()'), '', 'the promoted store has no contradictions');

#
# Another server: numbers go on, cursors are refused
#

my $dump = $standby->basedir . '/dump.sql';
my $highest = newest($standby);
$standby->command_ok([ 'pg_dump', '-f', $dump, 'postgres' ], 'dumped');
my $restored = PostgreSQL::Test::Cluster->new('restored');
$restored->init;
$restored->start;
$restored->safe_psql('postgres', 'CREATE DATABASE restored TEMPLATE template0');
$restored->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', $dump, 'restored' ], 'restored in a new cluster');
my $rows = sub { $restored->safe_psql('restored', shift) };
(undef, undef, $error) = $restored->psql('restored', 'SELECT * FROM dms.available_change_versions()');
like($error, qr/no numbers yet/, 'a copy that nobody has written to has no numbers');
is($rows->('SELECT * FROM dms.audit()'), '', 'it has no contradictions');
$rows->(q{SELECT dms.upsert_document('isolation', 'sessions', '{"sessionName": "restored"}')});
cmp_ok($rows->('SELECT newest FROM dms.available_change_versions()'), '>', $highest, 'numbers go on after the first write');
is($rows->("SELECT count(*) FROM dms.changed_documents('isolation', 'sessions', $highest + 1)"), 1, 'a client reads just that');
(undef, undef, $error) = $restored->psql('restored', "SELECT * FROM dms.read_changes('$cursor')");
like($error, qr/not known completely/, 'a cursor of the other server is refused');
is($rows->(q{SELECT count(*) FROM dms.read_changes() WHERE kind = 'document'}), $rows->('SELECT count(*) FROM dms.Document'),
	'without a cursor everything is delivered');
is($rows->('SELECT * FROM dms.audit()'), '', 'the restored store has no contradictions');

# A copy of the database within the cluster is another store for followers.
$restored->safe_psql('postgres', 'CREATE DATABASE copied TEMPLATE restored');
my $own = $rows->(q{SELECT next_cursor FROM dms.read_changes() WHERE kind = 'end'});
(undef, undef, $error) = $restored->psql('copied', "SELECT * FROM dms.read_changes('$own')");
like($error, qr/not known completely/, 'a cursor of another database is refused');

$restored->stop;
$standby->stop;
done_testing();

# Write a document.
sub post
{
	my ($node, $name) = @_;

	$node->safe_psql('postgres', qq{SELECT dms.upsert_document('isolation', 'sessions', '{"sessionName": "$name"}')});
	return;
}

# A query for the number of documents of a name.
sub named
{
	my ($name) = @_;

	return "SELECT count(*) FROM isolation.session WHERE sessionname = '$name'";
}

# The newest number of a change.
sub newest
{
	my ($node) = @_;

	return $node->safe_psql('postgres', 'SELECT newest FROM dms.available_change_versions()');
}

# Read all changes that there are, a few at a time, into the copy.
sub follow
{
	my ($node) = @_;

	for (my $end = 0; !$end;)
	{
		my $after = defined $cursor ? "'$cursor'" : 'NULL';
		my $read = $node->safe_psql('postgres',
			"SELECT kind, document_uuid, etag, document ->> 'sessionName', next_cursor FROM dms.read_changes($after, 2)");

		foreach my $row (split /\n/, $read)
		{
			my ($kind, $uuid, $etag, $name, $next) = split /\|/, $row;

			$copy{$uuid} = "$etag $name" if $kind eq 'document';
			delete $copy{$uuid} if $kind eq 'delete';
			$end = 1 if $kind eq 'end';
			$cursor = $next;
		}
	}
	return;
}

# Returns true if the copy has a document of a name.
sub holds
{
	my ($name) = @_;

	return scalar grep { /^\d+ \Q$name\E$/ } values %copy;
}

# The copy must have just the documents of the store.
sub is_copy_of
{
	my ($node, $when) = @_;
	my $stored = $node->safe_psql('postgres', q{SELECT DocumentUuid || ' ' || Etag || ' ' || sessionname
		FROM dms.Document JOIN isolation.session USING (DocumentId) ORDER BY 1});

	is(join("\n", map { "$_ $copy{$_}" } sort keys %copy), $stored, "$when: the copy equals the store");
	return;
}

# Wait until the standby has all of the primary.
sub catch_up
{
	$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert'));
	return;
}
