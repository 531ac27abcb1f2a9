-- A schema that cannot be deployed is refused before anything is changed.  All
-- of its faults are listed at once, each with its place.
\set database :DBNAME
SET client_min_messages = warning;
DROP DATABASE IF EXISTS dms_deploy_refusals;
CREATE DATABASE dms_deploy_refusals TEMPLATE template0 ENCODING 'UTF8';
\c dms_deploy_refusals
SET client_min_messages = warning;
CREATE EXTENSION dms;

-- A valid schema and a valid extension, to be damaged below.
\getenv top PG_ABS_SRCDIR
\set file :top /examples/schemas/school.json
\set school `cat :'file'`
\set file :top /examples/schemas/school-transport.json
\set transport `cat :'file'`
CREATE TABLE good AS SELECT :'school'::jsonb AS school, :'transport'::jsonb AS transport;

-- Tries a deploy and returns the error: SQLSTATE and message, then each place.
CREATE FUNCTION attempt(VARIADIC schemas json[]) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	state text; message text; detail text; hint text; context text; place text; texts json;
BEGIN
	BEGIN
		PERFORM dms.deploy_schema(VARIADIC schemas);
		RETURN NEXT 'deployed';
		RAISE 'undo' USING ERRCODE = 'ZZZZZ';
	EXCEPTION WHEN OTHERS THEN
		GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT,
			detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
	END;
	IF state = 'ZZZZZ' THEN
		RETURN;
	END IF;
	RETURN NEXT format('%s %s', state, message);
	FOR place, texts IN SELECT * FROM json_each(detail::json -> 'validationErrors') LOOP
		RETURN QUERY SELECT format('    %s: %s', place, t) FROM json_array_elements_text(texts) AS t;
	END LOOP;
	RETURN QUERY SELECT format('    %s', t) FROM json_array_elements_text(detail::json -> 'errors') AS t;
END $$;

-- One edit of a file, at a path from its root or from one of its resources;
-- NULL removes the value.
CREATE FUNCTION edit(file jsonb, place text, value jsonb) RETURNS jsonb LANGUAGE sql AS $$
	SELECT CASE WHEN value IS NULL THEN file #- steps ELSE jsonb_set(file, steps, value) END
	FROM (SELECT CASE WHEN place LIKE '/%' THEN string_to_array(substr(place, 2), '/')
		ELSE '{projectSchema,resourceSchemas}' || string_to_array(place, '/') END) AS s (steps)
$$;

-- Edits of the core, each tried by itself.
CREATE FUNCTION spoil(VARIADIC edits text[]) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	file jsonb := (SELECT school FROM good);
BEGIN
	FOR i IN 1 .. cardinality(edits) BY 2 LOOP
		file := edit(file, edits[i], edits[i + 1]::jsonb);
	END LOOP;
	RETURN QUERY SELECT attempt(file::json);
END $$;

-- Edits of the extension, deployed with a valid core.
CREATE FUNCTION spoil_extension(VARIADIC edits text[]) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	file jsonb := (SELECT transport FROM good);
BEGIN
	FOR i IN 1 .. cardinality(edits) BY 2 LOOP
		file := edit(file, edits[i], edits[i + 1]::jsonb);
	END LOOP;
	RETURN QUERY SELECT attempt((SELECT school FROM good)::json, file::json);
END $$;

\pset tuples_only on
\pset format unaligned

-- Both are valid.  A NULL argument is an error.
SELECT attempt(school::json, transport::json) FROM good;
SELECT attempt(NULL);

--
-- Files
--
SELECT attempt(VARIADIC '{}');
SELECT attempt('[]');
SELECT attempt('"school"');
SELECT attempt('null', '17');
SELECT attempt('{}');
SELECT attempt('{"apiSchemaVersion": 1, "projectSchema": []}');
-- The error itself: the DETAIL is one JSON object.
SELECT dms.deploy_schema('{"apiSchemaVersion": "1.0.0", "projectSchema": {}}');
-- Text that is not JSON is refused by PostgreSQL, with its place.
SELECT dms.deploy_schema('');
SELECT dms.deploy_schema('{"apiSchemaVersion": "1.0.0", "projectSchema": }');
-- Characters that text cannot contain, and duplicate keys.
SELECT attempt('{"projectSchema": {"resourceSchemas": [{}, {"resourceName": "\u0000"}]}}');
SELECT attempt('{"projectSchema": {"projectName": "A", "projectName": "B"}}');
SELECT spoil('/apiSchemaVersion', NULL);
SELECT spoil('/apiSchemaVersion', '"one\ntwo"');
SELECT spoil('/projectSchema', NULL);
SELECT spoil('/comment', '"hello"');
SELECT spoil('/projectSchema/resourceSchema', '{}', '/projectSchema/resourceSchemas', '[]');

--
-- Projects
--
SELECT attempt(transport::json) FROM good;
SELECT attempt(school::json, school::json) FROM good;
SELECT spoil_extension('/projectSchema/isExtensionProject', 'false');
SELECT spoil_extension('/apiSchemaVersion', '"1.1.0"');
SELECT spoil_extension('/projectSchema/projectEndpointName', '"ED_FI"');
SELECT spoil_extension('/projectSchema/projectName', '"ed-fi"');
SELECT spoil('/projectSchema/projectName', NULL, '/projectSchema/projectVersion', '""');
SELECT spoil('/projectSchema/projectName', '"Ed-Fi\"; DROP TABLE dms.Document; --"');
SELECT spoil('/projectSchema/projectEndpointName', '"edfi\"; DROP SCHEMA dms"');
SELECT spoil('/projectSchema/projectEndpointName', '"D-M-S"');
SELECT spoil('/projectSchema/projectEndpointName', '"--"');
SELECT spoil('/projectSchema/projectEndpointName', to_jsonb(repeat('long', 16))::text);
SELECT spoil('/projectSchema/projectEndpointName', '"ChangeQueries"');
SELECT spoil('/projectSchema/projectVersion', to_jsonb(repeat('1.', 33))::text);

--
-- Resources and their names
--
SELECT spoil('students', '"a student"');
SELECT spoil('students/resourceName', NULL, 'students/color', '"red"');
SELECT spoil('students/resourceName', '"Student\"; DROP TABLE edfi.School; --"');
SELECT spoil('students/resourceName', to_jsonb(repeat('Student', 40))::text);
SELECT spoil('students; DROP TABLE', '{"resourceName": "Hostile"}');
SELECT spoil('sTUDENTS', '{"resourceName": "Pupil"}');
SELECT spoil('pupils', '{"resourceName": "STUDENT"}');
SELECT spoil('/projectSchema/resourceNameMapping/Student', '"pupils"');
SELECT spoil('/projectSchema/resourceNameMapping/Pupil', '"students"');
SELECT spoil('/projectSchema/caseInsensitiveEndpointNameMapping/students', '"Students"');
SELECT spoil('/projectSchema/abstractResources/Student', '{"identityJsonPaths": ["$.x"]}');

--
-- JSON schemas
--
\set schema students/jsonSchemaForInsert
\set property students/jsonSchemaForInsert/properties/middleName
SELECT spoil(:'schema', NULL);
SELECT spoil(:'schema', '{"type": "array", "items": {"type": "object"}}');
SELECT spoil(:'schema' || '/oneOf', '[]');
SELECT spoil(:'property', 'true');
SELECT spoil(:'property' || '/type', NULL);
SELECT spoil(:'property' || '/type', '["string", "null"]');
SELECT spoil(:'property' || '/type', '"money"');
SELECT spoil(:'property' || '/enum', '["a", "b"]');
SELECT spoil(:'property' || '/minimum', '3');
SELECT spoil(:'property' || '/format', '"uri"');
SELECT spoil(:'property' || '/maxLength', '-1');
SELECT spoil(:'property' || '/maxLength', '0');
SELECT spoil(:'property' || '/minLength', '76');
SELECT spoil(:'property' || '/pattern', '"^(unclosed"');
SELECT spoil(:'property' || '/pattern', '"\\p{Lu}"');
SELECT spoil(:'property', '{"type": "integer", "format": "int16"}',
	'students/documentPathsMapping/MiddleName/type', '"number"');
SELECT spoil(:'property', '{"type": "number", "minimum": 10, "maximum": 1}',
	'students/documentPathsMapping/MiddleName/type', '"number"');
SELECT spoil(:'property', '{"type": "number", "minimum": 1, "exclusiveMinimum": 1}',
	'students/documentPathsMapping/MiddleName/type', '"number"');
SELECT spoil(:'property', '{"type": "array", "items": {"type": "string"}}');
SELECT spoil(:'property', '{"type": "array", "items": {"type": "array", "items": {"type": "object"}}}');
SELECT spoil(:'property', '{"type": "array", "minItems": 3, "maxItems": 2}');
SELECT spoil(:'schema' || '/additionalProperties', '{"type": "string"}');
SELECT spoil(:'schema' || '/required', '["studentUniqueId", "firstName", "lastSurname", "birthDate", "shoeSize"]');
SELECT spoil(:'schema' || '/required', '"studentUniqueId"');
SELECT spoil(:'schema' || '/properties/"; DROP TABLE edfi.Student; --', '{"type": "boolean"}');
SELECT spoil(:'schema' || '/properties/id', '{"type": "string"}', :'schema' || '/properties/_etag', '{"type": "string"}');
SELECT spoil(:'schema' || '/properties/_ext', '{"type": "object"}');
SELECT spoil(:'schema' || '/properties/deep',
	(repeat('{"type": "object", "properties": {"d": ', 40) || '{"type": "boolean"}' || repeat('}}', 40)));

--
-- Identities
--
SELECT spoil('students/identityJsonPaths', NULL);
SELECT spoil('students/identityJsonPaths', '[]');
SELECT spoil('students/identityJsonPaths', '"$.studentUniqueId"');
SELECT spoil('students/identityJsonPaths', '["$.studentUniqueId", 17]');
SELECT spoil('students/identityJsonPaths', '["$", "$[*]", "studentUniqueId", "$.studentUniqueId[0]", ""]');
SELECT spoil('students/identityJsonPaths', '["$.studentUniqueId", "$.shoeSize"]');
SELECT spoil('students/identityJsonPaths', '["$.studentUniqueId", "$.addresses[*].city"]');
SELECT spoil('students/identityJsonPaths', '["$.studentUniqueId", "$.studentUniqueId"]');
-- An optional value cannot be part of an identity.
SELECT spoil('students/identityJsonPaths', '["$.studentUniqueId", "$.middleName"]');
SELECT spoil('studentSchoolAssociations/jsonSchemaForInsert/required', '["entryDate", "studentReference", "entryGradeLevelDescriptor"]');
-- A reference is part of an identity with all its values.
SELECT spoil('sections/identityJsonPaths', '["$.courseOfferingReference.localCourseCode", "$.courseOfferingReference.schoolId", "$.sectionIdentifier"]',
	'studentSectionAssociations', NULL, '/projectSchema/resourceNameMapping/StudentSectionAssociation', NULL,
	'/projectSchema/caseInsensitiveEndpointNameMapping/studentsectionassociations', NULL);
SELECT spoil('students/identityJsonPaths', (SELECT jsonb_agg('$.key' || i)::text FROM generate_series(1, 33) AS i),
	:'schema', (SELECT jsonb_build_object('type', 'object', 'properties', jsonb_object_agg('key' || i, '{"type": "boolean"}'::jsonb),
		'required', jsonb_agg('key' || i))::text FROM generate_series(1, 33) AS i),
	'students/documentPathsMapping', '{}', 'students/queryFieldMapping', '{}', 'students/booleanJsonPaths', '[]',
	'students/dateJsonPaths', '[]', 'students/arrayUniquenessConstraints', '[]',
	'studentSchoolAssociations', NULL, '/projectSchema/resourceNameMapping/StudentSchoolAssociation', NULL,
	'/projectSchema/caseInsensitiveEndpointNameMapping/studentschoolassociations', NULL,
	'studentSectionAssociations', NULL, '/projectSchema/resourceNameMapping/StudentSectionAssociation', NULL,
	'/projectSchema/caseInsensitiveEndpointNameMapping/studentsectionassociations', NULL);
SELECT spoil('schoolYearTypes/identityJsonPaths', '["$.schoolYear", "$.schoolYearDescription"]');
-- Resources must not identify each other in a cycle, neither through others nor
-- through the subclasses of an abstract resource.
SELECT attempt(jsonb_build_object('apiSchemaVersion', '1.0.0', 'projectSchema', jsonb_build_object(
	'projectName', 'Ring', 'projectEndpointName', 'ring', 'projectVersion', '1', 'resourceSchemas', jsonb_object_agg(a || 's',
		format('{"resourceName": "%1$s", "identityJsonPaths": ["$.%2$sReference.key"], "documentPathsMapping": {"Next": {
			"isReference": true, "projectName": "Ring", "resourceName": "%2$s",
			"referenceJsonPaths": [{"identityJsonPath": "$.%3$sReference.key", "referenceJsonPath": "$.%2$sReference.key"}]}},
			"jsonSchemaForInsert": {"type": "object", "required": ["%2$sReference"], "properties": {"%2$sReference":
				{"type": "object", "properties": {"key": {"type": "integer"}}}}}}', a, b, c)::jsonb)))::json)
FROM (VALUES ('A', 'B', 'C'), ('B', 'C', 'A'), ('C', 'A', 'B')) AS ring (a, b, c);
SELECT attempt('{"apiSchemaVersion": "1.0.0", "projectSchema": {
	"projectName": "Ring", "projectEndpointName": "ring", "projectVersion": "1",
	"abstractResources": {"Thing": {"identityJsonPaths": ["$.thingId"]}},
	"resourceSchemas": {"parts": {"resourceName": "Part", "identityJsonPaths": ["$.thingReference.thingId"],
		"isSubclass": true, "subclassType": "domainEntity", "superclassProjectName": "Ring",
		"superclassResourceName": "Thing", "superclassIdentityJsonPath": "$.thingId",
		"documentPathsMapping": {"Thing": {"isReference": true, "projectName": "Ring", "resourceName": "Thing",
			"referenceJsonPaths": [{"identityJsonPath": "$.thingId", "referenceJsonPath": "$.thingReference.thingId"}]}},
		"jsonSchemaForInsert": {"type": "object", "required": ["thingReference"], "properties": {"thingReference":
			{"type": "object", "properties": {"thingId": {"type": "integer"}}}}}}}}}');

--
-- References and other paths
--
\set reference studentSchoolAssociations/documentPathsMapping/SchoolReference
SELECT spoil('students/documentPathsMapping', NULL);
SELECT spoil('students/documentPathsMapping/FirstName', '17');
SELECT spoil('students/documentPathsMapping/FirstName/path', '"$.givenName"');
SELECT spoil('students/documentPathsMapping/FirstName/path', '"$.addresses"');
SELECT spoil('students/documentPathsMapping/FirstName/path', '"$.lastSurname"');
SELECT spoil('students/documentPathsMapping/FirstName/type', '"date"');
SELECT spoil('students/documentPathsMapping/FirstName/type', '"text"');
SELECT spoil('students/documentPathsMapping/FirstName/isDescriptor', 'true');
SELECT spoil('students/documentPathsMapping/FirstName/isReference', '"no"');
SELECT spoil(:'reference' || '/resourceName', '"Scool"');
SELECT spoil(:'reference' || '/projectName', NULL);
SELECT spoil(:'reference' || '/resourceName', '"TermDescriptor"');
SELECT spoil(:'reference' || '/referenceJsonPaths', '[]');
SELECT spoil(:'reference' || '/referenceJsonPaths/0', '{"identityJsonPath": "$[*]", "referenceJsonPath": "$[*]"}');
SELECT spoil(:'reference' || '/referenceJsonPaths/0/identityJsonPath', '"$.nameOfInstitution"');
SELECT spoil(:'reference' || '/referenceJsonPaths/1', '{"identityJsonPath": "$.schoolId", "referenceJsonPath": "$.schoolReference.schoolId", "type": "number"}');
SELECT spoil(:'reference' || '/referenceJsonPaths/1', '{"identityJsonPath": "$.webSite", "referenceJsonPath": "$.studentReference.studentUniqueId"}');
SELECT spoil(:'reference' || '/referenceJsonPaths/0/type', '"string"');
SELECT spoil('studentSchoolAssociations/jsonSchemaForInsert/properties/schoolReference/properties/schoolId', '{"type": "string"}');
SELECT spoil('studentSchoolAssociations/jsonSchemaForInsert/properties/schoolReference/properties/name', '{"type": "string"}');
SELECT spoil('studentSchoolAssociations/jsonSchemaForInsert/properties/schoolReference', '{"type": "string"}');
SELECT spoil('studentSchoolAssociations/documentPathsMapping/EntryTypeDescriptor/resourceName', '"School"');
SELECT spoil('studentSchoolAssociations/documentPathsMapping/EntryTypeDescriptor/path', '"$.graduationPlanReference.graduationPlanTypeDescriptor"');
SELECT spoil('studentSchoolAssociations/jsonSchemaForInsert/properties/entryTypeDescriptor', '{"type": "string", "format": "date"}');
SELECT spoil('studentSchoolAssociations/jsonSchemaForInsert/properties/entryTypeDescriptor', '{"type": "object"}');

--
-- Names of tables and columns
--
SELECT spoil('students/relational', '{"nameOverrides": {"$.shoeSize": "Size", "$.studentUniqueId": "Number"}}');
SELECT spoil('students/relational', '{"nameOverrides": {"$.firstName": "x\"; DROP TABLE edfi.School; --"}, "rootTableNameOverride": "a.b"}');
SELECT spoil('students/relational', '{"tableName": "Pupil"}');
SELECT spoil('students/relational', '{"nameOverrides": {"$.firstName": "LastSurname"}}');
SELECT spoil('students/relational', '{"rootTableNameOverride": "school"}');
SELECT spoil('gradeLevelDescriptors/relational', '{"rootTableNameOverride": "GradeLevel"}');
SELECT spoil(:'schema' || '/properties/firstname', '{"type": "string"}', :'schema' || '/properties/documentId', '{"type": "string"}',
	:'schema' || '/properties/xmin', '{"type": "string"}');
SELECT spoil(:'schema' || '/properties/address', '{"type": "array", "items": {"type": "object", "properties": {"ordinal": {"type": "integer"}}}}');
SELECT spoil('busRides', '{"resourceName": "StudentAddress", "identityJsonPaths": ["$.ride"], "documentPathsMapping": {},
	"jsonSchemaForInsert": {"type": "object", "properties": {"ride": {"type": "integer"}}, "required": ["ride"]}}');
SELECT spoil('members', '{"resourceName": "EducationOrganization_Member", "identityJsonPaths": ["$.ride"], "documentPathsMapping": {},
	"jsonSchemaForInsert": {"type": "object", "properties": {"ride": {"type": "integer"}}, "required": ["ride"]}}');

--
-- Descriptors, subclasses, abstract resources
--
SELECT spoil('termDescriptors/jsonSchemaForInsert/properties/color', '{"type": "string", "maxLength": 10}');
SELECT spoil('termDescriptors/jsonSchemaForInsert/properties/codeValue/maxLength', '51');
SELECT spoil('termDescriptors/jsonSchemaForInsert/properties/effectiveEndDate', NULL,
	'termDescriptors/queryFieldMapping', '{}');
SELECT spoil('termDescriptors/jsonSchemaForInsert/required', '["codeValue", "namespace"]');
SELECT spoil('termDescriptors/identityJsonPaths', '["$.codeValue"]');
SELECT spoil('termDescriptors/isResourceExtension', 'true');
SELECT spoil('schools/superclassResourceName', '"Institution"');
SELECT spoil('schools/superclassResourceName', '"Student"');
SELECT spoil('schools/subclassType', '"descriptor"');
SELECT spoil('schools/subclassType', '"association"');
SELECT spoil('schools/superclassIdentityJsonPath', NULL);
SELECT spoil('schools/superclassIdentityJsonPath', '"$.institutionId"');
SELECT spoil('schools/isSubclass', 'false');
SELECT spoil('/projectSchema/abstractResources/EducationOrganization', '[]');
SELECT spoil('/projectSchema/abstractResources/EducationOrganization/identityJsonPaths', '[]');
SELECT spoil('/projectSchema/abstractResources/EducationOrganization/identityJsonPaths', '["id", "$.a[*].b"]');
SELECT spoil('schools/jsonSchemaForInsert/properties/schoolId', '{"type": "string"}', 'schools/numericJsonPaths', '[]',
	'schools/documentPathsMapping/SchoolId/type', '"string"', 'schools/queryFieldMapping', '{}');

--
-- Queries
--
SELECT spoil('students/queryFieldMapping/city', '[{"path": "$.addresses[*].city", "type": "string"}]');
SELECT spoil('students/queryFieldMapping/shoeSize', '[{"path": "$.shoeSize", "type": "number"}]');
SELECT spoil('students/queryFieldMapping/firstName', '"$.firstName"');
SELECT spoil('students/queryFieldMapping/firstName/0/type', '"number"');
SELECT spoil('students/queryFieldMapping/FIRSTNAME', '[{"path": "$.firstName", "type": "string"}]');
SELECT spoil('students/queryFieldMapping/Limit', '[{"path": "$.firstName", "type": "string"}]');
SELECT spoil('studentSchoolAssociations/queryFieldMapping/school', '[{"path": "$.schoolReference", "type": "string"}]');

--
-- Constraints and lists
--
SELECT spoil('courses/decimalPropertyValidationInfos', '[{"path": "$.courseTitle", "totalDigits": 5, "decimalPlaces": 2}]');
SELECT spoil('courses/decimalPropertyValidationInfos', '[{"path": "$.maximumAvailableCredits", "totalDigits": 2, "decimalPlaces": 5}, {"path": "$.cost"}]');
SELECT spoil('students/booleanJsonPaths', '["$.firstName", "$.happy"]', 'students/dateTimeJsonPaths', '["$.birthDate"]');
SELECT spoil('students/arrayUniquenessConstraints', '[{"paths": ["$.firstName"]}, {"paths": ["$.addresses[*].color"]}]');
SELECT spoil('students/arrayUniquenessConstraints', '[{"paths": ["$.addresses[*].city", "$.addresses[*].periods[*].beginDate"]}]');
SELECT spoil('students/arrayUniquenessConstraints', '[{"nestedConstraints": [{"basePath": "$.pets[*]", "paths": ["$.names[*].name"]}]}, {"unique": true}, 5]');
SELECT spoil('courseOfferings/equalityConstraints', '[{"sourceJsonPath": "$.sessionReference", "targetJsonPath": "$.schoolReference.schoolNumber"}]');
SELECT spoil('courseOfferings/equalityConstraints', '[{"sourceJsonPath": "$.sessionReference.sessionName", "targetJsonPath": "$.schoolReference.schoolId"}]');
SELECT spoil('courseOfferings/equalityConstraints', '[{"sourceJsonPath": "$.sessionReference.sessionName"}]');

--
-- Extensions
--
\set extension studentSchoolAssociations/jsonSchemaForInsert/properties
SELECT spoil_extension('studentSchoolAssociations/resourceName', '"Enrollment"');
SELECT spoil_extension('studentSchoolAssociations/isResourceExtension', 'false');
SELECT spoil_extension('studentSchoolAssociations/identityJsonPaths', '["$.entryDate"]');
SELECT spoil_extension(:'extension' || '/busNumber', '{"type": "integer"}');
SELECT spoil_extension(:'extension' || '/entryDate', '{"type": "integer"}');
SELECT spoil_extension(:'extension' || '/_ext', '{"type": "string"}', 'studentSchoolAssociations/documentPathsMapping', '{}',
	'studentSchoolAssociations/arrayUniquenessConstraints', '[]', 'studentSchoolAssociations/dateJsonPaths', '[]');
SELECT spoil_extension(:'extension' || '/_ext/properties/sample', '{"type": "object"}');
SELECT spoil_extension(:'extension' || '/_ext/properties/transport/properties/_ext', '{"type": "object"}');
SELECT spoil_extension('students/commonExtensionOverrides/0/insertionLocations', '["$.properties.pets.items", "$.properties.firstName", "x"]');
SELECT spoil_extension('students/commonExtensionOverrides/0/projectEndpointName', '"ed-fi"');
-- An extension cannot change properties of the core.
SELECT spoil_extension('studentSchoolAssociations/relational', '{"nameOverrides": {"$.entryDate": "Since"}}',
	'studentSchoolAssociations/decimalPropertyValidationInfos', '[{"path": "$.fullTimeEquivalency", "totalDigits": 3, "decimalPlaces": 1}]',
	'studentSchoolAssociations/documentPathsMapping/Note', '{"isDescriptor": true, "isPartOfIdentity": false, "isReference": true, "isRequired": false,
		"path": "$.exitNote", "projectName": "Ed-Fi", "resourceName": "TermDescriptor", "type": "string"}');
SELECT spoil_extension('busRoutes/commonExtensionOverrides', (SELECT transport #>> '{projectSchema,resourceSchemas,students,commonExtensionOverrides}' FROM good));
-- A path that is described twice must have the same description both times.
SELECT spoil_extension('students/jsonSchemaForInsert/properties', '{"addresses": {"type": "array", "items": {"type": "object", "properties":
	{"_ext": {"type": "object", "properties": {"transport": {"type": "object", "properties": {"onBusRoute": {"type": "string"}}}}}}}}}');

--
-- Several faults are reported at once, wherever they are.
--
SELECT attempt(edit(edit(edit(edit(school, 'students/identityJsonPaths', '["$.middleName"]'),
		'sessions/documentPathsMapping/TermDescriptor/resourceName', '"Term"'),
		'courses/jsonSchemaForInsert/properties/courseTitle/type', '"title"'),
		'schools/relational', '{"nameOverrides": {"$.webSite": "NameOfInstitution"}}')::json,
	edit(edit(transport, 'busRoutes/relational', '{"nameOverrides": {"$.driver": "Driver"}}'),
		'busRoutes/queryFieldMapping/stopName', '[{"path": "$.stops[*].stopName", "type": "string"}]')::json)
FROM good;

--
-- Schemas that could be deployed, but would fail later
--
SELECT spoil('students/jsonSchemaForInsert/properties/ID', '{"type": "string"}');
SELECT spoil('students/jsonSchemaForInsert/properties/height', '{"type": "number", "maximum": 1e1500, "minimum": 1e-1500}');
SELECT spoil('courses/decimalPropertyValidationInfos', '[{"path": "$.maximumAvailableCredits", "totalDigits": 9, "decimalPlaces": 3},
	{"path": "$.maximumAvailableCredits", "totalDigits": 2, "decimalPlaces": 0}]');
SELECT spoil('courses/decimalPropertyValidationInfos', '[{"path": "$.educationOrganizationReference.educationOrganizationId", "totalDigits": 3, "decimalPlaces": 1}]');
SELECT spoil('/projectSchema/abstractResources/STUDENTS', '{"identityJsonPaths": ["$.studentUniqueId"]}');
SELECT count(*), substring(t, 'the names of .*') FROM spoil('/projectSchema/projectName', to_jsonb(repeat('Ed', 120))::text) AS t WHERE t LIKE '%together%' GROUP BY 2;
SELECT spoil('students/jsonSchemaForInsert/properties/grade', '{"type": "string", "maxLength": 306}',
	'students/jsonSchemaForInsert/required', '["studentUniqueId", "firstName", "lastSurname", "birthDate", "grade"]',
	'students/documentPathsMapping/Grade', '{"isDescriptor": true, "isPartOfIdentity": true, "isReference": true, "isRequired": true,
		"path": "$.grade", "projectName": "Ed-Fi", "resourceName": "GradeLevelDescriptor", "type": "string"}',
	'students/identityJsonPaths', '["$.grade", "$.studentUniqueId"]');
SELECT spoil('/projectSchema/abstractResources/EducationOrganization/identityJsonPaths', '["$.documentId"]');
SELECT spoil('/projectSchema/abstractResources/EducationOrganization/identityJsonPaths', '["$.discriminator"]');

-- Two resources have the same number, or the same name of one word.
SELECT attempt(edit(edit(school, 'student81475s', student || '{"resourceName": "Student81475"}'),
	'student162768s', student || '{"resourceName": "Student162768"}')::json)
FROM good, LATERAL (SELECT school #> '{projectSchema,resourceSchemas,students}') AS s (student);
SELECT attempt(school::json, edit(edit(transport, '/projectSchema/projectName', '"Ed Fi"'), 'busRoutes/resourceName', '"School"')::json)
FROM good;

--
-- Arbitrary input of any size
--
SELECT attempt(('{"apiSchemaVersion": "' || repeat('x', 10000000) || '"}')::json);
SELECT attempt(('[' || repeat('{"a": 1},', 1000000) || '{}]')::json);
SELECT left(t, 100) FROM attempt(('{"projectSchema": {"resourceSchemas": {' || (SELECT string_agg(format('"r%s": {}', i), ',') FROM generate_series(1, 20000) AS i) || '}}}')::json) AS t LIMIT 3;
DO $$
BEGIN
	PERFORM dms.deploy_schema((repeat('[', 100000) || repeat(']', 100000))::json);
EXCEPTION WHEN statement_too_complex THEN
	RAISE WARNING 'too deep, even for json';
END $$;

-- None of these attempts has left anything.
\pset tuples_only off
\pset format aligned
SELECT nspname FROM pg_namespace WHERE nspname IN ('edfi', 'transport');
SELECT relname FROM pg_class WHERE relnamespace = 'dms'::regnamespace AND relkind = 'r';

\c :database
DROP DATABASE dms_deploy_refusals;
