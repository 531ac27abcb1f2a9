-- dms.DocumentCache: documents as they are read, written by a projector or by writers.
SET client_min_messages = warning;
DROP DATABASE IF EXISTS dms_cache;
DROP ROLE IF EXISTS regress_cache_reader, regress_cache_columns, regress_cache_rows;
CREATE ROLE regress_cache_reader;
CREATE ROLE regress_cache_columns;
CREATE ROLE regress_cache_rows;
CREATE DATABASE dms_cache TEMPLATE template0 ENCODING 'UTF8';
SELECT current_database() AS home \gset
\c dms_cache
SET client_min_messages = warning;
-- Only direct access reads from the cache.
SET dms.direct_access = on;
CREATE EXTENSION dms;
\getenv top PG_ABS_SRCDIR
\set file :top /test/schemas/isolation.json
\set schema `cat :'file'`
SELECT dms.deploy_schema(:'schema') IS NOT NULL AS deployed;
\pset null (null)
\set VERBOSITY terse

-- What the cache has: per document, whether the row is fresh, and whether its text is the
-- one that is read without it.
CREATE VIEW cached AS
SELECT d.ResourceName, c.DocumentUuid IS NOT NULL AS cached, coalesce(c.Etag = d.Etag, false) AS fresh,
	coalesce(c.DocumentJson::text = dms.get_document(d.DocumentUuid)::text, false) AS same
FROM dms.Document AS d LEFT JOIN dms.DocumentCache AS c USING (DocumentId);
CREATE FUNCTION summary() RETURNS TABLE (documents bigint, cached bigint, fresh bigint, same bigint, rows bigint) LANGUAGE sql
SET dms.cache_reads = off AS $$
	SELECT count(*), count(*) FILTER (WHERE c.cached), count(*) FILTER (WHERE c.fresh), count(*) FILTER (WHERE c.same),
		(SELECT count(*) FROM dms.DocumentCache)
	FROM cached AS c
$$;

SELECT document_uuid AS session FROM dms.upsert_document('isolation', 'sessions', '{"sessionName": "S", "title": "one"}') \gset
SELECT document_uuid AS offering FROM dms.upsert_document('isolation', 'offerings', '{"code": "O", "sessionReference": {"sessionName": "S"}}') \gset

-- It is off, and empty.  What depends on it says so.
SELECT CacheMode FROM dms.Store;
SELECT * FROM summary();
SELECT dms.wait_until_projected();
SELECT dms.rebuild_cache();
SELECT dms.set_cache_mode('now');
SELECT dms.set_cache_mode(NULL);

-- Eventual: the projector writes.  It begins with all documents that are there.
SELECT dms.set_cache_mode('eventual');
SELECT * FROM summary();
CALL dms.project_documents();
SELECT * FROM summary();
CALL dms.project_documents();
SELECT mode, pending, failures, rebuild_done FROM dms.projection_status();

-- A document that changes is stale until it is projected, and with it those that change
-- because it did.  Reads do not see the difference.
SELECT outcome FROM dms.update_document(:'session', '{"sessionName": "T", "title": "two"}');
SELECT outcome FROM dms.upsert_document('isolation', 'sessions', '{"sessionName": "U", "title": "new"}');
SELECT * FROM summary();
SELECT pending FROM dms.projection_status();
SELECT dms.get_document(:'offering')::jsonb -> 'sessionReference' AS reference;
CALL dms.project_documents();
SELECT * FROM summary();

-- A read takes the text of a fresh row.
BEGIN;
UPDATE dms.DocumentCache SET DocumentJson = '{"title": "from the cache"}' WHERE DocumentUuid = :'session';
SELECT dms.get_document(:'session');
SET LOCAL dms.cache_reads = off;
SELECT dms.get_document(:'session') ->> 'title' AS title;
SET LOCAL dms.cache_reads = on;
-- So does a page: others are made from the tables, and all are in their order.
SELECT q ->> 'sessionName' AS session, q ->> 'title' AS title FROM dms.query_documents('isolation', 'sessions') AS q;
UPDATE dms.DocumentCache SET Etag = Etag - 1 WHERE DocumentUuid = :'session';
SELECT dms.get_document(:'session') ->> 'title' AS title;
SELECT q ->> 'sessionName' AS session, q ->> 'title' AS title FROM dms.query_documents('isolation', 'sessions') AS q;
SELECT q ->> 'sessionName' AS session FROM dms.query_documents('isolation', 'sessions', '{}', 1, 1) AS q;
DELETE FROM dms.DocumentCache;
SELECT q ->> 'sessionName' AS session, q ->> 'title' AS title FROM dms.query_documents('isolation', 'sessions') AS q;
SELECT kind, expected, found FROM dms.audit();
ROLLBACK;

-- Only readers who could read all that a document is made of get it from there.
SELECT dms.grant_access('regress_cache_reader', 'reader');
SELECT dms.grant_access('regress_cache_columns', 'reader');
SELECT dms.grant_access('regress_cache_rows', 'reader');
CREATE FUNCTION seen_by(reader name, document uuid) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	seen text;
BEGIN
	PERFORM set_config('role', reader, true);
	seen := dms.get_document(document) ->> 'title';
	PERFORM set_config('role', 'none', true);
	RETURN coalesce(seen, 'nothing');
EXCEPTION WHEN insufficient_privilege THEN
	RETURN SQLERRM;
END $$;
BEGIN;
UPDATE dms.DocumentCache SET DocumentJson = '{"title": "from the cache"}' WHERE DocumentUuid = :'session';
SELECT seen_by('regress_cache_reader', :'session');
REVOKE SELECT ON isolation.Session FROM regress_cache_columns;
SELECT seen_by('regress_cache_columns', :'session');
GRANT SELECT (DocumentId, SessionName) ON isolation.Session TO regress_cache_columns;
SELECT seen_by('regress_cache_columns', :'session');
GRANT SELECT (Title) ON isolation.Session TO regress_cache_columns;
SELECT seen_by('regress_cache_columns', :'session');
ALTER TABLE isolation.Session ENABLE ROW LEVEL SECURITY;
SELECT seen_by('regress_cache_rows', :'session');
CREATE POLICY visible ON isolation.Session TO regress_cache_rows USING (SessionName = 'T');
SELECT seen_by('regress_cache_rows', :'session');
SELECT dms.get_document(:'session') ->> 'title' AS owner;
ROLLBACK;
SET ROLE regress_cache_reader;
SELECT count(*) FROM dms.DocumentCache;
RESET ROLE;

-- The same holds for pages, and for tables behind the view of an abstract resource that is
-- referred to.
CREATE FUNCTION page_by(reader name, resource text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	seen text;
BEGIN
	PERFORM set_config('role', reader, true);
	seen := string_agg(coalesce(q ->> 'title', q ->> 'note', '-'), ', ') FROM dms.query_documents('isolation', resource) AS q;
	PERFORM set_config('role', 'none', true);
	RETURN coalesce(seen, 'nothing');
EXCEPTION WHEN insufficient_privilege THEN
	RETURN SQLERRM;
END $$;
SELECT dms.upsert_document('isolation', 'schools', '{"schoolId": 1, "name": "One"}') IS NOT NULL AS school;
SELECT document_uuid AS enrollment FROM dms.upsert_document('isolation', 'enrollments',
	'{"enrollmentId": 1, "note": "from the tables", "organizationReference": {"organizationId": 1}}') \gset
CALL dms.project_documents();
BEGIN;
UPDATE dms.DocumentCache SET DocumentJson = '{"title": "from the cache"}' WHERE ResourceName IN ('Session', 'Enrollment');
SELECT page_by('regress_cache_reader', 'sessions');
SELECT page_by('regress_cache_reader', 'enrollments');
REVOKE SELECT ON isolation.School FROM regress_cache_columns;
SELECT page_by('regress_cache_columns', 'enrollments');
GRANT SELECT (DocumentId, SchoolId) ON isolation.School TO regress_cache_columns;
SELECT page_by('regress_cache_columns', 'enrollments');
ALTER TABLE isolation.School ENABLE ROW LEVEL SECURITY;
SELECT page_by('regress_cache_rows', 'enrollments');
ALTER TABLE isolation.School DISABLE ROW LEVEL SECURITY;
SELECT page_by('regress_cache_rows', 'enrollments');
ALTER VIEW isolation.Organization_View RESET (security_invoker);
SELECT page_by('regress_cache_rows', 'enrollments');
ALTER VIEW isolation.Organization_View SET (security_invoker = true);
SELECT page_by('regress_cache_rows', 'enrollments');
ALTER TABLE isolation.Session ENABLE ROW LEVEL SECURITY;
CREATE POLICY visible ON isolation.Session TO regress_cache_rows USING (SessionName = 'T');
SELECT page_by('regress_cache_rows', 'sessions');
ROLLBACK;
DROP FUNCTION page_by;
SELECT dms.delete_document(:'enrollment');
SELECT count(dms.delete_document(DocumentUuid)) FROM dms.Document WHERE ResourceName = 'School';

-- A delete deletes the row.
SELECT outcome, document_uuid AS gone FROM dms.upsert_document('isolation', 'sessions', '{"sessionName": "V", "title": "gone"}') \gset
CALL dms.project_documents();
SELECT dms.delete_document(:'gone');
SELECT * FROM summary();

-- What the projector has still to read is not purged, whatever its age.
SELECT dms.purge_tracked_changes('0') >= 0 AS purged;
SELECT count(*) FROM dms.TrackedChange WHERE Kind = 'D' AND DocumentUuid = :'gone';

-- A rebuild writes all rows again, and deletes those without a document.
UPDATE dms.DocumentCache SET DocumentJson = '{}';
INSERT INTO dms.DocumentCache SELECT -1, gen_random_uuid(), ProjectName, ResourceName, ResourceVersion, 1, now(), '{}' FROM dms.DocumentCache LIMIT 1;
CALL dms.project_documents();
SELECT * FROM summary();
SELECT dms.rebuild_cache() >= 0 AS expected;
SELECT dms.get_document(:'session') ->> 'title' AS title;
CALL dms.project_documents();
SELECT * FROM summary();

-- A projector whose place is lost begins anew.
DELETE FROM dms.ChangeConsumer;
DELETE FROM dms.DocumentCache;
SELECT dms.purge_tracked_changes('0') > 0 AS purged;
SELECT count(*) FROM dms.TrackedChange;
CALL dms.project_documents();
SELECT * FROM summary();

-- An audit finds what is wrong with the cache, and a repair lets the projector do it again.
UPDATE dms.DocumentCache SET DocumentJson = '{}' WHERE DocumentUuid = :'session';
INSERT INTO dms.DocumentCache SELECT -1, gen_random_uuid(), ProjectName, ResourceName, ResourceVersion, 1, now(), '{}' FROM dms.DocumentCache LIMIT 1;
-- A place is a number and an id, here the largest one: nothing of that number was read yet.
UPDATE dms.ChangeConsumer SET Cursor = regexp_replace(Cursor, '^(1[.]-?\d+)[.]\d+(.*)[.]-?\d+$', '\1.100000000000000000\2.9223372036854775807');
SELECT kind, document_id, document_uuid = :'session' AS session, found FROM dms.audit();
SELECT * FROM dms.repair();
SELECT * FROM summary();
CALL dms.project_documents();
SELECT * FROM summary();
SELECT count(*) FROM dms.audit();

-- A document that cannot be projected is tried again, and holds up no other one.
BEGIN;
ALTER TABLE dms.DocumentCache ADD CONSTRAINT poison CHECK (DocumentJson ->> 'title' <> 'poison');
SELECT count(dms.upsert_document('isolation', 'sessions', json_build_object('sessionName', 'P' || n, 'title', CASE n WHEN 7 THEN 'poison' ELSE 'fine' END)))
FROM generate_series(1, 20) AS n;
COMMIT;
SET client_min_messages = error;
CALL dms.project_documents();
SET client_min_messages = warning;
SELECT documents - cached AS missing FROM summary();
SELECT Attempts, SqlState, NextAttemptAt > now() AS later FROM dms.ProjectionFailure;
SELECT failures, pending, left(last_error, 5) AS last_error FROM dms.projection_status();
UPDATE dms.ProjectionFailure SET NextAttemptAt = now();
SET client_min_messages = error;
CALL dms.project_documents();
SET client_min_messages = warning;
SELECT Attempts, NextAttemptAt > now() + interval '90 seconds' AS later_still FROM dms.ProjectionFailure;
ALTER TABLE dms.DocumentCache DROP CONSTRAINT poison;
CALL dms.project_documents();
SELECT documents - cached AS missing FROM summary();
UPDATE dms.ProjectionFailure SET NextAttemptAt = now();
CALL dms.project_documents();
SELECT documents - cached AS missing FROM summary();
SELECT count(*) AS failures FROM dms.ProjectionFailure;

-- A limit of documents a second: batches are not larger than that, and the projector rests
-- after each of them, unless it has taken longer anyway.
BEGIN;
SELECT dms.rebuild_cache() >= 0 AS expected;
SET LOCAL dms.projector_rate = 2;
SELECT projected > 0 AS projected, more, pause > 0 OR clock_timestamp() - statement_timestamp() > projected * interval '0.5 s' AS rests
FROM dms_internal.project_some();
SELECT rebuild_done, rebuild_total >= rebuild_done AS known, regexp_replace(progress, '\d+ a second, [0-9:]+|\d+ of \d+', '(n)', 'g') AS progress
FROM dms.projection_status();
ROLLBACK;

-- Changes that later ones have superseded are deleted from the journal when there are
-- enough of them to be worth it.
SELECT count(dms.update_document(:'session', json_build_object('sessionName', 'T', 'title', n::text))) FROM generate_series(1, 30) AS n;
SELECT count(*) > 30 AS superseded FROM dms.DocumentChange;
SELECT pg_stat_force_next_flush();
CALL dms.project_documents();
SELECT (SELECT count(*) FROM dms.DocumentChange) - (SELECT count(*) FROM dms.Document) AS superseded;
SELECT dms_internal.compact_some(-1);

-- What operators look at first.
\x
SELECT version, store_version ~ '^\d+$' AS store_version, instance_id = dms.instance_id() AS same, owner = current_user AS owner, projects,
	length(schema_hash) AS hash, deployed_at < now() AS deployed, size > 100000 AS size, documents >= 0 AS documents,
	change_tracking, changes >= 0 AS changes, cache_mode, publications, worker, gate, gate_pid
FROM dms.status();
BEGIN;
LOCK TABLE dms.Store IN SHARE ROW EXCLUSIVE MODE;
LOCK TABLE isolation.Session;
SELECT gate, gate_pid = pg_backend_pid() AS own, size > 100000 AS size FROM dms.status();
ROLLBACK;
\x

-- Writers can write rows themselves: their own, or those of all documents that change.
SELECT dms.set_cache_mode('write_through');
SELECT outcome FROM dms.update_document(:'session', '{"sessionName": "W", "title": "three"}');
SELECT outcome FROM dms.upsert_document('isolation', 'sessions', '{"sessionName": "X", "title": "new"}');
SELECT ResourceName, count(*) FROM cached WHERE NOT fresh GROUP BY 1 ORDER BY 1;
CALL dms.project_documents();
SELECT dms.set_cache_mode('strict');
CALL dms.project_documents();
SELECT outcome FROM dms.update_document(:'session', '{"sessionName": "Y", "title": "four"}');
SELECT documents - same AS stale FROM summary();

-- Following needs the journal, and a transaction whose snapshot is not fixed.
SELECT dms.set_change_tracking(false);
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT dms.set_cache_mode('off');
ROLLBACK;
SELECT dms.clear_cache();
BEGIN;
CALL dms.project_documents();
ROLLBACK;

-- Off: the rows stay, and are ignored.
SELECT dms.set_cache_mode('off');
UPDATE dms.DocumentCache SET DocumentJson = '{}';
SELECT dms.get_document(:'session') ->> 'title' AS title;
CALL dms.project_documents();
SELECT * FROM dms.projection_status();
SELECT dms.clear_cache();
SELECT count(*) FROM dms.DocumentCache;
SELECT dms.set_change_tracking(false);
SELECT dms.set_cache_mode('eventual');
SELECT count(*) FROM dms.audit();

-- Without dms in shared_preload_libraries there are no workers.
SELECT * FROM dms.worker_status();

\c :home
DROP DATABASE dms_cache;
DROP ROLE regress_cache_reader, regress_cache_columns, regress_cache_rows;
