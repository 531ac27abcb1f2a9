-- Validation of bodies: the canonical form, the order of the checks, and the
-- places of faults.
\set database :DBNAME
SET client_min_messages = warning;
DROP DATABASE IF EXISTS dms_validation;
DROP DATABASE IF EXISTS dms_validation_types;
DROP DATABASE IF EXISTS dms_validation_empty;
CREATE DATABASE dms_validation TEMPLATE template0 ENCODING 'UTF8';
CREATE DATABASE dms_validation_types TEMPLATE template0 ENCODING 'UTF8';
\getenv top PG_ABS_SRCDIR
\set file :top /examples/schemas/school.json
\set school `cat :'file'`
\set file :top /test/schemas/types.json
\set types `cat :'file'`

-- ---------------------------------------------------------------------------
-- Values
-- ---------------------------------------------------------------------------
\c dms_validation_types
SET client_min_messages = warning;
CREATE EXTENSION dms;

-- A pattern that many schemas have.
SELECT dms.deploy_schema(jsonb_set(:'types', '{projectSchema,resourceSchemas,everythings,jsonSchemaForInsert,properties,longText}',
	'{"type": "string", "maxLength": 1024, "pattern": "^(?!\\s)(.*\\S)?$"}')::json) IS NOT NULL AS deployed;

-- The stored value of a property, or its fault: one row per value.  Each value
-- is written into a document of its own, which is rolled back.
CREATE FUNCTION becomes(property text, VARIADIC vals text[]) RETURNS TABLE (sent text, becomes text) LANGUAGE plpgsql AS $$
DECLARE
	id bigint;
BEGIN
	FOREACH sent IN ARRAY vals LOOP
		BEGIN
			SELECT document_id INTO id FROM dms.upsert_document('Types', 'Everything',
				format('{%s: %s, %s', to_json(property), sent, substr((jsonb '{"code": "X", "day": "2025-01-31", "number": 1, "boxes": [{"label": "a"}]}' - property)::text, 2))::json);
			SELECT coalesce((to_jsonb(e) -> lower(property))::text, 'written') INTO becomes FROM types.Everything e WHERE DocumentId = id;
			RAISE SQLSTATE 'ZZZZZ';
		EXCEPTION
			WHEN SQLSTATE 'ZZZZZ' THEN
				RETURN NEXT;
			WHEN OTHERS THEN
				GET STACKED DIAGNOSTICS becomes = PG_EXCEPTION_DETAIL;
				becomes := SQLSTATE || ' ' || coalesce(becomes::json ->> 'validationErrors', SQLERRM);
				RETURN NEXT;
		END;
	END LOOP;
END $$;

-- Booleans: the words in any case, and 0 and 1.
SELECT * FROM becomes('flag', 'true', '"True"', '"FALSE"', '0', '1', '"0"', '"1"', 'null', '2', '"yes"', '""', '1.0', '[]', '{}');

-- Integers: numeric strings are accepted, and so is any notation of an integral
-- number.
SELECT * FROM becomes('smallInteger', '42', '" 42 "', '"+7"', '-0', '1.0', '1e2', '-2147483648', '2147483647', '2147483648',
	'99999999999999999999', '1e400', '1.5', '1e-400', '"1.5"', '""', '" "', '"0x10"', '"1 000"', '"NaN"', 'true', '[1]');
SELECT * FROM becomes('largeInteger', '9223372036854775807', '-9223372036854775808', '9223372036854775808', '"9223372036854775807"');
SELECT * FROM becomes('boundedInteger', '-5', '5', '6', '-6', '"6"');
SELECT * FROM becomes('hugeByBound', '9999999999', '10000000000');

-- Decimals are rounded to their scale, half away from zero.  Too many decimal
-- places are no error, too many digits before the point are.
SELECT * FROM becomes('positiveNumber', '1.50', '"1.5"', '0.005', '0.0049', '999999.994', '999999.995', '1000000', '0', '-1', '1e-400', '"1e3"', '"1,5"');
SELECT * FROM becomes('number', '9999.9994', '9999.9995', '-9999.9995', '1e400', '-0.0', '-0.0004');
SELECT * FROM becomes('digitsOnly', '99999', '123.45', '100000');
SELECT * FROM becomes('anyNumber', '123456789012345678901234567890.123456789', '1e100', '1e-20', '-0.0', '0.00');
SELECT sent, left(becomes, 90) AS becomes FROM becomes('anyNumber', '1e1000', '1e-1001');

-- Dates: month first; day first if there is no such month.
SELECT * FROM becomes('day', '"2025-01-31"', '"1/31/2025"', '"01/31/25"', '"31/1/2025"', '"31.01.2025"', '"2/1/2025"', '"2024-02-29"', '"2025-02-29"',
	'"2025-13-01"', '"20250131"', '"tomorrow"', '""', '20250131', '"0000-01-01"', '"10000-01-01"');

-- Times, and date-times: a time zone is converted, a missing one means UTC, and
-- fractions are dropped.
SELECT * FROM becomes('clock', '"07:45:00"', '"07:45"', '"7:45:01 PM"', '"07:45:00.999"', '"24:00:00"', '"25:00"', '"noon"', '745');
SET TimeZone = 'UTC';
SELECT * FROM becomes('moment', '"2025-01-31T07:45:00Z"', '"2025-01-31T07:45:00.999Z"', '"2025-01-31 07:45:00"', '"2025-01-31T07:45:00+05:30"',
	'"2025-01-31T23:30:00-0800"', '"1/31/2025 7:45 PM"', '"2025-01-31"', '"2025-01-31T07:45:00 Europe/Berlin"', '"9999-12-31T23:59:59-01:00"', '"now"');

-- Strings are stored as they are sent; lengths are in characters.
SELECT * FROM becomes('shortText', '""', '"  x  "', '"Ελλάδα"', '"𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞"', '"𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞𝄞"', '"\ud834\udd1e"', '"tab\tcr\r\n"', '"a\u0000b"', '"\ud834"', '5', 'true', '["a"]');

-- Patterns have the meaning of ECMAScript, in every locale: "." stops at the
-- end of a line, "\s" includes all blanks of Unicode.
SELECT * FROM becomes('longText', '"two words"', '" x"', '"x "', '"x\u00a0"', '"\u3000x"', '"x\u2028"', '"a\nb"', '"a\u2029b"', '"a\u0085b"', '"\ufeffx"', '""');
SELECT * FROM becomes('code', '"A-1"', '"a"', '"Ä"', '"A\n"', '""');

-- Arrays of objects.
SELECT * FROM becomes('boxes', '[]', '[{}]', '[null]', '"x"', '{}', '["x"]', '[{"label": "a"}, null]', '[{"label": "a"}, {}]',
	'[{"label": null, "weight": "x"}, {"label": "b", "items": {}}]');
SELECT k AS boxes, b.becomes FROM (VALUES (20), (21)) AS v (k),
	LATERAL becomes('boxes', (SELECT json_agg(json_build_object('label', 'box ' || n)) FROM generate_series(1, k) AS n)::text) AS b;

-- An object need not hold anything if its schema requires nothing, and is not
-- stored then.
SELECT * FROM becomes('measure', '{}', '{"range": {}}', '{"range": {"low": null}}', '{"bogus": 1}', '[]', '"x"');

-- ---------------------------------------------------------------------------
-- Bodies
-- ---------------------------------------------------------------------------
\c dms_validation
SET client_min_messages = warning;
CREATE EXTENSION dms;

-- References whose members are not required, as in many schemas; and an array
-- with "uniqueItems".
SELECT dms.deploy_schema(jsonb_set(jsonb_set(:'school'::jsonb
	#- '{projectSchema,resourceSchemas,studentSchoolAssociations,jsonSchemaForInsert,properties,graduationPlanReference,required}',
	'{projectSchema,resourceSchemas,classPeriods,jsonSchemaForInsert,properties,meetingTimes,uniqueItems}', 'true'),
	'{projectSchema,resourceSchemas,students,jsonSchemaForInsert,properties,gone_ids}', '{"type": "integer"}')::json) IS NOT NULL AS deployed;

-- Writes a document and rolls it back, or returns the faults with their places.
CREATE FUNCTION findings(resource text, document json, OUT outcome text, OUT place text, OUT message text)
RETURNS SETOF record LANGUAGE plpgsql AS $$
DECLARE
	detail text;
BEGIN
	outcome := (dms.upsert_document('Ed-Fi', resource, document)).outcome;
	RAISE SQLSTATE 'ZZZZZ';
EXCEPTION
	WHEN SQLSTATE 'ZZZZZ' THEN
		RETURN NEXT;
	WHEN OTHERS THEN
		GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
		outcome := SQLSTATE;
		FOR place, message IN SELECT key, json_array_elements_text(value) FROM json_each(detail::json -> 'validationErrors')
			UNION ALL SELECT NULL, json_array_elements_text(detail::json -> 'errors')
		LOOP
			RETURN NEXT;
		END LOOP;
END $$;
SELECT count((dms.upsert_document('Ed-Fi', resource, json_build_object('namespace', 'uri://ed-fi.org/' || resource,
	'codeValue', code, 'shortDescription', code))).outcome)
FROM (VALUES ('GradeLevelDescriptor', 'Ninth grade'), ('GradeLevelDescriptor', 'Tenth grade'), ('AddressTypeDescriptor', 'Home'),
	('TermDescriptor', 'Fall')) AS d (resource, code);
\set ann '"studentUniqueId": "604822", "firstName": "Ann", "lastSurname": "Lee", "birthDate": "2010-05-31"'

-- Text that is not JSON is refused by PostgreSQL itself.
\set VERBOSITY terse
SELECT * FROM findings('Student', '{"studentUniqueId": }');
SELECT * FROM findings('Student', '');
\set VERBOSITY default
-- A body is an object.
SELECT * FROM findings('Student', '[]');
SELECT * FROM findings('Student', '"x"');
SELECT * FROM findings('Student', 'null');
-- A character that PostgreSQL cannot store is reported with its place.
SELECT * FROM findings('Student', ('{' || :'ann' || ', "addresses": [{"city": "a\u0000"}]}')::json);

-- Duplicate keys are refused, at any depth, also of unknown properties, and
-- before all other checks.
SELECT * FROM findings('Student', '{"firstName": 5, "firstName": "Ann"}');
SELECT * FROM findings('Student', ('{' || :'ann' || ', "addresses": [{}, {"city": "a", "city": "b"}], "more": {"x": {"y": 1, "y": 1}}}')::json);
SELECT * FROM findings('Student', ('{' || :'ann' || ', "more": [[{"x": {"y": 1, "y": 1}}]]}')::json);
SELECT * FROM findings('Student', '{"a\u0062": 1, "ab": 2, "id": 1}');
-- Each is reported once, however often it occurs, and at most a hundred are.
SELECT * FROM findings('Student', '{"b": 1, "a": 1, "a": 2, "b": 2, "a": 3, "c": {"d": [{"e": 1, "e": 2}]}}');
SELECT * FROM findings('Student', (SELECT json_object_agg(n % 9, n) FROM generate_series(1, 30) AS n));
SELECT outcome, message, count(*), min(length(place)) AS shortest
FROM findings('Student', (SELECT json_object_agg(n % 5000, n) FROM generate_series(1, 9999) AS n)) GROUP BY 1, 2;

-- Then: no id in an upsert, in any case.
SELECT * FROM findings('Student', '{"Id": null}');
SELECT * FROM findings('Student', '{"id": "1", "firstName": 5, "ID": "1"}');

-- Then the schema: all faults are reported at once.
SELECT * FROM findings('Student', '{"firstName": "", "lastSurname": 7, "birthDate": "soon", "multipleBirthStatus": "perhaps",
	"addresses": [{"city": " x", "postalCode": "12", "doNotPublishIndicator": 2, "periods": [{"endDate": "x"}]}, 5]}');

-- Nulls are dropped, in known and unknown properties; a required property is
-- missing then.
SELECT * FROM findings('Student', ('{' || :'ann' || ', "birthCity": null, "addresses": null, "unknown": null}')::json);
SELECT * FROM findings('Student', '{"studentUniqueId": "604822", "firstName": null, "lastSurname": "Lee", "birthDate": "2010-05-31"}');

-- Unknown properties are dropped; names are case-sensitive.
SELECT * FROM findings('Student', ('{' || :'ann' || ', "FirstName": 5, "_ext": {"unknown": {"x": 1}}, "more": {"deep": [1, [2]]}}')::json);
SET dms.unknown_properties = 'notice';
SET client_min_messages = notice;
SELECT * FROM findings('Student', ('{' || :'ann' || ', "FirstName": 5, "addresses": [{"x": 1, "streetNumberName": "1 Elm"}], "_etag": "1", "link": {}}')::json);
-- They are also reported if the array counts as absent because it holds nothing
-- else.
SELECT * FROM findings('Student', ('{' || :'ann' || ', "addresses": [{"ciyt": "Bend"}, null, {}]}')::json);
SET client_min_messages = warning;
SET dms.unknown_properties = 'refuse';
SELECT * FROM findings('Student', ('{' || :'ann' || ', "FirstName": 5, "more": {"deep": [1, [2]]}, "_etag": "1", "link": {}}')::json);
SELECT * FROM findings('Student', ('{' || :'ann' || ', "addresses": [{"ciyt": "Bend"}, null, {}]}')::json);
RESET dms.unknown_properties;

-- Arrays of the root that are empty, or hold only empty objects, are dropped;
-- others are checked against the schema.
SELECT * FROM findings('Student', ('{' || :'ann' || ', "addresses": []}')::json);
SELECT * FROM findings('Student', ('{' || :'ann' || ', "addresses": [{}, {"city": null}, null, {"unknown": 1}]}')::json);
SELECT * FROM findings('School', '{"schoolId": 1, "nameOfInstitution": "x", "gradeLevels": []}');
SELECT * FROM findings('School', '{"schoolId": 1, "nameOfInstitution": "x", "gradeLevels": [{"gradeLevelDescriptor": "uri://ed-fi.org/GradeLevelDescriptor#Ninth grade"}, {}]}');
SELECT * FROM findings('Student', ('{' || :'ann' || ', "addresses": [{"addressTypeDescriptor": "uri://ed-fi.org/AddressTypeDescriptor#Home",
	"streetNumberName": "1 Elm", "city": "Bend", "postalCode": "78834", "periods": []}]}')::json);

-- Only the code value and short description of a descriptor are trimmed.
SELECT * FROM findings('GradeLevelDescriptor', '{"namespace": "uri://ed-fi.org/GradeLevelDescriptor", "codeValue": " Ninth grade ", "shortDescription": "  Ninth grade\t"}');
SELECT * FROM findings('GradeLevelDescriptor', '{"namespace": " uri://ed-fi.org/GradeLevelDescriptor", "codeValue": "Ninth grade", "shortDescription": "Ninth grade"}');

-- Elements that must be unique.
SELECT * FROM findings('ClassPeriod', '{"classPeriodName": "1st", "schoolReference": {"schoolId": 1}, "meetingTimes": [
	{"startTime": "08:00", "endTime": "09:00"}, {"startTime": "10:00", "endTime": "11:00"}, {"endTime": "09:00:00", "startTime": "08:00:00"}]}');

-- Then decimals, if there are no faults against the schema.
SELECT * FROM findings('Course', '{"courseCode": "C", "educationOrganizationReference": {"educationOrganizationId": 1}, "courseTitle": "C",
	"numberOfParts": 0, "maximumAvailableCredits": 1234567.5}');
SELECT * FROM findings('Course', '{"courseCode": "C", "educationOrganizationReference": {"educationOrganizationId": 1}, "courseTitle": "C",
	"numberOfParts": 1, "maximumAvailableCredits": 1234567.5}');

-- Then the id of an update, before all rules that span several values.
\set VERBOSITY terse
SELECT dms.update_document(DocumentUuid, '{"id": "1", "namespace": "uri://ed-fi.org/TermDescriptor", "codeValue": "$.x", "shortDescription": "Fall"}')
FROM dms.Document WHERE ResourceName = 'TermDescriptor';
\set VERBOSITY default

-- Then values that must be equal: both paths are reported.
\set offering '{"localCourseCode": "C", "schoolReference": {"schoolId": 1}, "courseReference": {"courseCode": "C", "educationOrganizationId": 1}, "sessionReference": {"schoolId": 2, "schoolYear": 2025, "sessionName": "Fall"}'
SELECT * FROM findings('CourseOffering', (:'offering' || '}')::json);
SELECT * FROM findings('CourseOffering', (replace(:'offering', '"schoolId": 2', '"schoolId": "1.0"') || '}')::json);
SELECT * FROM findings('Section', '{"sectionIdentifier": "S", "courseOfferingReference": {"localCourseCode": "C", "schoolId": 1, "schoolYear": 2025, "sessionName": "Fall"},
	"classPeriods": [{"classPeriodReference": {"classPeriodName": "1st", "schoolId": 1}}, {"classPeriodReference": {"classPeriodName": "2nd", "schoolId": 2}}]}');

-- Then references that lack values of the identity.
\set enrollment '{"entryDate": "2024-08-20", "studentReference": {"studentUniqueId": "604822"}, "schoolReference": {"schoolId": 1}, "entryGradeLevelDescriptor": "uri://ed-fi.org/GradeLevelDescriptor#Ninth grade"'
SELECT * FROM findings('StudentSchoolAssociation', (:'enrollment' || ', "graduationPlanReference": {"schoolYear": 2025}}')::json);
SELECT * FROM findings('StudentSchoolAssociation', (:'enrollment' || ', "graduationPlanReference": {}}')::json);
-- If the schema requires the members, their absence is a fault against the
-- schema.
SELECT * FROM findings('StudentSchoolAssociation', '{"entryDate": "2024-08-20", "studentReference": {}, "schoolReference": {"schoolId": null},
	"entryGradeLevelDescriptor": "uri://ed-fi.org/GradeLevelDescriptor#Ninth grade"}');

-- Then duplicate references in a collection of references.
SELECT * FROM findings('Section', '{"sectionIdentifier": "S", "courseOfferingReference": {"localCourseCode": "C", "schoolId": 1, "schoolYear": 2025, "sessionName": "Fall"},
	"classPeriods": [{"classPeriodReference": {"classPeriodName": "1st", "schoolId": 1}}, {"classPeriodReference": {"classPeriodName": "2nd", "schoolId": 1}},
		{"classPeriodReference": {"schoolId": 1.0, "classPeriodName": "1st"}}]}');

-- Then elements with equal identifying values, within each array; descriptors
-- are compared in any case.
\set address '"addressTypeDescriptor": "uri://ed-fi.org/AddressTypeDescriptor#Home", "streetNumberName": "1 Elm", "city": "Bend"'
SELECT * FROM findings('Student', ('{' || :'ann' || ', "addresses": [
	{' || :'address' || ', "postalCode": "10001", "periods": [{"beginDate": "2020-01-01"}, {"beginDate": "1/1/2020"}]},
	{' || :'address' || ', "postalCode": "10002", "periods": [{"beginDate": "2020-01-01"}]},
	{' || replace(:'address', 'Home', 'HOME') || ', "postalCode": "10001"}]}')::json);

-- Then the etag, then references: no check above needs a lookup.
SELECT * FROM findings('Student', ('{' || :'ann' || ', "addresses": [{' || replace(:'address', 'Home', 'Tent') || ', "postalCode": "10001"}]}')::json);

-- Identities are hashed as path=value#path=value, so no value may look like
-- that.
SELECT * FROM findings('Student', '{"studentUniqueId": "1#$.x=2", "firstName": "A#$.b", "lastSurname": "Lee", "birthDate": "2010-05-31"}');
SELECT * FROM findings('GradeLevelDescriptor', '{"namespace": "uri://ed-fi.org/x", "codeValue": "$.x", "shortDescription": "x"}');
SELECT * FROM findings('Student', ('{' || :'ann' || ', "addresses": [{' || replace(:'address', '#Home', '#$.x') || ', "postalCode": "10001"}]}')::json);

-- The faults are one JSON object: the body of the answer that an API gives.
SELECT dms.upsert_document('Ed-Fi', 'Student', '{"studentUniqueId": "604822", "firstName": "Ann", "lastSurname": "Lee", "birthDate": "31"}');
-- At most a thousand faults are listed.
SELECT count(*), count(*) FILTER (WHERE place IS NULL) AS not_listed, max(message) FILTER (WHERE place IS NULL) AS message
FROM findings('Student', ('{' || :'ann' || ', "addresses": [' || (SELECT string_agg('{"city": 5}', ',') FROM generate_series(1, 400)) || ']}')::json);

-- A property may have any name, also one that the store's own functions use.
SELECT dms.delete_document(document_uuid) AS deleted
FROM dms.upsert_document('Ed-Fi', 'Student', ('{' || :'ann' || ', "gone_ids": 5}')::json);

-- ---------------------------------------------------------------------------
-- Objects that are present and empty: what their schemas require is missing.
-- ---------------------------------------------------------------------------
\set file :top /test/schemas/introspection.json
\set library `cat :'file'`
\set file :top /test/schemas/introspection-extra.json
\set archive `cat :'file'`
CREATE DATABASE dms_validation_empty TEMPLATE template0 ENCODING 'UTF8';
\c dms_validation_empty
SET client_min_messages = warning;
CREATE EXTENSION dms;
SELECT dms.deploy_schema(:'library', :'archive') IS NOT NULL AS deployed;
SELECT outcome FROM dms.upsert_document('Library', 'Author', '{"authorId": "a", "name": "A"}');
-- What becomes of a book with these members: what is stored of them, or the
-- faults.
CREATE FUNCTION book(members text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	stored text;
	id uuid;
BEGIN
	id := (dms.upsert_document('Library', 'Book', ('{"isbn": "1", "title": "t", "authors": [{"authorReference": {"authorId": "a"}}], '
		|| members || '}')::json)).document_uuid;
	RETURN dms.get_document(id)::jsonb - '{id,isbn,title,authors,_etag,_lastModifiedDate}'::text[];
EXCEPTION WHEN SQLSTATE 'ZD400' THEN
	GET STACKED DIAGNOSTICS stored = PG_EXCEPTION_DETAIL;
	RETURN stored::json ->> 'validationErrors';
END $$;
SELECT m AS sent, book(m) FROM unnest(ARRAY['"publisher": {}', '"publisher": {"name": null}', '"publisher": {"city": "Bend"}',
	'"publisher": {"unknown": 1}', '"publisher": null', '"publisher": {"name": "P"}', '"publisher": []',
	'"_ext": {}', '"_ext": {"archive": {}}', '"_ext": {"archive": {"callNumber": null}}', '"_ext": {"archive": null}',
	'"_ext": {"unknown": {}}', '"_ext": {"archive": {"callNumber": "1"}}', '"_ext": null',
	'"publisher": {}, "_ext": {"archive": {}}']) AS m;
-- References are complete or not, and arrays of the root that hold only {} are
-- absent, as before.  An element that holds an empty object is not empty.
SELECT m AS sent, book(m) FROM unnest(ARRAY['"homeBranchReference": {}', '"homeBranchReference": {"city": null}', '"copies": [{}]',
	'"copies": [{"branchReference": {}}]', '"translations": [{"language": "la", "reviews": []}]',
	'"translations": [{"language": "la", "reviews": [{}]}]', '"remarks": [{}, null]']) AS m;

\c :database
DROP DATABASE dms_validation;
DROP DATABASE dms_validation_types;
DROP DATABASE dms_validation_empty;
