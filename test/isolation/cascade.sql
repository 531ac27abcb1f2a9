-- More to start from, for specs of cascades: documents whose identities are made
-- of others', over several levels.  To be run after fixture.sql.

SET LOCAL client_min_messages = warning;

CREATE OR REPLACE FUNCTION section(id int, code text, session text, title text DEFAULT NULL)
RETURNS json LANGUAGE sql IMMUTABLE RETURN
	json_strip_nulls(json_build_object('sectionId', id, 'title', title,
		'offeringReference', json_build_object('code', code, 'sessionName', session)));

CREATE OR REPLACE FUNCTION booking(id int, code text, section_session text, session text)
RETURNS json LANGUAGE sql IMMUTABLE RETURN
	json_build_object('sectionReference', json_build_object('code', code, 'sessionName', section_session, 'sectionId', id),
		'sessionReference', json_build_object('sessionName', session));

CREATE OR REPLACE FUNCTION pair(first text, second text, title text DEFAULT NULL)
RETURNS json LANGUAGE sql IMMUTABLE RETURN
	json_strip_nulls(json_build_object('title', title,
		'firstSessionReference', json_build_object('sessionName', first),
		'secondSessionReference', json_build_object('sessionName', second)));

CREATE OR REPLACE FUNCTION term(school bigint, name text)
RETURNS json LANGUAGE sql IMMUTABLE RETURN
	json_build_object('termName', name, 'schoolReference', json_build_object('schoolId', school));

CREATE OR REPLACE FUNCTION course(code text, school bigint, term text)
RETURNS json LANGUAGE sql IMMUTABLE RETURN
	json_build_object('courseCode', code, 'schoolReference', json_build_object('schoolId', school),
		'termReference', json_build_object('schoolId', school, 'termName', term));

CREATE OR REPLACE FUNCTION color(code text)
RETURNS json LANGUAGE sql IMMUTABLE RETURN
	json_build_object('namespace', 'uri://isolation', 'codeValue', code, 'shortDescription', 'color');

CREATE OR REPLACE FUNCTION flag(id int, color text)
RETURNS json LANGUAGE sql IMMUTABLE RETURN
	json_build_object('flagId', id, 'colorDescriptor', 'uri://isolation#' || color);

-- A note of anything.
CREATE OR REPLACE FUNCTION note(id int, color text DEFAULT NULL, offering text[] DEFAULT NULL,
	section text[] DEFAULT NULL, pair text[] DEFAULT NULL, title text DEFAULT NULL)
RETURNS json LANGUAGE sql IMMUTABLE RETURN
	json_strip_nulls(json_build_object('noteId', id, 'title', title, 'colorDescriptor', 'uri://isolation#' || color,
		'offeringReference', CASE WHEN offering IS NOT NULL THEN
			json_build_object('code', offering[1], 'sessionName', offering[2]) END,
		'sectionReference', CASE WHEN section IS NOT NULL THEN
			json_build_object('code', section[1], 'sessionName', section[2], 'sectionId', section[3]::int) END,
		'pairReference', CASE WHEN pair IS NOT NULL THEN
			json_build_object('firstSessionName', pair[1], 'secondSessionName', pair[2]) END));

-- A delete that tells why it was refused.
CREATE OR REPLACE FUNCTION del(document_uuid uuid, if_match bigint DEFAULT NULL)
RETURNS text LANGUAGE plpgsql VOLATILE AS $function$
DECLARE
	detail text;
BEGIN
	PERFORM dms.delete_document(document_uuid, if_match);
	RETURN 'deleted';
EXCEPTION WHEN restrict_violation THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
	RETURN 'refused: ' || (detail::json ->> 'dependents');
END $function$;

-- An update that tells of its end what is the same in every run.
CREATE OR REPLACE FUNCTION rename(document_uuid uuid, body json)
RETURNS text LANGUAGE plpgsql VOLATILE AS $function$
BEGIN
	RETURN (dms.update_document(document_uuid, body)).outcome;
EXCEPTION WHEN SQLSTATE 'ZD404' THEN
	RETURN 'no such document';
END $function$;

-- Several documents in one call, by their numbers.
CREATE OR REPLACE FUNCTION batch(ids bigint[], bodies json[], OUT outcome text, OUT id bigint, OUT etag bigint)
RETURNS SETOF record LANGUAGE sql VOLATILE
BEGIN ATOMIC
	SELECT r.outcome, r.document_id, r.etag
	FROM dms.update_documents(ARRAY(SELECT uuid_of(i) FROM unnest(ids) WITH ORDINALITY AS u (i, n) ORDER BY n), bodies) AS r;
END;

-- All of both fixtures: the key by our own joins, and whether the store knows
-- the document by it.
CREATE OR REPLACE VIEW everything AS
WITH offering AS (
	SELECT o.DocumentId, ARRAY[o.Code, s.SessionName]::text[] AS vals
	FROM isolation.Offering AS o JOIN isolation.Session AS s ON s.DocumentId = o.Session_DocumentId
), section AS (
	SELECT c.DocumentId, o.vals || c.SectionId::text AS vals
	FROM isolation.Section AS c JOIN offering AS o ON o.DocumentId = c.Offering_DocumentId
), pair AS (
	SELECT p.DocumentId, ARRAY[a.SessionName, b.SessionName]::text[] AS vals
	FROM isolation.Pair AS p JOIN isolation.Session AS a ON a.DocumentId = p.FirstSession_DocumentId
	JOIN isolation.Session AS b ON b.DocumentId = p.SecondSession_DocumentId
), known AS (
	SELECT DocumentId, 'Session' AS resource, ARRAY['$.sessionName'] AS paths, ARRAY[SessionName::text] AS vals, NULL AS body
	FROM isolation.Session
	UNION ALL SELECT DocumentId, 'Offering', ARRAY['$.code', '$.sessionReference.sessionName'], vals, NULL FROM offering
	UNION ALL SELECT DocumentId, 'Section', ARRAY['$.offeringReference.code', '$.offeringReference.sessionName', '$.sectionId'],
		vals, NULL FROM section
	UNION ALL SELECT b.DocumentId, 'Booking', ARRAY['$.sectionReference.code', '$.sectionReference.sessionName',
		'$.sectionReference.sectionId', '$.sessionReference.sessionName'], c.vals || s.SessionName::text, NULL
	FROM isolation.Booking AS b JOIN section AS c ON c.DocumentId = b.Section_DocumentId
	JOIN isolation.Session AS s ON s.DocumentId = b.Session_DocumentId
	UNION ALL SELECT DocumentId, 'Pair', ARRAY['$.firstSessionReference.sessionName', '$.secondSessionReference.sessionName'],
		vals, NULL FROM pair
	UNION ALL SELECT t.DocumentId, 'Term', ARRAY['$.schoolReference.schoolId', '$.termName'],
		ARRAY[s.SchoolId::text, t.TermName], NULL
	FROM isolation.Term AS t JOIN isolation.School AS s ON s.DocumentId = t.School_DocumentId
	UNION ALL SELECT c.DocumentId, 'Course', ARRAY['$.courseCode', '$.schoolReference.schoolId',
		'$.termReference.schoolId', '$.termReference.termName'],
		ARRAY[c.CourseCode, s.SchoolId::text, u.SchoolId::text, t.TermName], NULL
	FROM isolation.Course AS c JOIN isolation.School AS s ON s.DocumentId = c.School_DocumentId
	JOIN isolation.Term AS t ON t.DocumentId = c.Term_DocumentId
	JOIN isolation.School AS u ON u.DocumentId = t.School_DocumentId
	UNION ALL SELECT DocumentId, split_part(Discriminator, ':', 2), ARRAY['$.descriptor'], ARRAY[dms.lower_invariant(Uri)], Uri
	FROM dms.Descriptor
	UNION ALL SELECT f.DocumentId, 'Flag', ARRAY['$.colorDescriptor', '$.flagId'],
		ARRAY[dms.lower_invariant(d.Uri), f.FlagId::text], d.Uri
	FROM isolation.Flag AS f JOIN dms.Descriptor AS d ON d.DocumentId = f.ColorDescriptor_DescriptorId
	UNION ALL SELECT n.DocumentId, 'Note', ARRAY['$.noteId'], ARRAY[n.NoteId::text],
		concat_ws(', ', n.Title, d.Uri, 'offering ' || array_to_string(o.vals, ' '),
			'section ' || array_to_string(c.vals, ' '), 'pair ' || array_to_string(p.vals, ' '))
	FROM isolation.Note AS n LEFT JOIN dms.Descriptor AS d ON d.DocumentId = n.ColorDescriptor_DescriptorId
	LEFT JOIN offering AS o ON o.DocumentId = n.Offering_DocumentId
	LEFT JOIN section AS c ON c.DocumentId = n.Section_DocumentId
	LEFT JOIN pair AS p ON p.DocumentId = n.Pair_DocumentId
	UNION ALL SELECT DocumentId, 'School', ARRAY['$.schoolId'], ARRAY[SchoolId::text], NULL FROM isolation.School
	UNION ALL SELECT e.DocumentId, 'Enrollment', ARRAY['$.enrollmentId'], ARRAY[e.EnrollmentId::text],
		concat_ws(', ', e.Note, 'session ' || s.SessionName)
	FROM isolation.Enrollment AS e LEFT JOIN isolation.Session AS s ON s.DocumentId = e.Session_DocumentId
)
SELECT d.DocumentId AS id, concat_ws(' ', d.ResourceName, array_to_string(k.vals, ' ')) AS document, d.Etag AS etag, k.body,
	EXISTS (SELECT FROM dms.ReferentialIdentity AS r WHERE r.DocumentId = d.DocumentId
		AND r.ReferentialId = dms.referential_id('Isolation', k.resource, k.paths, k.vals)) AS known
FROM dms.Document AS d LEFT JOIN known AS k ON k.DocumentId = d.DocumentId AND k.resource = d.ResourceName::text
ORDER BY d.DocumentId;
