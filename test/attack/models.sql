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
	calls text[]
);

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

-- The calls for a resource, each a statement.
CREATE FUNCTION attack.calls_of(t attack.target, uuid uuid, id bigint) RETURNS text[] LANGUAGE sql STABLE
RETURN ARRAY[
	format('SELECT count(*) FROM dms.describe_resource(%L, %L)', t.project, t.resource),
	format('SELECT dms.schema_diagram(%L, %L)', t.project, t.resource),
	format('SELECT count(*) FROM dms.resources()'),
	format('SELECT dms.get_document(%L)', uuid),
	format('SELECT count(*) FROM dms.query_documents(%L, %L)', t.project, t.resource),
	format('SELECT dms.resolve(%L, %L, %L)', t.project, t.resource, attack.identity_of(t.stored, t.model::json)),
	format('SELECT dms.upsert_document(%L, %L, %L)', t.project, t.resource, t.stored),
	format('SELECT dms.upsert_document(%L, %L, %L)', t.project, t.resource, t.smaller),
	format('SELECT dms.upsert_document(%L, %L, %L)', t.project, t.resource, t.other),
	format('SELECT dms.update_document(%L, %L)', uuid, t.other),
	format('SELECT count(*) FROM dms.update_documents(ARRAY[%L]::uuid[], ARRAY[%L]::json[])', uuid, t.stored),
	format('SELECT dms.handle_request(''GET'', ''/%s/%s?limit=5&totalCount=true'')', t.project, t.resource),
	format('SELECT dms.handle_request(''POST'', ''/%s/%s'', ''{}'', %L)', t.project, t.resource, t.smaller),
	format('SELECT count(*) FROM dms.audit(%L, %L)', t.project, t.resource),
	format('SELECT dms.rebuild_edges(%L, %L)', t.project, t.resource),
	format('SELECT dms.recompute_identities(ARRAY[%s]::bigint[])', id),
	format('SELECT count(*) FROM dms.repair(%L, %L)', t.project, t.resource),
	format('SELECT count(*) FROM dms.referencing_documents(%L)', uuid),
	format('SELECT dms.delete_document(%L)', uuid)
] || (
	SELECT array_agg(format('SELECT dms.count_documents(%L, %L, %L)', t.project, t.resource,
		json_build_object(q ->> 'name', CASE WHEN q ->> 'name' LIKE '%Date' THEN '2030-01-01' ELSE '1' END)))
	FROM (SELECT q FROM json_array_elements(t.model::json -> 'queries') AS q LIMIT 6) AS few
);

-- Stores the calls for a target, whose document is stored.  Models of resources without
-- documents are removed: no call uses them, but some calls read all models.
CREATE PROCEDURE attack.prepare() LANGUAGE plpgsql AS $$
DECLARE
	t attack.target;
	written dms.write_result;
BEGIN
	FOR t IN SELECT * FROM attack.target LOOP
		written := dms.upsert_document(t.project, t.resource, t.stored);
		UPDATE attack.target SET calls = attack.calls_of(t, written.document_uuid, written.document_id)
		WHERE target = t.target;
	END LOOP;
	DELETE FROM dms.ResourceModel AS m
	WHERE Kind <> 'abstract' AND NOT EXISTS (SELECT FROM dms.Document AS d
		WHERE d.ProjectName = m.ProjectName AND d.ResourceName = m.ResourceName);
END $$;

-- Replaces a model by a variant, makes all calls, and undoes everything.  Returns the
-- errors that are not allowed, and the number of calls that refused the model.
CREATE FUNCTION attack.try(n integer, OUT unfair text, OUT refused integer)
LANGUAGE plpgsql AS $$
DECLARE
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
		FOREACH call IN ARRAY t.calls LOOP
			-- One variant in twenty gets all calls.  For the others, a model that the
			-- first call could not load is left to one that writes, because all load
			-- it in the same way, and the slow calls are left out.
			CONTINUE WHEN n % 20 <> 0 AND (call ~ '(resources|audit|repair)\('
				OR refused >= 1 AND call !~ '(upsert|delete)_document' OR refused >= 2);
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
