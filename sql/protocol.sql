-- The protocol of the store is plain SQL: an application may send the
-- statements itself, and they have the same effect as the functions.
SET client_min_messages = warning;
DROP DATABASE IF EXISTS dms_protocol;
CREATE DATABASE dms_protocol TEMPLATE template0 ENCODING 'UTF8';
\c dms_protocol
SET client_min_messages = warning;
CREATE EXTENSION dms;
\getenv top PG_ABS_SRCDIR
\set file :top /examples/schemas/school.json
\set school `cat :'file'`
SELECT dms.deploy_schema(:'school') IS NOT NULL AS deployed;

-- A school, its sessions, course offerings, sections, and the students in them.
\pset null (null)
CREATE FUNCTION write(resource text, body json) RETURNS text LANGUAGE sql AS $$
	SELECT (dms.upsert_document('Ed-Fi', resource, body)).outcome;
$$;
SELECT count(write(d, json_build_object('namespace', 'uri://ed-fi.org/' || d, 'codeValue', c, 'shortDescription', c)))
  FROM (VALUES ('TermDescriptor', 'Fall'), ('GradeLevelDescriptor', 'Tenth grade')) AS v (d, c);
SELECT write('SchoolYearType', '{"schoolYear": 2030, "schoolYearDescription": "2029-2030", "currentSchoolYear": true}');
SELECT write('School', '{"schoolId": 123, "nameOfInstitution": "Grand Bend",
	"gradeLevels": [{"gradeLevelDescriptor": "uri://ed-fi.org/GradeLevelDescriptor#Tenth grade"}]}');
SELECT write('Course', '{"courseCode": "MATH", "courseTitle": "Mathematics", "numberOfParts": 1,
	"educationOrganizationReference": {"educationOrganizationId": 123}}');
CREATE FUNCTION session_body(name text) RETURNS json LANGUAGE sql AS $$
	SELECT json_build_object('sessionName', name, 'schoolReference', json_build_object('schoolId', 123),
		'schoolYearTypeReference', json_build_object('schoolYear', 2030), 'beginDate', '2029-08-01', 'endDate', '2029-12-20',
		'termDescriptor', 'uri://ed-fi.org/TermDescriptor#Fall', 'totalInstructionalDays', 80);
$$;
SELECT write('Session', session_body(name)) FROM (VALUES ('fall'), ('spring')) AS v (name);
SELECT write('CourseOffering', json_build_object('localCourseCode', 'abc', 'schoolReference', json_build_object('schoolId', 123),
	'sessionReference', json_build_object('schoolId', 123, 'schoolYear', 2030, 'sessionName', name),
	'courseReference', json_build_object('courseCode', 'MATH', 'educationOrganizationId', 123)))
  FROM (VALUES ('fall'), ('spring')) AS v (name);
SELECT write('Section', '{"sectionIdentifier": "one", "courseOfferingReference":
	{"localCourseCode": "abc", "schoolId": 123, "schoolYear": 2030, "sessionName": "fall"}}');
SELECT count(write('Student', json_build_object('studentUniqueId', 's' || n, 'firstName', 'First ' || n,
	'lastSurname', CASE WHEN n % 4 = 0 THEN 'Smith' ELSE 'Jones' END, 'birthDate', '2014-02-03'))) AS students
  FROM generate_series(1, 240) AS n;
SELECT count(write('StudentSectionAssociation', json_build_object('beginDate', '2029-08-02',
	'studentReference', json_build_object('studentUniqueId', 's' || n),
	'sectionReference', json_build_object('localCourseCode', 'abc', 'schoolId', 123, 'schoolYear', 2030,
		'sectionIdentifier', 'one', 'sessionName', 'fall')))) AS enrolments
  FROM generate_series(1, 3) AS n;
-- Documents by names that are the same in every run.
CREATE VIEW named AS
SELECT r.DocumentId, d.DocumentUuid, d.Etag, r.ResourceName::text ||
       coalesce(' ' || (SELECT SessionName FROM edfi.Session AS s WHERE s.DocumentId = r.DocumentId),
                ' ' || (SELECT StudentUniqueId FROM edfi.StudentSectionAssociation AS a
                          JOIN edfi.Student AS t ON t.DocumentId = a.Student_DocumentId
                         WHERE a.DocumentId = r.DocumentId),
                ' of ' || (SELECT SessionName FROM edfi.CourseOffering AS c
                             JOIN edfi.Session AS s ON s.DocumentId = c.Session_DocumentId
                            WHERE c.DocumentId = r.DocumentId), '') AS Name
  FROM dms.ReferentialIdentity AS r JOIN dms.Document AS d USING (DocumentId)
 WHERE r.ResourceName <> 'EducationOrganization';
SELECT DocumentId AS fall, DocumentUuid AS fall_uuid FROM named WHERE Name = 'Session fall' \gset
SELECT DocumentId AS spring FROM named WHERE Name = 'Session spring' \gset
SELECT DocumentId AS offering FROM named WHERE Name = 'CourseOffering of fall' \gset

-- A natural key is found with one lookup.
PREPARE resolve(uuid) AS
	SELECT DocumentId FROM dms.ReferentialIdentity WHERE ReferentialId = $1;
EXECUTE resolve(dms.uuid_v5('edf1edf1-3df1-3df1-3df1-3df1edf1edf1',
	'Ed-FiSession$.schoolReference.schoolId=123#$.schoolYearTypeReference.schoolYear=2030#$.sessionName=fall')) \gset resolved_
SELECT :resolved_documentid = :fall AS found;
EXECUTE resolve(dms.uuid_v5('edf1edf1-3df1-3df1-3df1-3df1edf1edf1', 'Ed-FiEducationOrganization$.educationOrganizationId=123')) \gset resolved_
SELECT DocumentId = :resolved_documentid AS found FROM edfi.School WHERE SchoolId = 123;

-- Locks on identities: shared by writers that refer to them, for update by
-- those that change them.  Rows are returned in the order in which they are
-- locked.
PREPARE lock_shared(bigint[]) AS
	SELECT 1 FROM dms.IdentityLock WHERE DocumentId = ANY($1) ORDER BY DocumentId FOR SHARE;
PREPARE lock_update(bigint[]) AS
	SELECT 1 FROM dms.IdentityLock WHERE DocumentId = ANY($1) ORDER BY DocumentId FOR UPDATE;
BEGIN;
EXECUTE lock_shared(ARRAY[:spring, :fall]);
EXECUTE lock_update(ARRAY[:spring, :fall]);
COMMIT;

-- The closure of a session, computed by the statements of the protocol level by
-- level until nothing is added, is the one that the function locks.
PREPARE parents(bigint[]) AS
	SELECT DISTINCT ParentDocumentId FROM dms.ReferenceEdge
	 WHERE ChildDocumentId = ANY($1) AND IsIdentityComponent = true;
CREATE FUNCTION closure(seeds bigint[]) RETURNS SETOF bigint LANGUAGE plpgsql AS $$
DECLARE
	members bigint[] := ARRAY[]::bigint[];
	level bigint[] := seeds;
BEGIN
	WHILE cardinality(level) > 0 LOOP
		PERFORM 1 FROM dms.IdentityLock WHERE DocumentId = ANY(level) ORDER BY DocumentId FOR UPDATE;
		members := members || level;
		level := ARRAY(SELECT DISTINCT ParentDocumentId FROM dms.ReferenceEdge
						WHERE ChildDocumentId = ANY(level) AND IsIdentityComponent = true
						  AND ParentDocumentId <> ALL(members));
	END LOOP;
	RETURN QUERY SELECT unnest(members);
END $$;
EXECUTE parents(ARRAY[:fall]) \gset
SELECT :parentdocumentid = :offering AS offering_is_the_only_parent;
BEGIN;
SELECT n.Name FROM closure(ARRAY[:fall]) AS c JOIN named AS n ON n.DocumentId = c ORDER BY 1;
SELECT c AS by_statements_only FROM closure(ARRAY[:fall]) AS c EXCEPT SELECT dms.lock_identity_closure(ARRAY[:fall]);
SELECT dms.lock_identity_closure(ARRAY[:fall]) AS by_function_only EXCEPT SELECT closure(ARRAY[:fall]);
COMMIT;

-- While the locks are free, the turnstile is not closed to others, even if the list
-- has duplicates, or ids that no document has.
BEGIN;
SELECT count(*) FROM dms.lock_identity_closure(ARRAY[:fall, 0, :fall]);
SELECT count(*) FROM pg_locks WHERE objid = 'dms.IdentityLock'::regclass AND pid = pg_backend_pid();
COMMIT;

-- A rename by the application's own statements: lock the closure, change the
-- rows, recompute the identities, and increase the etags of the closure and of
-- all documents that refer to it.
CREATE TABLE before AS SELECT DocumentId, Etag FROM dms.Document;
CREATE VIEW outcome AS
SELECT string_agg(concat_ws(' ', ReferentialId, DocumentId), ', ' ORDER BY ReferentialId) AS identities,
       (SELECT string_agg(concat_ws(' ', Name, '+', n.Etag - b.Etag), ', ' ORDER BY Name COLLATE "C")
          FROM named AS n JOIN before AS b USING (DocumentId) WHERE n.Etag <> b.Etag) AS bumps
  FROM dms.ReferentialIdentity;
BEGIN;
SELECT array_agg(c) AS closure FROM dms.lock_identity_closure(ARRAY[:fall]) AS c \gset
UPDATE edfi.Session SET SessionName = 'autumn' WHERE DocumentId = :fall;
SELECT dms.recompute_identities(:'closure');
UPDATE dms.Document SET Etag = Etag + 1, LastModifiedAt = now()
 WHERE DocumentId = ANY(:'closure')
    OR DocumentId IN (SELECT ParentDocumentId FROM dms.ReferenceEdge WHERE ChildDocumentId = ANY(:'closure'));
SELECT * FROM outcome \gset by_statements_
-- Those who follow the store hear of keys that have changed; nobody knows the old ones.
SELECT t.ResourceName, c.Etag, c.OldKey, c.NewKey, c.OldReferentialId IS NOT NULL AS has_id
  FROM dms.TrackedChange AS c JOIN dms.ResourceType AS t USING (ResourceTypeId) WHERE c.Kind = 'K' ORDER BY 1, c.DocumentId;
ROLLBACK;
-- The function has the same result.
SELECT (dms.update_document(:'fall_uuid', session_body('autumn'))).outcome;
SELECT bumps FROM outcome;
SELECT identities = :'by_statements_identities' AS identities, bumps = :'by_statements_bumps' AS bumps FROM outcome;
-- The recomputed identities are right: nothing is left to change.
SELECT dms.recompute_identities(:'closure');

-- Edges: stage the references of a document, then make the stored edges equal
-- to them with two statements.  For a document that a function wrote, neither
-- changes anything.
CREATE TEMP TABLE stage (ChildDocumentId bigint, EdgeSourceId bigint, IsIdentityComponent boolean);
INSERT INTO stage
SELECT v.Child, s.EdgeSourceId, v.Identity
  FROM edfi.CourseOffering AS o,
       LATERAL (VALUES (o.School_DocumentId, 'Ed-Fi.CourseOffering:docref:$.schoolReference', true),
                       (o.Session_DocumentId, 'Ed-Fi.CourseOffering:docref:$.sessionReference', true),
                       (o.Course_DocumentId, 'Ed-Fi.CourseOffering:docref:$.courseReference', false)) AS v (Child, Key, Identity)
  JOIN dms.EdgeSource AS s ON s.EdgeSourceKey = v.Key
 WHERE o.DocumentId = :offering;
SELECT count(*) FROM stage;
PREPARE insert_edges(bigint) AS
	INSERT INTO dms.ReferenceEdge (ParentDocumentId, ChildDocumentId, EdgeSourceId, IsIdentityComponent)
	SELECT $1, s.ChildDocumentId, s.EdgeSourceId, s.IsIdentityComponent FROM stage AS s
	 WHERE NOT EXISTS (SELECT FROM dms.ReferenceEdge AS e
						WHERE e.ParentDocumentId = $1 AND e.ChildDocumentId = s.ChildDocumentId
						  AND e.EdgeSourceId = s.EdgeSourceId)
	RETURNING 1 AS inserted;
PREPARE delete_edges(bigint) AS
	DELETE FROM dms.ReferenceEdge AS e
	 WHERE e.ParentDocumentId = $1
	   AND NOT EXISTS (SELECT FROM stage AS s
						WHERE s.ChildDocumentId = e.ChildDocumentId AND s.EdgeSourceId = e.EdgeSourceId
						  AND s.IsIdentityComponent = e.IsIdentityComponent)
	RETURNING 1 AS deleted;
EXECUTE delete_edges(:offering);
EXECUTE insert_edges(:offering);
-- An offering that moves to the other session needs one insertion and one
-- deletion.  Then its former session has no parent, and the other one has two.
BEGIN;
UPDATE stage SET ChildDocumentId = :spring WHERE ChildDocumentId = :fall;
EXECUTE delete_edges(:offering);
EXECUTE insert_edges(:offering);
EXECUTE delete_edges(:offering);
EXECUTE insert_edges(:offering);
EXECUTE parents(ARRAY[:fall]);
SELECT count(*) FROM dms.ReferenceEdge WHERE ChildDocumentId = :spring AND IsIdentityComponent = true;
ROLLBACK;

-- A page by an ordinary property, with the values that clients see.
PREPARE page(text, bigint) AS
	SELECT p.DocumentId, d.DocumentUuid, d.Etag, d.LastModifiedAt
	  FROM (SELECT r.DocumentId FROM edfi.Student AS r
			 WHERE r.LastSurname = $1
			 ORDER BY r.DocumentId
			OFFSET 50 LIMIT $2) AS p
	  JOIN dms.Document AS d ON d.DocumentId = p.DocumentId
	 ORDER BY p.DocumentId;
CREATE TEMP TABLE page AS EXECUTE page('Smith', 5);
SELECT g.body ->> 'studentUniqueId' AS student, g.body ->> '_etag' = p.Etag::text AS same_etag,
       (g.body ->> 'id')::uuid = p.DocumentUuid AS same_id,
       (g.body ->> '_lastModifiedDate')::timestamptz = date_trunc('second', p.LastModifiedAt) AS same_time
  FROM page AS p, LATERAL dms.get_document(p.DocumentUuid) AS g (body)
 ORDER BY p.DocumentId;

-- The documents that refer to another one.
PREPARE referencing(bigint) AS
	SELECT d.ProjectName, d.ResourceName, s.EdgeSourceKey, d.DocumentUuid
	  FROM dms.ReferenceEdge AS e
	  JOIN dms.EdgeSource AS s ON s.EdgeSourceId = e.EdgeSourceId
	  JOIN dms.Document AS d ON d.DocumentId = e.ParentDocumentId
	 WHERE e.ChildDocumentId = $1
	 ORDER BY d.ProjectName, d.ResourceName, d.DocumentUuid, s.EdgeSourceKey;
CREATE TEMP TABLE referencing AS EXECUTE referencing(:fall);
SELECT ProjectName, ResourceName, EdgeSourceKey FROM referencing;
-- dms.delete_document() gives the same answer.
\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT dms.delete_document(:'fall_uuid');
\set VERBOSITY default
EXECUTE referencing(:spring) \gset
SELECT dms.delete_document(:'documentuuid');
SELECT dms.delete_document(DocumentUuid) FROM dms.Document WHERE DocumentId = :spring;
EXECUTE resolve(dms.uuid_v5('edf1edf1-3df1-3df1-3df1-3df1edf1edf1',
	'Ed-FiSession$.schoolReference.schoolId=123#$.schoolYearTypeReference.schoolYear=2030#$.sessionName=spring'));

-- A trigger may write documents itself, however few plans a session keeps.
CREATE FUNCTION also() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
	PERFORM write('SchoolYearType', '{"schoolYear": 2031, "schoolYearDescription": "2030-2031", "currentSchoolYear": false}');
	PERFORM write('TermDescriptor', '{"namespace": "uri://ed-fi.org/TermDescriptor", "codeValue": "Spring", "shortDescription": "Spring"}');
	RETURN NULL;
END
$$;
CREATE TRIGGER also AFTER INSERT ON edfi.Student FOR EACH ROW EXECUTE FUNCTION also();
SET dms.cached_plans = 1;
SELECT write('Student', '{"studentUniqueId": "t1", "firstName": "First", "lastSurname": "Last", "birthDate": "2014-02-03"}');
SELECT write('Student', '{"studentUniqueId": "t2", "firstName": "First", "lastSurname": "Last", "birthDate": "2014-02-03"}');

-- A statement that fails does not run any more, also if its error is caught and the
-- transaction goes on.  So few plans are kept from then on, too.
DROP TRIGGER also ON edfi.Student;
CREATE VIEW kept AS SELECT count(DISTINCT substring(ident FROM 'edfi[.]([a-z]+)')) AS resources
FROM pg_backend_memory_contexts WHERE name = 'CachedPlanSource' AND ident ~ 'edfi[.]';
CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS
$$ BEGIN RAISE 'the statement fails'; END $$;
CREATE TRIGGER fail BEFORE INSERT ON edfi.Course FOR EACH ROW EXECUTE FUNCTION fail();
CREATE FUNCTION use_some() RETURNS bigint LANGUAGE sql AS $$
	SELECT count(q) FROM unnest('{Student,Course,School,Session,Section,CourseOffering}'::text[]) AS r, dms.query_documents('Ed-Fi', r, '{}', 1) AS q;
	SELECT resources FROM kept;
$$;
\c
SET dms.cached_plans = 1;
BEGIN;
SELECT use_some() AS few \gset
SAVEPOINT before;
SELECT write('Course', '{"courseCode": "ART", "courseTitle": "Art", "numberOfParts": 1, "educationOrganizationReference": {"educationOrganizationId": 123}}');
ROLLBACK TO before;
SELECT use_some() = :few AS as_few;
ROLLBACK;

-- Policies make a plan depend on the role.  Then PostgreSQL may plan a statement while it
-- runs, in its own way, which reads a small table end to end.  Such a plan serves once.
SELECT DocumentUuid AS school FROM dms.Document WHERE ResourceName = 'School' \gset
BEGIN;
CREATE ROLE dms_protocol_one;
CREATE ROLE dms_protocol_two;
SELECT dms.grant_access('dms_protocol_one', 'reader'), dms.grant_access('dms_protocol_two', 'reader');
ALTER TABLE edfi.School ENABLE ROW LEVEL SECURITY;
CREATE POLICY positive ON edfi.School USING (SchoolId > 0);
SET ROLE dms_protocol_one;
SELECT dms.get_document(:'school') ->> 'schoolId' AS school FROM generate_series(1, 4);
SELECT pg_stat_get_xact_numscans('edfi.school'::regclass) AS whole;
SET ROLE dms_protocol_two;
SELECT dms.get_document(:'school') ->> 'schoolId' AS school FROM generate_series(1, 4);
SELECT pg_stat_get_xact_numscans('edfi.school'::regclass) <= 1 AS whole_once;
SET ROLE dms_protocol_one;
SELECT dms.get_document(:'school') ->> 'schoolId' AS school FROM generate_series(1, 4);
SELECT pg_stat_get_xact_numscans('edfi.school'::regclass) <= 2 AS whole_once_more;
ROLLBACK;
