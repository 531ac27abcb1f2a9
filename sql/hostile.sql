-- A hostile search path has no effect: statements of the extension find the
-- objects that they mean, and never those of a schema that precedes them.
\set home :DBNAME
CREATE ROLE regress_hostile;
CREATE DATABASE regress_hostile TEMPLATE template0 ENCODING 'UTF8';
\c regress_hostile
CREATE SCHEMA evil AUTHORIZATION regress_hostile;
GRANT USAGE ON SCHEMA evil TO PUBLIC;

-- Everything that a statement could find by an unqualified name: operators,
-- functions, types and tables.
SET SESSION AUTHORIZATION regress_hostile;
DO $$
DECLARE
	one record;
	trap CONSTANT text := 'RETURNS %s LANGUAGE plpgsql AS ''BEGIN RAISE EXCEPTION $m$the trap %s was touched$m$; END''';
BEGIN
	-- Operators of the types that our statements compare and compute with.
	FOR one IN
		SELECT o.oprname AS name, format_type(o.oprleft, NULL) AS l, format_type(o.oprright, NULL) AS r,
			format_type(o.oprresult, NULL) AS result, row_number() OVER () AS n
		FROM pg_operator AS o
		WHERE o.oprname IN ('=', '<>', '<', '>', '<=', '>=', '+', '-', '||', '->', '->>', '@@', '~')
		  AND o.oprleft IN ('tsvector'::regtype, 'int8'::regtype, 'int4'::regtype, 'text'::regtype, 'uuid'::regtype, 'bool'::regtype,
			'name'::regtype, 'json'::regtype, 'jsonb'::regtype, 'date'::regtype, 'timestamptz'::regtype, 'numeric'::regtype)
		  AND o.oprright <> 0
	LOOP
		EXECUTE format('CREATE FUNCTION evil.operator_%s(%s, %s) ' || trap, one.n, one.l, one.r, one.result, one.name);
		EXECUTE format('CREATE OPERATOR evil.%s (LEFTARG = %s, RIGHTARG = %s, FUNCTION = evil.operator_%s)',
			one.name, one.l, one.r, one.n);
	END LOOP;
	FOR one IN
		SELECT p.proname AS name, pg_get_function_identity_arguments(p.oid) AS arguments,
			CASE WHEN p.proretset THEN 'SETOF ' ELSE '' END || format_type(p.prorettype, NULL) AS result
		FROM pg_proc AS p
		WHERE p.pronamespace = 'pg_catalog'::regnamespace AND p.prokind = 'f'
		  AND p.proname IN ('nextval', 'unnest', 'lower', 'upper', 'clock_timestamp', 'now', 'format', 'btrim',
			'to_char', 'json_build_object', 'concat', 'length', 'left', 'right', 'array_position', 'cardinality',
			'quote_ident', 'quote_literal', 'json_array_elements', 'jsonb_array_elements', 'greatest', 'coalesce',
			'int8', 'text', 'varchar', 'numeric', 'date', 'bool', 'generate_series', 'timezone', 'array_to_string',
			'split_part', 'to_tsvector', 'plainto_tsquery', 'websearch_to_tsquery', 'ts_rank', 'pg_sleep', 'gen_random_uuid')
		  AND p.proargmodes IS NULL AND pg_get_function_identity_arguments(p.oid) NOT LIKE '%"any"%'
		  AND p.prorettype <> 'internal'::regtype
	LOOP
		EXECUTE format('CREATE FUNCTION evil.%I(%s) ' || trap, one.name, one.arguments, one.result, one.name);
	END LOOP;
	FOR one IN SELECT unnest('{text, varchar, bpchar, int8, int4, bool, uuid, json, jsonb, date, timestamptz, numeric, name, regclass}'::text[]) AS name
	LOOP
		EXECUTE format('CREATE DOMAIN evil.%I AS pg_catalog.%I CHECK (false)', one.name, one.name);
	END LOOP;
	CREATE TEXT SEARCH CONFIGURATION evil.english (PARSER = pg_catalog.default);
	CREATE TABLE evil.document (documentid bigint);
	CREATE TABLE evil.job (jobid bigint);
	CREATE TABLE evil.resourcemodel (model json);
	CREATE TABLE evil.school (documentid bigint);
END
$$;
RESET SESSION AUTHORIZATION;
SELECT count(*) > 100 AS operators FROM pg_operator AS o WHERE o.oprnamespace = 'evil'::regnamespace;
SELECT count(*) > 50 AS functions FROM pg_proc AS p WHERE p.pronamespace = 'evil'::regnamespace AND proname NOT LIKE 'operator%';
\getenv directory PG_ABS_SRCDIR
\set file :directory /test/schemas/cascade.json
\set schema `cat :'file'`

-- The traps work for statements that do not qualify names.
\set VERBOSITY terse
SET search_path = evil, pg_catalog;
SELECT 1 = 1 AS careless;
SELECT lower('CARELESS');

-- Deploying, as a superuser.
CREATE EXTENSION dms;
SET client_min_messages = warning;
SELECT pg_catalog.length(dms.deploy_schema(:'schema')) AS deployed;
RESET client_min_messages;
SELECT dms.grant_access('regress_hostile', 'admin');

-- The objects that the deploy made (triggers, views, checks) use none of the
-- traps.
SET SESSION AUTHORIZATION regress_hostile;
SET search_path = evil, pg_catalog;
SELECT role, level FROM dms.access_grants();

-- Writing: insert, update, unchanged, refused, and a change of identity with
-- its cascade.
SELECT outcome FROM dms.upsert_document('Cascade', 'ColorDescriptor',
	'{"namespace": "uri://c", "codeValue": "Red", "shortDescription": "red", "effectiveBeginDate": "2025-01-31"}');
SELECT outcome, document_uuid AS school FROM dms.upsert_document('CASCADE', 'SCHOOLS', '{"schoolId": 10, "name": "North"}') \gset
\echo :outcome
SELECT outcome FROM dms.upsert_document('Cascade', 'School', '{"schoolId": 10, "name": "North", "colorDescriptor": "uri://c#Red"}');
SELECT outcome FROM dms.upsert_document('Cascade', 'School', '{"schoolId": 10, "name": "North", "colorDescriptor": "uri://c#Red"}');
SELECT dms.configure_store('{"verifyEdges": true}');
SELECT dms.upgrade_store() IS NOT NULL AS is_current;
SELECT outcome, document_uuid AS session, document_id AS id
FROM dms.upsert_document('Cascade', 'Session', '{"schoolReference": {"schoolId": 10}, "sessionName": "Fall"}') \gset
\echo :outcome
SELECT outcome, document_uuid AS offering FROM dms.upsert_document('Cascade', 'Offering', '{"localCode": "ALG",
	"schoolReference": {"schoolId": 10}, "sessionReference": {"schoolId": 10, "sessionName": "Fall"}}') \gset
\echo :outcome
SELECT outcome FROM dms.upsert_document('Cascade', 'Flag',
	'{"colorDescriptor": "uri://c#RED", "organizationReference": {"organizationId": 10}}');
SELECT outcome, document_uuid AS note FROM dms.upsert_document('Cascade', 'Note', '{"noteId": 1,
	"offerings": [{"offeringReference": {"localCode": "ALG", "schoolId": 10, "sessionName": "Fall"}}]}') \gset
\echo :outcome
SELECT outcome FROM dms.update_document(:'session', '{"schoolReference": {"schoolId": 10}, "sessionName": "Spring"}');
SELECT outcome FROM dms.update_document(:'school', '{"schoolId": 11, "name": "North", "colorDescriptor": "uri://c#Red"}');
SELECT outcome FROM dms.upsert_document('Cascade', 'Session', '{"schoolReference": {"schoolId": 12}, "sessionName": "Fall"}');
SELECT dms.delete_document(:'school');
SELECT dms.recompute_identities(ARRAY[:id]);
SELECT closure OPERATOR(pg_catalog.-) :id AS behind_it FROM dms.lock_identity_closure(ARRAY[:id]) AS closure;

-- Reading.
SELECT pg_catalog.json_extract_path_text(dms.get_document(:'offering'), 'localCode');
SELECT pg_catalog.json_extract_path_text(dms.get_document(:'note'), 'offerings', '0', 'offeringReference', 'sessionName');
SELECT pg_catalog.json_extract_path_text(body, 'sessionName')
FROM dms.query_documents('Cascade', 'Session', '{"sessionName": "Spring", "schoolId": 11}') AS body;
SELECT dms.count_documents('Cascade', 'Offering', '{"schoolId": 11}');
SELECT sum(documents) FROM dms.document_digests('Cascade', 'Offering');
SELECT referencingresourcename, referenceedgesourcekey FROM dms.referencing_documents(:'offering');
SELECT dms.resolve('Cascade', 'Session', '{"schoolId": 11, "sessionName": "Spring"}') OPERATOR(pg_catalog.=) :'session' AS resolved;
SELECT endpoint FROM dms.resources() LIMIT 1;
SELECT part, name FROM dms.describe_resource('Cascade', 'Note') LIMIT 1;
SELECT pg_catalog.left(dms.schema_diagram('Cascade', 'Note'), 9);

-- Relations.
SELECT dms.id_of(dms.urn(:'session')) OPERATOR(pg_catalog.=) :'session' AS same;
SELECT resource_type FROM dms.parse_urn(dms.urn(:'session'));
SELECT dms.set_parent(:'session', :'school'), dms.set_parent(:'note', :'session'), dms.set_parent(:'offering', :'session'),
	dms.set_parent(:'offering', :'school');
\set VERBOSITY sqlstate
SELECT dms.set_parent(:'school', :'offering');
\set VERBOSITY terse
SELECT dms.add_member(:'offering', :'note'), dms.add_member(:'offering', :'note', true), dms.remove_member(:'offering', :'school');
SELECT dms.set_account(:'school', :'school');
SELECT dms.claim_unique_key('Cascade.Note', 'code', 'A', :'note');
SELECT dms.claim_unique_key('Cascade.Note', 'code', 'A');
SELECT dms.find_unique_key('Cascade.Note', 'code', 'A') OPERATOR(pg_catalog.=) dms.urn(:'note') AS found;
SELECT dms.release_unique_key('Cascade.Note', 'code', 'A');
SELECT pg_catalog.count(*) FROM dms.children(:'school');
SELECT pg_catalog.count(*) FROM dms.members(:'offering', 'Cascade.Note', 1);
SELECT pg_catalog.count(*) FROM dms.account_documents(:'school', after => :'offering');
SELECT pg_catalog.count(*) FROM dms.ancestors(:'note');
SELECT pg_catalog.count(*) FROM dms.collections(:'note');
SELECT dms.parent(:'note') OPERATOR(pg_catalog.=) :'session' AS parent;
SELECT via, depth FROM dms.grant_sources(:'note');
SELECT dms.covers(:'school', :'note'), pg_catalog.count(*) FROM dms.covered_documents(ARRAY[:'school']::pg_catalog.uuid[]);
SELECT * FROM dms.delete_plan(:'school');
BEGIN;
SELECT dms.delete_document(:'session');
ROLLBACK;

-- Following the changes.
SELECT kind, resource, old_key FROM dms.read_changes() LIMIT 3;
SELECT newest OPERATOR(pg_catalog.>) oldest AS newer FROM dms.available_change_versions();
SELECT pg_catalog.count(*) FROM dms.changed_documents('Cascade', 'Session');
SELECT old_key_values, new_key_values FROM dms.changed_keys('Cascade', 'Session', 0, 9223372036854775807);
BEGIN;
SELECT dms.delete_document(:'note');
SELECT key_values FROM dms.deleted_documents('Cascade', 'Note', 0, 9223372036854775807);
SELECT dms.compact_changes() OPERATOR(pg_catalog.>) 0 AS compacted;
SELECT dms.purge_tracked_changes('0');
SELECT dms.current_change_version() OPERATOR(pg_catalog.>) 0 AS has_number;
SELECT pg_catalog.count(*) FROM dms.change_blockers();
SELECT pg_catalog.count(*) FROM dms.status();
SELECT pg_catalog.count(*) FROM dms.projection_status();
SELECT dms.skip_change_versions(10) OPERATOR(pg_catalog.>) 10 AS skipped;
SELECT dms.set_change_tracking(false), dms.set_change_tracking(true);
ROLLBACK;

-- The cache, and its publication.
BEGIN;
SET LOCAL client_min_messages = error;
SELECT dms.set_cache_mode('write_through');
SELECT dms.publish_documents();
SELECT dms.republish_documents(ARRAY[:'note', '00000000-0000-0000-0000-000000000000']::pg_catalog.uuid[]);
SELECT dms.unpublish_documents();
ROLLBACK;

-- Versions, diffs, jobs, and search.
SELECT pg_catalog.length(dms.configure_resource('Cascade', 'School', '{"history": true, "diff": true, "title": "$.name", "search": ["$.name"], "retainVersions": 2}')::pg_catalog.text) OPERATOR(pg_catalog.>) 0 AS configured;
CALL dms.baseline_history('Cascade', 'School');
SELECT outcome FROM dms.update_document(:'school', '{"schoolId": 11, "name": "Northern lights"}');
SELECT outcome FROM dms.update_document(:'school', '{"schoolId": 11, "name": "Southern lights"}');
SELECT queue, due FROM dms.job_stats();
CALL dms.run_jobs();
SELECT kind, diff_state FROM dms.change_log(:'school');
SELECT pg_catalog.jsonb_array_length(dms.json_diff('{"a": "1\n2"}', '{"a": "1\n3"}') OPERATOR(pg_catalog.->) 'patch');
SELECT number, dms.diff_versions(:'school', number OPERATOR(pg_catalog.-) 1, number) OPERATOR(pg_catalog.->) 'patch' AS patch
FROM (SELECT pg_catalog.max(version) FROM dms.list_versions(:'school')) AS v (number);
SELECT pg_catalog.json_extract_path_text(d, 'name') AS found FROM dms.search_documents('Cascade', 'School', 'lights') AS d;
SELECT pg_catalog.json_extract_path_text(dms.latest_version(:'school'), 'title') AS title;
SELECT dms.enqueue_job('q', 'k', '{"documentId": "0190b7a6-0000-7000-8000-000000000001"}') OPERATOR(pg_catalog.>) 0 AS enqueued;
SELECT job_id, lease FROM dms.claim_jobs('q') \gset
SELECT dms.release_jobs(ARRAY[:job_id], :'lease', '0 s') AS released;
SELECT job_id, lease FROM dms.claim_jobs('q') \gset
SELECT dms.fail_job(:job_id, :'lease', 'no', pg_catalog.clock_timestamp()) AS fate;
SELECT job_id, lease FROM dms.claim_jobs('q') \gset
SELECT dms.complete_jobs(ARRAY[:job_id], :'lease') AS completed;
SELECT dms.enqueue_job('dms', 'diff', '{}', max_attempts => 1) OPERATOR(pg_catalog.>) 0 AS enqueued;
SET client_min_messages = error;
CALL dms.run_jobs();
RESET client_min_messages;
SELECT dms.retry_jobs() AS retried;
SELECT dms.purge_history() OPERATOR(pg_catalog.>) 0 AS purged;
SELECT outcome FROM dms.restore_document(:'school', (SELECT pg_catalog.min(version) FROM dms.list_versions(:'school')));
SELECT dms.erase_history(:'school') OPERATOR(pg_catalog.>) 0 AS erased;
CALL dms.project_documents(0);

-- Audit and repair.
SELECT kind FROM dms.audit();
SELECT kind FROM dms.audit('Cascade', 'Note', :'note');
SELECT dms.rebuild_edges();
SELECT kind FROM dms.repair();
SELECT outcome FROM dms.update_documents(ARRAY[:'school', :'session']::pg_catalog.uuid[],
	ARRAY['{"schoolId": 11, "name": "East"}', '{"schoolReference": {"schoolId": 11}, "sessionName": "Summer"}']::pg_catalog.json[]);
SELECT identity_values FROM dms_internal.stored_identities('Cascade', 'Offering');
SELECT pg_catalog.length(dms.deploy_schema(:'schema')) AS deployed;
SELECT * FROM dms.plan_schema(:'schema');
SELECT dms.delete_document(:'note');

-- A plain DELETE by the owner runs the triggers of the store.
RESET SESSION AUTHORIZATION;
SET search_path = evil, pg_catalog;
DELETE FROM dms.Document WHERE DocumentUuid OPERATOR(pg_catalog.=) :'offering';
BEGIN;
DELETE FROM dms.Document WHERE DocumentUuid OPERATOR(pg_catalog.=) :'school';
ROLLBACK;
SELECT kind FROM dms.audit();
RESET search_path;

-- The owner may alter the tables.  A value whose type differs from the model is
-- refused, and never misinterpreted.
BEGIN;
ALTER TABLE cascade.Session ALTER SessionName TYPE integer USING 1;
SELECT dms.get_document(:'session');
ROLLBACK;
BEGIN;
ALTER TABLE cascade.Session ALTER SessionName TYPE integer USING 1;
SELECT outcome FROM dms.upsert_document('Cascade', 'Session', '{"schoolReference": {"schoolId": 11}, "sessionName": "Summer"}');
ROLLBACK;
BEGIN;
DROP VIEW IF EXISTS dms.Record;
ALTER TABLE dms.Document ALTER DocumentUuid TYPE bigint USING 1 + DocumentId;
SELECT dms.get_document(:'session');
ROLLBACK;
BEGIN;
DROP VIEW IF EXISTS dms.Record;
ALTER TABLE dms.Document ALTER DocumentUuid TYPE bigint USING 1 + DocumentId;
SELECT dms.resolve('Cascade', 'Session', '{"schoolId": 11, "sessionName": "Summer"}');
ROLLBACK;
BEGIN;
DROP VIEW IF EXISTS dms.Record;
ALTER TABLE dms.Document ALTER DocumentUuid TYPE bigint USING 1 + DocumentId;
SELECT * FROM dms.query_documents('Cascade', 'Session');
ROLLBACK;
SELECT outcome FROM dms.upsert_document('Cascade', 'Session', '{"schoolReference": {"schoolId": 11}, "sessionName": "Summer"}');

\c :home
DROP DATABASE regress_hostile;
DROP ROLE regress_hostile;
