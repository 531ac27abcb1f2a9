# Change data capture: events of examples/cdc by wal2json, and a subscription of PostgreSQL's
# own in a second cluster, both beside the stress test.  In the end both equal the source.
# DMS_LONG=1 (./check --long) writes more, and cascades to 100,000 documents.
use strict;
use warnings;

use FindBin;
use IPC::Run;
use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep);

my $stress = $ENV{DMS_STRESS};
plan skip_all => 'DMS_STRESS names no stress test' unless $stress && -x $stress;

# The first Python on the path may know nothing of Debian's packages.
my ($python) = grep { system(qq($_ -c "import psycopg2" 2>/dev/null)) == 0 } qw(python3 /usr/bin/python3);
plan skip_all => 'python3-psycopg2 is not installed' unless defined $python;

chomp(my $libraries = qx(pg_config --pkglibdir));
plan skip_all => 'postgresql-15-wal2json is not installed' unless -e "$libraries/wal2json.so";

my $transactions = $ENV{DMS_LONG} ? 10_000  : 1_000;
my $dependents   = $ENV{DMS_LONG} ? 100_000 : 2_000;
my $top    = "$FindBin::RealBin/../..";
my $follow = "$top/examples/cdc/follow.py";
my $dir    = PostgreSQL::Test::Utils::tempdir();
my $events = "$dir/events.ndjson";

# Later servers trust only plugins that they are told to trust.
my $trusted = qx(postgres --describe-config) =~ /^output_plugin_libraries/m ? "output_plugin_libraries = 'pgoutput, wal2json'" : '';

my $source = PostgreSQL::Test::Cluster->new('cdc_source');
$source->init(allows_streaming => 'logical', extra => [ '--encoding=UTF8', '--locale=C' ]);
$source->append_conf('postgresql.conf', qq{
	shared_preload_libraries = 'dms'
	$trusted
	fsync = off
	max_connections = 50
	log_statement = none
	log_min_messages = log
	log_min_error_statement = fatal
});
$source->start;
my $copy = PostgreSQL::Test::Cluster->new('cdc_copy');
$copy->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$copy->append_conf('postgresql.conf', "fsync = off\nlog_statement = none");
$copy->start;
$copy->safe_psql('postgres', 'CREATE DATABASE copy');
$source->safe_psql('postgres', 'CREATE DATABASE store');

# --- a store, its publication, and its consumers --------------------------------

my $schema = slurp_file("$top/test/schemas/stress.json");
$schema =~ s/'/''/g;
$source->safe_psql('store', "SET client_min_messages = error; CREATE EXTENSION dms; SELECT dms.deploy_schema('$schema'::json)");
my ($code, $out, $err) = $source->psql('store', 'SELECT dms.publish_documents()');
is($code, 0, 'documents are published');
unlike($err, qr/WARNING/, 'the server can decode them');
like($err, qr/NOTICE:  the cache of documents is off/, 'they are not yet projected');
$source->safe_psql('store', q{SET client_min_messages = error; SELECT dms.set_cache_mode('eventual')});

$copy->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-v', 'store=' . $source->connstr('store'),
		'-d', $copy->connstr('copy'), '-f', "$top/examples/cdc/subscribe.sql" ],
	'another cluster subscribes');
my %targets = (
	events => [ '--slot', 'events', '--envelopes', $events ],
	copy   => [ '--slot', 'copy',   '--database',  $copy->connstr('copy') ],
);
like(follow('copy', '--once'), qr/^follow: nothing was written yet; beginning anew\nfollow: a new slot, with 0 documents\nfollow: 0 changes$/, 'the first run makes a slot');
is(follow('copy', '--once'), "follow: 0 changes\n", 'the next one goes on');

# A server that cannot decode its log says so.
($code, $out, $err) = $copy->psql('postgres', "SET client_min_messages = warning; CREATE EXTENSION dms; SELECT dms.deploy_schema('$schema'::json);"
	  . ' SELECT dms.publish_documents()');
like($err, qr/WARNING:.*logical/, 'a server that cannot decode them says so');

# --- beside writers -----------------------------------------------------------

my %running = map { $_ => start_follow($_) } qw(events copy);
my ($stressed, $complained) = ('', '');
my $run = IPC::Run::start([ $stress, '--dbname', $source->connstr('store'), '--schema', "$top/test/schemas/stress.json",
		'--views', "$top/test/stress/views.sql", '--history', '--clients', 4, '--transactions', $transactions ],
	'>', \$stressed, '2>', \$complained);

# Consumers are killed, and go on from their slots.
foreach my $round (1 .. 3)
{
	moves_on();
	foreach my $name (sort keys %running)
	{
		$running{$name}->kill_kill(grace => 0);
		$running{$name} = start_follow($name);
	}
}
$run->finish;
is($complained, '', 'the stress test has nothing to complain about');
like($stressed, qr/^0 findings$/m, 'and found nothing') or diag($stressed);

is($source->safe_psql('store', q{SELECT dms.wait_until_projected('10 minutes')}), 't', 'all is projected');
equal('beside writers');

# Consumers survive a restart of the server.
$source->restart;

# --- a cascade ----------------------------------------------------------------

my $renamed = cascade();
cmp_ok($renamed, '>', $dependents, 'a cascade changes many documents');
equal("after a cascade to $renamed documents");

# --- what fails ---------------------------------------------------------------

# A slot that is lost: the copy begins anew.
$running{$_}->kill_kill(grace => 0) foreach keys %running;
ok($source->poll_query_until('store', q{SELECT NOT bool_or(active) FROM pg_replication_slots WHERE plugin = 'wal2json'}), 'consumers end');
$source->safe_psql('store', q{SELECT pg_drop_replication_slot('copy')});
like(follow('copy', '--once'), qr/^follow: there is no slot "copy"; beginning anew\nfollow: a new slot, with [1-9]\d* documents$/m, 'a slot that is gone: anew');
equal('after that');

# A first run that was killed before it had read everything, and a slot that is in use already.
$copy->safe_psql('copy', 'UPDATE cdc.place SET lsn = NULL');
like(follow('copy', '--once'), qr/^follow: the first run did not end; beginning anew$/m, 'a copy that is not complete: anew');
$targets{other} = [ '--slot', 'copy', '--envelopes', "$dir/other" ];
($code, $out, $err) = run_follow('other', '--once');
is("$code $err", qq(1 follow: the slot "copy" is of another copy; choose another name\n), 'the slot of another copy is not taken');

# A slot that is ahead of the copy, which was restored from a backup for example.
$copy->safe_psql('copy', 'UPDATE cdc.place SET lsn = lsn - 1000000');
like(follow('copy', '--once'), qr/^follow: the slot is ahead of what was written; beginning anew$/m, 'a slot that is ahead: anew');

# --- drift --------------------------------------------------------------------

like(follow('copy', '--verify'), qr/^follow: [1-9]\d* documents, 0 differences$/m, 'digests find no difference');
plant('cdc.document', 'id', 'document', 'resource', 'etag');
my ($status, $found) = run_follow('copy', '--verify');
is($status, 1, 'five planted differences are found');
like($found, qr/, (?:[5-9]|1\d) differences$/m, 'each in its bucket');
like(follow('copy', '--mend'), qr/^follow: [1-9]\d* documents were sent again$/m, 'what differs is sent again');
like(follow('copy', '--verify'), qr/, 0 differences$/m, 'then nothing differs');
is($copy->safe_psql('copy', 'SELECT count(*) FROM cdc.document WHERE etag = 0'), 0, 'nor is there anything that was planted');

# The subscription: PostgreSQL applies no update of a row that is not there, so rows that
# are missing are inserted first, with nothing in them.
subscribed();
plant('dms.documentcache', 'documentuuid', 'documentjson', 'resourcename', 'etag');
my @buckets = differing();
cmp_ok(scalar(@buckets), '>=', 5, 'five planted differences are found in the subscription');
mend_subscription(@buckets);
subscribed();
is_deeply([ differing() ], [], 'and are mended');
equal('in the end');

# --- the stream ---------------------------------------------------------------

follow('events', '--once');
my $stream = read_events();
is($stream->{bad}, '', 'etags ascend within a document, also when it is restored');
is($stream->{without}, 0, 'each event that is no delete has the text');
cmp_ok($stream->{ops}{d}, '>', 0, "$stream->{ops}{d} deletes have the id of the document as key, and a tombstone behind them");
cmp_ok($stream->{ops}{u}, '>', 0, "$stream->{ops}{c} creates, $stream->{ops}{u} updates");
is(join("\n", map { "$_ $stream->{last}{$_}" } sort keys %{ $stream->{last} }),
	$source->safe_psql('store', q{SELECT DocumentUuid || ' ' || Etag FROM dms.Document ORDER BY DocumentUuid::text COLLATE "C"}),
	'what the events add up to is the store');

is($source->safe_psql('store', 'SELECT count(*) FROM dms.audit()'), 0, 'the audit finds nothing');

# All documents are truncated: the stream has a delete for each.
my $all = $source->safe_psql('store', 'SELECT count(*) FROM dms.Document');
$source->safe_psql('store', 'TRUNCATE dms.Document CASCADE');
like(follow('copy', '--once'), qr/^follow: $all changes$/, 'a truncated store is a delete for each document');
is($copy->safe_psql('copy', 'SELECT count(*) FROM cdc.document'), 0, 'the copy is empty');
subscribed();
is($copy->safe_psql('copy', 'SELECT count(*) FROM dms.documentcache'), 0, 'and so is the subscription');
unlike(slurp_file($copy->logfile), qr/ERROR:  (?!could not (?:send|receive|connect))/, 'the subscription had no error but the restart');

# Whoever ends for good leaves no slot behind.
follow('events', '--drop');
$copy->safe_psql('copy', 'DROP SUBSCRIPTION dms_documents');
# A server that keeps no more log than it may gives up a slot that has fallen behind.
$source->append_conf('postgresql.conf', "max_slot_wal_keep_size = 1MB");
$source->reload;
$source->safe_psql('store', q{
	CREATE TABLE filler AS SELECT repeat('x', 1000) AS text FROM generate_series(1, 40000);
	DROP TABLE filler});
$source->safe_psql('store', $_) foreach 'SELECT pg_switch_wal()', 'CHECKPOINT';
is($source->safe_psql('store', q{SELECT wal_status FROM pg_replication_slots WHERE slot_name = 'copy'}), 'lost', 'a slot that falls behind is given up');
like(follow('copy', '--once'), qr/^follow: the slot has fallen too far behind; beginning anew$/m, 'then the copy begins anew');

follow('copy', '--drop');
is($source->safe_psql('store', 'SELECT count(*) FROM pg_replication_slots'), 0, 'no slot is left');
$source->safe_psql('store', 'SELECT dms.unpublish_documents()');

$copy->stop;
$source->stop;
done_testing();

# --- the program ----------------------------------------------------------------

# Run the program; returns its status, and what it printed.
sub run_follow
{
	my ($target, @arguments) = @_;
	my ($out, $err) = ('', '');
	my $ok = IPC::Run::run([ $python, $follow, $source->connstr('store'), @{ $targets{$target} }, @arguments ], '<', \undef, '>', \$out, '2>', \$err,
		IPC::Run::timeout(10 * $PostgreSQL::Test::Utils::timeout_default));

	diag($err) if $err ne '' && $ok;
	return ($ok ? 0 : $? >> 8, $out, $err);
}

# Run it without an error; returns what it printed.
sub follow
{
	my ($target, @arguments) = @_;
	my ($status, $out, $err) = run_follow($target, @arguments);

	is($status, 0, "$target: @arguments") or diag($err);
	return $out;
}

# Start it.
sub start_follow
{
	my ($target) = @_;

	return IPC::Run::start([ $python, $follow, $source->connstr('store'), @{ $targets{$target} }, '--batch', 100 ], '<', \undef,
		'>>', "$dir/$target.log", '2>&1');
}

# --- comparing --------------------------------------------------------------------

# Wait until the subscription has all that was committed.
sub subscribed
{
	$source->wait_for_catchup('dms_documents', 'replay', $source->lsn('insert'));
	return;
}

# Both copies must equal what is read from the tables.
sub equal
{
	my ($when) = @_;
	my $expected = $source->safe_psql('store', q{
		SET dms.cache_reads = off;
		SELECT md5(string_agg(concat_ws(' ', DocumentUuid, ProjectName, ResourceName, Etag, dms.get_document(DocumentUuid)), E'\n'
			ORDER BY DocumentUuid::text COLLATE "C")) FROM dms.Document});

	subscribed();
	is($copy->safe_psql('copy', q{
		SELECT md5(string_agg(concat_ws(' ', documentuuid, projectname, resourcename, etag, documentjson), E'\n'
			ORDER BY documentuuid::text COLLATE "C")) FROM dms.documentcache}), $expected, "the subscription equals the source $when");
	my $lsn = $source->safe_psql('store', q{SELECT pg_current_wal_insert_lsn() - '0/0'});
	if ($source->safe_psql('store', q{SELECT bool_or(active) FROM pg_replication_slots WHERE slot_name = 'copy'}) eq 't')
	{
		# Whatever was committed by now comes before this.
		$source->safe_psql('store', q{SELECT pg_logical_emit_message(true, 'test', '')});
		$copy->poll_query_until('copy', "SELECT lsn >= $lsn FROM cdc.place");
	}
	else
	{
		follow('copy', '--once');
	}
	is($copy->safe_psql('copy', q{
		SELECT md5(string_agg(concat_ws(' ', id, project, resource, etag, document), E'\n'
			ORDER BY id::text COLLATE "C")) FROM cdc.document}), $expected, "and so does the copy by wal2json");
	return;
}

# Read the events: what they add up to, and what must not be.  Some of them are parsed; of
# all others the parts are found by their places.
sub read_events
{
	my %stream = (last => {}, bad => '', without => 0, ops => { map { $_ => 0 } qw(c u d r) });
	my (%highest, $deleted);

	open my $file, '<', $events or die "cannot read $events";
	while (my $line = <$file>)
	{
		my ($id, $value) = $line =~ /^\{"key": \{"documentuuid": "([0-9a-f-]{36})"\}, "value": (.*)\}$/ or die "no event: $line";
		my ($op) = $value =~ /, "op": "([cudr])", "ts_ms": \d+\}$/;

		decode_json($line) if $. <= 200;
		if (defined $deleted)
		{
			$stream{bad} .= "no tombstone of $deleted\n" if $value ne 'null' || $id ne $deleted;
			$deleted = undef;
			next;
		}
		$stream{ops}{$op}++;
		if ($op eq 'd')
		{
			$stream{bad} .= "a delete with more than the key: $line" if $value !~ /^\{"before": \{"documentuuid": "$id"\}, "after": null,/;
			$deleted = $id;
			delete $stream{last}{$id};
			next;
		}
		my ($etag) = $value =~ /"etag": (\d+), "lastmodifiedat"/;
		my ($in_text) = $value =~ /"documentjson": "[^\n]*\\"_etag\\":\\"(\d+)\\"/;

		$stream{without}++ if !defined $in_text || $in_text ne $etag;
		$stream{bad} .= "$id: $etag after $highest{$id}\n" if defined $highest{$id} && ($op eq 'c' ? $etag <= $highest{$id} : $etag < $highest{$id});
		$highest{$id} = $stream{last}{$id} = $etag;
	}
	return \%stream;
}

# --- writing ------------------------------------------------------------------------

# Go on when the copy has been written for a while, or the stress test has ended.
sub moves_on
{
	my $start = $copy->safe_psql('copy', 'SELECT lsn FROM cdc.place');

	sleep(0.1) while $run->pumpable && $copy->safe_psql('copy', "SELECT lsn < $start + 300000 FROM cdc.place") eq 't';
	return;
}

# Make a section with many enrollments, and rename it; returns how many documents change.
sub cascade
{
	$source->safe_psql('store', qq{
		CREATE FUNCTION cdc_write(resource text, body text) RETURNS void LANGUAGE sql AS \$\$
			SELECT dms.upsert_document('Ed-Fi', resource, body::json) \$\$;
		SELECT cdc_write(d, json_build_object('namespace', 'uri://cdc', 'codeValue', 'cdc', 'shortDescription', 'cdc')::text)
		FROM unnest('{TermDescriptor, GradeLevelDescriptor, EducationOrganizationCategoryDescriptor, CourseIdentificationSystemDescriptor}'::text[]) AS d;
		SELECT cdc_write('SchoolYearType', '{"schoolYear": 2090, "schoolYearDescription": "2090", "currentSchoolYear": false}');
		SELECT cdc_write('School', '{"schoolId": 990001, "nameOfInstitution": "School"}');
		SELECT cdc_write('Course', '{"courseCode": "cdc", "courseTitle": "C", "numberOfParts": 1,
			"educationOrganizationReference": {"educationOrganizationId": 990001}}');
		SELECT cdc_write('Session', '{"sessionName": "cdc", "schoolReference": {"schoolId": 990001}, "schoolYearTypeReference": {"schoolYear": 2090},
			"beginDate": "2029-08-01", "endDate": "2029-12-20", "termDescriptor": "uri://cdc#cdc", "totalInstructionalDays": 80}');
		SELECT cdc_write('CourseOffering', '{"localCourseCode": "cdc", "schoolReference": {"schoolId": 990001}, "sessionReference":
			{"schoolId": 990001, "schoolYear": 2090, "sessionName": "cdc"}, "courseReference": {"courseCode": "cdc", "educationOrganizationId": 990001}}');
		SELECT cdc_write('Section', '{"sectionIdentifier": "cdc", "courseOfferingReference":
			{"localCourseCode": "cdc", "schoolId": 990001, "schoolYear": 2090, "sessionName": "cdc"}}');
		SELECT cdc_write('Student', json_build_object('studentUniqueId', 'cdc' || n, 'firstName', 'F', 'lastSurname', 'L', 'birthDate', '2014-01-01')::text)
		FROM generate_series(1, $dependents) AS n;
		SELECT cdc_write('StudentSectionAssociation', json_build_object('beginDate', '2029-08-02', 'studentReference',
			json_build_object('studentUniqueId', 'cdc' || n), 'sectionReference', json_build_object('sectionIdentifier', 'cdc',
			'localCourseCode', 'cdc', 'schoolId', 990001, 'schoolYear', 2090, 'sessionName', 'cdc'))::text)
		FROM generate_series(1, $dependents) AS n});
	$source->safe_psql('store', q{SELECT dms.wait_until_projected('1 hour')});
	equal('before the cascade');
	my $before = $source->safe_psql('store', 'SELECT sum(Etag) FROM dms.Document');
	$source->safe_psql('store', q{
		SELECT dms.update_document(dms.resolve('ed-fi', 'sections', '{"sectionIdentifier": "cdc", "localCourseCode": "cdc", "schoolId": 990001,
			"schoolYear": 2090, "sessionName": "cdc"}'), '{"sectionIdentifier": "renamed", "courseOfferingReference":
			{"localCourseCode": "cdc", "schoolId": 990001, "schoolYear": 2090, "sessionName": "cdc"}}');
		SELECT dms.wait_until_projected('1 hour')});
	return $source->safe_psql('store', "SELECT sum(Etag) - $before FROM dms.Document");
}

# --- drift --------------------------------------------------------------------------

# Plant five differences: another text, a row too few, a row too many, an earlier version,
# and a document of another resource.
sub plant
{
	my ($table, $id, $text, $resource, $etag) = @_;
	my $pick = sub { "$id = (SELECT $id FROM $table WHERE $resource = '$_[0]' ORDER BY $id LIMIT 1 OFFSET $_[1])" };

	$copy->safe_psql('copy', "
		UPDATE $table SET $text = '{}' WHERE " . $pick->('Student', 0) . ";
		DELETE FROM $table WHERE " . $pick->('Student', 1) . ";
		INSERT INTO $table SELECT (jsonb_populate_record(NULL::$table, to_jsonb(t) || jsonb_build_object('$id', gen_random_uuid()))).*
		FROM $table AS t WHERE " . $pick->('Student', 2) . ";
		UPDATE $table SET $etag = 0, $text = replace($text\::text, '\"_etag\":', '\"_etag\": ')::json WHERE " . $pick->('Section', 0) . ";
		UPDATE $table SET $resource = 'Course' WHERE " . $pick->('StudentSectionAssociation', 0));
	return;
}

# The buckets of the subscription that differ from the source, as [project, resource, bucket].
sub differing
{
	my %stored = digests($source, 'store', q{(SELECT project, resource FROM dms.resources() WHERE kind <> 'abstract') AS r, dms.document_digests(project, resource)});
	my %copied = digests($copy, 'copy',
		'(SELECT DISTINCT projectname AS project, resourcename AS resource FROM dms.documentcache) AS r, dms.copy_digests(project, resource)');

	return map { [ split /\|/ ] } grep { ($stored{$_} // '') ne ($copied{$_} // '') } sort keys %{ { %stored, %copied } };
}

# Digests by project, resource and bucket.
sub digests
{
	my ($node, $database, $from) = @_;

	return map { split / /, $_, 2 } split /\n/,
	  $node->safe_psql($database, "SELECT concat_ws('|', project, resource, bucket) || ' ' || documents || ' ' || encode(digest, 'hex') FROM $from");
}

# Mend the subscription as the page says: an update of a row that is not there is not
# applied, so there must be one.  What does not exist in the source is deleted.
sub mend_subscription
{
	foreach my $bucket (@_)
	{
		my ($project, $resource, $number) = @$bucket;
		my $here = sub { "SELECT $_[0]\::text FROM $_[1] WHERE ProjectName = '$project' AND ResourceName = '$resource'"
			  . " AND ('x' || right($_[0]\::text, 8))::bit(32)::bigint % 256 = $number" };
		my $ids = join ',', grep { length } split /\n/,
		  $source->safe_psql('store', $here->('DocumentUuid', 'dms.Document')) . "\n" . $copy->safe_psql('copy', $here->('documentuuid', 'dms.documentcache'));

		$copy->safe_psql('copy', "INSERT INTO dms.documentcache SELECT id, 0, '', '', '', 0, now(), '{}', now()"
			  . " FROM unnest('{$ids}'::uuid[]) AS id ON CONFLICT DO NOTHING");
		my $gone = join ',', split /\n/, $source->safe_psql('store', "SELECT dms.republish_documents('{$ids}')");
		$copy->safe_psql('copy', "DELETE FROM dms.documentcache WHERE documentuuid = ANY ('{$gone}')");
	}
	return;
}
