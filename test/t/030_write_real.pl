# Writing documents of every resource of the real schema files: real ones, and
# generated ones with changes of every kind.
#
# What the store must hold is worked out by the test's own library from the
# bodies, and read back with the test's own SQL: none of it is the extension's.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";

use Dms::ApiSchema;
use Dms::Copy qw(copy_text);
use Dms::Generate;
use Dms::Identity qw(document_ids reference_ids);
use Dms::Stored qw(tables_of rows_sql expected_rows edges_sql members_sql
  identities_sql identities_from_storage);
use Dms::Validate qw(validate);
use Digest::MD5 qw(md5_hex);
use Encode qw(decode encode);
use JSON::PP ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $dir = $ENV{APISCHEMA_DIR};
plan skip_all => 'APISCHEMA_DIR names no schema files' unless defined $dir && -r "$dir/ed-fi.json";

my $schema = Dms::ApiSchema->new(dir => $dir);

my $node = PostgreSQL::Test::Cluster->new('write_real');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', "fsync = off\nautovacuum = off\njit = off\nlog_statement = none");
$node->start;

$node->safe_psql('postgres', 'CREATE DATABASE deployed');
deploy('deployed');
$node->safe_psql('postgres', "CREATE DATABASE $_ TEMPLATE deployed") foreach qw(real generated);

# Settings that change how PostgreSQL reads and writes values.
hostile_settings($_) foreach qw(real generated);

test_real_documents();
test_generated_documents();
test_owner_changes();
test_spice();

$node->stop;
done_testing();

#
# What is tested
#

# The descriptors and request bodies that the Ed-Fi Alliance publishes.  The
# bodies come from tests, and not all that they refer to is among them.
sub test_real_documents
{
	my @descriptors = read_documents('descriptor-documents.ndjson');
	my @samples     = read_documents('sample-documents.ndjson');
	load_input('real', @descriptors, @samples);

	is(query('real', 'SELECT t.write_passes(1, ' . @descriptors . ')'), 1,
		'descriptors need no second pass');
	is(query('real', 'SELECT outcome, state, count(*) FROM t.input WHERE outcome IS NOT NULL GROUP BY 1, 2'),
		'inserted||' . @descriptors, 'every real descriptor is written');

	my $passes = query('real',
		'SELECT t.write_passes(' . (@descriptors + 1) . ', ' . (@descriptors + @samples) . ')');
	note "real documents: $passes passes; "
	  . join ', ',
	  map { s/\|/ /r } split /\n/,
	  query('real', 'SELECT coalesce(outcome, state), count(*) FROM t.input'
		  . ' WHERE n > ' . @descriptors . ' GROUP BY 1 ORDER BY 1');
	note "refused for their references:\n"
	  . query('real', "SELECT resource, count(*) FROM t.input WHERE state = '23503' GROUP BY 1 ORDER BY 1");

	# What a validator of the test's own refuses, and nothing else, is invalid.
	# It knows no dates but in their normal form, and takes no unknown property.
	my %invalid = map { $_->{n} => 1 }
	  grep { grep { !/: (?:unknown|not a date(?:-time)?)\z/ } validate($schema, $_->{resource}, $_->{text}) }
	  @samples;
	my %refused = map { $_ => 1 } split /\n/,
	  query('real', "SELECT n FROM t.input WHERE state = 'ZD400'");
	is_deeply(\%refused, \%invalid, 'exactly the invalid ones are refused as invalid');
	is_deeply([ refused_wrongly(@descriptors, @samples) ], [],
		'the others refer to what is not there, or share an identity through a superclass');

	# The last body of each document that was written, but of a descriptor the
	# case that it was first written in.
	my %last;
	my %entry = map { $_->{n} => $_ } @descriptors, @samples;
	foreach (split /\n/, query('real', 'SELECT document_id, n FROM t.input WHERE outcome IS NOT NULL ORDER BY written'))
	{
		my ($id, $n) = split /\|/;
		my $first = $last{$id};
		$last{$id} = $entry{$n};
		@{ $entry{$n}{document} }{qw(namespace codeValue)} = @{ $first->{document} }{qw(namespace codeValue)}
		  if $first && $entry{$n}{resource}{is_descriptor};
	}
	check_bodies('real', \%last);
	check_store('real', \%last, 'real documents');
	return;
}

# Valid documents whose references all name something that was written, and
# whose identities are free.
sub refused_wrongly
{
	my (@entries) = @_;
	my (%written, @wrong);

	my %state = map { my ($n, $state) = split /\|/; ($n => $state) } split /\n/,
	  query('real', q{SELECT n, coalesce(state, 'ok') FROM t.input});
	foreach my $entry (grep { $state{ $_->{n} } eq 'ok' } @entries)
	{
		$written{ $_->{uuid} } = $_->{resource} foreach document_ids($schema, $entry->{resource}, $entry->{document});
	}
	foreach my $entry (grep { $state{ $_->{n} } !~ /^(?:ok|ZD400)\z/ } @entries)
	{
		my @unresolved = grep { !$written{ $_->{uuid} } } reference_ids($schema, $entry->{resource}, $entry->{document});
		my (undef, $alias) = document_ids($schema, $entry->{resource}, $entry->{document});
		my $reason = @unresolved ? '23503' : $alias && $written{ $alias->{uuid} } ? '23505' : 'nothing';
		push @wrong, "$entry->{n} $entry->{resource}{key}: $state{$entry->{n}} for $reason"
		  if $state{ $entry->{n} } ne $reason;
	}
	return @wrong;
}

# A full document of every resource, and changes of every kind to it.
sub test_generated_documents
{
	my $generator = Dms::Generate->new(schema => $schema);
	my @entries   = $generator->all;
	my @full      = map { $generator->full($_) } $schema->resources;

	note scalar(@full) . ' resources, ' . scalar($generator->skipped) . ' skipped';
	is(scalar($generator->skipped), 0, 'no resource is skipped');

	my @steps = map { { entry => $_, kind => 'insert' } } @entries;
	push @steps, map { { entry => $_, kind => 'again' } } @full;
	foreach my $full (@full)
	{
		foreach my $variant ($generator->variants($full))
		{
			push @steps, map { { entry => $_, kind => 'insert' } } @{ $variant->{needs} };
			push @steps, { entry => { %$full, document => $variant->{document}, text => undef, expected => undef }, %$variant, full => $full };
			push @steps, { entry => $full, kind => 'back' } if $variant->{kind} ne 'descriptor_case';
		}
		push @steps, { entry => $full, kind => 'again' };
	}
	my $last = run_steps('generated', $generator, @steps);
	judge_steps(@steps);
	check_store('generated', $last, 'generated documents');
	return;
}

# A row that its owner changed by SQL is no longer what the body says.
sub test_owner_changes
{
	my $body = query('generated', q{SELECT document FROM t.input WHERE resource = 'Student' AND project = 'Ed-Fi'
		ORDER BY n DESC LIMIT 1});
	my $write = "SELECT outcome FROM dms.upsert_document('Ed-Fi', 'Student', \$body\$$body\$body\$)";

	is(query('generated', $write), 'unchanged', 'a student as written');
	query('generated', q{UPDATE edfi.Student SET FirstName = 'somebody else'});
	is(query('generated', $write), 'updated', 'changed by the owner, the same body is an update');
	is(query('generated', $write), 'unchanged', 'and then it is as written again');
	return;
}

# Strings of full length with all that has to be escaped, numbers at the limits
# of their types; in a database of a language with its own idea of case.
sub test_spice
{
	my $locale = query('postgres', q{SELECT count(*) > 0 FROM pg_collation WHERE collname = 'tr-x-icu'}) eq 't'
	  ? q{LOCALE_PROVIDER icu ICU_LOCALE 'tr'} : '';
	$node->safe_psql('postgres', "CREATE DATABASE spice TEMPLATE template0 ENCODING 'UTF8' $locale");
	deploy('spice');
	hostile_settings('spice');

	my $generator = Dms::Generate->new(schema => $schema, spice => 1);
	my @steps = map { ({ entry => $_, kind => 'insert' }, { entry => $_, kind => 'again' }) }
	  $generator->all;
	my $last = run_steps('spice', $generator, @steps);
	judge_steps(@steps);
	check_store('spice', $last, 'spiced documents');
	return;
}

#
# Steps: one write each, in a transaction of its own, and what it did
#

sub run_steps
{
	my ($database, $generator, @steps) = @_;
	my (@entries, %last);

	my $n = 0;
	foreach my $step (@steps)
	{
		my $entry    = $step->{entry};
		my $resource = $schema->resource($entry->{project}, $entry->{resource});
		$step->{resource} = $resource;
		$step->{document} = $entry->{document};
		$entry->{text} ||= $generator->json($entry->{document});
		push @entries,
		  {
			n        => ++$n,
			resource => $resource,
			text     => $entry->{text},
			expected => scalar expected_after($resource, $step),
		  };
	}
	load_input($database, @entries);

	my $script = write_file("$database.sql", join '', map { "SELECT * FROM t.step($_);\n" } 1 .. @steps);
	my @results = split /\n/, run_script($database, $script);
	die "$database: " . @results . ' results for ' . @steps . ' steps' unless @results == @steps;
	foreach my $step (@steps)
	{
		my ($outcome, $id, $xid, $rows, $touched) = split /\|/, shift @results, 5;
		@$step{qw(outcome id xid rows)} = ($outcome, $id, $xid, $rows);
		$step->{touched} = [ split /,/, $touched || q{} ];
		$last{$id} = $step unless $step->{kind} eq 'descriptor_case';
	}
	return \%last;
}

# The rows that a step must leave.  Descriptors in other case change nothing;
# going back to a body is judged when that is written once more.
sub expected_after
{
	my ($resource, $step) = @_;
	my $entry = $step->{full} && $step->{kind} eq 'descriptor_case' ? $step->{full} : $step->{entry};

	return if $step->{kind} eq 'back';
	return $entry->{expected} ||= expected_rows($schema, $resource, $entry->{document});
}

# Each kind of step has an outcome, and tables that it may touch.
sub judge_steps
{
	my (@steps) = @_;
	my (%count, %wrong);

	foreach my $step (@steps)
	{
		$count{ $step->{kind} }++;
		my @wrong = wrong_with($step);
		push @{ $wrong{ $step->{kind} } },
		  map { "$step->{resource}{key}" . ($step->{path} ? " $step->{path}" : '') . ": $_" } @wrong;
	}
	foreach my $kind (sort keys %count)
	{
		my @wrong = @{ $wrong{$kind} || [] };
		is(scalar(@wrong), 0, "$kind: $count{$kind} writes do what they should")
		  or diag join "\n", @wrong > 10 ? @wrong[ 0 .. 9 ] : @wrong;
	}
	return;
}

sub wrong_with
{
	my ($step) = @_;
	my ($kind, @wrong) = $step->{kind};

	my %outcome = (insert => 'inserted', again => 'unchanged', descriptor_case => 'unchanged');
	my $expected = $outcome{$kind} || 'updated';
	push @wrong, "$step->{outcome} instead of $expected" if $step->{outcome} ne $expected;
	push @wrong, 'the rows are not what the body says' if $step->{rows} eq 'f';

	my @tables = tables_of($schema, $step->{resource});
	my %name   = map { $_->{path} => "$_->{pg_schema}.$_->{name}" } @tables;
	my %touched = map { $_ => 1 } @{ $step->{touched} };
	if ($expected eq 'unchanged')
	{
		push @wrong, 'a transaction id was assigned' if $step->{xid} ne '';
		push @wrong, "touched $_" foreach sort keys %touched;
	}
	elsif ($kind eq 'scalar' || $kind eq 'root_scalar')
	{
		my @exactly = sort 'dms.document', 'dms.documentchange', $name{ $step->{scope} };
		push @wrong, "touched @{[sort keys %touched]} instead of @exactly"
		  if "@exactly" ne join ' ', sort keys %touched;
	}
	elsif ($kind =~ /^(?:swapped|removed|added)\z/)
	{
		delete $touched{ $name{$_} }
		  foreach grep { index($_, $step->{array}) == 0 } keys %name;
		delete $touched{$_} or push @wrong, "did not touch $_" foreach qw(dms.document dms.documentchange);
		delete $touched{'dms.referenceedge'} if $kind ne 'swapped';
		push @wrong, "touched $_" foreach sort keys %touched;
	}
	return @wrong;
}

#
# The whole store
#

# Rows of all documents, against the bodies they were last written with.
sub check_bodies
{
	my ($database, $last) = @_;

	my $file = write_file("$database.body", join '', map {
		join("\t", $_, $last->{$_}{resource}{key},
			copy_text(expected_rows($schema, $last->{$_}{resource}, $last->{$_}{document}))) . "\n"
	} sort keys %$last);
	query($database, "CREATE TABLE t.body (document_id bigint, resource text, expected text);
		COPY t.body FROM '$file'");
	is( query($database,
			'SELECT document_id, resource, expected, t.rows(resource, document_id) FROM t.body'
			  . ' WHERE expected IS DISTINCT FROM t.rows(resource, document_id) LIMIT 3'),
		'', 'the rows of ' . keys(%$last) . ' documents are what their bodies say');
	return;
}

sub check_store
{
	my ($database, $last, $what) = @_;

	is(query($database, 'SELECT count(*) FROM dms.Document'), scalar(keys %$last), "$what: how many there are");
	is_same($database, edges_sql($schema),
		'SELECT ParentDocumentId, ChildDocumentId, EdgeSourceId, IsIdentityComponent FROM dms.ReferenceEdge',
		"$what: edges are the reference columns");
	is_same($database, 'SELECT DocumentId FROM dms.Document', 'SELECT DocumentId FROM dms.IdentityLock',
		"$what: one lock row for each document");
	is_same($database, @$_, "$what: member rows are the subclasses' documents") foreach members_sql($schema);

	my @from_bodies = map {
		my $id = $_;
		map { join "\t", $id, @$_{qw(project resource uuid)} }
		  document_ids($schema, $last->{$id}{resource}, $last->{$id}{document});
	} keys %$last;
	is_set($database, 'bodies', \@from_bodies, "$what: ReferentialIds are those of the bodies");

	my @rows = map { my @row = split /\|/, $_, 3; [ @row[ 0, 1 ], JSON::PP->new->decode($row[2]) ] }
	  split /\n/, query($database, identities_sql($schema));
	is_set($database, 'storage', [ map { join "\t", @$_ } identities_from_storage($schema, @rows) ],
		"$what: ReferentialIds are those of the rows");

	# The extension's own opinion, under settings that change how values read.
	is(query($database, 'SELECT dms.recompute_identities(array_agg(DocumentId)) FROM dms.Document'), 0,
		"$what: recomputing identities from storage changes none");
	is(query($database, 'SELECT * FROM dms.audit() LIMIT 5'), '', "$what: the audit finds nothing");
	return;
}

sub is_same
{
	my ($database, $one, $other, $name) = @_;

	is(query($database, "(($one) EXCEPT ALL ($other)) UNION ALL (($other) EXCEPT ALL ($one)) LIMIT 5"),
		'', $name);
	return;
}

# ReferentialIds of the store, against lines of id, project, resource, uuid.
sub is_set
{
	my ($database, $table, $lines, $name) = @_;

	my $file = write_file("$database.$table", join '', map { "$_\n" } @$lines);
	query($database, "CREATE TABLE t.$table (id bigint, project text, resource text, uuid uuid);
		COPY t.$table FROM '$file'");
	is_same($database, "SELECT id, project, resource, uuid FROM t.$table",
		'SELECT DocumentId, ProjectName, ResourceName, ReferentialId FROM dms.ReferentialIdentity', $name);
	return;
}

#
# Setting up
#

sub deploy
{
	my ($database) = @_;

	query($database, 'SET client_min_messages = warning; CREATE EXTENSION dms; SELECT dms.deploy_schema('
		  . join(', ', map { "pg_read_file('$dir/$_.json')::json" } qw(ed-fi tpdm sample homograph)) . ')');
	query($database, harness());
	query($database, join '', map {
		(my $sql = rows_sql($schema, $_)) =~ s/\$1/id/g;
		'CREATE FUNCTION t."' . md5_hex($_->{key}) . '"(id bigint) RETURNS text LANGUAGE plpgsql STABLE'
		  . " SET search_path = pg_catalog SET plan_cache_mode = force_generic_plan"
		  . " SET enable_seqscan = off AS \$rows\$ BEGIN RETURN ($sql); END \$rows\$;\n"
	} $schema->resources);
	return;
}

sub hostile_settings
{
	my ($database) = @_;

	query('postgres', "ALTER DATABASE $database SET $_")
	  foreach "DateStyle = 'SQL, DMY'", "TimeZone = 'Asia/Kathmandu'", "IntervalStyle = 'sql_standard'",
	  'extra_float_digits = -15', "xmlbinary = 'hex'", "bytea_output = 'escape'", 'search_path = t';
	return;
}

sub harness
{
	return <<'SQL';
CREATE SCHEMA t;
CREATE TABLE t.input (n int PRIMARY KEY, project text, resource text, document json,
	expected text, document_id bigint, outcome text, state text, written serial);

-- The rows of a document.  Each resource has a function with a plan of its own.
CREATE FUNCTION t.rows(resource text, document_id bigint) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog AS $$
DECLARE
	result text;
BEGIN
	EXECUTE format('SELECT t.%I($1)', md5(resource)) INTO result USING document_id;
	RETURN result;
END $$;

-- Writes documents again and again until a pass writes none; returns how many.
CREATE FUNCTION t.write_passes(low int, high int) RETURNS int
LANGUAGE plpgsql SET search_path = pg_catalog AS $$
DECLARE
	passes int := 0;
	progress bool := true;
	i t.input;
	r dms.write_result;
BEGIN
	WHILE progress LOOP
		progress := false;
		FOR i IN SELECT * FROM t.input WHERE n BETWEEN low AND high AND outcome IS NULL
			AND (state IS NULL OR state = '23503') ORDER BY n
		LOOP
			BEGIN
				r := dms.upsert_document(i.project, i.resource, i.document);
				UPDATE t.input SET outcome = r.outcome, document_id = r.document_id, state = NULL,
					written = DEFAULT WHERE n = i.n;
				progress := true;
			EXCEPTION WHEN OTHERS THEN
				UPDATE t.input SET state = SQLSTATE WHERE n = i.n;
			END;
		END LOOP;
		IF progress THEN
			passes := passes + 1;
		END IF;
	END LOOP;
	RETURN passes;
END $$;

-- How often each table but ours was written to, as the transaction knows it.
CREATE TABLE t.tables AS SELECT oid, oid::regclass::text AS name FROM pg_class
	WHERE relkind = 'r' AND relnamespace >= 16384 AND relnamespace <> 't'::regnamespace;
CREATE FUNCTION t.counts() RETURNS jsonb
LANGUAGE sql VOLATILE SET search_path = pg_catalog AS $$
	SELECT coalesce(jsonb_object_agg(name, n), '{}')
	FROM (SELECT name, pg_stat_get_xact_tuples_inserted(oid) + pg_stat_get_xact_tuples_updated(oid) +
			pg_stat_get_xact_tuples_deleted(oid) AS n
		FROM t.tables OFFSET 0) AS c WHERE n > 0
$$;

-- Writes one document: what happened, and which tables it touched.
CREATE FUNCTION t.step(step int, OUT outcome text, OUT document_id bigint, OUT xid xid8, OUT rows bool, OUT touched text)
LANGUAGE plpgsql SET search_path = pg_catalog AS $$
DECLARE
	i t.input := (SELECT i FROM t.input AS i WHERE n = step);
	before jsonb;
	r dms.write_result;
BEGIN
	IF i.expected IS NOT NULL THEN
		before := t.counts();
	END IF;
	r := dms.upsert_document(i.project, i.resource, i.document);
	xid := pg_current_xact_id_if_assigned();
	outcome := r.outcome;
	document_id := r.document_id;
	IF i.expected IS NOT NULL THEN
		SELECT string_agg(key, ',') INTO touched FROM jsonb_each(t.counts()) AS a
			WHERE a.value IS DISTINCT FROM before -> a.key;
		rows := t.rows(i.project || '.' || i.resource, r.document_id) IS NOT DISTINCT FROM i.expected;
	END IF;
END $$;
SQL
}

sub read_documents
{
	my ($name) = @_;
	my @documents;
	my $json = JSON::PP->new->canonical->allow_bignum;

	open(my $fh, '<:raw', "$dir/$name") or die "could not open $name: $!";
	while (my $line = <$fh>)
	{
		my $data = $json->utf8(1)->decode($line);
		push @documents,
		  {
			resource => $schema->resource($data->{project}, $data->{resourceName}),
			document => $data->{document},
			text     => $json->utf8(0)->encode($data->{document}),
		  };
	}
	close $fh;
	return @documents;
}

# The documents get their numbers here.
sub load_input
{
	my ($database, @entries) = @_;
	my $n = 0;

	my $file = write_file("$database.input", join '', map {
		my $entry = $_;
		$entry->{n} = ++$n;
		join("\t", $n, @{ $entry->{resource} }{qw(project name)}, copy_text($entry->{text}),
			defined $entry->{expected} ? copy_text($entry->{expected}) : '\N') . "\n"
	} @entries);
	query($database, "COPY t.input (n, project, resource, document, expected) FROM '$file'");
	return;
}

sub query
{
	my ($database, $sql) = @_;

	return run_script($database, write_file('query.sql', encode('UTF-8', $sql)));
}

# A file of bytes that the server can read.
sub write_file
{
	my ($name, $content) = @_;

	my $file = $node->basedir . "/$name";
	unlink $file;
	append_to_file($file, $content);
	return $file;
}

sub run_script
{
	my ($database, $file) = @_;

	my ($out, $err) = run_command([ 'psql', '-XqAt', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr($database), '-f', $file ]);
	die "$database: $err" if $err =~ /ERROR|FATAL|PANIC|server closed/;
	return decode('UTF-8', $out);
}
