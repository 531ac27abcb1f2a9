-- Reading documents: the JSON that comes back for the JSON that was written.
\set database :DBNAME
SET client_min_messages = warning;
DROP DATABASE IF EXISTS dms_read;
CREATE DATABASE dms_read TEMPLATE template0 ENCODING 'UTF8';
\c dms_read
\pset format unaligned
SET client_min_messages = warning;
CREATE EXTENSION dms;
\getenv top PG_ABS_SRCDIR
\set file :top /examples/schemas/school.json
\set school `cat :'file'`
\set file :top /examples/schemas/school-transport.json
\set transport `cat :'file'`

-- Before the first deploy there is nothing to read.
SELECT dms.get_document('00000000-0000-0000-0000-000000000000');
SELECT dms.deploy_schema(:'school', :'transport') IS NOT NULL AS deployed;
SELECT dms.get_document('00000000-0000-0000-0000-000000000000') IS NULL AS no_such_document;

-- Ids and times differ from run to run.
CREATE FUNCTION pg_temp.shown(document json) RETURNS text LANGUAGE sql AS $$
	SELECT regexp_replace(regexp_replace(document::text, '"id":"[-0-9a-f]{36}"', '"id":"..."'),
		'"_lastModifiedDate":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"', '"_lastModifiedDate":"..."')
$$;
CREATE FUNCTION pg_temp.put(resource text, document json, project text DEFAULT 'ed-fi') RETURNS uuid LANGUAGE sql AS $$
	SELECT document_uuid FROM dms.upsert_document(project, resource, document)
$$;

-- Properties are in the order of their names, values are in canonical form:
-- numbers have no trailing zeros.
SELECT pg_temp.put('gradeLevelDescriptors',
	'{"namespace": "uri://ed-fi.org/GradeLevelDescriptor", "codeValue": "Tenth Grade", "shortDescription": "10th"}') AS tenth \gset
SELECT pg_temp.shown(dms.get_document(:'tenth'));
SELECT pg_temp.put('addressTypeDescriptors',
	'{"namespace": "uri://ed-fi.org/AddressTypeDescriptor", "codeValue": "Home", "shortDescription": "Home"}') AS home \gset
SELECT pg_temp.put('schools', '{"schoolId": 5, "nameOfInstitution": "Fünf \"5\"", "webSite": "a\\b",
	"gradeLevels": [{"gradeLevelDescriptor": "URI://ed-fi.org/gradeleveldescriptor#TENTH grade"}]}') AS school \gset
SELECT pg_temp.shown(dms.get_document(:'school'));

-- Collections keep their order, at every depth.  Absent values are omitted:
-- there are no nulls and no empty arrays.
SELECT pg_temp.put('students', '{"studentUniqueId": "s1", "firstName": "Ada", "lastSurname": "Byron",
	"birthDate": "12/10/2015", "middleName": null, "multipleBirthStatus": "False", "addresses": [
	{"addressTypeDescriptor": "uri://ed-fi.org/AddressTypeDescriptor#Home", "city": "Zürich", "postalCode": "8000",
	 "streetNumberName": "Second 2", "periods": [{"beginDate": "2020-02-01"}, {"beginDate": "2019-01-01", "endDate": "2019-12-31"}]},
	{"addressTypeDescriptor": "uri://ed-fi.org/AddressTypeDescriptor#Home", "city": "Athens", "postalCode": "10431",
	 "streetNumberName": "First 1", "periods": []},
	{"addressTypeDescriptor": "uri://ed-fi.org/AddressTypeDescriptor#Home", "city": "Bern", "postalCode": "3000",
	 "streetNumberName": "Third 3", "periods": [{"beginDate": "2021-05-05"}]}]}') AS student \gset
SELECT pg_temp.shown(dms.get_document(:'student'));

-- Also if the primary key, by which rows are found, was given another order of columns.
-- The same document, sent again, is equal to what is stored.
BEGIN;
SELECT dms.get_document(:'student')::jsonb AS before \gset
ALTER TABLE edfi.StudentAddressPeriod DROP CONSTRAINT studentaddressperiod_pk, ADD PRIMARY KEY (Student_DocumentId, Ordinal, AddressOrdinal);
SELECT dms.get_document(:'student')::jsonb = :'before' AS same;
SELECT outcome FROM dms.update_document(:'student', :'before');
ROLLBACK;

-- Extensions follow all other properties, at every level.
SELECT pg_temp.put('busRoutes', '{"busRouteNumber": "7", "schoolReference": {"schoolId": 5}, "dailyMileage": 12.50,
	"stops": [{"stopName": "Mill", "arrivalTime": "7:45"}, {"stopName": "Bridge", "arrivalTime": "07:50:30"}]}', 'transport') AS route \gset
SELECT pg_temp.shown(dms.get_document(:'route'));
SELECT pg_temp.put('studentSchoolAssociations', '{"entryDate": "2024-08-01",
	"_ext": {"transport": {"ridesSince": "2024-09-01", "busRouteReference": {"busRouteNumber": "7", "schoolId": 5},
		"pickups": [{"weekday": "Monday", "pickupTime": "07:40:00"}]}},
	"entryGradeLevelDescriptor": "uri://ed-fi.org/GradeLevelDescriptor#Tenth Grade",
	"schoolReference": {"schoolId": 5}, "studentReference": {"studentUniqueId": "s1"}}') AS enrollment \gset
SELECT pg_temp.shown(dms.get_document(:'enrollment'));

-- The text is the same on every call, with any settings of the session.
SELECT dms.get_document(:'enrollment') AS before \gset
SET DateStyle = 'SQL, DMY';
SET TimeZone = 'Asia/Kathmandu';
SELECT dms.get_document(:'enrollment')::text = :'before' AS same;
RESET DateStyle;
RESET TimeZone;

-- A document can be sent back as it was read, and is then unchanged.
SELECT outcome FROM dms.update_document(:'enrollment', dms.get_document(:'enrollment'));

-- References have the current identity of their target, because nothing is
-- stored but its id.
UPDATE edfi.Student SET StudentUniqueId = 's-one', FirstName = 'Augusta' WHERE StudentUniqueId = 's1';
SELECT dms.get_document(:'enrollment') -> 'studentReference' AS reference,
	dms.get_document(:'student') ->> 'firstName' AS first_name;

-- The etag in a body is the one that a write compares with.
SELECT (dms.get_document(:'route') ->> '_etag')::bigint AS etag \gset
SELECT outcome FROM dms.update_document(:'route', '{"busRouteNumber": "7", "schoolReference": {"schoolId": 5},
	"dailyMileage": 13}', if_match => :etag);
SELECT dms.get_document(:'route') ->> '_etag' AS etag;

-- The documents that refer to another one.
SELECT referencingdocumentuuid = :'enrollment' AS enrollment, referencingprojectname, referencingresourcename,
	referenceedgesourcekey
FROM dms.referencing_documents(:'school');
SELECT count(*) FROM dms.referencing_documents(:'enrollment');

-- From the natural key to the id: by paths or by their last names.
SELECT dms.resolve('ed-fi', 'school', '{"schoolId": 5}') = :'school' AS by_name,
	dms.resolve('Ed-Fi', 'schools', '{"$.schoolId": "5"}') = :'school' AS by_path,
	dms.resolve('ed-fi', 'EducationOrganization', '{"educationOrganizationId": 5}') = :'school' AS by_superclass,
	dms.resolve('ed-fi', 'gradeLevelDescriptor', '{"descriptor": "URI://ED-FI.ORG/GradeLevelDescriptor#tenth grade"}') = :'tenth' AS by_uri,
	dms.resolve('ed-fi', 'gradeLevelDescriptor',
		'{"namespace": "uri://ed-fi.org/GradeLevelDescriptor", "codeValue": "Tenth Grade"}') = :'tenth' AS by_halves;
SELECT dms.resolve('transport', 'busRoute', '{"busRouteNumber": "7", "schoolId": 5}') = :'route' AS by_names,
	dms.resolve('ed-fi', 'school', '{"schoolId": 6}') IS NULL AS none,
	dms.resolve('transport', 'busRoute', '{"busRouteNumber": "7#$.x=7", "schoolId": 5}') IS NULL AS nobody_may_have_it;
SELECT dms.resolve('ed-fi', 'school', '{"schoolId": "five", "city": "Bern"}');
SELECT dms.resolve('ed-fi', 'school', '{}');
SELECT dms.resolve('transport', 'busRoute', '{"busRouteNumber": "7", "schoolReference.schoolId": 5}');
SELECT dms.resolve('ed-fi', 'school', '[5]');
SELECT dms.resolve('ed-fi', 'scool', '{"schoolId": 5}');

-- The tables are ordinary tables: plain SQL can read them as well.
SELECT s.StudentUniqueId, a.City, p.BeginDate, t.Uri
FROM edfi.Student s
JOIN edfi.StudentAddress a ON a.Student_DocumentId = s.DocumentId
JOIN dms.Descriptor t ON t.DocumentId = a.AddressTypeDescriptor_DescriptorId
LEFT JOIN edfi.StudentAddressPeriod p ON p.Student_DocumentId = a.Student_DocumentId AND p.AddressOrdinal = a.Ordinal
ORDER BY a.Ordinal, p.Ordinal;

-- Rows are found by their primary key.  If the owner dropped it, or keeps rows
-- in a table that inherits, documents are read by SQL, with the same result.
SELECT pg_temp.put('gradeLevelDescriptors',
	'{"namespace": "uri://ed-fi.org/GradeLevelDescriptor", "codeValue": "Ninth Grade", "shortDescription": "9th"}') AS ninth \gset
SELECT pg_temp.put('schools', '{"schoolId": 7, "nameOfInstitution": "Two levels", "gradeLevels": [
	{"gradeLevelDescriptor": "uri://ed-fi.org/GradeLevelDescriptor#Ninth Grade"},
	{"gradeLevelDescriptor": "uri://ed-fi.org/GradeLevelDescriptor#Tenth Grade"}]}') AS levels \gset
SELECT dms.get_document(:'levels') -> 'gradeLevels' AS levels;
BEGIN;
ALTER TABLE edfi.SchoolGradeLevel DROP CONSTRAINT schoolgradelevel_pk;
SELECT dms.get_document(:'levels') -> 'gradeLevels' AS levels;
ROLLBACK;
BEGIN;
CREATE TABLE public.more () INHERITS (edfi.SchoolGradeLevel);
WITH moved AS (DELETE FROM edfi.SchoolGradeLevel AS l USING edfi.School AS s
	WHERE s.DocumentId = l.School_DocumentId AND s.SchoolId = 7 AND l.Ordinal > 0 RETURNING l.*)
INSERT INTO public.more SELECT * FROM moved RETURNING Ordinal;
SELECT dms.get_document(:'levels') -> 'gradeLevels' AS levels;
ROLLBACK;
SELECT dms.delete_document(:'levels'), dms.delete_document(:'ninth');

-- Reads run with the rights of the caller: grants and row-level security apply.
CREATE ROLE dms_read_reader;
GRANT USAGE ON SCHEMA dms, edfi, transport TO dms_read_reader;
GRANT EXECUTE ON FUNCTION dms.get_document(uuid), dms.count_documents(text, text, jsonb, bigint, bigint),
	dms.query_documents(text, text, jsonb, int, bigint, uuid, bigint, bigint) TO dms_read_reader;
SET ROLE dms_read_reader;
SELECT dms.get_document(:'student');
RESET ROLE;
GRANT SELECT ON dms.Document, dms.ResourceModel, dms.Descriptor, dms.ReferentialIdentity TO dms_read_reader;
GRANT SELECT ON ALL TABLES IN SCHEMA edfi, transport TO dms_read_reader;
SET ROLE dms_read_reader;
SELECT dms.get_document(:'student') ->> 'studentUniqueId' AS student;
SELECT dms.count_documents('ed-fi', 'students');
RESET ROLE;

-- A right on each column is enough; if one is missing, nothing can be read.
REVOKE SELECT ON dms.Descriptor FROM dms_read_reader;
GRANT SELECT (DocumentId, Uri) ON dms.Descriptor TO dms_read_reader;
SET ROLE dms_read_reader;
SELECT json_array_length(dms.get_document(:'student') -> 'addresses') > 0 AS addresses;
RESET ROLE;
REVOKE SELECT (Uri) ON dms.Descriptor FROM dms_read_reader;
SET ROLE dms_read_reader;
\set VERBOSITY terse
SELECT dms.get_document(:'student');
\set VERBOSITY default
RESET ROLE;
GRANT SELECT ON dms.Descriptor TO dms_read_reader;
ALTER TABLE edfi.Student ENABLE ROW LEVEL SECURITY;
CREATE POLICY nobody ON edfi.Student USING (StudentUniqueId <> 's-one');
SET ROLE dms_read_reader;
SELECT dms.get_document(:'student') IS NULL AS hidden, count(*) AS found FROM dms.query_documents('ed-fi', 'students');
SELECT dms.get_document(:'enrollment') -> 'studentReference' IS NULL AS hidden_reference;
RESET ROLE;

\c :database
DROP DATABASE dms_read;
DROP ROLE dms_read_reader;
