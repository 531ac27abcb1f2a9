# Changing the schema of a store that others use.
#
# The long form (DMS_LONG) has more sessions and changes, takes 200,000 documents (or
# DMS_DOCUMENTS) through a change of the real schema, and adds the real extensions one
# after another.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";

use Dms::Hold;
use Dms::Session;
use IPC::Run;
use JSON::PP ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $top = "$FindBin::RealBin/../..";
my $dir = $ENV{APISCHEMA_DIR};
my $long = $ENV{DMS_LONG};
my $json = JSON::PP->new->utf8->canonical;
my $catalog = slurp_file("$top/test/catalog.sql");
my $tmp = PostgreSQL::Test::Utils::tempdir();
my $school = file_of('school', $json->decode(slurp_file("$top/examples/schemas/school.json")));
my $transport = file_of('transport', $json->decode(slurp_file("$top/examples/schemas/school-transport.json")));

# The school with a nickname, an index, a foreign key, and a longer name.
my $nicknames = $json->decode(slurp_file("$top/examples/schemas/school.json"));
{
	my $students = $nicknames->{projectSchema}{resourceSchemas}{students};

	$students->{jsonSchemaForInsert}{properties}{nickName} = { type => 'string', maxLength => 30 };
	$students->{documentPathsMapping}{NickName} = { isReference => JSON::PP::false, path => '$.nickName', type => 'string' };
	$students->{queryFieldMapping}{nickName} = [ { path => '$.nickName', type => 'string' } ];
	$students->{jsonSchemaForInsert}{properties}{firstName}{maxLength} = 100;
	$students->{jsonSchemaForInsert}{properties}{homeSchoolReference} =
	  { type => 'object', required => ['schoolId'], properties => { schoolId => { type => 'integer' } } };
	$students->{documentPathsMapping}{HomeSchool} = {
		isReference => JSON::PP::true, isDescriptor => JSON::PP::false, projectName => 'Ed-Fi', resourceName => 'School',
		referenceJsonPaths => [ { identityJsonPath => '$.schoolId', referenceJsonPath => '$.homeSchoolReference.schoolId', type => 'number' } ] };
}
$nicknames = file_of('nicknames', $nicknames);

my $node = PostgreSQL::Test::Cluster->new('migrate');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf',
	"fsync = off\nmax_locks_per_transaction = 256\nlog_statement = none\nrestart_after_crash = on\ndeadlock_timeout = 200ms\nmax_connections = 60\n");
$node->start;

subtest 'other sessions' => \&test_sessions;
subtest 'interrupted'    => \&test_interrupted;
subtest 'code of the owner' => \&test_owner_code;
subtest 'traffic'        => \&test_traffic;
SKIP:
{
	skip 'APISCHEMA_DIR names no schema files', 1 unless defined $dir && -r "$dir/ed-fi.json";
	subtest 'the real schema' => \&test_real;
	skip 'the chain of real files is for the long form', 1 unless $long;
	subtest 'the real files, one after another' => \&test_chain;
}
$node->stop;
done_testing();

# Writes a schema to a file; returns the name of the file.
sub file_of
{
	my ($name, $schema) = @_;

	append_to_file("$tmp/$name.json", $json->encode($schema));
	return "$tmp/$name.json";
}

# Returns a psql command that reads files, and the arguments that have them.
sub read_files
{
	my (@files) = @_;

	return (join('', map { "\\set file$_ `cat '$files[$_]'`\n" } 0 .. $#files), join(', ', map { ":'file$_'" } 0 .. $#files));
}

# Returns SQL that deploys files.
sub deploy_sql
{
	my ($set, $arguments) = read_files(@_);

	return "SET client_min_messages = warning;\n${set}SELECT dms.deploy_schema($arguments) IS NULL;\n";
}

# Creates a database with a store that has some documents.
sub new_store
{
	my ($name, @files) = @_;

	$node->safe_psql('postgres', "CREATE DATABASE $name TEMPLATE template0");
	$node->safe_psql($name, "CREATE EXTENSION dms;\n" . deploy_sql(@files) . <<'SQL');
CREATE FUNCTION public.student(id int, nick text DEFAULT NULL) RETURNS json LANGUAGE sql AS
$$ SELECT json_strip_nulls(json_build_object('studentUniqueId', 's' || id, 'firstName', 'Ann ' || id, 'lastSurname', 'Lee',
	'birthDate', '2010-05-31', 'nickName', nick)) $$;
SELECT FROM dms.upsert_document('ed-fi', 'localEducationAgencyCategoryDescriptors', '{"codeValue": "Local",
	"namespace": "uri://ed-fi.org/LocalEducationAgencyCategoryDescriptor", "shortDescription": "Local"}');
SELECT count(*) FROM generate_series(1, 40) AS i, dms.upsert_document('ed-fi', 'students', public.student(i));
SQL
	return;
}

# --- sessions that are connected -------------------------------------------------------

# What sessions do that were connected before: they use the new schema, and after a
# rollback the old one.
sub test_sessions
{
	my @use = map { my $id = $_; "SELECT outcome FROM dms.upsert_document('ed-fi', 'students', public.student($id, 'N'));
		SELECT count(*) FROM dms.query_documents('ed-fi', 'students', '{\"studentUniqueId\": \"s$id\"}') AS d WHERE d ->> 'nickName' = 'N';\n" } 0 .. 9;
	my ($set, $arguments) = read_files($nicknames);
	my $filter = "SELECT count(*) FROM dms.query_documents('ed-fi', 'students', '{\"nickName\": \"N\"}');\n";

	new_store('sessions', $school);
	my ($first, $other) = map { Dms::Session->new($node, 'sessions') } 1 .. 2;
	$_->ask("SET client_min_messages = warning;\n\\set VERBOSITY terse\nPREPARE use AS SELECT outcome FROM dms.upsert_document('ed-fi', 'students', public.student(3));\nEXECUTE use;\n$set")
	  foreach $first, $other;
	is($_->ask($use[1]), "unchanged\n0\n", 'a property that the schema does not have is dropped') foreach $first, $other;

	is($first->ask("BEGIN;\nSELECT dms.deploy_schema($arguments) IS NULL;\n$use[1]ROLLBACK;\n"), "f\nupdated\n1\n", 'the deploying session uses the new schema');
	is($_->ask($use[1]), "unchanged\n0\n", 'after a rollback, the old one') foreach $first, $other;
	is($first->ask("BEGIN;\nSAVEPOINT s;\nSELECT dms.deploy_schema($arguments) IS NULL;\n$use[1]ROLLBACK TO s;\n$use[1]COMMIT;\n"),
		"f\nupdated\n1\nunchanged\n0\n", 'and after that of a savepoint');
	like($other->ask($filter), qr/^ERROR:.*unknown fields/, 'there is no such filter');

	$first->ask("BEGIN;\nSELECT dms.deploy_schema($arguments) IS NULL;\n");
	$other->say("EXECUTE use;\n$use[1]$filter");
	$node->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_stat_activity WHERE datname = 'sessions' AND wait_event_type = 'Lock'")
	  or die 'nobody waits';
	$first->ask("COMMIT;\n");
	is($other->ask(''), "unchanged\nupdated\n1\n1\n", 'who waited uses the new schema, without connecting again');
	is($first->ask($use[2]), "updated\n1\n", 'and so does the one that deployed');
	is($first->ask("SELECT dms.deploy_schema($arguments) IS NULL;\nSELECT count(*) FROM dms.audit();\n"), "f\n0\n", 'the audit finds nothing');
	$_->finish foreach $first, $other;
	return;
}

# --- a change that does not end --------------------------------------------------------

# Cancelled, or killed, a change leaves the old schema, which works.
sub test_interrupted
{
	my $deploy = deploy_sql($nicknames, $transport);
	my $lines = sub { return join "\n", sort split /\n/, $node->safe_psql('interrupted', "SET dms_test.schemas = 'dms,edfi,transport'; $catalog") };

	new_store('interrupted', $school);
	my $hold = Dms::Hold->new($node, 'interrupted');
	my $before = $lines->();
	$node->safe_psql('interrupted', $hold->at(0) . "BEGIN;\n$deploy\nROLLBACK");
	my $commands = $hold->commands;
	cmp_ok($commands, '>', 30, "a change has $commands commands");
	is($lines->(), $before, 'rolled back, it leaves nothing');

	foreach my $n ($long ? 1 .. $commands : (1, int($commands / 2), $commands))
	{
		my $session = Dms::Session->new($node, 'interrupted');
		$session->say($hold->at($n) . $deploy);
		$node->safe_psql('interrupted', 'SELECT pg_cancel_backend(' . $hold->wait_for . ')');
		like($session->ask("SELECT outcome FROM dms.upsert_document('ed-fi', 'students', public.student($n, 'N'));\n"),
			qr/canceling statement due to user request.*^unchanged|canceling statement due to user request.*^inserted/ms, "cancelled at command $n");
		$session->finish;
	}
	is($lines->(), $before, 'cancelled, it leaves nothing either');

	my $session = Dms::Session->new($node, 'interrupted');
	$session->say($hold->at(int($commands / 2)) . $deploy);
	my $pid = $hold->wait_for;
	append_to_file($node->logfile =~ s/\.log$/.killed/r, "(PID $pid) was terminated by signal 9\n");
	kill('KILL', $pid);
	eval { $session->finish };
	$node->poll_query_until('postgres', 'SELECT true') or die 'the server does not come back';
	is($lines->(), $before, 'killed, it leaves nothing');
	is($node->safe_psql('interrupted', "SELECT outcome FROM dms.upsert_document('ed-fi', 'students', public.student(1, 'N')); SELECT * FROM dms.audit()"),
		'unchanged', 'and the old schema works');
	$node->safe_psql('interrupted', 'DROP EVENT TRIGGER hold');
	$node->safe_psql('interrupted', $deploy);
	is($node->safe_psql('interrupted', "SELECT outcome FROM dms.upsert_document('ed-fi', 'students', public.student(1, 'N')); SELECT * FROM dms.audit()"),
		'updated', 'until it is changed at last');
	return;
}

# --- code that would run with the owner's rights -----------------------------------------

# A constraint that is checked again when the type of its column changes must not find
# functions of the caller.
sub test_owner_code
{
	new_store('owned', $school);
	$node->safe_psql('owned', q{
		CREATE FUNCTION public.long_enough(name text) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RETURN length(name) > 0; END $$;
		ALTER TABLE edfi.Student ADD CONSTRAINT named CHECK (public.long_enough(FirstName))});
	my ($status, $out, $err) = $node->psql('owned', deploy_sql($nicknames));
	like($err, qr/ERROR:.*long_enough.*has no search_path of its own/, 'a function that finds names of the caller is refused');
	$node->safe_psql('owned', 'ALTER FUNCTION public.long_enough(text) SET search_path = pg_catalog, pg_temp');
	$node->safe_psql('owned', deploy_sql($nicknames));
	is($node->safe_psql('owned', 'SELECT * FROM dms.audit()'), '', 'one that does not is called');
	return;
}

# --- others who read and write ------------------------------------------------------------

# Starts clients that run scripts until they are stopped.
sub start_traffic
{
	my ($database, $clients, @scripts) = @_;
	my %traffic = (out => '', err => '', log => "$tmp/$database-" . int(1000 * time));
	my @files;

	foreach my $script (@scripts)
	{
		my $file = "$traffic{log}-" . @files . '.sql';

		append_to_file($file, $script);
		push @files, '-f', $file;
	}
	$traffic{run} = IPC::Run::start([ 'pgbench', '-n', '-c', $clients, '-j', 2, '-T', 100_000, '--max-tries=100', '-l', "--log-prefix=$traffic{log}",
			@files, '-h', $node->host, '-p', $node->port, $database ], '<', \undef, '>', "$traffic{log}.out", '2>', "$traffic{log}.err");
	return \%traffic;
}

# Waits until all clients have done more.
sub wait_for_traffic
{
	my ($traffic) = @_;
	my $done = sub { my $n = 0; $n += -s $_ foreach glob "$traffic->{log}.[0-9]*"; return $n };
	my $before = $done->();

	foreach (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		return if $done->() > $before;
		sleep 0.1;
	}
	die 'the clients do nothing';
}

# Stops clients; returns the errors that they could not retry, and the longest time of a transaction.
sub stop_traffic
{
	my ($traffic) = @_;

	$traffic->{run}->signal('TERM');
	eval { $traffic->{run}->finish };
	my $errors = join "\n", grep { /aborted in command|ERROR|FATAL/ && !/terminat/ && !/serialize|deadlock/ } split /\n/, slurp_file("$traffic->{log}.err");
	my $longest = 0;
	my $count = 0;
	foreach my $line (map { split /\n/, slurp_file($_) } glob "$traffic->{log}.[0-9]*")
	{
		my (undef, undef, $latency) = split / /, $line;

		$count++;
		$longest = $latency if defined $latency && $latency =~ /^\d+$/ && $latency > $longest;
	}
	return ($errors, $longest / 1e6, $count);
}

# Sessions write and read while the schema changes, and while an operator prepares it.
sub test_traffic
{
	my $clients = $long ? 20 : 6;

	new_store('traffic', $school);
	my $traffic = start_traffic('traffic', $clients,
		"\\set id random(1, 60)\nSELECT FROM dms.upsert_document('ed-fi', 'students', public.student(:id, 'N' || random()));\n",
		"\\set id random(1, 60)\nBEGIN;\nSELECT FROM dms.upsert_document('ed-fi', 'students', public.student(:id + 100));\nSELECT FROM dms.upsert_document('ed-fi', 'students', public.student(:id + 200));\nCOMMIT;\n",
		"SELECT count(*) FROM dms.query_documents('ed-fi', 'students');\n",
		"SELECT count(dms.get_document(DocumentUuid)) FROM dms.Document;\n");
	wait_for_traffic($traffic);

	my ($set, $arguments) = read_files($nicknames, $transport);
	my ($set_back, $back) = read_files($school);
	foreach my $round (1 .. ($long ? 5 : 1))
	{
		$node->safe_psql('traffic', deploy_sql($nicknames));
		wait_for_traffic($traffic);
		my ($status, $out, $err) = $node->psql('traffic', "SET client_min_messages = warning;\n\\set ON_ERROR_STOP 0\n${set}SELECT statement FROM dms.plan_migration(ARRAY[$arguments]::json[]) WHERE phase = 'before' ORDER BY step \\gexec\n");
		is($err, '', 'an operator runs the steps before the gate');
		wait_for_traffic($traffic);
		$node->safe_psql('traffic', deploy_sql($nicknames, $transport));
		wait_for_traffic($traffic);
		$node->safe_psql('traffic', "SET client_min_messages = warning;\n${set_back}SELECT dms.migrate_schema(ARRAY[$back]::json[], true) IS NULL;\n");
		wait_for_traffic($traffic);
	}
	# All steps that an operator can run beside others, for an index and a foreign key on a table with rows.
	my ($set_more, $more) = read_files($nicknames);
	my $rest = $node->safe_psql('traffic', "SET client_min_messages = warning;\n${set_more}SELECT count(*) FROM dms.plan_migration(ARRAY[$more]::json[]) WHERE statement LIKE 'CREATE INDEX CONCURRENTLY%' OR statement LIKE '%NOT VALID' OR statement LIKE '%VALIDATE%';
		SELECT statement FROM dms.plan_migration(ARRAY[$more]::json[]) WHERE phase = 'before' ORDER BY step \\gexec
		SELECT count(*) FROM dms.plan_migration(ARRAY[$more]::json[]) WHERE phase = 'before';");
	like($rest, qr/^4\n(?:.*\n)*0$/, 'two indexes built, a key added and validated beside the traffic; nothing is left of that phase');
	$node->safe_psql('traffic', deploy_sql($nicknames));
	wait_for_traffic($traffic);
	my ($errors, $longest, $count) = stop_traffic($traffic);
	is($errors, '', "$clients clients saw no error that cannot be retried");
	note(sprintf '%d transactions, the longest took %.2f s', $count, $longest);
	is($node->safe_psql('traffic', 'SELECT * FROM dms.audit()'), '', 'the audit finds nothing');
	is($node->safe_psql('traffic', "SET client_min_messages = warning;\n${set_more}SELECT * FROM dms.plan_migration(ARRAY[$more]::json[])"), '', 'nothing is left to do');
	return;
}

# --- real files ----------------------------------------------------------------------------

# Returns the core without some resources that nothing refers to.
sub smaller_core
{
	my ($core, $n) = @_;
	my $small = $json->decode($json->encode($core));
	my $project = $small->{projectSchema};
	my @taken;

	while (@taken < $n)
	{
		my %referenced;
		foreach my $resource (values %{ $project->{resourceSchemas} })
		{
			$referenced{ $_->{resourceName} } = 1 foreach grep { $_->{isReference} } values %{ $resource->{documentPathsMapping} };
		}
		my ($endpoint) = grep {
			my $resource = $project->{resourceSchemas}{$_};
			!$resource->{isDescriptor} && !$resource->{isSubclass} && !$referenced{ $resource->{resourceName} } && !/^students?(?:SchoolAss|s?$)/
		} sort keys %{ $project->{resourceSchemas} };
		my $name = delete($project->{resourceSchemas}{$endpoint})->{resourceName};

		delete $project->{resourceNameMapping}{$name};
		delete $project->{caseInsensitiveEndpointNameMapping}{ lc $endpoint };
		push @taken, $name;
	}
	return ($small, @taken);
}

# Writes documents of all resources of a schema, except those whose identities are taken by
# documents of other files; returns how many were written.
sub load_generated
{
	my ($database, @files) = @_;
	my $generated = "$tmp/generated-$database.ndjson";

	unlink $generated;
	run_log([ $^X, "$FindBin::RealBin/../perl/dms-generate", '--descriptors', "$dir/descriptor-documents.ndjson", @files ], '>', $generated);
	return $node->safe_psql($database, qq{
		SET client_min_messages = warning;
		CREATE OR REPLACE FUNCTION public.write(line json) RETURNS text LANGUAGE plpgsql AS \$\$
		BEGIN
			RETURN (SELECT outcome FROM dms.upsert_document(line ->> 'project', line ->> 'resource', line -> 'document'));
		EXCEPTION WHEN unique_violation OR foreign_key_violation THEN
			RETURN 'refused';
		END \$\$;
		CREATE TEMP TABLE given (n serial, line json);
		\\copy given (line) FROM '$generated' CSV QUOTE E'\\x01' DELIMITER E'\\x02'
		SELECT count(*) FILTER (WHERE outcome <> 'refused') FROM (SELECT public.write(line) AS outcome FROM given ORDER BY n OFFSET 0) AS g});
}

# The core standard without twenty resources, and then with them, beside traffic.
sub test_real
{
	my $documents = $ENV{DMS_DOCUMENTS} || ($long ? 200_000 : 200);
	my $core = $json->decode(slurp_file("$dir/ed-fi.json"));
	my ($small, @taken) = smaller_core($core, 20);
	my $file = file_of('small', $small);
	my ($set, $arguments) = read_files("$dir/ed-fi.json");

	note "without @taken";
	$node->safe_psql('postgres', 'CREATE DATABASE real TEMPLATE template0');
	$node->safe_psql('real', "CREATE EXTENSION dms;\n" . deploy_sql($file));
	my $start = time;
	load_generated('real', $file);
	$node->safe_psql('real', q{
		CREATE TABLE public.model AS SELECT r.endpoint, dms.get_document(d.DocumentUuid)::jsonb - '{id,_etag,_lastModifiedDate}'::text[] AS body
		FROM (VALUES ('Student', 'students'), ('StudentSchoolAssociation', 'studentSchoolAssociations')) AS r (name, endpoint),
			LATERAL (SELECT DocumentUuid FROM dms.Document WHERE ResourceName = r.name AND ProjectName = 'Ed-Fi' LIMIT 1) AS d;
		CREATE FUNCTION public.made(kind text, i int) RETURNS json LANGUAGE sql STABLE AS $$
			SELECT CASE kind WHEN 'students' THEN body || jsonb_build_object('studentUniqueId', 'x' || i)
				ELSE jsonb_set(body, '{studentReference,studentUniqueId}', to_jsonb('x' || i)) END::json
			FROM public.model WHERE endpoint = kind $$;
		CREATE PROCEDURE public.fill(n int) LANGUAGE plpgsql AS $$
		BEGIN
			FOR i IN 0 .. (n - 1) / 1000 LOOP
				PERFORM FROM generate_series(i * 1000 + 1, least(n, (i + 1) * 1000)) AS j, dms.upsert_document('ed-fi', 'students', public.made('students', j));
				PERFORM FROM generate_series(i * 1000 + 1, least(n, (i + 1) * 1000)) AS j,
					dms.upsert_document('ed-fi', 'studentSchoolAssociations', public.made('studentSchoolAssociations', j));
				COMMIT;
			END LOOP;
		END $$});
	$node->safe_psql('real', "CALL public.fill($documents / 2)");
	my $count = $node->safe_psql('real', 'ANALYZE; SELECT count(*) FROM dms.Document');
	note(sprintf '%d documents in %.0f s', $count, time - $start);
	change_beside_traffic('in', $count, \@taken, $set, "dms.deploy_schema($arguments)");
	same_as_fresh('real', 'dms,edfi', "$dir/ed-fi.json");

	# Out again, with the documents that they have by then.
	my ($set_small, $small_argument) = read_files($file);
	load_generated('real', "$dir/ed-fi.json");
	cmp_ok($node->safe_psql('real', documents_of(@taken)), '>=', 10, 'the new resources have documents');
	change_beside_traffic('out', $node->safe_psql('real', 'SELECT count(*) FROM dms.Document'), \@taken, $set_small,
		"dms.migrate_schema(ARRAY[$small_argument]::json[], true)");
	is($node->safe_psql('real', documents_of(@taken)), '0', 'their documents are gone with them');
	same_as_fresh('real', 'dms,edfi', $file);
	return;
}

# Returns a query that counts the documents of some endpoints of the full core.
sub documents_of
{
	my $names = join ', ', map { "'$_'" } @_;

	return "SELECT count(*) FROM dms.Document WHERE ResourceName IN ($names)";
}

# Changes the real schema while clients use it, and prints how long it took, and what the
# clients had to wait for.  Documents of all other resources keep their etags.
sub change_beside_traffic
{
	my ($what, $count, $taken, $set, $call) = @_;
	my $names = join ', ', map { "'$_'" } @$taken;
	my $etags = "SELECT md5(string_agg(format('%s %s', DocumentId, Etag), ',' ORDER BY DocumentId)) FROM dms.Document WHERE ResourceName NOT IN ($names)";
	my $before = $node->safe_psql('real', $etags);
	my $traffic = start_traffic('real', 4,
		"\\set id random(1, 100)\nSELECT FROM dms.upsert_document('ed-fi', 'students', public.made('students', :id));\n",
		"\\set id random(1, 100)\nSELECT count(*) FROM dms.query_documents('ed-fi', 'students', json_build_object('studentUniqueId', 'x' || :id)::jsonb);\n");

	wait_for_traffic($traffic);
	my ($took, $locks) = split /\n/, $node->safe_psql('real', "SET client_min_messages = warning;\n${set}SELECT clock_timestamp() AS began \\gset\nBEGIN;\nSELECT $call IS NULL AS none \\gset\n"
		  . q{SELECT string_agg(line, E'\n' ORDER BY line) AS locks FROM (
			SELECT mode || ' ' || count(*) || COALESCE(' on ' || CASE WHEN count(*) < 9 THEN string_agg(relation::regclass::text, ' ') END, '') AS line
			FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'relation' AND relation >= 16384
			  AND NOT EXISTS (SELECT FROM pg_class WHERE oid = relation AND relkind = 'i' AND mode = 'AccessShareLock') GROUP BY mode) AS l \gset
		COMMIT;
		SELECT extract(epoch FROM clock_timestamp() - :'began');
		SELECT :'locks';}), 2;
	wait_for_traffic($traffic);
	my ($errors, $longest, $transactions) = stop_traffic($traffic);
	note(sprintf "20 resources %s, %d documents: the change took %.2f s; %d transactions of clients beside it, the longest took %.2f s",
		$what, $count, $took, $transactions, $longest);
	note("locks until its end:\n$locks");
	is($errors, '', "$what: clients saw no error that cannot be retried");
	is($node->safe_psql('real', $etags), $before, 'all other documents have their etags');
	is($node->safe_psql('real', 'SELECT * FROM dms.audit()'), '', 'the audit finds nothing');
	return;
}

# Compares the catalog of a database with that of a new store.
sub same_as_fresh
{
	my ($database, $schemas, @files) = @_;
	my $sql = "SET dms_test.schemas = '$schemas'; $catalog";
	my $lines = sub { return grep { !/^-?[0-9]+ / } split /\n/, $node->safe_psql($_[0], $sql) };

	$node->safe_psql('postgres', "CREATE DATABASE fresh_$database TEMPLATE template0");
	$node->safe_psql("fresh_$database", "CREATE EXTENSION dms;\n" . deploy_sql(@files));
	my %lines;
	$lines{$_}++ foreach $lines->("fresh_$database");
	$lines{$_}-- foreach $lines->($database);
	is(join("\n", map { ($lines{$_} > 0 ? '- ' : '+ ') . $_ } grep { $lines{$_} } sort keys %lines), '', 'the catalog is that of a new store');
	$node->safe_psql('postgres', "DROP DATABASE fresh_$database");
	return;
}

# Core, TPDM, Sample, and then versions of the core, on a document of every resource.
sub test_chain
{
	my $core = $json->decode(slurp_file("$dir/ed-fi.json"));
	my @files = ("$dir/ed-fi.json");
	my $resources = $core->{projectSchema}{resourceSchemas};
	my $step = sub {
		my ($what, $sql, $schemas) = @_;
		my $start = time;
		my $count = $node->safe_psql('chain', 'SELECT count(*) FROM dms.Document');
		my ($status, $out, $err) = $node->psql('chain', $sql);

		is($err, '', sprintf '%s: %.1f s', $what, time - $start);
		is($node->safe_psql('chain', 'SELECT count(*) FROM dms.Document'), $count, "all $count documents are there");
		is($node->safe_psql('chain', 'SELECT * FROM dms.audit()'), '', 'the audit finds nothing');
	};
	my $migrate = sub {
		my ($destructive, $renames, @given) = @_;
		my ($set, $arguments) = read_files(@given);

		return "SET client_min_messages = warning;\n${set}SELECT dms.migrate_schema(ARRAY[$arguments]::json[], $destructive, '$renames') IS NULL";
	};

	$node->safe_psql('postgres', 'CREATE DATABASE chain TEMPLATE template0');
	$node->safe_psql('chain', "CREATE EXTENSION dms;\n" . deploy_sql(@files));
	load_generated('chain', @files);
	foreach my $extension (qw(tpdm sample))
	{
		push @files, "$dir/$extension.json";
		$step->($extension, deploy_sql(@files));
		cmp_ok(load_generated('chain', @files), '>', 400, 'documents are written');
		cmp_ok($node->safe_psql('chain', "SELECT count(*) FROM dms.Document WHERE lower(ProjectName) = '$extension'"), '>', 5, "those of $extension, too");
		is($node->safe_psql('chain', 'SELECT * FROM dms.audit()'), '', 'the audit finds nothing');
	}
	shift @files;

	# A property, a collection, a resource; a longer string and a wider number.
	my $students = $resources->{students};
	my $properties = $students->{jsonSchemaForInsert}{properties};
	$properties->{nickName} = { type => 'string', maxLength => 30 };
	$students->{documentPathsMapping}{NickName} = { isReference => JSON::PP::false, path => '$.nickName', type => 'string' };
	$properties->{nicknamesUsed} = { type => 'array', items => { type => 'object', required => ['name'], properties => { name => { type => 'string', maxLength => 30 } } } };
	$properties->{firstName}{maxLength} = 200;
	$resources->{sections}{jsonSchemaForInsert}{properties}{sequenceOfCourse}{format} = 'int64';
	$resources->{clubs} = $json->decode($json->encode($resources->{weapons} // $resources->{classPeriods}));
	@{ $resources->{clubs} }{qw(resourceName allowIdentityUpdates)} = ('Club', JSON::PP::false);
	$core->{projectSchema}{resourceNameMapping}{Club} = 'clubs';
	$core->{projectSchema}{caseInsensitiveEndpointNameMapping}{clubs} = 'clubs';
	my $version = file_of('core2', $core);
	$step->('a version', deploy_sql($version, @files));

	# A rename.
	my $renamed = $json->decode($json->encode($core));
	my $renamed_students = $renamed->{projectSchema}{resourceSchemas}{students};
	$renamed_students->{jsonSchemaForInsert}{properties}{secondName} = delete $renamed_students->{jsonSchemaForInsert}{properties}{middleName};
	foreach my $mapping (values %{ $renamed_students->{documentPathsMapping} })
	{
		$mapping->{path} = '$.secondName' if ($mapping->{path} // '') eq '$.middleName';
	}
	$renamed_students->{queryFieldMapping}{secondName} = [ { path => '$.secondName', type => 'string' } ] if delete $renamed_students->{queryFieldMapping}{middleName};
	$version = file_of('core3', $renamed);
	$step->('a rename', $migrate->('false', '{"edfi.student.middlename": "edfi.student.secondname"}', $version, @files));

	# A type becomes mutable, and with it those whose identities it is a part of.
	$renamed->{projectSchema}{resourceSchemas}{$_}{allowIdentityUpdates} = JSON::PP::true foreach qw(courses locations);
	$version = file_of('core4', $renamed);
	$step->('mutable types', deploy_sql($version, @files));
	is($node->safe_psql('chain', q{SELECT bool_and(CanChange) FROM dms.ResourceModel WHERE ResourceName IN ('Course', 'Location', 'CourseOffering')}),
		't', 'identities can change');

	# A reference becomes a part of an identity that nothing refers to.
	my $sections = $renamed->{projectSchema}{resourceSchemas}{studentSectionAssociations};
	is(!!$sections, 1, 'there are sections');
	my $programs = $renamed->{projectSchema}{resourceSchemas}{studentSchoolAssociations};
	my ($reference) = grep { ($_->{resourceName} // '') eq 'SchoolYearType' && !grep { /graduation/i } map { $_->{referenceJsonPath} } @{ $_->{referenceJsonPaths} || [] } }
	  values %{ $programs->{documentPathsMapping} };
	my ($path) = map { $_->{referenceJsonPath} } @{ $reference->{referenceJsonPaths} };
	push @{ $programs->{identityJsonPaths} }, $path;
	push @{ $programs->{jsonSchemaForInsert}{required} }, $path =~ /^\$\.(\w+)\./;
	$version = file_of('core5', $renamed);
	$step->('a reference becomes a part of an identity', $migrate->('true', '{}', $version, @files));
	same_as_fresh('chain', 'dms,edfi,tpdm,sample', $version, @files);
	return;
}
