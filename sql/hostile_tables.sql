-- The owner of the store can replace a table: by a view that returns other rows
-- than those that were asked for, NULLs, or duplicates, or by a table that
-- others inherit from.  In all cases, calls return a result or raise an error
-- that gives the reason, and the server does not crash.
\set home :DBNAME
CREATE ROLE regress_impostor;
CREATE DATABASE regress_impostor TEMPLATE template0 ENCODING 'UTF8' OWNER regress_impostor;
\c regress_impostor
\getenv directory PG_ABS_SRCDIR
\set file :directory /test/schemas/cascade.json
\set schema `cat :'file'`
SET client_min_messages = warning;
SET SESSION AUTHORIZATION regress_impostor;
CREATE EXTENSION dms;
SELECT length(dms.deploy_schema(:'schema')) AS deployed;
SELECT count(dms.configure_resource('Cascade', resource, '{"history": true, "retainVersions": 1}')) AS with_history
FROM unnest(ARRAY['School', 'Session', 'Note']) AS resource;
\set impostor :directory /test/attack/lib/impostor.sql
\set ECHO none
\i :impostor
\set ECHO all

-- Some documents of all kinds, and the calls to be made.
DO $$
DECLARE
	school dms.write_result := dms.upsert_document('Cascade', 'School', '{"schoolId": 11, "name": "East"}');
	session dms.write_result := dms.upsert_document('Cascade', 'Session',
		'{"schoolReference": {"schoolId": 11}, "sessionName": "Fall"}');
	offering dms.write_result := dms.upsert_document('Cascade', 'Offering',
		'{"localCode": "A", "schoolReference": {"schoolId": 11}, "sessionReference": {"schoolId": 11, "sessionName": "Fall"}}');
	note dms.write_result := dms.upsert_document('Cascade', 'Note',
		'{"noteId": 1, "offerings": [{"offeringReference": {"localCode": "A", "schoolId": 11, "sessionName": "Fall"}}]}');
	agency dms.write_result := dms.upsert_document('Cascade', 'Agency', '{"agencyId": 12, "name": "South"}');
	child dms.write_result := dms.upsert_document('Cascade', 'Agency', '{"agencyId": 13, "name": "Far south"}');
BEGIN
	PERFORM dms.set_parent(child.document_uuid, agency.document_uuid);
	PERFORM dms.add_member(agency.document_uuid, child.document_uuid, true);
	PERFORM dms.set_account(child.document_uuid, note.document_uuid);
	PERFORM dms.claim_unique_key('Cascade.Agency', 'code', 'A', child.document_uuid);
	INSERT INTO impostor.call (statement)
	SELECT format('SELECT dms.get_document(%L)', d.DocumentUuid) FROM dms.Document AS d ORDER BY d.DocumentId;
	INSERT INTO impostor.call (statement)
	SELECT format('SELECT count(*) FROM dms.query_documents(''Cascade'', %L)', d.ResourceName) FROM dms.Document AS d ORDER BY d.DocumentId;
	INSERT INTO impostor.call (statement) VALUES
	($c$SELECT count(*) FROM dms.query_documents('Cascade', 'Offering', '{"schoolId": 11, "sessionName": "Fall"}')$c$),
	($c$SELECT dms.count_documents('Cascade', 'Session', '{"schoolId": 11}')$c$),
	($c$SELECT * FROM dms.document_digests('Cascade', 'Session')$c$),
	($c$SELECT dms.resolve('Cascade', 'Session', '{"schoolId": 11, "sessionName": "Fall"}')$c$),
	(format('SELECT count(*) FROM dms.referencing_documents(%L)', offering.document_uuid)),
	($c$SELECT count(*) FROM dms.resources()$c$),
	($c$SELECT count(*) FROM dms.describe_resource('Cascade', 'Note')$c$),
	($c$SELECT dms.schema_diagram('Cascade', 'Note')$c$),
	($c$SELECT dms.upsert_document('Cascade', 'School', '{"schoolId": 11, "name": "East"}')$c$),
	($c$SELECT dms.upsert_document('Cascade', 'School', '{"schoolId": 11, "name": "West"}')$c$),
	($c$SELECT dms.upsert_document('Cascade', 'School', '{"schoolId": 12, "name": "North"}')$c$),
	($c$SELECT dms.upsert_document('Cascade', 'Session', '{"schoolReference": {"schoolId": 11}, "sessionName": "Spring"}')$c$),
	($c$SELECT dms.upsert_document('Cascade', 'Note', '{"noteId": 2, "offerings": [{"offeringReference": {"localCode": "A", "schoolId": 11, "sessionName": "Fall"}}]}')$c$),
	(format($c$SELECT dms.update_document(%L, '{"noteId": 1}')$c$, note.document_uuid)),
	(format($c$SELECT dms.update_document(%L, '{"schoolReference": {"schoolId": 11}, "sessionName": "Summer"}')$c$, session.document_uuid)),
	(format($c$SELECT count(*) FROM dms.update_documents(ARRAY[%L, %L]::uuid[], ARRAY['{"schoolReference": {"schoolId": 11}, "sessionName": "Winter"}', '{"noteId": 1}']::json[])$c$,
		session.document_uuid, note.document_uuid)),
	(format('SELECT count(*) FROM dms.lock_identity_closure(ARRAY[%s, %s])', session.document_id, school.document_id)),
	(format('SELECT dms.recompute_identities(ARRAY[%s, %s, %s])', session.document_id, offering.document_id, note.document_id)),
	($c$SELECT count(*) FROM dms.audit()$c$),
	($c$SELECT dms.rebuild_edges()$c$),
	($c$SELECT count(*) FROM dms.repair()$c$),
	($c$SELECT count(*) FROM dms_internal.stored_identities('Cascade', 'Offering')$c$),
	($c$SELECT count(*) FROM dms.idempotency_begin('/x', 'POST', 'k')$c$),
	($c$SELECT dms.idempotency_complete('/x', 'POST', 'k', 200, '{}', 'x', 'text/plain')$c$),
	($c$SELECT dms.purge_idempotency_keys()$c$),
	($c$SELECT dms.handle_request('GET', '/cascade/notes?totalCount=true')$c$),
	($c$SELECT dms.handle_request('POST', '/cascade/schools', '{"Idempotency-Key": "a"}', '{"schoolId": 13, "name": "South"}')$c$),
	(format('SELECT dms.get_document(%L, version => 1)', note.document_uuid)),
	(format('SELECT dms.get_document(%L, as_of => now())', school.document_uuid)),
	(format('SELECT count(*) FROM dms.list_versions(%L)', note.document_uuid)),
	(format('SELECT dms.restore_document(%L, 1)', note.document_uuid)),
	(format('SELECT dms.delete_document(%L), dms.restore_document(%1$L, 1)', note.document_uuid)),
	($c$SELECT count(*) FROM dms.history_stats()$c$),
	($c$SELECT count(*) FROM dms.resource_options()$c$),
	($c$SELECT dms.configure_resource('Cascade', 'Session', '{"history": false}')$c$),
	($c$SELECT count(*) FROM dms_internal.write_baseline('Cascade', 'Session', 0, true)$c$),
	($c$SELECT dms.purge_history()$c$),
	(format('SELECT dms.erase_history(%L)', school.document_uuid)),
	(format('SELECT dms.id_of(dms.urn(%L))', child.document_uuid)),
	(format('SELECT dms.parent(%L), count(*) FROM dms.ancestors(%1$L)', child.document_uuid)),
	(format('SELECT count(*) FROM dms.children(%L)', agency.document_uuid)),
	(format('SELECT count(*) FROM dms.members(%L)', agency.document_uuid)),
	(format('SELECT count(*) FROM dms.collections(%L)', child.document_uuid)),
	(format('SELECT count(*) FROM dms.account_documents(%L)', note.document_uuid)),
	(format('SELECT count(*) FROM dms.grant_sources(%L)', child.document_uuid)),
	(format('SELECT dms.covers(%L, %L)', agency.document_uuid, child.document_uuid)),
	(format('SELECT count(*) FROM dms.covered_documents(ARRAY[%L]::uuid[])', agency.document_uuid)),
	(format('SELECT count(*) FROM dms.delete_plan(%L)', agency.document_uuid)),
	(format('SELECT dms.set_parent(%L, %L)', agency.document_uuid, session.document_uuid)),
	(format('SELECT dms.set_parent(%L, %L)', child.document_uuid, session.document_uuid)),
	(format('SELECT dms.add_member(%L, %L)', agency.document_uuid, session.document_uuid)),
	(format('SELECT dms.remove_member(%L, %L)', agency.document_uuid, child.document_uuid)),
	(format('SELECT dms.set_account(%L, %L)', agency.document_uuid, school.document_uuid)),
	(format($c$SELECT dms.claim_unique_key('Cascade.Agency', 'code', 'B', %L)$c$, child.document_uuid)),
	($c$SELECT dms.find_unique_key('Cascade.Agency', 'code', 'A')$c$),
	($c$SELECT dms.release_unique_key('Cascade.Agency', 'code', 'A')$c$),
	(format('SELECT dms.delete_document(%L)', agency.document_uuid)),
	(format('SELECT dms.delete_document(%L)', note.document_uuid)),
	(format('SELECT dms.delete_document(%L)', school.document_uuid));
END $$;

SELECT answered > 30 AS answered, refused, unfair FROM impostor.make_calls();

-- Ids that were not asked for.
SELECT count(*) AS tried, bool_or(r.refused > 10) AS noticed, string_agg(r.unfair, E'\n') AS unfair
FROM impostor.columns AS c, LATERAL impostor.replace_by(c.relation,
	'SELECT ' || impostor.columns(c.relation, c.attname, 'impostor.lie(?)') || ' FROM @ AS t') AS r
WHERE c.atttypid IN ('bigint'::regtype, 'uuid'::regtype);
-- NULL instead of every value, from a view and from a table without
-- constraints.
SELECT count(*) AS tried, bool_or(r.refused > 10) AS noticed, string_agg(r.unfair, E'\n') AS unfair
FROM impostor.columns AS c, LATERAL impostor.replace_by(c.relation,
	'SELECT ' || impostor.columns(c.relation, c.attname, 'NULL::' || c.type) || ' FROM @ AS t') AS r;
SELECT count(*) AS tried, bool_or(r.refused > 10) AS noticed, string_agg(r.unfair, E'\n') AS unfair
FROM impostor.columns AS c, LATERAL impostor.lose_value(c.relation, c.attname) AS r;
-- Duplicate rows, and rows of tables that inherit.
SELECT count(*) AS tried, string_agg(r.unfair, E'\n') AS unfair
FROM impostor.tables AS t, LATERAL impostor.replace_by(t.relation, 'SELECT * FROM @ UNION ALL SELECT * FROM @') AS r;
SELECT count(*) AS tried, string_agg(r.unfair, E'\n') AS unfair
FROM impostor.tables AS t, LATERAL impostor.inherit(t.relation) AS r;

-- After all rollbacks nothing has changed.
SELECT answered > 30 AS answered, refused, unfair FROM impostor.make_calls();
SELECT kind FROM dms.audit();

RESET SESSION AUTHORIZATION;
\c :home
DROP DATABASE regress_impostor;
DROP ROLE regress_impostor;
