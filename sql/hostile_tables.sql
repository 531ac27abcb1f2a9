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
CREATE SCHEMA impostor;

-- Returns an id when it is first called for it, and another one the next time,
-- so that the rows of a view do not satisfy the condition that it was filtered
-- by.
CREATE FUNCTION impostor.lie(id bigint) RETURNS bigint LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	IF current_setting('impostor.last', true) = id::text THEN
		PERFORM set_config('impostor.last', '', false);
		RETURN id + 1000003;
	END IF;
	PERFORM set_config('impostor.last', id::text, false);
	RETURN id;
END $$;
CREATE FUNCTION impostor.lie(id uuid) RETURNS uuid LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	IF current_setting('impostor.last', true) = id::text THEN
		PERFORM set_config('impostor.last', '', false);
		RETURN 'ffffffff-ffff-ffff-ffff-ffffffffffff';
	END IF;
	PERFORM set_config('impostor.last', id::text, false);
	RETURN id;
END $$;

-- Some documents of all kinds, and the calls to be made.
CREATE TABLE impostor.call (n integer GENERATED ALWAYS AS IDENTITY, statement text);
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

-- Makes all calls, rolling back each, and returns those that raise an
-- unexpected error: neither data corruption nor an invalid argument.
CREATE FUNCTION impostor.make_calls(OUT answered integer, OUT refused integer, OUT unfair text) LANGUAGE plpgsql AS $$
DECLARE
	call record;
BEGIN
	answered := 0;
	refused := 0;
	FOR call IN SELECT c.statement FROM impostor.call AS c ORDER BY c.n LOOP
		BEGIN
			PERFORM set_config('impostor.last', '', false);
			EXECUTE call.statement;
			RAISE SQLSTATE 'ZZZZZ';
		EXCEPTION
			WHEN SQLSTATE 'ZZZZZ' THEN
				answered := answered + 1;
			WHEN OTHERS THEN
				refused := refused + 1;
				IF SQLSTATE NOT IN ('XX001', '40001', '0A000') AND left(SQLSTATE, 2) NOT IN ('22', '23', '42', '55', 'ZD') THEN
					unfair := concat_ws(' ', unfair, SQLSTATE, SQLERRM, 'in', call.statement);
				END IF;
		END;
	END LOOP;
END $$;
SELECT answered > 30 AS answered, refused, unfair FROM impostor.make_calls();

-- The tables of the store, and the replacements of each, to be rolled back.
CREATE FUNCTION impostor.columns(relation regclass, changed name, instead text) RETURNS text LANGUAGE sql STABLE
RETURN (SELECT string_agg(CASE WHEN a.attname = changed THEN format('%s AS %I', replace(instead, '?', format('t.%I', a.attname)), a.attname)
		ELSE format('t.%I', a.attname) END, ', ' ORDER BY a.attnum)
	FROM pg_attribute AS a WHERE a.attrelid = relation AND a.attnum > 0 AND NOT a.attisdropped);

CREATE FUNCTION impostor.replace_by(relation regclass, query text, OUT answered integer, OUT refused integer, OUT unfair text)
LANGUAGE plpgsql AS $$
DECLARE
	place text := relation::text;
BEGIN
	EXECUTE format('ALTER TABLE %s RENAME TO hidden', relation);
	EXECUTE format('CREATE VIEW %s AS %s', place, replace(query, '@', relation::text));
	SELECT * INTO answered, refused, unfair FROM impostor.make_calls();
	RAISE SQLSTATE 'ZZZZZ';
EXCEPTION WHEN SQLSTATE 'ZZZZZ' THEN
	NULL;
END $$;

CREATE FUNCTION impostor.inherit(relation regclass, OUT answered integer, OUT refused integer, OUT unfair text)
LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE TABLE impostor.child () INHERITS (%s)', relation);
	EXECUTE format('INSERT INTO impostor.child SELECT * FROM ONLY %s', relation);
	SELECT * INTO answered, refused, unfair FROM impostor.make_calls();
	RAISE SQLSTATE 'ZZZZZ';
EXCEPTION WHEN SQLSTATE 'ZZZZZ' THEN
	NULL;
END $$;

-- Without its constraints, a table can contain NULL in any column.
CREATE FUNCTION impostor.lose_value(relation regclass, changed name, OUT answered integer, OUT refused integer, OUT unfair text)
LANGUAGE plpgsql AS $$
DECLARE
	c record;
BEGIN
	FOR c IN SELECT conname, conrelid::regclass AS owner FROM pg_constraint
		WHERE relation IN (conrelid, confrelid) AND contype IN ('p', 'u', 'f', 'c') ORDER BY contype <> 'f'
	LOOP
		EXECUTE format('ALTER TABLE %s DROP CONSTRAINT IF EXISTS %I CASCADE', c.owner, c.conname);
	END LOOP;
	IF (SELECT attidentity FROM pg_attribute WHERE attrelid = relation AND attname = changed) <> '' THEN
		EXECUTE format('ALTER TABLE %s ALTER %I DROP IDENTITY', relation, changed);
	END IF;
	EXECUTE format('ALTER TABLE %s ALTER %I DROP NOT NULL', relation, changed);
	EXECUTE format('ALTER TABLE %s DISABLE TRIGGER USER', relation);
	EXECUTE format('UPDATE %s SET %I = NULL', relation, changed);
	SELECT * INTO answered, refused, unfair FROM impostor.make_calls();
	RAISE SQLSTATE 'ZZZZZ';
EXCEPTION WHEN SQLSTATE 'ZZZZZ' THEN
	NULL;
END $$;

CREATE VIEW impostor.tables AS
SELECT c.oid::regclass AS relation FROM pg_class AS c
WHERE c.relnamespace IN ('dms'::regnamespace, 'cascade'::regnamespace) AND c.relkind = 'r';
CREATE VIEW impostor.columns AS
SELECT t.relation, a.attname, a.atttypid, format_type(a.atttypid, a.atttypmod) AS type
FROM impostor.tables AS t JOIN pg_attribute AS a ON a.attrelid = t.relation
WHERE a.attnum > 0 AND NOT a.attisdropped;

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
