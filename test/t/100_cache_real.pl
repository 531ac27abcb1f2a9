# The cache of all real documents, and of generated ones of every resource, in every mode:
# each row is, byte for byte, what is read without it, and so are documents and pages that
# are read through it.
use strict;
use warnings;

use Dms::ApiSchema;
use Dms::Generate;
use Encode qw(encode);
use JSON::PP ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $dir = $ENV{APISCHEMA_DIR};
plan skip_all => 'APISCHEMA_DIR names no schema files' unless defined $dir && -r "$dir/ed-fi.json";

# What differs between the cache and what is read without it; what is read with it and without.
my $ROWS = q{
	SET dms.cache_reads = off;
	SELECT count(*) FROM dms.Document AS d FULL JOIN dms.DocumentCache AS c USING (DocumentId)
	WHERE c.Etag IS DISTINCT FROM d.Etag OR c.DocumentJson::text IS DISTINCT FROM dms.get_document(d.DocumentUuid)::text};
my $READ = q{
	SET dms.cache_reads = %s;
	SELECT md5(string_agg(dms.get_document(d.DocumentUuid)::text, '' ORDER BY d.DocumentId)) FROM dms.Document AS d;
	SELECT md5(string_agg(q::text, '' ORDER BY m.project, m.resource, n))
	FROM dms.resources() AS m, dms.query_documents(m.project, m.resource, page_limit => 1000000) WITH ORDINALITY AS q (q, n)
	WHERE m.kind <> 'abstract'};

# Real documents, and those of another seed, may have what has to be unique.
my $TAKEN = q{SELECT count(*) FROM t.input WHERE generated AND state = '23505'};

my $node = PostgreSQL::Test::Cluster->new('cache_real');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', "fsync = off\nautovacuum = off\njit = off\nlog_statement = none\nmax_locks_per_transaction = 256");
$node->start;
query('CREATE EXTENSION dms; SELECT dms.deploy_schema(' . join(', ', map { "pg_read_file('$dir/$_.json')::json" } qw(ed-fi tpdm sample homograph)) . ')');
query(harness());
query("INSERT INTO t.input (n, data) SELECT n, line::json FROM regexp_split_to_table(
	rtrim(pg_read_file('$dir/descriptor-documents.ndjson') || pg_read_file('$dir/sample-documents.ndjson'), E'\\n'), E'\\n')
	WITH ORDINALITY AS l (line, n)");

# Generated documents of every resource: full ones, small ones, others with the values that are
# hardest to write, and for each resource one whose references are its own.
my $generated = 0;
foreach my $options ({}, { seed => 1, spice => 1 })
{
	my $generator = Dms::Generate->new(schema => Dms::ApiSchema->new(dir => $dir), %$options);
	my $file = $node->basedir . '/generated.ndjson';

	$generator->all;
	$generator->many($_, 1, fresh_references => 1) foreach $options->{spice} ? () : $generator->{schema}->load_order;
	is(scalar($generator->skipped), 0, 'no resource is skipped');
	open my $out, '>', $file or die "cannot write $file: $!";
	print $out encode('UTF-8', '{"project":' . JSON::PP->new->allow_nonref->encode($_->{project}) . ',"resourceName":'
		. JSON::PP->new->allow_nonref->encode($_->{resource}) . ',"document":' . $generator->json($_->{document}) . "}\n")
		foreach $generator->entries;
	close $out;
	query("INSERT INTO t.input (n, data, generated) SELECT 100000 * ($generated + 1) + n, line::json, true
		FROM regexp_split_to_table(rtrim(pg_read_file('$file'), E'\\n'), E'\\n') WITH ORDINALITY AS l (line, n)");
	$generated++;
}

# Off: nothing is written.  Then the projector has all of it to do.
query('CALL t.write()');
my $documents = query('SELECT count(*) FROM dms.Document');
cmp_ok(query('SELECT count(*) FROM t.input WHERE NOT generated AND state = \'written\''), '>', 1500, 'real documents are written');
my $written = query(q{SELECT count(*) FROM t.input WHERE generated AND state = 'written'});
cmp_ok($written, '>=', query('SELECT count(*) FROM t.input WHERE generated') - query($TAKEN), "$written generated documents are written");
is(query(q{SELECT count(*) FROM dms.resources() AS m WHERE m.kind <> 'abstract'
	AND NOT EXISTS (SELECT FROM dms.Document AS d WHERE (d.ProjectName, d.ResourceName) = (m.project, m.resource))}), 0, 'each resource has one');
is(query('SELECT count(*) FROM dms.DocumentCache'), 0, 'off: nobody fills the cache');
query(q{SELECT dms.set_cache_mode('eventual')});
query('CALL dms.project_documents(600)');
compare('eventual, all at once');

# In each mode, documents are written anew, changed, renamed and deleted.
my $turn = 0;
foreach my $mode (qw(eventual write_through strict))
{
	query("SELECT dms.set_cache_mode('$mode')");
	query('CALL dms.project_documents(600)');
	query('CALL t.change(' . ++$turn . ')');
	is(query($ROWS), 0, 'strict: every row is fresh, and nothing is left to project') if $mode eq 'strict';
	query('CALL dms.project_documents(600)');
	compare("$mode, changed");
}
cmp_ok(query('SELECT count(*) FROM dms.Document'), '>', $documents / 2, 'most documents are still there');
is(query('SELECT count(*) FROM dms.ProjectionFailure'), 0, 'none has failed');
is(query('SELECT count(*) FROM dms.audit()'), 0, 'the audit finds nothing');
query(q{SELECT dms.set_cache_mode('off')});
is(query(sprintf($READ, 'on')), query(sprintf($READ, 'off')), 'off: rows are ignored');
$node->stop;
done_testing();

sub query
{
	my ($sql) = @_;

	return $node->safe_psql('postgres', "SET client_min_messages = warning;\n$sql");
}

# Rows of the cache, and what is read through it.
sub compare
{
	my ($what) = @_;

	is(query($ROWS), 0, "$what: the cache has all documents as they are read");
	is(query(sprintf($READ, 'on')), query(sprintf($READ, 'off')), "$what: documents and pages are the same through it");
	return;
}

sub harness
{
	return <<'SQL';
CREATE SCHEMA t;
CREATE TABLE t.input (n int PRIMARY KEY, data json, state text, generated bool NOT NULL DEFAULT false);

-- Writes all documents that can be written.
CREATE PROCEDURE t.write() LANGUAGE plpgsql AS $$
DECLARE
	progress bool := true;
	i t.input;
BEGIN
	WHILE progress LOOP
		progress := false;
		FOR i IN SELECT * FROM t.input WHERE state IS NULL OR state = '23503' ORDER BY n LOOP
			BEGIN
				PERFORM dms.upsert_document(i.data ->> 'project', i.data ->> 'resourceName', i.data -> 'document');
				UPDATE t.input SET state = 'written' WHERE n = i.n;
				progress := true;
			EXCEPTION WHEN OTHERS THEN
				UPDATE t.input SET state = SQLSTATE WHERE n = i.n;
			END;
		END LOOP;
		COMMIT;
	END LOOP;
END $$;

-- Deletes some documents to which nothing refers, changes some descriptors, and renames
-- what can be renamed.
CREATE PROCEDURE t.change(turn int) LANGUAGE plpgsql AS $$
DECLARE
	r record;
	body jsonb;
	was text;
BEGIN
	FOR r IN SELECT d.DocumentUuid AS id FROM dms.Document AS d
		WHERE d.DocumentId % 40 = turn AND NOT EXISTS (SELECT FROM dms.ReferenceEdge AS e WHERE e.ChildDocumentId = d.DocumentId) LOOP
		PERFORM dms.delete_document(r.id);
	END LOOP;
	UPDATE t.input SET state = NULL WHERE n % 40 = turn;
	COMMIT;
	CALL t.write();
	FOR r IN SELECT d.DocumentUuid AS id FROM dms.Document AS d JOIN dms.Descriptor USING (DocumentId) WHERE d.DocumentId % 10 = turn LOOP
		PERFORM dms.update_document(r.id, jsonb_set(dms.get_document(r.id)::jsonb, '{description}', to_jsonb('turn ' || turn))::json);
	END LOOP;
	COMMIT;
	FOR r IN SELECT d.DocumentUuid AS id, substr(p.path, 3) AS name FROM dms.Document AS d
		JOIN dms.resources() AS m ON (m.project, m.resource) = (d.ProjectName, d.ResourceName), unnest(m.identity_paths) AS p (path)
		WHERE m.identity_can_change AND p.path ~ '^\$\.[A-Za-z]+$' AND p.path !~ 'Descriptor$'
	LOOP
		BEGIN
			body := dms.get_document(r.id);
			was := body ->> r.name;
			PERFORM dms.update_document(r.id, jsonb_set(body, ARRAY[r.name],
				to_jsonb(CASE WHEN was ~ '^\d{4}-\d\d-\d\d$' THEN ((was::date) + 1)::text ELSE left(was, 20) || 'x' END))::json);
		EXCEPTION WHEN OTHERS THEN
			-- The other name is taken, or not valid.
			NULL;
		END;
		COMMIT;
	END LOOP;
END $$;
SQL
}
