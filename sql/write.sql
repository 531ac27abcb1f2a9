-- Writing documents: the results of upserts and updates, and the rows that they
-- write.
\set database :DBNAME
SET client_min_messages = warning;
DROP DATABASE IF EXISTS dms_write;
CREATE DATABASE dms_write TEMPLATE template0 ENCODING 'UTF8';
\c dms_write
SET client_min_messages = warning;
CREATE EXTENSION dms;
\getenv top PG_ABS_SRCDIR
\set file :top /examples/schemas/school.json
\set school `cat :'file'`
\set VERBOSITY terse

-- Without a schema there is nothing to write to.
SELECT dms.upsert_document('Ed-Fi', 'Student', '{}');
\echo :SQLSTATE

SELECT dms.deploy_schema(:'school') IS NOT NULL AS deployed;

-- A new document is inserted.  Its id is a UUIDv7, its first etag is 1.
SELECT outcome, etag, document_uuid::text ~ '^[0-9a-f]{8}-[0-9a-f]{4}-7' AS is_v7,
	last_modified_at = now() AS is_modified_now
FROM dms.upsert_document('Ed-Fi', 'AddressTypeDescriptor',
	'{"namespace": "uri://ed-fi.org/AddressTypeDescriptor", "codeValue": "Home", "shortDescription": "Home"}');
SELECT outcome, etag FROM dms.upsert_document('Ed-Fi', 'AddressTypeDescriptor',
	'{"namespace": "uri://ed-fi.org/AddressTypeDescriptor", "codeValue": "Mailing", "shortDescription": "Mail"}');

-- The same body again is unchanged: same etag, same time, no transaction id.
BEGIN;
SELECT outcome, etag, last_modified_at < now() AS is_older
FROM dms.upsert_document('Ed-Fi', 'AddressTypeDescriptor',
	'{"shortDescription": "Home", "codeValue": "Home", "namespace": "uri://ed-fi.org/AddressTypeDescriptor"}');
SELECT pg_current_xact_id_if_assigned() IS NULL AS "no transaction id";
COMMIT;

-- Another body is an update: the document and its id stay, its etag increases.
SELECT outcome, etag, last_modified_at > now() AS is_newer
FROM dms.upsert_document('Ed-Fi', 'AddressTypeDescriptor',
	'{"namespace": "uri://ed-fi.org/AddressTypeDescriptor", "codeValue": "Home", "shortDescription": "At home"}');

-- A descriptor in another case is the same one; the stored case stays.
SELECT outcome, etag FROM dms.upsert_document('Ed-Fi', 'AddressTypeDescriptor',
	'{"namespace": "URI://ed-fi.org/addressTypeDescriptor", "codeValue": "HOME", "shortDescription": "At home"}');
SELECT outcome, etag FROM dms.upsert_document('Ed-Fi', 'AddressTypeDescriptor',
	'{"namespace": "URI://ed-fi.org/addressTypeDescriptor", "codeValue": "HOME", "shortDescription": "Where one lives"}');
SELECT Namespace, CodeValue, ShortDescription, Uri, Discriminator FROM dms.Descriptor ORDER BY DocumentId;

-- Each element of an array is a row of a table of its own, in the order of the
-- body.  A reference is stored as the id of the document that it names.
SELECT outcome FROM dms.upsert_document('Ed-Fi', 'Student', '{
	"studentUniqueId": "604822",
	"firstName": "Ann", "lastSurname": "Lee", "birthDate": "2010-05-31",
	"addresses": [
		{"addressTypeDescriptor": "uri://ed-fi.org/AddressTypeDescriptor#Home",
		 "streetNumberName": "1 Elm Street", "city": "Grand Bend", "postalCode": "78834",
		 "periods": [{"beginDate": "2020-01-01", "endDate": "2021-06-30"}, {"beginDate": "2022-01-01"}]},
		{"addressTypeDescriptor": "uri://ed-fi.org/addresstypedescriptor#mailing",
		 "streetNumberName": "PO Box 9", "city": "Grand Bend", "postalCode": "78834", "doNotPublishIndicator": true}
	]}');
CREATE VIEW students AS
SELECT s.StudentUniqueId, s.FirstName, s.LastSurname, s.BirthDate, d.Etag
FROM edfi.Student s JOIN dms.Document d USING (DocumentId);
CREATE VIEW addresses AS
SELECT a.Ordinal, t.CodeValue, a.StreetNumberName, a.DoNotPublishIndicator,
	(SELECT string_agg(p.Ordinal || ': ' || p.BeginDate, ', ' ORDER BY p.Ordinal) FROM edfi.StudentAddressPeriod p
	 WHERE p.Student_DocumentId = a.Student_DocumentId AND p.AddressOrdinal = a.Ordinal) AS periods
FROM edfi.StudentAddress a JOIN dms.Descriptor t ON t.DocumentId = a.AddressTypeDescriptor_DescriptorId
ORDER BY a.Ordinal;
SELECT * FROM students;
SELECT * FROM addresses;

-- The core tables have a row for the document, one for its identity, one to be
-- locked, and an edge for each document that it refers to.
SELECT d.ProjectName, d.ResourceName, d.ResourceVersion, d.Etag, l.DocumentId = d.DocumentId AS has_lock_row,
	i.ReferentialId = dms.referential_id('Ed-Fi', 'Student', ARRAY['$.studentUniqueId'], ARRAY['604822']) AS is_found
FROM dms.Document d JOIN dms.IdentityLock l USING (DocumentId) JOIN dms.ReferentialIdentity i USING (DocumentId)
WHERE d.ResourceName = 'Student';
SELECT s.EdgeSourceKey, c.Uri, e.IsIdentityComponent
FROM dms.ReferenceEdge e JOIN dms.EdgeSource s USING (EdgeSourceId) JOIN dms.Descriptor c ON c.DocumentId = e.ChildDocumentId
ORDER BY c.Uri;

-- Elements are matched by their position.  Swapped elements change places with
-- all rows that belong to them; the edges stay the same.
CREATE FUNCTION write_student(addresses text, OUT outcome text, OUT etag bigint, OUT touched text) LANGUAGE plpgsql AS $$
DECLARE
	before jsonb;
	counts text := 'SELECT jsonb_object_agg(relid::regclass, n_tup_ins + n_tup_upd + n_tup_del) FROM pg_stat_xact_user_tables';
BEGIN
	EXECUTE counts INTO before;
	SELECT r.outcome, r.etag INTO outcome, etag FROM dms.upsert_document('Ed-Fi', 'Student', format('{
		"studentUniqueId": "604822", "firstName": "Ann", "lastSurname": "Lee", "birthDate": "2010-05-31",
		"addresses": %s}', addresses)::json) AS r;
	EXECUTE 'SELECT string_agg(key, '', '' ORDER BY key COLLATE "C") FROM jsonb_each((' || counts || ')) WHERE value <> $1 -> key'
		INTO touched USING before;
END $$;
\set home '{"addressTypeDescriptor": "uri://ed-fi.org/AddressTypeDescriptor#Home", "streetNumberName": "1 Elm Street", "city": "Grand Bend", "postalCode": "78834", "periods": [{"beginDate": "2020-01-01", "endDate": "2021-06-30"}, {"beginDate": "2022-01-01"}]}'
\set mail '{"addressTypeDescriptor": "uri://ed-fi.org/AddressTypeDescriptor#Mailing", "streetNumberName": "PO Box 9", "city": "Grand Bend", "postalCode": "78834", "doNotPublishIndicator": true}'
SELECT * FROM write_student('[' || :'mail' || ',' || :'home' || ']');
SELECT * FROM addresses;

-- A changed value in an element writes to its table and to dms.Document only.
SELECT * FROM write_student('[' || :'mail' || ',' || replace(:'home', '2022-01-01', '2022-02-01') || ']');
SELECT * FROM addresses;

-- With an element, all rows that belong to it are deleted, and the edge, if no
-- other element needs it.
SELECT * FROM write_student('[' || :'mail' || ']');
SELECT * FROM addresses;
SELECT count(*) AS edges FROM dms.ReferenceEdge;

-- A new element is added.
SELECT * FROM write_student('[' || :'mail' || ',' || :'home' || ']');
SELECT * FROM addresses;

-- A value that is missing in the body is removed from the document: there is no
-- merging.
SELECT * FROM write_student('[]');
SELECT count(*) AS addresses FROM addresses;
SELECT * FROM students;

-- The body is compared with the stored rows, so after an UPDATE by the owner
-- the same body is an update.
UPDATE edfi.Student SET FirstName = 'Anna';
SELECT * FROM write_student('[]');
SELECT * FROM write_student('[]');
SELECT * FROM students;

-- Projects and resources have names and endpoint names, both in any case.
SELECT p, r, (dms.upsert_document(p, r, '{"schoolYear": 2025, "currentSchoolYear": true, "schoolYearDescription": "2024-25"}')).outcome
FROM (VALUES ('Ed-Fi', 'SchoolYearType'), ('ed-fi', 'schoolYearTypes'), ('ED-FI', 'schoolyeartype'), ('eD-fI', 'SCHOOLYEARTYPES')) AS names (p, r);
SELECT dms.upsert_document('Ed-Fi', 'Pupil', '{}');
SELECT dms.upsert_document('Homograph', 'Student', '{}');
\echo :SQLSTATE
-- Abstract resources have no documents of their own.
SELECT dms.upsert_document('Ed-Fi', 'EducationOrganization', '{"educationOrganizationId": 1}');

-- With if_match, a document is written only if its etag is still that.
\set year '{"schoolYear": 2025, "currentSchoolYear": false, "schoolYearDescription": "2024-25"}'
SELECT outcome, etag FROM dms.upsert_document('Ed-Fi', 'SchoolYearType', :'year', 1);
SELECT outcome, etag FROM dms.upsert_document('Ed-Fi', 'SchoolYearType', :'year', if_match => 2);
SELECT outcome FROM dms.upsert_document('Ed-Fi', 'SchoolYearType', :'year', 1);
SELECT outcome FROM dms.upsert_document('Ed-Fi', 'SchoolYearType', '{"schoolYear": 2026, "currentSchoolYear": true, "schoolYearDescription": "2025-26"}', 1);
\echo :SQLSTATE

-- An update names the document by its id.
SELECT DocumentUuid AS student FROM dms.Document WHERE ResourceName = 'Student' \gset
\set ann '{"studentUniqueId": "604822", "firstName": "Ann", "lastSurname": "Lee", "birthDate": "2010-05-31"}'
SELECT outcome FROM dms.update_document(:'student', :'ann');
SELECT outcome, document_uuid = :'student' AS same_id, etag FROM dms.update_document(:'student', replace(:'ann', 'Ann', 'Annie')::json);
SELECT outcome FROM dms.update_document(:'student', :'ann', 1);
SELECT outcome FROM dms.update_document('018f0000-0000-7000-8000-000000000000', :'ann');
\echo :SQLSTATE

-- The body of an update may have an id, in any case, which must be that of the
-- document.  The body of an upsert must not have one, because the store assigns
-- it.
SELECT outcome FROM dms.update_document(:'student', (:'ann'::jsonb || jsonb_build_object('id', upper(:'student')))::json);
SELECT outcome FROM dms.update_document(:'student', (:'ann'::jsonb || '{"id": "018f0000-0000-7000-8000-000000000000"}')::json);
SELECT outcome FROM dms.update_document(:'student', (:'ann'::jsonb || '{"id": 5}')::json);
\echo :SQLSTATE
SELECT outcome FROM dms.upsert_document('Ed-Fi', 'Student', (:'ann'::jsonb || jsonb_build_object('id', :'student'))::json);
SELECT outcome FROM dms.upsert_document('Ed-Fi', 'Student', (:'ann'::jsonb || jsonb_build_object('ID', :'student'))::json);
\echo :SQLSTATE

-- Properties that a read adds to a body may be sent back.
SELECT outcome FROM dms.upsert_document('Ed-Fi', 'Student', (:'ann'::jsonb ||
	'{"_etag": "7", "_lastModifiedDate": "2025-01-01T00:00:00Z", "link": {"rel": "Student", "href": "/ed-fi/students/1"}}')::json);

-- The body may be jsonb; of duplicate keys that has lost all but one.
SELECT outcome FROM dms.upsert_document('Ed-Fi', 'Student', :'ann'::jsonb);
SELECT outcome FROM dms.upsert_document('Ed-Fi', 'Student', :'ann'::jsonb::json);

-- A document may refer to itself.
SELECT outcome FROM dms.upsert_document('Ed-Fi', 'LocalEducationAgencyCategoryDescriptor',
	'{"namespace": "uri://ed-fi.org/LocalEducationAgencyCategoryDescriptor", "codeValue": "Independent", "shortDescription": "Independent"}');
SELECT outcome FROM dms.upsert_document('Ed-Fi', 'LocalEducationAgency', '{"localEducationAgencyId": 255901, "nameOfInstitution": "Grand Bend",
	"localEducationAgencyCategoryDescriptor": "uri://ed-fi.org/LocalEducationAgencyCategoryDescriptor#Independent",
	"parentLocalEducationAgencyReference": {"localEducationAgencyId": 255901}}');
SELECT ParentLocalEducationAgency_DocumentId = DocumentId AS own_parent FROM edfi.LocalEducationAgency;

-- A document of a subclass is found by its own identity and by that of the
-- superclass, and has a row in the member table.
SELECT i.ProjectName, i.ResourceName, m.Discriminator
FROM dms.ReferentialIdentity i JOIN edfi.LocalEducationAgency USING (DocumentId) JOIN edfi.EducationOrganization_Member m USING (DocumentId)
ORDER BY i.ResourceName;

-- NULL is neither a document nor a name.
SELECT dms.upsert_document('Ed-Fi', 'Student', NULL);
SELECT dms.upsert_document(NULL, 'Student', '{}');
SELECT dms.update_document(NULL, '{}');
\echo :SQLSTATE

-- A call that fails changes nothing, and the transaction can go on from a
-- savepoint.
BEGIN;
SELECT outcome FROM dms.upsert_document('Ed-Fi', 'SchoolYearType', '{"schoolYear": 2030, "currentSchoolYear": false, "schoolYearDescription": "2029-30"}');
SAVEPOINT before;
SELECT outcome FROM dms.upsert_document('Ed-Fi', 'School', '{"schoolId": 1, "nameOfInstitution": "School", "gradeLevels": [{"gradeLevelDescriptor": "none"}]}');
\echo :SQLSTATE
ROLLBACK TO SAVEPOINT before;
SELECT outcome FROM dms.upsert_document('Ed-Fi', 'SchoolYearType', '{"schoolYear": 2031, "currentSchoolYear": false, "schoolYearDescription": "2030-31"}');
COMMIT;
SELECT SchoolYear FROM edfi.SchoolYearType ORDER BY SchoolYear;
SELECT count(*) AS schools FROM edfi.School;

-- Statements of the store have their own planner settings, once per session;
-- these do not apply to the statements of the owner's triggers.
\c
CREATE FUNCTION tell_settings() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	RAISE WARNING '% on %: enable_seqscan %, enable_hashjoin %', TG_OP, TG_TABLE_NAME,
		current_setting('enable_seqscan'), current_setting('enable_hashjoin');
	RETURN NULL;
END $$;
CREATE TRIGGER tell_settings AFTER INSERT OR UPDATE ON edfi.SchoolYearType FOR EACH STATEMENT EXECUTE FUNCTION tell_settings();
SELECT outcome FROM dms.upsert_document('Ed-Fi', 'SchoolYearType', '{"schoolYear": 2032, "currentSchoolYear": false, "schoolYearDescription": "2031-32"}');
SELECT outcome FROM dms.upsert_document('Ed-Fi', 'SchoolYearType', '{"schoolYear": 2032, "currentSchoolYear": true, "schoolYearDescription": "2031-32"}');
-- That also holds if the session wants a plan for each execution.
SET plan_cache_mode = force_custom_plan;
SELECT outcome FROM dms.upsert_document('Ed-Fi', 'SchoolYearType', '{"schoolYear": 2032, "currentSchoolYear": false, "schoolYearDescription": "2031-32"}');
RESET plan_cache_mode;
DROP TRIGGER tell_settings ON edfi.SchoolYearType;

-- In a read-only transaction nothing is written.
BEGIN READ ONLY;
SELECT outcome FROM dms.upsert_document('Ed-Fi', 'Student', :'ann');
\echo :SQLSTATE
ROLLBACK;

\c :database
DROP DATABASE dms_write;
