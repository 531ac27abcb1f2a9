# Every version of every real document: written, changed, renamed, deleted and restored,
# with history on for all resources of the real schema files.
#
# What readers got is logged by the test.  The promises about versions are checked by the
# test's own SQL, in the store, on a standby, and in a store that was dumped and restored.
#
# Only some descriptors are changed, and some older versions restored, unless the long form
# is asked for.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $dir = $ENV{APISCHEMA_DIR};
plan skip_all => 'APISCHEMA_DIR names no schema files' unless defined $dir && -r "$dir/ed-fi.json";

my $some = $ENV{DMS_LONG} ? 100_000 : 600;

my $digest = q{SELECT count(*), md5(string_agg(md5(v::text), '' ORDER BY DocumentUuid, VersionNumber)) FROM dms.DocumentVersion AS v};

# As of any time, a document is its last version up to then.
my $as_of = q{SELECT count(*), count(*) FILTER (WHERE dms.get_document(w.id, as_of => w.at)::text IS DISTINCT FROM
		(SELECT Content::text FROM dms.DocumentVersion WHERE DocumentUuid = w.id AND CreatedAt <= w.at
			ORDER BY VersionNumber DESC LIMIT 1))
	FROM (SELECT DocumentUuid AS id, CreatedAt + (n - 1) * interval '1 second' AS at
		FROM dms.DocumentVersion, generate_series(0, 2) AS n
		WHERE abs(hashtext(DocumentUuid::text || VersionNumber)) % 10 = 0) AS w};

my $node = PostgreSQL::Test::Cluster->new('history');
$node->init(allows_streaming => 1, extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', "fsync = off\nautovacuum = off\njit = off\nlog_statement = none\nmax_locks_per_transaction = 256");
$node->start;
query('SET client_min_messages = warning; CREATE EXTENSION dms; SELECT dms.deploy_schema('
	  . join(', ', map { "pg_read_file('$dir/$_.json')::json" } qw(ed-fi tpdm sample homograph)) . ')');
query(harness());

my $resources = query(q{SELECT count(dms.configure_resource(project, resource, '{"history": true}')) FROM dms.resources() WHERE kind <> 'abstract'});
cmp_ok($resources, '>', 380, "$resources resources keep versions");
$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('history_standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->append_conf('postgresql.conf', 'max_standby_streaming_delay = -1');
$standby->start;

query("INSERT INTO t.input (n, data) SELECT n, line::json FROM regexp_split_to_table(
	rtrim(pg_read_file('$dir/descriptor-documents.ndjson') || pg_read_file('$dir/sample-documents.ndjson'), E'\\n'), E'\\n')
	WITH ORDINALITY AS l (line, n)");

test_writes();
test_renames();
test_deletes();
test_restores();
test_sealed();
test_standby();
test_dump();
test_user();

$standby->stop;
$node->stop;
done_testing();

sub query
{
	my ($sql, $database) = @_;
	return $node->safe_psql($database || 'postgres', $sql);
}

sub promises_hold
{
	my ($what) = @_;

	is(query('SELECT * FROM t.trouble LIMIT 5'), '', "$what: versions are as promised");
	return;
}

# All documents that can be written are, and then each descriptor is changed.
sub test_writes
{
	query('CALL t.write()');
	my $written = query('SELECT count(*) FROM dms.Document');
	cmp_ok($written, '>', 3500, "$written real documents are written");
	promises_hold('written');
	query("CALL t.describe($some)");
	promises_hold('changed');
	is(query(q{SELECT count(*) >= 500 FROM dms.DocumentVersion WHERE Kind = 'updated'}), 't', 'changes are versions');
	return;
}

# Documents whose identity can change get another one, with all that refer to them.
sub test_renames
{
	query('CALL t.rename()');
	my ($renamed, $cascaded) = split /\|/,
	  query(q{SELECT (SELECT count(*) FROM t.renamed), count(*) FILTER (WHERE Kind = 'cascaded') FROM dms.DocumentVersion});
	cmp_ok($renamed, '>', 10, "$renamed documents are renamed");
	cmp_ok($cascaded, '>', 10, "$cascaded versions follow");
	promises_hold('renamed');
	query('CREATE TABLE t.kept AS SELECT * FROM dms.DocumentVersion');
	return;
}

# All documents are deleted, those that refer to others first.
sub test_deletes
{
	query('CALL t.delete()');
	is(query('SELECT count(*) FROM dms.Document'), 0, 'all are deleted');
	promises_hold('deleted');
	is(query(q{SELECT count(*) FROM (SELECT DISTINCT ON (DocumentUuid) Kind FROM dms.DocumentVersion
			ORDER BY DocumentUuid, VersionNumber DESC) AS v WHERE v.Kind <> 'deleted'}), 0, 'each has a record of it');
	return;
}

# All come back, with their ids and what they said.
sub test_restores
{
	query('CALL t.restore()');
	is(query('SELECT count(*) FROM t.before AS b WHERE NOT EXISTS (SELECT FROM dms.Document AS d WHERE d.DocumentUuid = b.id)'),
		0, 'all are restored under their ids');
	is(query(q{SELECT count(*) FROM t.before AS b JOIN t.said AS s USING (id) WHERE s.says <> b.says}), 0, 'and say what they said');
	promises_hold('restored');

	# An older version, of each document that has one with the names of now.
	query("CALL t.restore_older($some)");
	is(query(q{SELECT count(*) > 300 FROM dms.DocumentVersion WHERE Kind = 'restored'
		AND (DocumentUuid, VersionNumber - 1) NOT IN (SELECT DocumentUuid, VersionNumber FROM dms.DocumentVersion WHERE Kind = 'deleted')}),
		't', 'so do older versions');
	promises_hold('restored, older');
	is(query('SELECT * FROM dms.audit()'), '', 'the audit finds nothing');
	return;
}

# What was written once is still there, row by row.
sub test_sealed
{
	is(query('SELECT count(*) FROM (SELECT k::text FROM t.kept AS k EXCEPT SELECT v::text FROM dms.DocumentVersion AS v) AS x'),
		0, 'no version has changed since');
	my ($looked, $wrong) = split /\|/, query($as_of);
	cmp_ok($looked, '>', 1000, "as of $looked times");
	is($wrong, 0, 'documents are what their versions say');
	return;
}

sub test_standby
{
	$node->wait_for_catchup($standby);
	is($standby->safe_psql('postgres', $digest), query($digest), 'the standby has all versions');
	is($standby->safe_psql('postgres', $as_of), query($as_of), 'and reads them as of any time');
	my $list = q{SELECT md5(string_agg(l::text || dms.get_document(id, l.version), '' ORDER BY id, l.version))
		FROM (SELECT id FROM t.before ORDER BY id LIMIT 300) AS b, dms.list_versions(id, 100) AS l};
	is($standby->safe_psql('postgres', $list), query($list), 'and lists them');
	my (undef, undef, $error) = $standby->psql('postgres', "\\set VERBOSITY sqlstate\n"
		  . 'SELECT dms.restore_document(id, 1) FROM t.before LIMIT 1');
	like($error, qr/25006/, 'but restores none');
	return;
}

# A dump that four workers restore has all versions, and the triggers.
sub test_dump
{
	my $file = PostgreSQL::Test::Utils::tempdir() . '/custom';

	$node->command_ok([ 'pg_dump', '-Fc', '-f', $file, 'postgres' ], 'a dump');
	query('CREATE DATABASE restored TEMPLATE template0');
	$node->command_ok([ 'pg_restore', '-j4', '-d', $node->connstr('restored'), $file ], 'is restored by four workers');
	is(query($digest, 'restored'), query($digest), 'with all versions');
	is(query($as_of,  'restored'), query($as_of),  'as of any time');
	is(query('SELECT count(*) FROM dms.resource_options() WHERE options @> $${"history": true}$$', 'restored'), $resources, 'and all options');
	is(query('SELECT * FROM t.trouble LIMIT 5', 'restored'), '', 'versions are as promised');
	query('CALL t.describe(100)', 'restored');
	query(q{SELECT dms.delete_document(d.DocumentUuid) FROM dms.Document AS d
		WHERE NOT EXISTS (SELECT FROM dms.ReferenceEdge AS e WHERE e.ChildDocumentId = d.DocumentId) LIMIT 50}, 'restored');
	is(query('SELECT * FROM t.trouble LIMIT 5', 'restored'), '', 'also after more writes and deletes');
	is(query(q{SELECT count(DISTINCT v.DocumentUuid) FROM dms.DocumentVersion AS v WHERE v.Kind = 'deleted'
		AND NOT EXISTS (SELECT FROM dms.Document AS d WHERE d.DocumentUuid = v.DocumentUuid)}, 'restored'), 50, 'which are recorded');
	my (undef, undef, $error) = $node->psql('restored', "\\set VERBOSITY sqlstate\nDELETE FROM dms.DocumentVersion");
	like($error, qr/23000/, 'and none can be deleted');
	return;
}

# Who writes is part of a version, so it must be valid text.
sub test_user
{
	local $ENV{PGOPTIONS} = "-c dms.user=\xff";
	my ($out, $err);

	IPC::Run::run([ 'psql', '-XAt', '-d', $node->connstr('postgres'), '-c',
			q{SELECT dms.instance_id() IS NOT NULL; SELECT octet_length(current_setting('dms.user'))} ], '>', \$out, '2>', \$err);
	like($err . $out, qr/not valid in the encoding|invalid value for parameter "dms.user"/, 'a user that is not valid text is refused');
	return;
}

sub harness
{
	return <<'SQL';
CREATE SCHEMA t;
CREATE TABLE t.input (n int PRIMARY KEY, data json, state text);

-- What readers got, by document and etag.
CREATE TABLE t.log (id uuid, etag bigint, body text, PRIMARY KEY (id, etag));
CREATE FUNCTION t.note() RETURNS void LANGUAGE sql AS $$
	INSERT INTO t.log SELECT d.DocumentUuid, d.Etag, dms.get_document(d.DocumentUuid)::text FROM dms.Document AS d
	WHERE NOT EXISTS (SELECT FROM t.log AS l WHERE (l.id, l.etag) = (d.DocumentUuid, d.Etag))
$$;
CREATE FUNCTION t.note_one(one uuid) RETURNS void LANGUAGE sql AS $$
	INSERT INTO t.log SELECT one, (g.body ->> '_etag')::bigint, g.body::text FROM (SELECT dms.get_document(one) OFFSET 0) AS g (body)
	ON CONFLICT DO NOTHING
$$;

-- What a document says, but for its etag and time.
CREATE VIEW t.said AS
SELECT id, etag, regexp_replace(body, '"_(etag|lastModifiedDate)": ?"[^"]*"', '', 'g') AS says
FROM (SELECT DISTINCT ON (id) * FROM t.log ORDER BY id, etag DESC) AS l;

CREATE PROCEDURE t.write() LANGUAGE plpgsql AS $$
DECLARE
	progress bool := true;
	i t.input;
	written uuid;
BEGIN
	WHILE progress LOOP
		progress := false;
		FOR i IN SELECT * FROM t.input WHERE state IS NULL OR state = '23503' ORDER BY n LOOP
			BEGIN
				written := (dms.upsert_document(i.data ->> 'project', i.data ->> 'resourceName', i.data -> 'document')).document_uuid;
				UPDATE t.input SET state = 'written' WHERE n = i.n;
				PERFORM t.note_one(written);
				progress := true;
			EXCEPTION WHEN OTHERS THEN
				UPDATE t.input SET state = SQLSTATE WHERE n = i.n;
			END;
			COMMIT;
		END LOOP;
	END LOOP;
END $$;

-- Each descriptor gets another description.
CREATE PROCEDURE t.describe(most int) LANGUAGE plpgsql AS $$
DECLARE
	one uuid;
BEGIN
	FOR one IN SELECT d.DocumentUuid FROM dms.Document AS d JOIN dms.Descriptor USING (DocumentId) LIMIT most LOOP
		PERFORM dms.update_document(one, jsonb_set(dms.get_document(one)::jsonb, '{description}', to_jsonb(clock_timestamp()::text))::json);
		PERFORM t.note_one(one);
		COMMIT;
	END LOOP;
END $$;

-- Each document whose identity has a value of its own, and can change, gets another one.
CREATE TABLE t.renamed (id uuid);
CREATE PROCEDURE t.rename() LANGUAGE plpgsql AS $$
DECLARE
	r record;
	body jsonb;
	was text;
BEGIN
	FOR r IN SELECT d.DocumentUuid AS id, substr(p.path, 3) AS name FROM dms.Document AS d
		JOIN dms.resources() AS m ON (m.project, m.resource) = (d.ProjectName, d.ResourceName), unnest(m.identity_paths) AS p (path)
		WHERE m.identity_can_change AND p.path ~ '^\$\.[A-Za-z]+$' AND p.path !~ 'Descriptor$'
	LOOP
		BEGIN
			body := dms.get_document(r.id);
			was := body ->> r.name;
			PERFORM dms.update_document(r.id, jsonb_set(body, ARRAY[r.name],
				to_jsonb(CASE WHEN was ~ '^\d{4}-\d\d-\d\d$' THEN ((was::date) + 1)::text ELSE left(was, 20) || 'x' END))::json);
			INSERT INTO t.renamed VALUES (r.id);
		EXCEPTION WHEN OTHERS THEN
			-- The other name is taken, or not valid.
			NULL;
		END;
		PERFORM t.note();
		COMMIT;
	END LOOP;
END $$;

CREATE TABLE t.before (id uuid PRIMARY KEY, etag bigint, says text);
CREATE PROCEDURE t.delete() LANGUAGE plpgsql AS $$
DECLARE
	progress bool := true;
	one uuid;
BEGIN
	PERFORM t.note();
	DELETE FROM t.before;
	INSERT INTO t.before SELECT s.* FROM t.said AS s WHERE EXISTS (SELECT FROM dms.Document AS d WHERE d.DocumentUuid = s.id);
	COMMIT;
	WHILE progress LOOP
		progress := false;
		FOR one IN SELECT d.DocumentUuid FROM dms.Document AS d ORDER BY d.DocumentId DESC LOOP
			BEGIN
				PERFORM dms.delete_document(one);
				progress := true;
			EXCEPTION WHEN restrict_violation THEN
				NULL;
			END;
			COMMIT;
		END LOOP;
	END LOOP;
END $$;

CREATE PROCEDURE t.restore() LANGUAGE plpgsql AS $$
DECLARE
	progress bool := true;
	b t.before;
BEGIN
	WHILE progress LOOP
		progress := false;
		FOR b IN SELECT * FROM t.before AS s WHERE NOT EXISTS (SELECT FROM dms.Document AS d WHERE d.DocumentUuid = s.id) ORDER BY id LOOP
			BEGIN
				PERFORM dms.restore_document(b.id, b.etag);
				PERFORM t.note_one(b.id);
				progress := true;
			EXCEPTION WHEN foreign_key_violation THEN
				NULL;
			END;
			COMMIT;
		END LOOP;
	END LOOP;
END $$;

-- The first version of each document, unless a name in it is gone.
CREATE PROCEDURE t.restore_older(most int) LANGUAGE plpgsql AS $$
DECLARE
	one uuid;
	result dms.write_result;
BEGIN
	FOR one IN SELECT id FROM t.before ORDER BY id LIMIT most LOOP
		BEGIN
			result := dms.restore_document(one, 1);
			PERFORM t.note_one(one);
			IF (SELECT count(DISTINCT regexp_replace(body, '"_(etag|lastModifiedDate)": ?"[^"]*"', '', 'g'))
				FROM t.log WHERE id = one AND etag IN (1, result.etag)) > 1 THEN
				RAISE 'document % is not what it was', one;
			END IF;
		EXCEPTION WHEN foreign_key_violation OR SQLSTATE 'ZD400' THEN
			NULL;
		END;
		COMMIT;
	END LOOP;
END $$;

-- Promises that are broken.
CREATE VIEW t.trouble AS
SELECT 'numbers have gaps' AS what, v.DocumentUuid AS id, min(v.VersionNumber) AS version FROM dms.DocumentVersion AS v
GROUP BY v.DocumentUuid HAVING min(v.VersionNumber) <> 1 OR max(v.VersionNumber) <> count(*)
UNION ALL
SELECT 'the document is not at its last version', d.DocumentUuid, d.Etag FROM dms.Document AS d
WHERE NOT EXISTS (SELECT FROM dms.DocumentVersion AS v WHERE (v.DocumentUuid, v.VersionNumber, v.CreatedAt) = (d.DocumentUuid, d.Etag, d.LastModifiedAt)
	AND v.Content::text = dms.get_document(d.DocumentUuid)::text)
   OR EXISTS (SELECT FROM dms.DocumentVersion AS v WHERE v.DocumentUuid = d.DocumentUuid AND v.VersionNumber > d.Etag)
UNION ALL
SELECT 'a deletion is not recorded', v.id, v.version
FROM (SELECT DISTINCT ON (DocumentUuid) DocumentUuid AS id, VersionNumber AS version, Kind FROM dms.DocumentVersion
	ORDER BY DocumentUuid, VersionNumber DESC) AS v
WHERE v.Kind <> 'deleted' AND NOT EXISTS (SELECT FROM dms.Document AS d WHERE d.DocumentUuid = v.id)
UNION ALL
SELECT 'readers got something else', l.id, l.etag FROM t.log AS l
LEFT JOIN dms.DocumentVersion AS v ON (v.DocumentUuid, v.VersionNumber) = (l.id, l.etag) WHERE v.Content::text IS DISTINCT FROM l.body
UNION ALL
SELECT 'the etag is another', v.DocumentUuid, v.VersionNumber FROM dms.DocumentVersion AS v
WHERE (v.Content ->> '_etag')::bigint <> v.VersionNumber OR (v.Content IS NULL) <> (v.Kind = 'deleted')
UNION ALL
SELECT 'times fall', w.id, w.version
FROM (SELECT DocumentUuid AS id, VersionNumber AS version, CreatedAt < lag(CreatedAt) OVER (PARTITION BY DocumentUuid ORDER BY VersionNumber) AS falls
	FROM dms.DocumentVersion) AS w WHERE w.falls;
SQL
}
