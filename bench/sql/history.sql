-- For bench/history: enrollments, with their versions or with a generic audit trigger.

-- What happens to changes of enrollments: nothing, versions, or a row of both states, in a
-- table without an index, or with one by which the rows of a document are found.
CREATE TABLE bench.audit (at timestamptz, who text, old_row jsonb, new_row jsonb);
CREATE FUNCTION bench.audit() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	INSERT INTO bench.audit VALUES (now(), session_user, to_jsonb(OLD), to_jsonb(NEW));
	RETURN NULL;
END $$;
CREATE FUNCTION bench.history(what text) RETURNS void LANGUAGE plpgsql SET client_min_messages = error AS $$
DECLARE
	audited regclass;
BEGIN
	PERFORM dms.configure_resource('Ed-Fi', 'StudentSectionAssociation', jsonb_build_object('history', what = 'on'));
	DROP INDEX IF EXISTS bench.audit_of_document;
	IF what = 'indexed' THEN
		CREATE INDEX audit_of_document ON bench.audit ((COALESCE(new_row, old_row) ->> 'documentid'), at);
	END IF;
	FOREACH audited IN ARRAY '{edfi.StudentSectionAssociation, dms.Document}'::regclass[] LOOP
		EXECUTE format('DROP TRIGGER IF EXISTS audit ON %s', audited);
		IF what IN ('audit', 'indexed') THEN
			EXECUTE format('CREATE TRIGGER audit AFTER INSERT OR UPDATE OR DELETE ON %s FOR EACH ROW EXECUTE FUNCTION bench.audit()', audited);
		END IF;
	END LOOP;
END $$;
SELECT bench.history('off');

-- Enrollments in the section of ten, each written in a transaction of its own.
CREATE SEQUENCE bench.student;
CREATE FUNCTION bench.enrollment(n bigint, ends date) RETURNS json LANGUAGE sql AS $$
	SELECT json_build_object('beginDate', '2029-08-02'::date + (n / 1000)::int, 'endDate', ends,
		'studentReference', json_build_object('studentUniqueId', 's' || (1 + n % 1000)),
		'sectionReference', json_build_object('localCourseCode', 'abc', 'schoolId', 1, 'schoolYear', 2030, 'sessionName', 'fall',
			'sectionIdentifier', 'bench'))
$$;
SELECT write('Section', json_build_object('sectionIdentifier', 'bench', 'courseOfferingReference',
	json_build_object('localCourseCode', 'abc', 'schoolId', 1, 'schoolYear', 2030, 'sessionName', 'fall'))::text);
-- The bodies are there before, because a client makes them.
CREATE TABLE bench.body (i serial, body json);
CREATE FUNCTION bench.prepare_new(n int) RETURNS void LANGUAGE sql AS $$
	TRUNCATE bench.body;
	INSERT INTO bench.body (body) SELECT bench.enrollment(nextval('bench.student'), '2030-05-31') FROM generate_series(1, n)
$$;
CREATE FUNCTION bench.prepare_changed(n int, ends date) RETURNS void LANGUAGE sql AS $$
	TRUNCATE bench.body;
	INSERT INTO bench.body (body) SELECT bench.enrollment(i, ends) FROM generate_series(1, n) AS i
$$;
CREATE PROCEDURE bench.write() LANGUAGE plpgsql AS $$
DECLARE
	bodies json[] := ARRAY(SELECT b.body FROM bench.body AS b ORDER BY b.i);
	one json;
BEGIN
	FOREACH one IN ARRAY bodies LOOP
		PERFORM dms.upsert_document('Ed-Fi', 'StudentSectionAssociation', one);
		COMMIT;
	END LOOP;
END $$;

-- A document of 1,000 versions, and the same texts by key.
SELECT dms.configure_resource('Ed-Fi', 'Section', '{"history": true}');
SELECT document_uuid AS many FROM dms.upsert_document('Ed-Fi', 'Section', json_build_object('sectionIdentifier', 'many', 'sectionName', '1',
	'courseOfferingReference', json_build_object('localCourseCode', 'abc', 'schoolId', 1, 'schoolYear', 2030, 'sessionName', 'fall'))) \gset
CREATE TABLE bench.many AS SELECT :'many'::uuid AS id;
DO $$ BEGIN
	FOR i IN 2 .. 1000 LOOP
		PERFORM dms.update_document((SELECT id FROM bench.many), json_build_object('sectionIdentifier', 'many', 'sectionName', i::text,
			'courseOfferingReference', json_build_object('localCourseCode', 'abc', 'schoolId', 1, 'schoolYear', 2030, 'sessionName', 'fall')));
	END LOOP;
END $$;
CREATE TABLE bench.stored (id uuid, version bigint, at timestamptz, body jsonb, PRIMARY KEY (id, version));
INSERT INTO bench.stored SELECT DocumentUuid, VersionNumber, CreatedAt, Content::jsonb FROM dms.DocumentVersion;
CREATE FUNCTION bench.stored(one uuid, number bigint) RETURNS json LANGUAGE plpgsql STABLE AS $$
BEGIN
	RETURN (SELECT body FROM bench.stored WHERE id = one AND version = number);
END $$;
CREATE PROCEDURE bench.read(n int, what text) LANGUAGE plpgsql AS $$
DECLARE
	one uuid := (SELECT id FROM bench.many);
	times timestamptz[] := ARRAY(SELECT at FROM bench.stored WHERE id = one ORDER BY version);
BEGIN
	FOR i IN 1 .. n LOOP
		CASE what
			WHEN 'version' THEN PERFORM dms.get_document(one, version => (1 + i * 7 % 1000)::bigint);
			WHEN 'as_of' THEN PERFORM dms.get_document(one, as_of => times[1 + i * 7 % 1000]);
			ELSE PERFORM bench.stored(one, (1 + i * 7 % 1000)::bigint);
		END CASE;
	END LOOP;
END $$;

-- Versions that need not be retained: 99 of each 100.
CREATE PROCEDURE bench.old_versions(n int) LANGUAGE plpgsql SET dms.purging = on AS $$
BEGIN
	PERFORM dms.configure_resource('Ed-Fi', 'Student', '{"history": true, "retainVersions": 1}');
	DELETE FROM dms.DocumentVersion WHERE Kind = 'bench';
	INSERT INTO dms.DocumentVersion (DocumentUuid, VersionNumber, CreatedAt, ResourceTypeId, ResourceVersion, Kind, CreatedBy, Content)
	SELECT md5(d::text)::uuid, v, now(), t.ResourceTypeId, '1.0.0', 'bench', 'bench', '{"studentUniqueId": "604822", "firstName": "Ada"}'
	FROM dms.ResourceType AS t, generate_series(1, n / 99) AS d, generate_series(1, 100) AS v
	WHERE t.ResourceName = 'Student' ORDER BY v, d;
	INSERT INTO dms.DocumentVersion (DocumentUuid, VersionNumber, CreatedAt, ResourceTypeId, ResourceVersion, Kind, CreatedBy, Content)
	SELECT md5('0')::uuid, v, now(), t.ResourceTypeId, '1.0.0', 'bench', 'bench', '{"studentUniqueId": "604822", "firstName": "Ada"}'
	FROM dms.ResourceType AS t, generate_series(1, n % 99 + 1) AS v WHERE t.ResourceName = 'Student';
	ANALYZE dms.DocumentVersion;
END $$;
-- The same versions by a statement that knows them.
CREATE FUNCTION bench.plain_delete() RETURNS bigint LANGUAGE plpgsql SET dms.purging = on AS $$
DECLARE
	n bigint;
BEGIN
	DELETE FROM dms.DocumentVersion AS v USING (SELECT DocumentUuid, max(VersionNumber) AS number FROM dms.DocumentVersion
		WHERE Kind = 'bench' GROUP BY 1) AS newest
	WHERE v.DocumentUuid = newest.DocumentUuid AND v.VersionNumber < newest.number AND v.Kind = 'bench';
	GET DIAGNOSTICS n = ROW_COUNT;
	RETURN n;
END $$;

-- Bytes of a version in its table and index, and of its text.
CREATE FUNCTION bench.size(method text, kind text, OUT bytes numeric, OUT length numeric) RETURNS SETOF record
LANGUAGE plpgsql AS $$
DECLARE
	n CONSTANT int := 20000;
	body text := (SELECT json_build_object('id', gen_random_uuid(), 'studentUniqueId', '604822', 'firstName', 'Ada', 'lastSurname', 'Byron',
		'middleName', 'Augusta', 'birthCity', 'London', 'birthSexDescriptor', 'uri://ed-fi.org/SexDescriptor#Female',
		'_etag', '12', '_lastModifiedDate', '2026-01-31T12:34:56Z', 'birthDate', '2011-04-05', 'addresses', (SELECT json_agg(json_build_object(
			'addressTypeDescriptor', 'uri://ed-fi.org/AddressTypeDescriptor#' || (ARRAY['Home', 'Mailing', 'Physical', 'Billing'])[1 + i % 4],
			'stateAbbreviationDescriptor', 'uri://ed-fi.org/StateAbbreviationDescriptor#TX', 'city', left(md5('c' || i), 9),
			'postalCode', left(md5('p' || i), 5), 'streetNumberName', i || ' ' || left(md5('s' || i), 10) || ' Street', 'periods',
			json_build_array(json_build_object('beginDate', '2020-01-01'::date + i))))
			FROM generate_series(1, CASE kind WHEN 'small' THEN 1 ELSE 13 END) AS i)));
BEGIN
	EXECUTE 'SET LOCAL default_toast_compression = ' || method;
	CREATE TEMP TABLE sized (LIKE dms.DocumentVersion INCLUDING STORAGE INCLUDING INDEXES) WITH (toast_tuple_target = 512) ON COMMIT DROP;
	INSERT INTO sized SELECT gen_random_uuid(), v, now(), 1, '5.2.0', 'updated', 'registrar', replace(body, '604822', (100000 + v)::text)::json
	FROM generate_series(1, n) AS v;
	RETURN QUERY SELECT pg_total_relation_size('sized')::numeric / n, octet_length(body)::numeric;
	DROP TABLE sized;
EXCEPTION WHEN feature_not_supported OR invalid_parameter_value THEN
	NULL;
END $$;
VACUUM ANALYZE;
