-- The limits that protect a store: settings that only superusers change, and
-- options of the store itself, which its owner changes.  The stricter one holds.
SET client_min_messages = warning;
DROP DATABASE IF EXISTS dms_configure;
CREATE DATABASE dms_configure TEMPLATE template0 ENCODING 'UTF8';
SELECT current_database() AS home \gset
\c dms_configure
SET client_min_messages = warning;
CREATE EXTENSION dms;
-- Without a store there is nothing to configure.
\set VERBOSITY terse
SELECT dms.configure_store('{}');
\getenv top PG_ABS_SRCDIR
\set file :top /test/schemas/cascade.json
\set schema `cat :'file'`
SELECT dms.deploy_schema(:'schema') IS NOT NULL AS deployed;
\pset null (null)

-- Settings with the context "user" can be changed by everyone; they weaken nothing.
SELECT name, boot_val, unit, context FROM pg_settings
WHERE name LIKE 'dms.%' AND name NOT IN ('dms.skip', 'dms.pause', 'dms.delay') ORDER BY name COLLATE "C";
CREATE ROLE regress_configure_writer;
CREATE ROLE regress_configure_admin;
SELECT dms.grant_access('regress_configure_writer', 'writer');
SELECT dms.grant_access('regress_configure_admin', 'admin');
SET ROLE regress_configure_writer;
SET dms.max_cascade_size = 0;
SET dms.verify_edges = off;
SET dms.idempotency_lease = 1;
SET dms.idempotency_ttl = 1;
-- Writers do not configure the store either.
SELECT dms.configure_store('{"maxCascadeSize": 0}');
UPDATE dms.Store SET MaxCascadeSize = 0;

-- An administrator does, without being a superuser or the owner.  All options are
-- returned; those that are not set are null.
SET ROLE regress_configure_admin;
SELECT dms.configure_store('{}');
SELECT dms.configure_store('{"maxCascadeSize": 2, "verifyEdges": true}');
SELECT dms.configure_store('{"verifyEdges": 0.25, "idempotencyLease": 90, "idempotencyTtl": 3600}');
SELECT dms.configure_store('{"verifyEdges": false, "maxCascadeSize": 1e3}');
-- null resets an option, and others stay.
SELECT dms.configure_store('{"verifyEdges": null, "maxCascadeSize": null, "idempotencyLease": null}');
UPDATE dms.Store SET MaxCascadeSize = 0;

-- What is not an option, or has the wrong type, is refused.  All mistakes are named,
-- and nothing is changed.
\set VERBOSITY default
SELECT dms.configure_store('{"maxcascadesize": 1, "verifyEdges": "yes", "idempotencyTtl": 60}');
\set VERBOSITY terse
SELECT dms.configure_store(NULL);
SELECT dms.configure_store('[]');
SELECT dms.configure_store('7');
SELECT dms.configure_store('null');
CREATE TEMPORARY TABLE wrong AS SELECT key, value FROM
	unnest(ARRAY['maxCascadeSize', 'verifyEdges', 'idempotencyLease', 'idempotencyTtl']) AS key,
	unnest(ARRAY['-1', '1.5', '2147483648', '1e400', '"1"', '[1]', '{}', 'true', '0', '0.5', '1']) AS value;
CREATE FUNCTION pg_temp.refused(key text, value text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	detail text;
BEGIN
	PERFORM dms.configure_store(format('{"%s": %s}', key, value)::jsonb);
	RETURN NULL;
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
	RETURN SQLSTATE || ' ' || (detail::json -> 'errors' ->> 0);
END $$;
BEGIN;
SELECT key, string_agg(value, ' ' ORDER BY value COLLATE "C") FILTER (WHERE refused IS NOT NULL) AS refused,
	string_agg(value, ' ' ORDER BY value COLLATE "C") FILTER (WHERE refused IS NULL) AS taken, string_agg(DISTINCT refused, E'\n') AS why
FROM wrong, LATERAL pg_temp.refused(key, value) AS refused GROUP BY key ORDER BY key COLLATE "C";
ROLLBACK;
SELECT dms.configure_store('{}');
SELECT dms.configure_store('{"idempotencyTtl": null}');

-- Of a setting and an option the stricter one holds.  The change reaches two
-- documents.
RESET ROLE;
SELECT outcome FROM dms.upsert_document('Cascade', 'School', '{"schoolId": 10, "name": "North"}');
SELECT document_uuid AS session
FROM dms.upsert_document('Cascade', 'Session', '{"schoolReference": {"schoolId": 10}, "sessionName": "Fall"}') \gset
SELECT outcome FROM dms.upsert_document('Cascade', 'Offering', '{"localCode": "ALG",
	"schoolReference": {"schoolId": 10}, "sessionReference": {"schoolId": 10, "sessionName": "Fall"}}');
CREATE FUNCTION rename(session uuid, setting text, options jsonb) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM dms.configure_store(options);
	PERFORM set_config('dms.max_cascade_size', setting, true);
	PERFORM dms.update_document(session, '{"schoolReference": {"schoolId": 10}, "sessionName": "Spring"}');
	RAISE 'allowed';
EXCEPTION WHEN OTHERS THEN
	RETURN SQLERRM;
END $$;
SELECT setting, options, rename(:'session', setting, options)
FROM unnest(ARRAY['0', '1', '2']) AS setting,
	unnest(ARRAY['{"maxCascadeSize": null}', '{"maxCascadeSize": 0}', '{"maxCascadeSize": 1}', '{"maxCascadeSize": 2}']::jsonb[]) AS options;
-- The error says where the limit comes from.
\set VERBOSITY default
SELECT dms.configure_store('{"maxCascadeSize": 1}') IS NOT NULL AS configured;
SELECT dms.update_document(:'session', '{"schoolReference": {"schoolId": 10}, "sessionName": "Spring"}');
\set VERBOSITY terse

-- Edges are verified as often as the setting or the store says.
CREATE FUNCTION mislead() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	NEW.school_documentid := NULL;
	RETURN NEW;
END
$$;
CREATE TRIGGER mislead BEFORE INSERT ON cascade.note FOR EACH ROW EXECUTE FUNCTION mislead();
CREATE FUNCTION note(setting text, options jsonb) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM dms.configure_store(options);
	PERFORM set_config('dms.verify_edges', setting, true);
	PERFORM dms.upsert_document('Cascade', 'Note', '{"noteId": 1, "schoolReference": {"schoolId": 10}}');
	RAISE 'not verified';
EXCEPTION WHEN OTHERS THEN
	RETURN regexp_replace(SQLERRM, '[0-9]+', 'N');
END $$;
SELECT setting, options, note(setting, options)
FROM unnest(ARRAY['off', 'on']) AS setting,
	unnest(ARRAY['{"verifyEdges": null}', '{"verifyEdges": false}', '{"verifyEdges": true}', '{"verifyEdges": 1}']::jsonb[]) AS options;
DROP TRIGGER mislead ON cascade.note;

-- Idempotency keys are kept for the shorter time, and claims hold for the longer one.
CREATE FUNCTION kept(setting text, options jsonb) RETURNS interval LANGUAGE plpgsql AS $$
BEGIN
	PERFORM dms.configure_store(options);
	PERFORM set_config('dms.idempotency_ttl', setting, true);
	PERFORM dms.idempotency_begin('/mine', 'POST', 'kept');
	RETURN (SELECT date_trunc('second', ExpiresAt - ClaimedAt) FROM dms.IdempotencyKeys WHERE Key = 'kept');
END $$;
BEGIN;
SELECT setting, options, kept(setting, options), dms.idempotency_complete('/mine', 'POST', 'kept', 500, NULL, NULL, NULL)
FROM unnest(ARRAY['60', '86400']) AS setting,
	unnest(ARRAY['{"idempotencyTtl": null}', '{"idempotencyTtl": 3600}', '{"idempotencyTtl": 1}']::jsonb[]) AS options;
ROLLBACK;
CREATE FUNCTION again(setting text, options jsonb) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM dms.configure_store(options);
	PERFORM set_config('dms.idempotency_lease', setting, true);
	RETURN (SELECT state FROM dms.idempotency_begin('/mine', 'POST', 'lease'));
END $$;
BEGIN;
SELECT again('60', '{}');
-- The claim is two minutes old.
CREATE FUNCTION aged(setting text, options jsonb) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	UPDATE dms.IdempotencyKeys SET ClaimedAt = clock_timestamp() - interval '2 min' WHERE Key = 'lease';
	RETURN again(setting, options);
END $$;
SELECT setting, options, aged(setting, options)
FROM unnest(ARRAY['60', '180']) AS setting,
	unnest(ARRAY['{"idempotencyLease": null}', '{"idempotencyLease": 60}', '{"idempotencyLease": 180}']::jsonb[]) AS options;
ROLLBACK;

-- A call that changes nothing writes nothing.
SELECT dms.configure_store('{"maxCascadeSize": 5}');
SELECT xmin AS written, Generation AS generation FROM dms.Store \gset
SELECT dms.configure_store('{"maxCascadeSize": 5}'), dms.configure_store('{}') IS NOT NULL AS also;
SELECT xmin = :'written' AS same_row, Generation - :generation AS raised FROM dms.Store;
SELECT dms.configure_store('{"maxCascadeSize": 6}');
SELECT xmin = :'written' AS same_row, Generation - :generation AS raised FROM dms.Store;
-- It can be asked for, but not changed, in a transaction that is read-only.
BEGIN READ ONLY;
SELECT dms.configure_store('{"maxCascadeSize": 6}');
SELECT dms.configure_store('{"maxCascadeSize": 7}');
ROLLBACK;

-- Sessions keep their models until the generation changes.  VACUUM, ANALYZE and a
-- changed storage parameter of a core table are not a reason to load them again, and
-- neither is a message that the session has missed.
CREATE VIEW loaded AS SELECT count(*) FROM pg_backend_memory_contexts WHERE name = 'dms model';
SELECT outcome FROM dms.upsert_document('Cascade', 'Agency', '{"agencyId": 1, "name": "A"}');
SELECT dms.count_documents('Cascade', 'Offering');
SELECT count AS before FROM loaded \gset
VACUUM ANALYZE dms.ResourceModel, dms.Store, dms.Document;
ALTER TABLE dms.ResourceModel SET (fillfactor = 90);
SELECT outcome FROM dms.upsert_document('Cascade', 'Agency', '{"agencyId": 1, "name": "B"}');
SELECT count = :before AS kept FROM loaded;
SELECT dms.configure_store('{"maxCascadeSize": 7}');
SELECT outcome FROM dms.upsert_document('Cascade', 'Agency', '{"agencyId": 1, "name": "C"}');
SELECT count < :before AS loaded_again FROM loaded;

-- A deploy raises the generation once; the same schema again does not.
SELECT Generation AS generation FROM dms.Store \gset
SELECT dms.deploy_schema(:'schema') IS NOT NULL AS deployed;
SELECT Generation - :generation AS raised FROM dms.Store;

-- The owner may have damaged the table.
BEGIN;
ALTER TABLE dms.Store DROP COLUMN VerifyEdges;
SELECT dms.count_documents('Cascade', 'Agency');
ROLLBACK;
BEGIN;
ALTER TABLE dms.Store ALTER Generation TYPE text;
SELECT dms.count_documents('Cascade', 'Agency');
ROLLBACK;
BEGIN;
DELETE FROM dms.Store;
SELECT dms.configure_store('{"maxCascadeSize": 3}');
ROLLBACK;
-- Without its row a store has no limits of its own.
BEGIN;
DELETE FROM dms.Store;
ALTER TABLE dms.Store SET (fillfactor = 90);
SELECT dms.count_documents('Cascade', 'Agency');
ROLLBACK;

DROP OWNED BY regress_configure_writer, regress_configure_admin;
\c :home
DROP DATABASE dms_configure;
DROP ROLE regress_configure_writer, regress_configure_admin;
