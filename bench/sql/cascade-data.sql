-- A section for each size, and as many enrollments in it.
CREATE FUNCTION write(resource text, body text) RETURNS bigint LANGUAGE sql AS $$
	SELECT (dms.upsert_document('Ed-Fi', resource, body::json)).document_id;
$$;
SELECT write(d, json_build_object('namespace', 'uri://ed-fi.org/' || d, 'codeValue', c, 'shortDescription', c)::text)
  FROM (VALUES ('TermDescriptor', 'Fall'), ('GradeLevelDescriptor', 'Tenth'), ('EducationOrganizationCategoryDescriptor', 'School'),
        ('CourseIdentificationSystemDescriptor', 'Local')) AS v (d, c);
SELECT write('SchoolYearType', '{"schoolYear": 2030, "schoolYearDescription": "2030", "currentSchoolYear": true}');
SELECT write('School', '{"schoolId": 1, "nameOfInstitution": "School"}');
SELECT write('Course', '{"courseCode": "C", "courseTitle": "C", "numberOfParts": 1, "educationOrganizationReference": {"educationOrganizationId": 1}}');
SELECT write('Session', '{"sessionName": "fall", "schoolReference": {"schoolId": 1}, "schoolYearTypeReference": {"schoolYear": 2030},
	"beginDate": "2029-08-01", "endDate": "2029-12-20", "termDescriptor": "uri://ed-fi.org/TermDescriptor#Fall", "totalInstructionalDays": 80}');
SELECT write('CourseOffering', '{"localCourseCode": "abc", "schoolReference": {"schoolId": 1}, "sessionReference":
	{"schoolId": 1, "schoolYear": 2030, "sessionName": "fall"}, "courseReference": {"courseCode": "C", "educationOrganizationId": 1}}');

-- Rows of documents as the engine would write them, all at once.
CREATE FUNCTION documents(resource text, n int) RETURNS SETOF bigint LANGUAGE sql AS $$
	WITH made AS (
		INSERT INTO dms.Document (DocumentUuid, ProjectName, ResourceName, ResourceVersion)
		SELECT gen_random_uuid(), 'Ed-Fi', resource, '1.0.0' FROM generate_series(1, n) RETURNING DocumentId
	), locks AS (
		INSERT INTO dms.IdentityLock SELECT DocumentId FROM made
	)
	SELECT DocumentId FROM made;
$$;
INSERT INTO edfi.Student (DocumentId, StudentUniqueId, FirstName, LastSurname, BirthDate)
SELECT d, 's' || row_number() OVER (), 'First', 'Last', '2014-01-01'
  FROM documents('Student', (SELECT max(s::int) FROM unnest(string_to_array(:'sizes', ',')) AS s)) AS d;
CREATE TABLE section (size int PRIMARY KEY, uuid uuid, id bigint, closure bigint[]);
CREATE PROCEDURE fill(size int) LANGUAGE plpgsql AS $$
DECLARE
	s dms.write_result;
	closure bigint[];
BEGIN
	s := dms.upsert_document('Ed-Fi', 'Section', json_build_object('sectionIdentifier', size || '/0', 'courseOfferingReference',
		json_build_object('localCourseCode', 'abc', 'schoolId', 1, 'schoolYear', 2030, 'sessionName', 'fall')));
	closure := ARRAY(SELECT documents('StudentSectionAssociation', size));
	INSERT INTO edfi.StudentSectionAssociation (DocumentId, BeginDate, Section_DocumentId, Student_DocumentId)
	SELECT c.d, '2029-08-02', s.document_id, t.DocumentId FROM unnest(closure) WITH ORDINALITY AS c (d, n)
	  JOIN (SELECT DocumentId, row_number() OVER (ORDER BY DocumentId) AS n FROM edfi.Student) AS t USING (n);
	INSERT INTO dms.ReferenceEdge (ParentDocumentId, ChildDocumentId, EdgeSourceId, IsIdentityComponent)
	SELECT a.DocumentId, v.child, e.EdgeSourceId, true
	  FROM edfi.StudentSectionAssociation AS a,
	       LATERAL (VALUES (a.Section_DocumentId, 'section'), (a.Student_DocumentId, 'student')) AS v (child, name)
	  JOIN dms.EdgeSource AS e ON e.EdgeSourceKey = 'Ed-Fi.StudentSectionAssociation:docref:$.' || v.name || 'Reference'
	 WHERE a.Section_DocumentId = s.document_id;
	PERFORM dms.recompute_identities(closure);
	INSERT INTO section VALUES (size, s.document_uuid, s.document_id, closure);
END $$;
SELECT format('CALL fill(%s)', s) FROM unnest(string_to_array(:'sizes', ',')) AS s \gexec
SELECT dms.recompute_identities(array_agg(DocumentId)) FROM edfi.Student;
-- The journal of changes knows nothing of them yet.
SELECT * FROM dms.repair();
SELECT count(*) AS trouble FROM dms.audit() \gset
SELECT 1 / (:trouble = 0)::int;
VACUUM ANALYZE;

CREATE PROCEDURE rename(n int, name text) LANGUAGE sql AS $$
	SELECT dms.update_document(s.uuid, json_build_object('sectionIdentifier', n || '/' || name, 'courseOfferingReference',
		json_build_object('localCourseCode', 'abc', 'schoolId', 1, 'schoolYear', 2030, 'sessionName', 'fall')))
	  FROM section AS s WHERE s.size = n;
$$;
CREATE PROCEDURE plain(n int, name text) LANGUAGE plpgsql AS $$
DECLARE
	ids bigint[] := (SELECT closure || id FROM section WHERE size = n);
BEGIN
	UPDATE dms.Document SET Etag = Etag + 1 WHERE DocumentId = ANY(ids);
END $$;
