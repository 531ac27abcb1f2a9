-- Stored models are input: whatever the store's owner writes to dms.ResourceModel must
-- not harm the server.  t/081_attack_models.pl fills the tables and calls
-- attack.try() for each variant.
CREATE SCHEMA attack;

-- A resource whose model is changed, and documents to call verbs with: one that
-- is stored, the same with required properties only, and one that is not stored.
CREATE TABLE attack.target (
	target integer PRIMARY KEY,
	project text NOT NULL,
	resource text NOT NULL,
	model text NOT NULL,
	project_name text NOT NULL,
	resource_name text NOT NULL,
	stored json NOT NULL,
	smaller json NOT NULL,
	other json NOT NULL,
	calls text[],				-- for each variant whose model is accepted
	more text[],				-- of these, each such variant gets a share
	slow text[],				-- for some variants
	removal text				-- the last call
);

-- What the store was deployed from; calls that read the models of all resources need it.
CREATE TABLE attack.schema (file json NOT NULL);

-- Many models are too large for a page, and no test is whether they can be compressed.
ALTER TABLE dms.ResourceModel ALTER Model SET STORAGE EXTERNAL;

-- The characters of the model that are replaced, and their replacement.
CREATE TABLE attack.variant (
	variant integer PRIMARY KEY,
	target integer NOT NULL,
	place text NOT NULL,
	start integer NOT NULL,
	length integer NOT NULL,
	replacement text NOT NULL
);

-- Errors that a call may raise if the model and the tables do not match: those that
-- say what does not match.  Internal errors (XX000) and out of memory are not
-- among them.
CREATE FUNCTION attack.is_fair(state text) RETURNS boolean LANGUAGE sql IMMUTABLE
RETURN state = 'XX001' OR left(state, 2) IN ('22', '23', '27', '3F', '42', '44', '55', 'ZD') OR state = '54001';

-- The identity of a document, for dms.resolve().
CREATE FUNCTION attack.identity_of(document json, model json) RETURNS json LANGUAGE sql STABLE
RETURN (SELECT json_object_agg(i ->> 'path', document #> string_to_array(substr(i ->> 'path', 3), '.'))
	FROM json_array_elements(model -> 'identity') AS i);

-- A member of a document that is text and that can be searched for: the first one that
-- the resource takes as such an option.
CREATE FUNCTION attack.make_options(t attack.target) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	member text;
BEGIN
	PERFORM dms.configure_resource(t.project, t.resource,
		'{"history": true, "diff": true, "retainVersions": 1, "account": "optional"}');
	FOR member IN SELECT key FROM json_each(t.stored) WHERE json_typeof(value) = 'string' AND key !~ 'Descriptor$' LOOP
		BEGIN
			PERFORM dms.configure_resource(t.project, t.resource, jsonb_build_object('search', ARRAY['$.' || member],
				'title', '$.' || member, 'content', '$.' || member, 'uniqueKeys', ARRAY['$.' || member]));
			RETURN;
		EXCEPTION WHEN SQLSTATE 'ZD422' THEN
			NULL;
		END;
	END LOOP;
END $$;

-- The calls that every resource gets, each a statement.
CREATE FUNCTION attack.calls_of(t attack.target, uuid uuid, id bigint) RETURNS text[] LANGUAGE sql STABLE
RETURN ARRAY[
	format('DELETE FROM dms.DocumentCache WHERE DocumentId = %s; SELECT dms.get_document(%L)', id, uuid),
	format('SELECT count(*) FROM dms.query_documents(%L, %L)', t.project, t.resource),
	format('SELECT dms.upsert_document(%L, %L, %L)', t.project, t.resource, t.stored),
	format('SELECT dms.update_document(%L, %L)', uuid, t.smaller)
];

-- The other calls.  *start* is a cursor for which only some documents have changed since.
CREATE FUNCTION attack.more_calls_of(t attack.target, uuid uuid, id bigint, another uuid, etags bigint[], start text)
RETURNS text[] LANGUAGE sql STABLE
RETURN ARRAY[
	format('SELECT count(*) FROM dms.describe_resource(%L, %L)', t.project, t.resource),
	format('SELECT dms.schema_diagram(%L, %L)', t.project, t.resource),
	format('SELECT dms.resolve(%L, %L, %L)', t.project, t.resource, attack.identity_of(t.stored, t.model::json)),
	format('SELECT dms.upsert_document(%L, %L, %L)', t.project, t.resource, t.smaller),
	format('SELECT dms.upsert_document(%L, %L, %L)', t.project, t.resource, t.other),
	format('SELECT dms.update_document(%L, %L)', uuid, t.other),
	format('SELECT count(*) FROM dms.referencing_documents(%L)', uuid),
	-- requests
	format('SELECT dms.handle_request(''GET'', ''/%s/%s?limit=5&totalCount=true'')', t.project, t.resource),
	format('SELECT dms.handle_request(''POST'', ''/%s/%s'', ''{}'', %L)', t.project, t.resource, t.smaller),
	format('SELECT dms.handle_request(''GET'', ''/%s/%s/deletes'')', t.project, t.resource),
	format('SELECT dms.handle_request(''GET'', ''/%s/%s/keyChanges'')', t.project, t.resource),
	format('SELECT dms.handle_request(''GET'', ''/%s/%s?q=x&totalCount=true'')', t.project, t.resource),
	format('SELECT dms.handle_request(''GET'', ''/%s/%s/%s/versions'')', t.project, t.resource, uuid),
	format('SELECT dms.handle_request(''DELETE'', ''/%s/%s/%s'')', t.project, t.resource, uuid),
	-- batches: one document, two, and two that swap their contents
	format('SELECT count(*) FROM dms.update_documents(ARRAY[%L]::uuid[], ARRAY[%L]::json[])', uuid, t.stored),
	format('SELECT count(*) FROM dms.update_documents(ARRAY[%L, %L]::uuid[], ARRAY[%L, %L]::json[])', uuid, another, t.smaller, t.other),
	format('SELECT count(*) FROM dms.update_documents(ARRAY[%L, %L]::uuid[], ARRAY[%L, %L]::json[])', uuid, another, t.other, t.stored),
	-- changes
	format('SELECT count(*) FROM dms.read_changes(%L, 20)', start),
	format('SELECT count(*) FROM dms.changed_documents(%L, %L, 0)', t.project, t.resource),
	format('SELECT count(*) FROM dms.deleted_documents(%L, %L, 0)', t.project, t.resource),
	format('SELECT count(*) FROM dms.changed_keys(%L, %L, 0)', t.project, t.resource),
	format('SELECT count(*) FROM dms.query_documents(%L, %L, min_change_version => 0, max_change_version => 4611686018427387904)', t.project, t.resource),
	format('SELECT count(*) FROM dms.document_digests(%L, %L, 2)', t.project, t.resource),
	-- the cache
	format('SELECT dms_internal.project_some(), dms_internal.project_some()'),
	format('SELECT count(*) FROM dms.republish_documents(ARRAY[%L, %L]::uuid[])', uuid, another),
	format('SELECT dms.get_document(%L)', uuid),
	format('SELECT dms.set_cache_mode(''strict''), dms.update_document(%L, %L)', uuid, t.smaller),
	-- versions
	format('SELECT count(*) FROM dms.list_versions(%L)', uuid),
	format('SELECT dms.get_document(%L, %s::bigint)', uuid, etags[1]),
	format('SELECT dms.get_document(%L, now())', uuid),
	format('SELECT dms.diff_versions(%L, %s, %s)', uuid, etags[1], etags[2]),
	format('SELECT count(*) FROM dms.change_log(%L)', uuid),
	format('SELECT dms.latest_version(%L)', uuid),
	format('SELECT dms.restore_document(%L, %s)', uuid, etags[1]),
	format('SELECT dms.delete_document(%1$L), dms.restore_document(%1$L, %2$s)', uuid, etags[2]),
	format('SELECT dms.erase_history(%L)', uuid),
	format('SELECT dms.purge_history()'),
	format('SELECT dms_internal.write_baseline(%L, %L, 0, true)', t.project, t.resource),
	-- jobs
	format('SELECT dms.run_claimed_jobs(array_agg(job_id), min(lease::text)::uuid) FROM dms.claim_jobs(''dms'', 5)'),
	format('SELECT dms.store_diff(%L, %s, %s, ''{}'')', uuid, etags[1], etags[2]),
	-- relations and unique values
	format('SELECT dms.set_parent(%L, %L)', uuid, another),
	format('SELECT dms.add_member(%L, %L, true)', another, uuid),
	format('SELECT dms.set_account(%L, %L)', uuid, another),
	format('SELECT dms.urn(%L), dms.id_of(dms.urn(%L))', another, uuid),
	format('SELECT dms.graph_diagram(%L, 2)', uuid),
	format('SELECT count(*) FROM dms.children(%L)', another),
	format('SELECT count(*) FROM dms.members(%L)', another),
	format('SELECT count(*) FROM dms.delete_plan(%L)', another),
	format('SELECT dms.delete_document(%L)', another),
	format('SELECT count(*) FROM dms.grant_sources(%L)', uuid),
	format('SELECT dms.get_record(''Resource#'' || dms.urn(%1$L), ''Resource#'' || dms.urn(%1$L))', uuid),
	format('SELECT count(*) FROM dms.query_records(''Resource#'' || dms.urn(%L))', uuid),
	format('SELECT dms.claim_unique_key(%L, ''code'', ''A'', %L)', t.project_name || '.' || t.resource_name, uuid),
	format('SELECT dms.find_unique_key(%L, ''code'', ''B'')', t.project_name || '.' || t.resource_name),
	-- words
	format('SELECT count(*) FROM dms.search_documents(%L, %L, ''x'')', t.project, t.resource),
	-- options
	format('SELECT count(*) FROM dms.plan_resource(%L, %L, ''{"search": null, "uniqueKeys": null}'')', t.project, t.resource),
	format('SELECT dms.configure_resource(%L, %L, ''{"title": null, "diff": null}'')', t.project, t.resource),
	format('SELECT dms.recompute_identities(ARRAY[%s]::bigint[])', id),
	format('SELECT count(*) FROM dms_internal.stored_identities(%L, %L)', t.project_name, t.resource_name)
] || (
	SELECT array_agg(format('SELECT dms.count_documents(%L, %L, %L)', t.project, t.resource,
		json_build_object(q ->> 'name', CASE WHEN q ->> 'name' LIKE '%Date' THEN '2030-01-01' ELSE '1' END)))
	FROM (SELECT q FROM json_array_elements(t.model::json -> 'queries') AS q LIMIT 6) AS few
);

-- Calls that look at all resources, or at all documents.
CREATE FUNCTION attack.slow_calls_of(t attack.target, uuid uuid) RETURNS text[] LANGUAGE sql STABLE
RETURN ARRAY[
	format('SELECT count(*) FROM dms.resources()'),
	format('SELECT count(*) FROM dms.audit(%L, %L)', t.project, t.resource),
	format('SELECT dms.rebuild_edges(%L, %L)', t.project, t.resource),
	format('SELECT count(*) FROM dms.repair(%L, %L)', t.project, t.resource),
	format('SELECT count(*) FROM dms.read_changes(NULL, 200)'),
	format('SELECT dms.rebuild_cache(), dms_internal.project_some()'),
	format('SELECT dms.set_cache_mode(''off''), dms.set_change_tracking(false), dms.set_change_tracking(true)'),
	format('SELECT dms.configure_resource(%L, %L, ''{"search": null, "uniqueKeys": null, "history": null, "account": null}'')', t.project, t.resource)
] || (
	SELECT CASE WHEN sum(length(file::text)) < 200000 THEN ARRAY[
		'SELECT count(*) FROM dms.plan_schema(VARIADIC (SELECT array_agg(file) FROM attack.schema))',
		'SELECT dms.deploy_schema(VARIADIC (SELECT array_agg(file) FROM attack.schema))',
		'SELECT count(*) FROM dms.plan_migration((SELECT (array_agg(file))[1:1] FROM attack.schema), true)'] END
	FROM attack.schema
);

-- Stores the calls for a target, whose document is stored.  Models of resources without
-- documents are removed: no call uses them, but some calls read all models.
CREATE PROCEDURE attack.prepare() LANGUAGE plpgsql AS $$
DECLARE
	t attack.target;
	written dms.write_result;
	another dms.write_result;
	etags bigint[];
	start text;
BEGIN
	PERFORM dms.set_change_tracking(true), dms.set_cache_mode('write_through');
	FOR t IN SELECT * FROM attack.target LOOP
		PERFORM attack.make_options(t);
	END LOOP;
	COMMIT;
	DELETE FROM dms.ResourceModel AS m
	WHERE Kind <> 'abstract' AND NOT EXISTS (SELECT FROM dms.Document AS d
		WHERE d.ProjectName = m.ProjectName AND d.ResourceName = m.ResourceName);
	COMMIT;
	FOR t IN SELECT * FROM attack.target LOOP
		PERFORM dms_internal.write_baseline(t.project, t.resource, 0, true);
		start := (SELECT c.next_cursor FROM dms.read_changes(NULL, 100000, false) AS c WHERE c.kind = 'end');
		COMMIT;
		another := dms.upsert_document(t.project, t.resource, t.other);
		BEGIN
			written := dms.upsert_document(t.project, t.resource, t.smaller);
		EXCEPTION WHEN OTHERS THEN
			NULL;	-- what refers to it may need more
		END;
		written := dms.upsert_document(t.project, t.resource, t.stored);
		BEGIN
			PERFORM dms.set_parent(written.document_uuid, another.document_uuid),
				dms.add_member(another.document_uuid, written.document_uuid, true),
				dms.claim_unique_key(t.project_name || '.' || t.resource_name, 'code', 'B', written.document_uuid);
		EXCEPTION WHEN OTHERS THEN
			RAISE NOTICE '% % %', t.resource, SQLSTATE, SQLERRM;
		END;
		etags := (SELECT array_agg(v.version ORDER BY v.version) FROM dms.list_versions(written.document_uuid) AS v);
		UPDATE attack.target SET
			calls = attack.calls_of(t, written.document_uuid, written.document_id),
			more = attack.more_calls_of(t, written.document_uuid, written.document_id, another.document_uuid,
				ARRAY[coalesce(etags[1], 1), coalesce(etags[cardinality(etags)], 1)], start),
			slow = attack.slow_calls_of(t, written.document_uuid),
			removal = format('SELECT dms.delete_document(%L)', written.document_uuid)
		WHERE target = t.target;
		COMMIT;
	END LOOP;
	WHILE (SELECT p.more FROM dms_internal.project_some() AS p) LOOP
		COMMIT;
	END LOOP;
END $$;

-- Makes all calls for a target whose model is unchanged, undoes each, and returns those that
-- raise an error.
CREATE FUNCTION attack.rehearse(n integer) RETURNS TABLE (call text, error text) LANGUAGE plpgsql AS $$
BEGIN
	FOR call IN SELECT unnest(t.calls || t.more || t.slow || t.removal) FROM attack.target AS t WHERE t.target = n LOOP
		BEGIN
			EXECUTE call;
			RAISE SQLSTATE 'ZZZZZ';
		EXCEPTION
			WHEN SQLSTATE 'ZZZZZ' THEN
				NULL;
			WHEN OTHERS THEN
				error := concat_ws(' ', SQLSTATE, SQLERRM);
				RETURN NEXT;
		END;
	END LOOP;
END $$;

-- The calls that no target answers, although its model is unchanged, but for the one that
-- wants the identity of another document.
CREATE FUNCTION attack.never_answered() RETURNS SETOF text LANGUAGE sql
BEGIN ATOMIC
WITH made AS MATERIALIZED (
	SELECT c.i, c.call FROM attack.target AS t, unnest(t.calls || t.more || t.slow || t.removal) WITH ORDINALITY AS c (call, i)
), failed AS MATERIALIZED (SELECT r.call, r.error FROM attack.target AS t, attack.rehearse(t.target) AS r)
SELECT format('%s: %s', left(min(m.call), 80), min(f.error)) FROM made AS m LEFT JOIN failed AS f ON f.call = m.call
GROUP BY m.i HAVING count(f.error) = count(*) AND min(f.error) !~ '^23505 identity' ORDER BY m.i;
END;

-- Replaces a model by a variant, makes calls, and undoes everything.  Returns the errors
-- that are not allowed, and the number of calls that refused the model.  A model that the
-- first call cannot load is not tried again, except by one variant in a hundred, because all
-- calls load it in the same way.  One variant in a hundred gets all calls, too; the others that
-- are accepted get a share of them.
CREATE FUNCTION attack.try(n integer, OUT unfair text, OUT refused integer)
LANGUAGE plpgsql AS $$
DECLARE
	shares CONSTANT integer := 16;
	whole CONSTANT boolean := n % 100 = 0;
	t attack.target;
	v attack.variant;
	call text;
BEGIN
	SELECT * INTO v FROM attack.variant AS a WHERE a.variant = n;
	SELECT * INTO t FROM attack.target AS a WHERE a.target = v.target;
	refused := 0;
	BEGIN
		UPDATE dms.ResourceModel AS m
		SET Model = overlay(t.model PLACING v.replacement FROM v.start FOR v.length)::json
		WHERE ResourceName = t.resource_name AND ProjectName = t.project_name;
		-- All sessions, this one included, load the models anew.
		UPDATE dms.Store SET Generation = Generation + 1;
		ALTER TABLE dms.Store SET (fillfactor = 90);
		FOR call IN
			SELECT c FROM unnest(t.calls) AS c
			UNION ALL SELECT c FROM unnest(t.more) WITH ORDINALITY AS m (c, i) WHERE whole OR i % shares = n % shares
			UNION ALL SELECT c FROM unnest(t.slow) AS c WHERE whole
			UNION ALL SELECT t.removal
		LOOP
			EXIT WHEN refused > 0 AND NOT whole;
			BEGIN
				EXECUTE call;
			EXCEPTION WHEN OTHERS THEN
				refused := refused + (SQLSTATE = 'XX001')::integer;
				IF NOT attack.is_fair(SQLSTATE) THEN
					unfair := format('%s %s = %s: %s %s in %s', t.resource, v.place, left(v.replacement, 80),
						SQLSTATE, SQLERRM, left(call, 80));
				END IF;
			END;
		END LOOP;
		RAISE SQLSTATE 'ZZZZZ';
	EXCEPTION
		WHEN SQLSTATE 'ZZZZZ' THEN
			NULL;
		WHEN invalid_text_representation THEN
			refused := refused + 1;	-- not even JSON
	END;
END $$;
