-- Students for bench/read: psql variables "students" and "persons".
--
-- One student, with four collections of two elements each, is written as a
-- client would; the others are its rows over again, with other keys, names,
-- persons and citizenships.  So the tables are as large as they would be, and
-- loading takes minutes instead of hours.

CREATE SCHEMA bench;

SELECT count(dms.upsert_document('ed-fi', d || 'Descriptor', json_build_object(
	'namespace', 'uri://ed-fi.org/' || d || 'Descriptor', 'codeValue', 'Value ' || n, 'shortDescription', 'Value ' || n)))
FROM unnest('{Country, Sex, CitizenshipStatus, IdentificationDocumentUse, PersonalInformationVerification, OtherNameType,
	Visa, SourceSystem, StateAbbreviation}'::text[]) AS d, generate_series(1, 10) AS n;

SELECT count(dms.upsert_document('ed-fi', 'people', json_build_object('personId', 'p' || n,
	'sourceSystemDescriptor', 'uri://ed-fi.org/SourceSystemDescriptor#Value 1'))) FROM generate_series(1, :persons) AS n;

CREATE TABLE bench.template AS
SELECT r.document_id FROM dms.upsert_document('ed-fi', 'students', '{
	"studentUniqueId": "template", "firstName": "Ada", "middleName": "Augusta", "lastSurname": "Byron",
	"birthDate": "2010-12-10", "birthCity": "London", "multipleBirthStatus": false, "generationCodeSuffix": "Jr",
	"birthCountryDescriptor": "uri://ed-fi.org/CountryDescriptor#Value 1",
	"birthSexDescriptor": "uri://ed-fi.org/SexDescriptor#Value 1",
	"citizenshipStatusDescriptor": "uri://ed-fi.org/CitizenshipStatusDescriptor#Value 1",
	"personReference": {"personId": "p1", "sourceSystemDescriptor": "uri://ed-fi.org/SourceSystemDescriptor#Value 1"},
	"identificationDocuments": [
		{"identificationDocumentUseDescriptor": "uri://ed-fi.org/IdentificationDocumentUseDescriptor#Value 1",
		 "personalInformationVerificationDescriptor": "uri://ed-fi.org/PersonalInformationVerificationDescriptor#Value 1",
		 "documentTitle": "Passport", "documentExpirationDate": "2030-01-01"},
		{"identificationDocumentUseDescriptor": "uri://ed-fi.org/IdentificationDocumentUseDescriptor#Value 2",
		 "personalInformationVerificationDescriptor": "uri://ed-fi.org/PersonalInformationVerificationDescriptor#Value 2",
		 "issuerName": "Town hall"}],
	"personalIdentificationDocuments": [
		{"identificationDocumentUseDescriptor": "uri://ed-fi.org/IdentificationDocumentUseDescriptor#Value 3",
		 "personalInformationVerificationDescriptor": "uri://ed-fi.org/PersonalInformationVerificationDescriptor#Value 3",
		 "documentTitle": "Certificate"},
		{"identificationDocumentUseDescriptor": "uri://ed-fi.org/IdentificationDocumentUseDescriptor#Value 4",
		 "personalInformationVerificationDescriptor": "uri://ed-fi.org/PersonalInformationVerificationDescriptor#Value 4",
		 "issuerName": "Hospital"}],
	"otherNames": [
		{"otherNameTypeDescriptor": "uri://ed-fi.org/OtherNameTypeDescriptor#Value 1", "firstName": "Ada", "lastSurname": "Lovelace"},
		{"otherNameTypeDescriptor": "uri://ed-fi.org/OtherNameTypeDescriptor#Value 2", "firstName": "A.", "lastSurname": "King"}],
	"visas": [{"visaDescriptor": "uri://ed-fi.org/VisaDescriptor#Value 1"}, {"visaDescriptor": "uri://ed-fi.org/VisaDescriptor#Value 2"}]
	}') AS r;

-- The new documents, from 1 on so that scripts can name them.
CREATE TABLE bench.student AS
SELECT n, (SELECT document_id FROM bench.template) + n AS document_id,
	('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid AS uuid,
	p.DocumentId AS person, c.DocumentId AS citizenship
FROM generate_series(1, :students) AS n
JOIN edfi.Person AS p ON p.PersonId = 'p' || (1 + n % :persons)
JOIN dms.Descriptor AS c ON c.Uri = 'uri://ed-fi.org/CitizenshipStatusDescriptor#Value ' || (1 + n % 10)
ORDER BY n;

INSERT INTO dms.Document (DocumentId, DocumentUuid, ProjectName, ResourceName, ResourceVersion)
SELECT s.document_id, s.uuid, d.ProjectName, d.ResourceName, d.ResourceVersion
FROM bench.student AS s, dms.Document AS d WHERE d.DocumentId = (SELECT document_id FROM bench.template);
INSERT INTO dms.IdentityLock (DocumentId) SELECT document_id FROM bench.student;
INSERT INTO dms.ReferentialIdentity (ReferentialId, DocumentId, ProjectName, ResourceName)
SELECT dms.referential_id('Ed-Fi', 'Student', ARRAY['$.studentUniqueId'], ARRAY['s' || n]), document_id, 'Ed-Fi', 'Student'
FROM bench.student;
SELECT setval('dms.document_documentid_seq', (SELECT max(document_id) FROM bench.student));

-- The rows of all tables; what is unique or is to be searched for differs.
DO $$
DECLARE
	t record;
BEGIN
	FOR t IN
		SELECT format('%I.%I', x ->> 'schema', x ->> 'name') AS name, c.columns, c.selected
		FROM dms.ResourceModel, json_array_elements(Model -> 'tables') AS x,
			LATERAL (SELECT string_agg(quote_ident(k ->> 'name'), ', ' ORDER BY o) AS columns,
				string_agg(CASE WHEN o = 1 THEN 's.document_id'
					WHEN k ->> 'name' = 'studentuniqueid' THEN '''s'' || s.n'
					WHEN k ->> 'name' = 'lastsurname' AND x -> 'parent' IS NULL THEN '''Surname '' || s.n % 5000'
					WHEN k ->> 'name' = 'person_documentid' THEN 's.person'
					WHEN k ->> 'name' = 'citizenshipstatusdescriptor_descriptorid' THEN 's.citizenship'
					ELSE 't.' || quote_ident(k ->> 'name') END, ', ' ORDER BY o) AS selected
				FROM json_array_elements(x -> 'columns') WITH ORDINALITY AS k (k, o)) AS c
		WHERE ProjectName = 'Ed-Fi' AND ResourceName = 'Student'
	LOOP
		EXECUTE format('INSERT INTO %s (%s) SELECT %s FROM bench.student AS s, %s AS t WHERE t.%s = %s ORDER BY s.n',
			t.name, t.columns, t.selected, t.name, split_part(t.columns, ',', 1),
			(SELECT document_id FROM bench.template));
	END LOOP;
END $$;

INSERT INTO dms.ReferenceEdge (ParentDocumentId, ChildDocumentId, EdgeSourceId, IsIdentityComponent)
SELECT s.document_id, CASE k.EdgeSourceKey WHEN 'Ed-Fi.Student:docref:$.personReference' THEN s.person
	WHEN 'Ed-Fi.Student:desc:$.citizenshipStatusDescriptor' THEN s.citizenship ELSE e.ChildDocumentId END,
	e.EdgeSourceId, e.IsIdentityComponent
FROM bench.student AS s, dms.ReferenceEdge AS e JOIN dms.EdgeSource AS k USING (EdgeSourceId)
WHERE e.ParentDocumentId = (SELECT document_id FROM bench.template);

-- The baseline: the same documents, stored as they are read.
CREATE TABLE bench.stored (document_id bigint PRIMARY KEY, id uuid NOT NULL UNIQUE, body jsonb NOT NULL);
INSERT INTO bench.stored
SELECT d.DocumentId, d.DocumentUuid, q::jsonb
FROM dms.query_documents('ed-fi', 'students', page_limit => 2000000000) AS q
JOIN dms.Document AS d ON d.DocumentUuid = (q ->> 'id')::uuid;

VACUUM ANALYZE;
