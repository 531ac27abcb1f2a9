-- The journal of changes, the cache, versions, diffs, jobs, searches and relations read
-- tables, too, and the owner can put other things in their place, as in hostile_tables.
-- Calls return a result or raise an error that gives the reason, and the server does not
-- crash.
\set home :DBNAME
CREATE ROLE regress_impostor_modules;
CREATE DATABASE regress_impostor_modules TEMPLATE template0 ENCODING 'UTF8' OWNER regress_impostor_modules;
\c regress_impostor_modules
\getenv directory PG_ABS_SRCDIR
\set file :directory /test/schemas/cascade.json
\set schema `cat :'file'`
SET client_min_messages = warning;
SET SESSION AUTHORIZATION regress_impostor_modules;
CREATE EXTENSION dms;
SELECT length(dms.deploy_schema(:'schema')) AS deployed;
SELECT count(dms.configure_resource('Cascade', resource, '{"history": true, "retainVersions": 1, "diff": true}')) AS with_diffs
FROM unnest(ARRAY['School', 'Session', 'Note']) AS resource;
SELECT dms.configure_resource('Cascade', 'School', '{"search": ["$.name"], "title": "$.name", "uniqueKeys": ["$.name"]}') ->> 'title' AS title;
SET client_min_messages = error;
SELECT dms.set_change_tracking(true), dms.set_cache_mode('write_through');
\set impostor :directory /test/attack/lib/impostor.sql
\set ECHO none
\i :impostor
\set ECHO all

-- Documents, changed and deleted, and the calls to be made.
DO $$
DECLARE
	school dms.write_result := dms.upsert_document('Cascade', 'School', '{"schoolId": 11, "name": "East"}');
	gone dms.write_result := dms.upsert_document('Cascade', 'School', '{"schoolId": 14, "name": "Gone"}');
	session dms.write_result := dms.upsert_document('Cascade', 'Session',
		'{"schoolReference": {"schoolId": 11}, "sessionName": "Fall"}');
	offering dms.write_result := dms.upsert_document('Cascade', 'Offering',
		'{"localCode": "A", "schoolReference": {"schoolId": 11}, "sessionReference": {"schoolId": 11, "sessionName": "Fall"}}');
	note dms.write_result := dms.upsert_document('Cascade', 'Note',
		'{"noteId": 1, "offerings": [{"offeringReference": {"localCode": "A", "schoolId": 11, "sessionName": "Fall"}}]}');
	agency dms.write_result := dms.upsert_document('Cascade', 'Agency', '{"agencyId": 12, "name": "South"}');
	child dms.write_result := dms.upsert_document('Cascade', 'Agency', '{"agencyId": 13, "name": "Far south"}');
	start text;
	claimed record;
	uuid uuid;
BEGIN
	PERFORM dms.set_parent(child.document_uuid, agency.document_uuid);
	PERFORM dms.add_member(agency.document_uuid, child.document_uuid, true);
	PERFORM dms.set_account(child.document_uuid, note.document_uuid);
	PERFORM dms.claim_unique_key('Cascade.Agency', 'code', 'A', child.document_uuid);
	start := (SELECT next_cursor FROM dms.read_changes(NULL, 3) OFFSET 2);
	PERFORM dms.update_document(session.document_uuid, '{"schoolReference": {"schoolId": 11}, "sessionName": "Winter"}');
	PERFORM dms.upsert_document('Cascade', 'School', '{"schoolId": 11, "name": "West"}');
	PERFORM dms.delete_document(gone.document_uuid);
	PERFORM dms.enqueue_job('mail', 'greet', jsonb_build_object('documentId', note.document_uuid)) FROM generate_series(1, 3);
	SELECT * INTO claimed FROM dms.claim_jobs('dms', 1);
	PERFORM dms_internal.project_some();
	PERFORM dms.rebuild_cache();
	INSERT INTO dms.ProjectionFailure (Consumer, DocumentId, Etag, Attempts, NextAttemptAt, SqlState, Message)
	VALUES ('cache', offering.document_id, 1, 1, '2000-01-01', 'XX001', 'failed');

	INSERT INTO impostor.call (statement) VALUES
	($c$SELECT count(*) FROM dms.read_changes(NULL, 1000)$c$),
	($c$SELECT count(*) FROM dms.read_changes(NULL, 1000, false)$c$),
	(format('SELECT count(*) FROM dms.read_changes(%L, 2)', start)),
	($c$SELECT count(*) FROM dms.read_changes((SELECT next_cursor FROM dms.read_changes(NULL, 1000) WHERE kind = 'end'), 1000)$c$),
	($c$SELECT * FROM dms.available_change_versions()$c$),
	($c$SELECT count(*) FROM dms.change_blockers()$c$),
	($c$SELECT count(*) FROM dms.changed_documents('Cascade', 'School', 0)$c$),
	($c$SELECT count(*) FROM dms.changed_documents('Cascade', 'Session', 0, NULL, 1, 1, 1)$c$),
	($c$SELECT count(*) FROM dms.deleted_documents('Cascade', 'School', 0)$c$),
	($c$SELECT count(*) FROM dms.changed_keys('Cascade', 'Session', 0)$c$),
	($c$SELECT count(*) FROM dms.query_documents('Cascade', 'School', min_change_version => 0, max_change_version => 4611686018427387904)$c$),
	($c$SELECT count(*) FROM dms.query_documents('Cascade', 'Session', min_change_version => 1)$c$),
	($c$SELECT count(*) FROM dms.query_documents('Cascade', 'Session', page_offset => 1, min_change_version => 0, max_change_version => 4611686018427387904)$c$),
	($c$SELECT dms.count_documents('Cascade', 'Session', '{}'::json, 0, 4611686018427387904)$c$),
	($c$SELECT dms.handle_request('GET', '/changeQueries/v1/availableChangeVersions')$c$),
	($c$SELECT dms.handle_request('GET', '/cascade/schools/deletes?totalCount=true')$c$),
	($c$SELECT dms.handle_request('GET', '/cascade/sessions/keyChanges?totalCount=true')$c$),
	($c$SELECT dms.handle_request('GET', '/cascade/schools?minChangeVersion=0&maxChangeVersion=4611686018427387904&totalCount=true')$c$),
	($c$SELECT dms.current_change_version()$c$),
	($c$SELECT dms.purge_tracked_changes('0')$c$),
	($c$SELECT dms.compact_changes()$c$),
	($c$SELECT dms.skip_change_versions(10)$c$),
	($c$SELECT dms.set_cache_mode('off'), dms.set_change_tracking(false)$c$),
	($c$SELECT dms.set_cache_mode('off'), dms.set_change_tracking(false), dms.set_change_tracking(true), dms.set_cache_mode('strict')$c$),
	($c$SELECT dms_internal.project_some()$c$),
	($c$SELECT dms.rebuild_cache(), dms_internal.project_some()$c$),
	($c$SELECT count(*) FROM dms.projection_status()$c$),
	($c$SELECT dms.wait_until_projected('0')$c$),
	($c$SELECT dms.set_cache_mode('off'), dms.clear_cache()$c$),
	($c$SELECT dms.upsert_document('Cascade', 'School', '{"schoolId": 11, "name": "North"}')$c$),
	($c$SELECT dms.upsert_document('Cascade', 'School', '{"schoolId": 15, "name": "New"}')$c$),
	(format($c$SELECT dms.update_document(%L, '{"schoolReference": {"schoolId": 11}, "sessionName": "Summer"}')$c$, session.document_uuid)),
	(format($c$SELECT count(*) FROM dms.update_documents(ARRAY[%L, %L]::uuid[], ARRAY['{"schoolReference": {"schoolId": 11}, "sessionName": "Spring"}', '{"noteId": 1}']::json[])$c$,
		session.document_uuid, note.document_uuid)),
	(format('SELECT dms.delete_document(%L)', note.document_uuid)),
	(format('SELECT dms.delete_document(%L)', agency.document_uuid)),
	(format('SELECT dms.restore_document(%L, 1)', gone.document_uuid)),
	(format('SELECT count(*) FROM dms.republish_documents(ARRAY[%L, %L]::uuid[])', school.document_uuid, note.document_uuid)),
	($c$SELECT dms.search_documents('Cascade', 'School', 'west')$c$),
	($c$SELECT dms.handle_request('GET', '/cascade/schools?q=west&totalCount=true')$c$),
	($c$SELECT count(*) FROM dms.plan_resource('Cascade', 'Agency', '{"search": ["$.name"], "uniqueKeys": ["$.name"]}')$c$),
	($c$SELECT dms.configure_resource('Cascade', 'School', '{"search": null, "uniqueKeys": null}')$c$),
	($c$SELECT count(*) FROM dms.resource_options()$c$),
	($c$SELECT count(*) FROM dms.job_stats()$c$),
	($c$SELECT count(*) FROM dms.claim_jobs('mail', 10)$c$),
	($c$SELECT count(*) FROM dms.claim_jobs('dms', 10, '0') AS j, LATERAL dms.run_claimed_jobs(ARRAY[j.job_id], j.lease)$c$),
	(format('SELECT dms.run_claimed_jobs(ARRAY[%s]::bigint[], %L)', claimed.job_id, claimed.lease)),
	(format('SELECT dms.fail_job(%s, %L, ''no'')', claimed.job_id, claimed.lease)),
	(format('SELECT dms.release_jobs(ARRAY[%s]::bigint[], %L)', claimed.job_id, claimed.lease)),
	(format('SELECT dms.complete_jobs(ARRAY[%s]::bigint[], %L)', claimed.job_id, claimed.lease)),
	($c$SELECT dms.retry_jobs()$c$),
	(format('SELECT dms.diff_versions(%L, 1, 2)', school.document_uuid)),
	(format('SELECT count(*) FROM dms.change_log(%L)', school.document_uuid)),
	(format('SELECT dms.store_diff(%L, 1, 2, ''{}'')', school.document_uuid)),
	($c$SELECT dms.purge_history()$c$),
	(format('SELECT dms.erase_history(%L)', school.document_uuid)),
	($c$SELECT dms.recompute_identities((SELECT array_agg(DocumentId) FROM dms.Document))$c$),
	($c$SELECT count(*) FROM dms.audit()$c$),
	($c$SELECT count(*) FROM dms.repair()$c$);
	FOREACH uuid IN ARRAY ARRAY[school.document_uuid, child.document_uuid] LOOP
		INSERT INTO impostor.call (statement)
		SELECT format(c, uuid) FROM unnest(ARRAY[
			'SELECT dms.get_document(%L)',
			'SELECT dms.latest_version(%L)',
			'SELECT dms.graph_diagram(%L, 3)',
			'SELECT dms.urn(%1$L), dms.find_unique_key(''Cascade.Agency'', ''code'', ''A'')',
			'SELECT count(*) FROM dms.query_records(''Resource#'' || dms.urn(%L))',
			'SELECT count(*) FROM dms.query_records(''Parent#'' || dms.urn(%L))',
			'SELECT count(*) FROM dms.query_records(''Collection#'' || dms.urn(%L))',
			'SELECT count(*) FROM dms.query_records(''Child#'' || dms.urn(%L), index_name => ''InvertedIndex'')',
			'SELECT count(*) FROM dms.query_records(''Member#'' || dms.urn(%L), index_name => ''InvertedIndex'')',
			'SELECT count(*) FROM dms.query_records(dms.urn(%L), index_name => ''ResourcesByAccountIndex'')',
			'SELECT dms.get_record(''UniqueKeyValue#Cascade.Agency#code#A'', ''UniqueKeyValue#Cascade.Agency#code''), %L',
			'SELECT dms.get_record(''UniqueKeyValue#Cascade.School#name#West'', ''UniqueKeyValue#Cascade.School#name''), %L',
			'SELECT count(*) FROM dms.grant_sources(%L)',
			'SELECT count(*) FROM dms.covered_documents(ARRAY[%L]::uuid[])',
			'SELECT count(*) FROM dms.delete_plan(%L)',
			'SELECT dms.set_account(%L, NULL, true)',
			'SELECT count(*) FROM dms.list_versions(%L)'
		]) AS c;
	END LOOP;
END $$;
SELECT answered > 70 AS answered, refused, unfair FROM impostor.make_calls();

-- The core tables, and one of a resource.  All of them take minutes, so each run takes
-- others, at random.
CREATE TABLE impostor.some_columns AS SELECT *, random() AS chance FROM impostor.columns WHERE relation::text ~ '^dms\.|school$';
CREATE TABLE impostor.some_tables AS SELECT *, random() AS chance FROM impostor.tables WHERE relation::text ~ '^dms\.|school$';
-- Each row twice: from a view, and in a table without keys.
SELECT bool_or(r.answered > 0) AS answered, string_agg(r.unfair, E'\n') AS unfair
FROM impostor.some_tables AS t, LATERAL impostor.replace_by(t.relation, 'SELECT * FROM @ UNION ALL SELECT * FROM @ UNION ALL SELECT * FROM @') AS r
WHERE t.chance < 0.4;
SELECT bool_or(r.answered > 0) AS answered, string_agg(r.unfair, E'\n') AS unfair
FROM impostor.some_tables AS t, LATERAL impostor.double_rows(t.relation) AS r
WHERE t.chance > 0.6;
-- Ids that were not asked for.
SELECT bool_or(r.refused > 10) AS noticed, string_agg(r.unfair, E'\n') AS unfair
FROM impostor.some_columns AS c, LATERAL impostor.replace_by(c.relation,
	'SELECT ' || impostor.columns(c.relation, c.attname, 'impostor.lie(?)') || ' FROM @ AS t') AS r
WHERE c.chance < 0.4 AND c.atttypid IN ('bigint'::regtype, 'uuid'::regtype);
-- NULL instead of every value, from a view and from a table without constraints.
SELECT bool_or(r.refused > 10) AS noticed, string_agg(r.unfair, E'\n') AS unfair
FROM impostor.some_columns AS c, LATERAL impostor.replace_by(c.relation,
	'SELECT ' || impostor.columns(c.relation, c.attname, 'NULL::' || c.type) || ' FROM @ AS t') AS r
WHERE c.chance < 0.2;
SELECT bool_or(r.refused > 10) AS noticed, string_agg(r.unfair, E'\n') AS unfair
FROM impostor.some_columns AS c, LATERAL impostor.lose_value(c.relation, c.attname) AS r
WHERE c.chance > 0.8;
-- Values of another type.
SELECT bool_or(r.refused > 1) AS noticed, string_agg(r.unfair, E'\n') AS unfair
FROM impostor.some_columns AS c, LATERAL impostor.retype(c.relation, c.attname) AS r
WHERE c.chance BETWEEN 0.4 AND 0.5;

-- A document that is there very often counts once when documents are skipped.
BEGIN;
SELECT impostor.drop_constraints('dms.document');
ALTER TABLE dms.document DISABLE TRIGGER USER;
INSERT INTO dms.document OVERRIDING SYSTEM VALUE
SELECT d.* FROM dms.document AS d, generate_series(1, 200000) AS copy WHERE d.resourcename = 'Session';
SELECT count(*) AS left FROM dms.query_documents('Cascade', 'Session', page_offset => 1,
	min_change_version => 0, max_change_version => 4611686018427387904);
ROLLBACK;

-- So it does where it is read from its tables, because the cache does not have it.
BEGIN;
SELECT impostor.drop_constraints('dms.document');
ALTER TABLE dms.document DISABLE TRIGGER USER;
DELETE FROM dms.documentcache;
SELECT count(*) AS before FROM dms.query_documents('Cascade', 'Session') \gset
INSERT INTO dms.document OVERRIDING SYSTEM VALUE
SELECT d.* FROM dms.document AS d, generate_series(1, 3) AS copy WHERE d.resourcename = 'Session';
SELECT count(*) = :before AS same FROM dms.query_documents('Cascade', 'Session');
ROLLBACK;

-- After all rollbacks nothing has changed.
SELECT answered > 70 AS answered, refused, unfair FROM impostor.make_calls();
SELECT kind FROM dms.audit() WHERE kind <> 'cache_without_document';

RESET SESSION AUTHORIZATION;
\c :home
DROP DATABASE regress_impostor_modules;
DROP ROLE regress_impostor_modules;
-- What happened there differs from run to run, so nothing is left to compare.
SELECT count(*) AS databases FROM pg_database WHERE datname = 'regress_impostor_modules';
