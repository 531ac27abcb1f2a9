-- What every isolation spec starts from: the extension, the schema of
-- test/schemas/isolation.json, no documents, and functions that spare the
-- specs the braces which isolationtester does not allow in them.
--
-- A spec runs this file in its setup; the setting dms_test.dir says where the
-- server finds the directory "test".

SET LOCAL client_min_messages = warning;

CREATE EXTENSION IF NOT EXISTS dms;

SELECT dms.deploy_schema(pg_read_file(current_setting('dms_test.dir') || '/schemas/isolation.json')::json);

-- Clears everything, and numbers documents from 1 again.
TRUNCATE dms.Document RESTART IDENTITY;

-- Bodies.

CREATE OR REPLACE FUNCTION session(name text, title text DEFAULT NULL, partner text DEFAULT NULL)
RETURNS json LANGUAGE sql IMMUTABLE RETURN
	json_strip_nulls(json_build_object('sessionName', name, 'title', title, 'partnerSessionReference',
		CASE WHEN partner IS NOT NULL THEN json_build_object('sessionName', partner) END));

CREATE OR REPLACE FUNCTION offering(code text, session text, title text DEFAULT NULL)
RETURNS json LANGUAGE sql IMMUTABLE RETURN
	json_strip_nulls(json_build_object('code', code, 'title', title,
		'sessionReference', json_build_object('sessionName', session)));

CREATE OR REPLACE FUNCTION enrollment(id bigint, session text DEFAULT NULL, school bigint DEFAULT NULL,
	organization bigint DEFAULT NULL, kind text DEFAULT NULL, note text DEFAULT NULL)
RETURNS json LANGUAGE sql IMMUTABLE RETURN
	json_strip_nulls(json_build_object('enrollmentId', id, 'note', note, 'kindDescriptor', 'uri://isolation#' || kind,
		'sessionReference', CASE WHEN session IS NOT NULL THEN json_build_object('sessionName', session) END,
		'schoolReference', CASE WHEN school IS NOT NULL THEN json_build_object('schoolId', school) END,
		'organizationReference',
		CASE WHEN organization IS NOT NULL THEN json_build_object('organizationId', organization) END));

CREATE OR REPLACE FUNCTION school(id bigint, name text DEFAULT NULL)
RETURNS json LANGUAGE sql IMMUTABLE RETURN
	json_strip_nulls(json_build_object('schoolId', id, 'name', name));

CREATE OR REPLACE FUNCTION agency(id bigint, name text DEFAULT NULL)
RETURNS json LANGUAGE sql IMMUTABLE RETURN
	json_strip_nulls(json_build_object('agencyId', id, 'name', name));

CREATE OR REPLACE FUNCTION kind(code text)
RETURNS json LANGUAGE sql IMMUTABLE RETURN
	json_build_object('namespace', 'uri://isolation', 'codeValue', code, 'shortDescription', code);

-- Verbs, with the part of their results that is the same in every run.

CREATE OR REPLACE FUNCTION post(resource text, body json, if_match bigint DEFAULT NULL,
	OUT outcome text, OUT etag bigint)
LANGUAGE sql VOLATILE
BEGIN ATOMIC
	SELECT r.outcome, r.etag FROM dms.upsert_document('isolation', resource, body, if_match) AS r;
END;

CREATE OR REPLACE FUNCTION put(document_uuid uuid, body json, if_match bigint DEFAULT NULL,
	OUT outcome text, OUT etag bigint)
LANGUAGE sql VOLATILE
BEGIN ATOMIC
	SELECT r.outcome, r.etag FROM dms.update_document(document_uuid, body, if_match) AS r;
END;

-- The same as requests.

CREATE OR REPLACE FUNCTION request(method text, path text, body json DEFAULT NULL, key text DEFAULT NULL,
	OUT status integer, OUT etag text, OUT type text)
LANGUAGE sql VOLATILE
BEGIN ATOMIC
	SELECT r.status, r.headers ->> 'ETag', r.body ->> 'type'
	FROM dms.handle_request(method, path, jsonb_strip_nulls(jsonb_build_object('Idempotency-Key', key)), body::text) AS r;
END;

CREATE OR REPLACE FUNCTION request_put(endpoint text, document_uuid uuid, body json, key text DEFAULT NULL,
	OUT status integer, OUT etag text, OUT type text)
LANGUAGE sql VOLATILE
BEGIN ATOMIC
	SELECT r.* FROM request('PUT', concat_ws('/', '/isolation', endpoint, document_uuid),
		(body::jsonb || jsonb_build_object('id', document_uuid))::json, key) AS r;
END;

-- Documents by their key as the statement sees it, and by their number.

CREATE OR REPLACE FUNCTION session_uuid(name text)
RETURNS uuid LANGUAGE sql STABLE
BEGIN ATOMIC
	SELECT DocumentUuid FROM isolation.Session JOIN dms.Document USING (DocumentId) WHERE SessionName = name;
END;

CREATE OR REPLACE FUNCTION uuid_of(document_id bigint)
RETURNS uuid LANGUAGE sql STABLE
BEGIN ATOMIC
	SELECT DocumentUuid FROM dms.Document WHERE DocumentId = document_id;
END;

-- The result of a statement, or its error without the ids of documents, which are
-- different in every run.
CREATE OR REPLACE FUNCTION told(statement text)
RETURNS text LANGUAGE plpgsql VOLATILE AS $function$
DECLARE
	answer text;
BEGIN
	EXECUTE statement INTO answer;
	RETURN answer;
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE || ' ' || regexp_replace(SQLERRM, '[0-9a-f]+(-[0-9a-f]+)+', '(id)', 'g');
END $function$;

-- More messages about catalogs than the server keeps: a session that takes none in
-- meanwhile must take everything for changed.
CREATE OR REPLACE FUNCTION flood() RETURNS void LANGUAGE plpgsql VOLATILE AS $function$
BEGIN
	FOR i IN 1..500 LOOP
		EXECUTE format('CREATE TEMPORARY TABLE flood%s (a int, b int, c int, d int)', i);
		EXECUTE format('DROP TABLE flood%s', i);
	END LOOP;
END $function$;

-- All that is stored, as a client would see it.
CREATE OR REPLACE VIEW documents AS
SELECT d.DocumentId AS id, d.ResourceName || ' ' || b.key AS document, d.Etag AS etag, b.body
FROM dms.Document AS d
JOIN (
	SELECT DocumentId, AgencyId::text AS key, Name::text AS body FROM isolation.Agency
	UNION ALL SELECT DocumentId, SchoolId::text, Name FROM isolation.School
	UNION ALL SELECT s.DocumentId, s.SessionName, concat_ws(', ', s.Title, 'partner ' || p.SessionName)
	FROM isolation.Session AS s LEFT JOIN isolation.Session AS p ON p.DocumentId = s.PartnerSession_DocumentId
	UNION ALL SELECT o.DocumentId, o.Code || ' in ' || s.SessionName, o.Title
	FROM isolation.Offering AS o LEFT JOIN isolation.Session AS s ON s.DocumentId = o.Session_DocumentId
	UNION ALL SELECT e.DocumentId, e.EnrollmentId::text,
		concat_ws(', ', e.Note, 'session ' || s.SessionName, 'school ' || c.SchoolId,
			'organization ' || o.OrganizationId, k.Uri)
	FROM isolation.Enrollment AS e LEFT JOIN isolation.Session AS s ON s.DocumentId = e.Session_DocumentId
	LEFT JOIN isolation.School AS c ON c.DocumentId = e.School_DocumentId
	LEFT JOIN isolation.Organization_View AS o ON o.DocumentId = e.Organization_DocumentId
	LEFT JOIN dms.Descriptor AS k ON k.DocumentId = e.KindDescriptor_DescriptorId
	UNION ALL SELECT DocumentId, Uri, ShortDescription FROM dms.Descriptor
) AS b USING (DocumentId)
ORDER BY d.DocumentId;

-- Whatever contradicts itself in the store, by queries that share nothing with
-- the code that wrote it.  There must never be a row.
CREATE OR REPLACE VIEW trouble AS
WITH identity AS (
	SELECT DocumentId, 'Agency' AS resource,
		dms.referential_id('Isolation', 'Agency', ARRAY['$.agencyId'], ARRAY[AgencyId::text]) AS id
	FROM isolation.Agency
	UNION ALL SELECT DocumentId, 'School',
		dms.referential_id('Isolation', 'School', ARRAY['$.schoolId'], ARRAY[SchoolId::text])
	FROM isolation.School
	UNION ALL SELECT DocumentId, 'Organization',
		dms.referential_id('Isolation', 'Organization', ARRAY['$.organizationId'], ARRAY[OrganizationId::text])
	FROM isolation.Organization_View
	UNION ALL SELECT DocumentId, 'Session',
		dms.referential_id('Isolation', 'Session', ARRAY['$.sessionName'], ARRAY[SessionName::text])
	FROM isolation.Session
	UNION ALL SELECT o.DocumentId, 'Offering',
		dms.referential_id('Isolation', 'Offering', ARRAY['$.code', '$.sessionReference.sessionName'],
			ARRAY[o.Code, s.SessionName]::text[])
	FROM isolation.Offering AS o LEFT JOIN isolation.Session AS s ON s.DocumentId = o.Session_DocumentId
	UNION ALL SELECT DocumentId, 'Enrollment',
		dms.referential_id('Isolation', 'Enrollment', ARRAY['$.enrollmentId'], ARRAY[EnrollmentId::text])
	FROM isolation.Enrollment
	UNION ALL SELECT DocumentId, 'KindDescriptor',
		dms.referential_id('Isolation', 'KindDescriptor', ARRAY['$.descriptor'], ARRAY[dms.lower_invariant(Uri)])
	FROM dms.Descriptor
), edge AS (
	SELECT DocumentId AS parent, PartnerSession_DocumentId AS child FROM isolation.Session
	UNION ALL SELECT DocumentId, Session_DocumentId FROM isolation.Offering
	UNION ALL SELECT DocumentId, Session_DocumentId FROM isolation.Enrollment
	UNION ALL SELECT DocumentId, School_DocumentId FROM isolation.Enrollment
	UNION ALL SELECT DocumentId, Organization_DocumentId FROM isolation.Enrollment
	UNION ALL SELECT DocumentId, KindDescriptor_DescriptorId FROM isolation.Enrollment
), stored_identity AS (
	SELECT DocumentId, ResourceName::text, ReferentialId FROM dms.ReferentialIdentity
), stored_edge AS (
	SELECT ParentDocumentId, ChildDocumentId FROM dms.ReferenceEdge
), wanted_edge AS (
	SELECT parent, child FROM edge WHERE child IS NOT NULL
)
SELECT 'identity is missing' AS what, DocumentId AS id FROM (TABLE identity EXCEPT ALL TABLE stored_identity) AS x
UNION ALL SELECT 'identity is wrong', DocumentId FROM (TABLE stored_identity EXCEPT ALL TABLE identity) AS x
UNION ALL SELECT 'edge is missing', parent FROM (TABLE wanted_edge EXCEPT ALL TABLE stored_edge) AS x
UNION ALL SELECT 'edge is wrong', ParentDocumentId FROM (TABLE stored_edge EXCEPT ALL TABLE wanted_edge) AS x
UNION ALL SELECT 'lock row is missing', DocumentId FROM dms.Document
	WHERE DocumentId NOT IN (SELECT DocumentId FROM dms.IdentityLock)
UNION ALL SELECT 'lock row is wrong', DocumentId FROM dms.IdentityLock
	WHERE DocumentId NOT IN (SELECT DocumentId FROM dms.Document)
UNION ALL SELECT 'document has no rows', DocumentId FROM dms.Document
	WHERE DocumentId NOT IN (SELECT DocumentId FROM identity)
UNION ALL SELECT 'rows have no document', DocumentId FROM identity
	WHERE DocumentId NOT IN (SELECT DocumentId FROM dms.Document)
UNION ALL SELECT 'member row is missing', DocumentId FROM isolation.Organization_View
	WHERE DocumentId NOT IN (SELECT DocumentId FROM isolation.Organization_Member);
