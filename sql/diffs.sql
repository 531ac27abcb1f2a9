-- What changed: diffs of JSON values and of versions, and the jobs that store them.
SET client_min_messages = warning;
DROP DATABASE IF EXISTS dms_diffs;
CREATE DATABASE dms_diffs TEMPLATE template0 ENCODING 'UTF8';
SELECT current_database() AS home \gset
\c dms_diffs
SET client_min_messages = warning;
CREATE EXTENSION dms;
\getenv top PG_ABS_SRCDIR
\pset null (null)
\set VERBOSITY terse

-- Without a store: the difference between two values.  Objects are compared by names,
-- arrays by position after equal elements at both ends.
SELECT old, new, dms.json_diff(old, new) -> 'patch' AS patch FROM (VALUES
	('{"a": 1}'::json, '{"a": 1}'::json),
	('{"a": 1, "b": 2}', '{"b": 2, "a": 1}'),
	('{"a": 1}', '{"a": 2}'),
	('{"a": 1}', '{"b": 1}'),
	('{"a": {"b": {"c": [1, 2, {"d": null}]}}}', '{"a": {"b": {"c": [1, 2, {"d": false}]}}}'),
	('[1, 2, 3, 4]', '[1, 3, 4]'),
	('[1, 2, 3]', '[1, 2, 8, 9, 3]'),
	('[1, 2, 3, 4, 5]', '[1, 7, 5]'),
	('[]', '[1]'), ('[1]', '[]'), ('[1, 1, 1]', '[1, 1]'),
	('[{"a": 1}, {"a": 2}]', '[{"a": 1}, {"a": 3}]'),
	('{"a~b/c": 1, "": 2, "é\"\\": 3}', '{"a~b/c": 2, "": 3, "é\"\\": 4}'),
	('1', '"1"'), ('null', 'null'), ('null', '{}'), ('{}', '[]'), ('true', 'false'), ('""', '"x"'),
	('{"a": 1, "a": 2}', '{"a": 2}'),
	('{"n": 1}', '{"n": 1.0}'), ('{"n": 1e2}', '{"n": 100}')) AS v (old, new);

-- Strings of several lines have a unified diff, too.
SELECT p.key AS path, p.value #>> '{}' AS diff
FROM jsonb_each(dms.json_diff(
	json_build_object('a', E'1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n16\n', 'b', 'one line', 'c', E'no newline\nat the end', 'd', E'gone\n'),
	json_build_object('a', E'1\n2\n3\nfour\n5\n6\n7\n8\n9\n10\n11\n12\n14\n15\n16\nlast\n', 'b', 'another', 'c', E'no newline\nat the end\n', 'd', '')) -> 'text') AS p;

-- A text that differs in more than 2,000 lines has none, however long it is.
CREATE FUNCTION lines(n int, tail text) RETURNS json LANGUAGE sql AS $$ SELECT json_build_object('a', string_agg(i || tail, '') || E'same\n') FROM generate_series(1, n) AS i $$;
SELECT n, d -> 'text' ? '/a' AS has_text, length(d #>> '{text,/a}') > 5 * n AS long
FROM (VALUES (999), (1000), (1001), (100000)) AS v (n), LATERAL (SELECT dms.json_diff(lines(n, E' old\n'), lines(n, E' new\n'))) AS j (d);

-- Hostile values.  Repeated lines, whose number of ways is that of all pairs of lines:
-- the steps are counted.  Long names above many leaves: the container is replaced.
SELECT dms.json_diff(to_json(repeat(E'a\nb\n', 200000)), to_json(repeat(E'b\na\na\n', 130000))) -> 'text' AS text;
SELECT length(d::text) < 100000 AS short, jsonb_array_length(d -> 'patch') AS operations
FROM (SELECT dms.json_diff(json_build_object(repeat('x', 10000), (SELECT json_agg(i) FROM generate_series(1, 1000) AS i)),
	json_build_object(repeat('x', 10000), (SELECT json_agg(-i) FROM generate_series(1, 1000) AS i)))) AS j (d);
SELECT dms.json_diff(('"' || repeat(E'a\\n', 300000) || '"')::json, '""') -> 'patch' AS patch;
CREATE FUNCTION nested(depth int, leaf text) RETURNS json LANGUAGE sql AS $$ SELECT (repeat('[1,', depth) || leaf || repeat(']', depth))::json $$;
SELECT length(dms.json_diff(nested(1000, '1'), nested(1000, '2'))::text) AS deep;
SELECT dms.json_diff(nested(1000000, '1'), nested(1000000, '2'));
SELECT dms.json_diff('"\u0000"', '""');
SELECT dms.json_diff(NULL, '1') AS nothing, dms.json_diff('1', NULL) AS nothing;

-- Giant values.  A tree needs far more memory than its text: values with more than a
-- million nodes are replaced as a whole, and texts of more than a million lines have no
-- diff of lines.
CREATE FUNCTION peak() RETURNS bigint LANGUAGE sql AS $$ SELECT (regexp_match(pg_read_file('/proc/self/status'), 'VmHWM:\s*(\d+) kB'))[1]::bigint $$;
CREATE FUNCTION many(n int, last text) RETURNS json LANGUAGE sql AS $$ SELECT ('[' || repeat('null,', n) || last || ']')::json $$;
SELECT n, d -> 'text' AS text, (SELECT string_agg(left(p::text, 60), ' ') FROM jsonb_array_elements(d -> 'patch') AS p) AS patch,
	d #> '{patch,0,value}' = CASE WHEN n < 600000 THEN '2' ELSE many(n, '2')::jsonb END AS value
FROM unnest('{400000, 600000}'::int[]) AS n, LATERAL (SELECT dms.json_diff(many(n, '1'), many(n, '2'))) AS j (d);
SELECT dms.json_diff(many(600000, '1'), many(600000, '1')) AS same;
SELECT n, dms.json_diff(to_json(repeat(E'\n', n)), to_json(repeat(E'\n', n) || 'x')) -> 'text' AS text FROM unnest('{400000, 600000}'::int[]) AS n;
\c
SET client_min_messages = warning;
\pset null (null)
\set VERBOSITY terse
SELECT length(many(2000000, '1')::text::jsonb::text);
SELECT peak() AS of_parser \gset
SELECT length(dms.json_diff(many(2000000, '1'), many(2000000, '2'))::text);
SELECT length(dms.json_diff(to_json(repeat(E'\n', 5000000)), to_json(repeat(E'\n', 5000000) || 'x'))::text);
SELECT peak() < 2 * :of_parser AS bounded;

-- Versions.
\set file :top /test/schemas/isolation.json
\set schema `cat :'file'`
SELECT dms.deploy_schema(:'schema') IS NOT NULL AS deployed;
CREATE FUNCTION put(document uuid, body json) RETURNS text LANGUAGE sql AS $$
	SELECT outcome || ' ' || etag FROM dms.update_document(document, body)
$$;
CREATE FUNCTION changes(document uuid) RETURNS TABLE (version bigint, old bigint, kind text, state text, patch jsonb) LANGUAGE sql AS $$
	SELECT version, old_version, kind, diff_state, diff -> 'patch' FROM dms.change_log(document)
$$;
CREATE VIEW jobs AS
SELECT j.Queue AS queue, j.Kind AS kind, replace(j.Payload::text, j.DocumentUuid::text, '(id)') AS payload, j.MaxAttempts AS max FROM dms.Job AS j ORDER BY JobId;

-- Without a history there is nothing to compare, but the current version with itself.
SELECT document_uuid AS plain FROM dms.upsert_document('isolation', 'schools', '{"schoolId": 1}') \gset
SELECT put(:'plain', '{"schoolId": 1, "name": "North"}');
SELECT dms.diff_versions(:'plain', 2, 2), dms.diff_versions(:'plain', 1, 2);
SELECT * FROM changes(:'plain');

-- The option "diff" lets each update enqueue a job, in the same transaction.  It has no
-- effect without a history.
SELECT dms.configure_resource('isolation', 'sessions', '{"diff": 7}');
SELECT dms.configure_resource('isolation', 'sessions', '{"diff": ""}');
SELECT dms.configure_resource('isolation', 'sessions', jsonb_build_object('diff', repeat('q', 65)));
SELECT dms.configure_resource('isolation', 'sessions', '{"diff": true}');
SELECT document_uuid AS session FROM dms.upsert_document('isolation', 'sessions', '{"sessionName": "S"}') \gset
SELECT put(:'session', '{"sessionName": "S", "title": "zero"}');
SELECT count(*) FROM jobs;
SELECT dms.configure_resource('isolation', 'sessions', '{"history": true}');
SELECT put(:'session', '{"sessionName": "S", "title": "one"}');
SELECT put(:'session', '{"sessionName": "S", "title": "one"}');
BEGIN;
SELECT put(:'session', '{"sessionName": "S", "title": "never"}');
ROLLBACK;
SELECT outcome, etag FROM dms.upsert_document('isolation', 'sessions', '{"sessionName": "S", "title": "two"}');
SELECT outcome, etag FROM dms.update_documents(ARRAY[:'session']::uuid[], ARRAY['{"sessionName": "S", "title": "three"}']::json[]);
SELECT outcome, etag FROM dms.restore_document(:'session', 3);
SELECT * FROM jobs;

-- Version 2 was not kept, so there is no diff to version 3.
SELECT * FROM changes(:'session');
CALL dms.run_jobs();
SELECT * FROM changes(:'session');
SELECT version, old_version, created_at = (SELECT v.created_at FROM dms.list_versions(:'session') AS v WHERE v.version = c.version) AS same_time,
	created_by = session_user AS mine, diff FROM dms.change_log(:'session', 1) AS c;
SELECT version, diff_state FROM dms.change_log(:'session', 2, before => 5);
SELECT version FROM dms.change_log(:'session', 0);
SELECT dms.diff_versions(:'session', 3, 6) = '{"patch": [], "text": {}}' AS same, dms.diff_versions(:'session', 6, 4) -> 'patch' AS patch;
SELECT count(*) FROM jobs;

-- Running a job twice stores nothing new.
SELECT dms.enqueue_job('dms', 'diff', jsonb_build_object('documentId', :'session', 'oldVersionId', :'session' || '@3', 'newVersionId', :'session' || '@5')) > 0 AS enqueued;
CALL dms.run_jobs();
SELECT version, old, patch FROM changes(:'session') WHERE version = 5;

-- Cascades leave versions, but no diffs.
SELECT dms.configure_resource('isolation', 'offerings', '{"history": true, "diff": true}');
SELECT document_uuid AS offering FROM dms.upsert_document('isolation', 'offerings', '{"code": "O", "sessionReference": {"sessionName": "S"}}') \gset
SELECT put(:'session', '{"sessionName": "T", "title": "one"}');
SELECT * FROM changes(:'offering');
SELECT * FROM changes(:'session') LIMIT 1;
SELECT dms.diff_versions(:'offering', 1, 2);

-- A program can make diffs by itself: in a queue of its own.
SELECT dms.configure_resource('isolation', 'offerings', '{"diff": "bullmq"}');
SELECT put(:'offering', '{"code": "O", "title": "new", "sessionReference": {"sessionName": "T"}}');
CALL dms.run_jobs();
SELECT * FROM jobs;
SELECT job_id, lease, payload FROM dms.claim_jobs('bullmq') \gset
SELECT dms.store_diff(:'offering', 2, 3, '{"by": "hand"}') AS stored, dms.complete_jobs(ARRAY[:job_id], :'lease') AS completed;
SELECT dms.store_diff(:'offering', 1, 3, '{"by": "another"}') AS stored;
SELECT version, diff, diff_state FROM dms.change_log(:'offering');
SELECT dms.store_diff(:'offering', 1, 9, '{}') AS stored, dms.store_diff(gen_random_uuid(), 1, 2, '{}') AS stored;
SELECT dms.store_diff(:'offering', 3, 3, '{}');
SELECT dms.store_diff(:'offering', 1, 2, '[]');
SELECT dms.store_diff(:'offering', 1, 2, NULL);

-- A job that always fails shows in the log.
SELECT put(:'offering', '{"code": "O", "title": "dead", "sessionReference": {"sessionName": "T"}}');
UPDATE dms.Job SET MaxAttempts = 1;
SELECT dms.fail_job(job_id, lease, 'Redis is gone') FROM dms.claim_jobs('bullmq');
SELECT version, diff_state FROM dms.change_log(:'offering', 1);
SELECT dms.retry_jobs();
SELECT version, diff_state FROM dms.change_log(:'offering', 1);

-- Anybody can enqueue jobs about a document, with any payload: they are not read.
SELECT count(dms.enqueue_job('q', 'diff', jsonb_build_object('documentId', :'offering', 'newVersionId', v)))
FROM unnest(ARRAY[:'offering', :'offering' || '@1', repeat('x', 100000), :'session' || '@4', NULL]) AS v;
SELECT version, diff_state FROM dms.change_log(:'offering');
DELETE FROM dms.Job WHERE Queue = 'q';

-- A job that ends its worker takes along what was done with it, but only once: jobs that
-- were tried before run alone, so that it does not use up the attempts of others.
CREATE FUNCTION poison() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	IF NEW.Diff::text LIKE '%poison%' THEN
		RAISE query_canceled;
	END IF;
	RETURN NEW;
END $$;
CREATE TRIGGER poison BEFORE INSERT ON dms.VersionDiff FOR EACH ROW EXECUTE FUNCTION poison();
SELECT document_uuid AS victim FROM dms.upsert_document('isolation', 'sessions', '{"sessionName": "V"}') \gset
SELECT put(:'victim', json_build_object('sessionName', 'V', 'title', title)) FROM unnest('{poison,good,better}'::text[]) AS title;
UPDATE dms.Job SET MaxAttempts = 3 WHERE DocumentUuid = :'victim';
CALL dms.run_jobs();
SELECT Attempts, LastError FROM dms.Job WHERE DocumentUuid = :'victim';
UPDATE dms.Job SET RunAt = now() WHERE DocumentUuid = :'victim';
CALL dms.run_jobs();
CALL dms.run_jobs() \g /dev/null
SELECT version, state FROM changes(:'victim');
SELECT Attempts, LastError FROM dms.Job WHERE DocumentUuid = :'victim';
UPDATE dms.Job SET RunAt = now() WHERE DocumentUuid = :'victim';
CALL dms.run_jobs();
UPDATE dms.Job SET RunAt = now() WHERE DocumentUuid = :'victim';
SET client_min_messages = error;
CALL dms.run_jobs();
SET client_min_messages = warning;
SELECT version, state FROM changes(:'victim');
DROP TRIGGER poison ON dms.VersionDiff;
SELECT dms.retry_jobs();
CALL dms.run_jobs();
SELECT version, state FROM changes(:'victim');

-- Payloads that name no two versions of one document are refused, in the end.
SELECT count(dms.enqueue_job('dms', 'diff', p, max_attempts => 1)) FROM unnest(ARRAY['{}', '[]', 'null',
	'{"oldVersionId": 1, "newVersionId": 2}',
	'{"oldVersionId": "0190b7a6-0000-7000-8000-000000000001@01", "newVersionId": "0190b7a6-0000-7000-8000-000000000001@2"}',
	'{"oldVersionId": "0190b7a6-0000-7000-8000-000000000001@1", "newVersionId": "0190b7a6-0000-7000-8000-000000000001@99999999999999999999"}',
	'{"oldVersionId": "0190b7a6-0000-7000-8000-000000000001@1", "newVersionId": "0190b7a6-0000-7000-8000-000000000002@2"}',
	'{"oldVersionId": "0190b7a6-0000-7000-8000-000000000001@2", "newVersionId": "0190b7a6-0000-7000-8000-000000000001@2"}']::jsonb[]) AS p;
SET client_min_messages = error;
CALL dms.run_jobs();
SET client_min_messages = warning;
SELECT LastError, count(*) FROM dms.DeadJob GROUP BY 1 ORDER BY 1;
TRUNCATE dms.DeadJob;

-- A version that was deleted takes along what repeats parts of it.  Its job finds nothing
-- to do.
SELECT put(:'session', '{"sessionName": "T", "title": "eight"}');
SELECT version, old, state FROM changes(:'session');
SELECT dms.configure_resource('isolation', 'sessions', '{"retainVersions": 3}');
SELECT dms.purge_history();
SELECT version, old, state FROM changes(:'session');
SELECT VersionNumber, OldVersionNumber FROM dms.VersionDiff WHERE DocumentUuid = :'session' ORDER BY 1;
SELECT dms.configure_resource('isolation', 'sessions', '{"retainVersions": 1}');
SELECT dms.purge_history();
CALL dms.run_jobs();
SELECT version, old, state FROM changes(:'session');

-- Erasing reaches diffs, jobs and dead jobs of the document, and nothing else.
SELECT dms.configure_resource('isolation', 'sessions', '{"retainVersions": null}');
SELECT document_uuid AS other FROM dms.upsert_document('isolation', 'sessions', '{"sessionName": "Other"}') \gset
SELECT put(id, json_build_object('sessionName', name, 'title', 'title ' || n))
FROM (VALUES (:'session'::uuid, 'T'), (:'other', 'Other')) AS v (id, name), generate_series(1, 4) AS n;
WITH one AS (DELETE FROM dms.Job WHERE Payload ->> 'newVersionId' IN (:'session' || '@9', :'other' || '@2') RETURNING *)
INSERT INTO dms.DeadJob (JobId, Queue, Kind, DocumentUuid, Payload, RunAt, Attempts, MaxAttempts, CreatedAt)
SELECT JobId, Queue, Kind, DocumentUuid, Payload, RunAt, 1, 1, CreatedAt FROM one;
UPDATE dms.Job SET RunAt = now() + interval '1 h' WHERE Payload ->> 'newVersionId' IN (:'session' || '@10', :'other' || '@3');
CALL dms.run_jobs();
SELECT version, old, state FROM changes(:'session');
SELECT dms.erase_history(:'session');
SELECT version, old, state FROM changes(:'session');
SELECT version, old, state FROM changes(:'other');
SELECT (SELECT count(*) FROM dms.Job WHERE DocumentUuid = :'session') AS jobs, (SELECT count(*) FROM dms.DeadJob WHERE DocumentUuid = :'session') AS dead,
	(SELECT count(*) FROM dms.VersionDiff WHERE DocumentUuid = :'session') AS diffs;

-- A deleted document keeps its diffs with its versions.
SELECT dms.delete_document(:'other');
SELECT version, old, kind, state FROM changes(:'other');
SELECT dms.diff_versions(:'other', 4, 5) -> 'patch' AS patch, dms.diff_versions(:'other', 5, 6) AS with_deletion;

-- Restored: there is no text to compare with.
SELECT outcome, etag FROM dms.restore_document(:'other', 5);
SELECT version, kind, state FROM changes(:'other') LIMIT 2;

-- The audit finds diffs without their versions.
SELECT kind FROM dms.audit();
INSERT INTO dms.VersionDiff VALUES (:'other', 77, 76, '{}'), (gen_random_uuid(), 2, 1, '{}');
SELECT kind, document_uuid = :'other' AS other, replace(expected, :'other', '(id)') LIKE '(id)@%' AS names, found FROM dms.audit() ORDER BY found, expected;
SELECT * FROM dms.repair();
SELECT kind FROM dms.audit();

-- Who may not read versions may not read diffs.
CREATE ROLE regress_diffs_reader;
CREATE ROLE regress_diffs_writer;
SELECT dms.grant_access('regress_diffs_reader', 'reader'), dms.grant_access('regress_diffs_writer', 'writer');
SET ROLE regress_diffs_reader;
SELECT dms.diff_versions(:'other', 4, 5) IS NULL AS hidden;
SELECT count(*) FROM dms.change_log(:'other');
SELECT dms.store_diff(:'other', 4, 5, '{}');
SELECT * FROM dms.VersionDiff;
RESET ROLE;
ALTER TABLE isolation.session ENABLE ROW LEVEL SECURITY;
SET ROLE regress_diffs_reader;
SELECT dms.diff_versions(:'other', 4, 5) IS NULL AS hidden;
SELECT count(*) FROM dms.change_log(:'other');
RESET ROLE;
ALTER TABLE isolation.session DISABLE ROW LEVEL SECURITY;
SELECT dms.configure_resource('isolation', 'sessions', '{"historyLevel": "admin"}');
SET ROLE regress_diffs_reader;
SELECT dms.diff_versions(:'other', 4, 5);
SELECT * FROM dms.change_log(:'other');
SET ROLE regress_diffs_writer;
SELECT dms.store_diff(:'other', 4, 5, '{}') AS stored;
RESET ROLE;

\c :home
SET client_min_messages = warning;
DROP DATABASE dms_diffs;
DROP ROLE regress_diffs_reader, regress_diffs_writer;
