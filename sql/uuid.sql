-- UUIDs made from names and from time, and the ReferentialIds of identities.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS dms;
RESET client_min_messages;

--
-- dms.uuid_v5: the same name in the same namespace always has the same UUID
--

-- The examples of RFC 9562 and of Python's documentation.
SELECT dms.uuid_v5('6ba7b810-9dad-11d1-80b4-00c04fd430c8', 'www.example.com') AS rfc_9562,
       dms.uuid_v5('6ba7b810-9dad-11d1-80b4-00c04fd430c8', 'python.org') AS python;

-- Names are hashed as UTF-8; empty and long names are valid, too.
SELECT name, dms.uuid_v5('edf1edf1-3df1-3df1-3df1-3df1edf1edf1', name)
FROM (VALUES (''), ('Zoë'), ('日本語'), ('🏫')) AS v (name);
SELECT dms.uuid_v5('edf1edf1-3df1-3df1-3df1-3df1edf1edf1', repeat('x', 10000000));

-- NULL gives NULL.
SELECT dms.uuid_v5(NULL, 'name') IS NULL AND dms.uuid_v5('6ba7b810-9dad-11d1-80b4-00c04fd430c8', NULL) IS NULL AS strict;

-- uuid-ossp agrees, for names of every length and for characters of one to four
-- bytes.
CREATE EXTENSION "uuid-ossp" SCHEMA public;
CREATE TEMP TABLE generated_name AS
SELECT n, (SELECT string_agg(chr(CASE i % 5
                                   WHEN 0 THEN 32 + (n * 7 + i * 13) % 95
                                   WHEN 1 THEN 161 + (n * 31 + i) % 1500
                                   WHEN 2 THEN 19968 + (n * 17 + i * 101) % 20000
                                   WHEN 3 THEN 127744 + (n + i) % 600
                                   ELSE 97 + (n + i) % 26
                                 END), '' ORDER BY i)
           FROM generate_series(1, n % 150) AS i) AS name
FROM generate_series(1, 3000) AS n;
SELECT count(*) AS names,
       count(*) FILTER (WHERE dms.uuid_v5(namespace, name) IS DISTINCT FROM public.uuid_generate_v5(namespace, name)) AS differences
FROM (SELECT md5(n::text)::uuid AS namespace, COALESCE(name, '') AS name FROM generated_name) AS g;
DROP EXTENSION "uuid-ossp";

--
-- dms.referential_id: the UUIDv5 of {project}{resource}{path}={value}#...
--

SELECT dms.referential_id('Ed-Fi', 'School', ARRAY['$.schoolId'], ARRAY['123'])
       = '3af6ad85-1212-5833-be6f-f8df6f4d6402' AS school;
SELECT dms.referential_id('Ed-Fi', 'Section',
         ARRAY['$.localCourseCode', '$.schoolReference.schoolId', '$.sessionReference.schoolYear',
               '$.sectionIdentifier', '$.sessionReference.sessionName'],
         ARRAY['abc', '123', '2030', 'sectionId', 'd'])
       = '7400934a-8a00-551b-a1ba-4db0b3a4d556' AS section;
SELECT dms.referential_id('Ed-Fi', 'EducationOrganization', ARRAY['$.educationOrganizationId'], ARRAY['123'])
       = '7589fd2c-6eac-5a70-a328-2d5e1ca6afa6' AS education_organization;
SELECT dms.referential_id('Ed-Fi', 'GradeLevelDescriptor', ARRAY['$.descriptor'],
         ARRAY['uri://ed-fi.org/gradeleveldescriptor#tenth grade'])
       = 'a0154e45-ee01-5789-9992-267c73f71f22' AS grade_level_descriptor;

-- It is exactly that UUIDv5: values are not changed.
SELECT dms.referential_id('Ed-Fi', 'Étudiant', ARRAY['$.nom', '$.prénom'], ARRAY['Čapek ', ''])
       = dms.uuid_v5('edf1edf1-3df1-3df1-3df1-3df1edf1edf1', 'Ed-FiÉtudiant$.nom=Čapek #$.prénom=') AS joined;

-- The order of the elements matters, and so does the assignment of values to
-- paths.
SELECT count(DISTINCT id)
FROM (VALUES (dms.referential_id('P', 'R', ARRAY['$.a', '$.b'], ARRAY['1', '2'])),
             (dms.referential_id('P', 'R', ARRAY['$.b', '$.a'], ARRAY['2', '1'])),
             (dms.referential_id('P', 'R', ARRAY['$.a', '$.b'], ARRAY['2', '1']))) AS v (id);

-- A missing argument is an error, and never a NULL that a query would pass on.
\set VERBOSITY sqlstate
SELECT dms.referential_id(NULL, 'R', ARRAY['$.a'], ARRAY['1']);
SELECT dms.referential_id('P', NULL, ARRAY['$.a'], ARRAY['1']);
SELECT dms.referential_id('P', 'R', NULL, ARRAY['1']);
SELECT dms.referential_id('P', 'R', ARRAY['$.a'], NULL);
\set VERBOSITY terse
SELECT dms.referential_id('', 'R', ARRAY['$.a'], ARRAY['1']);
SELECT dms.referential_id('P', '', ARRAY['$.a'], ARRAY['1']);
SELECT dms.referential_id('P', 'R', ARRAY[''], ARRAY['1']);
SELECT dms.referential_id('P', 'R', ARRAY['$.a', NULL], ARRAY['1', '2']);
SELECT dms.referential_id('P', 'R', ARRAY['$.a', '$.b'], ARRAY['1', NULL]);
SELECT dms.referential_id('P', 'R', ARRAY['$.a', '$.b'], ARRAY['1']);
SELECT dms.referential_id('P', 'R', '{}', '{}');
SELECT dms.referential_id('P', 'R', ARRAY[ARRAY['$.a'], ARRAY['$.b']], ARRAY[ARRAY['1'], ARRAY['2']]);

-- A value could look like two elements.  Only the separator itself is refused:
-- descriptors contain '#', and prices '$'.
\set VERBOSITY default
SELECT dms.referential_id('P', 'R', ARRAY['$.a'], ARRAY['1#$.b=2']);
SELECT dms.referential_id('P', 'R', ARRAY['$.a', '$.b'], ARRAY['#', '$.5 #5 #$']) IS NOT NULL AS allowed;

--
-- dms.uuid_v7: new UUIDs that sort by the time of their creation
--

SELECT substr(dms.uuid_v7()::text, 15, 1) AS version,
       substr(dms.uuid_v7()::text, 20, 1) IN ('8', '9', 'a', 'b') AS variant;

-- Within a session each is greater than the one before, also within the same
-- millisecond and after an overflow of the counter.
CREATE TEMP TABLE made AS
SELECT n, dms.uuid_v7() AS id FROM generate_series(1, 100000) AS n;
SELECT count(*) AS made, count(DISTINCT id) AS different,
       count(*) FILTER (WHERE id <= before) AS out_of_order
FROM (SELECT id, lag(id) OVER (ORDER BY n) AS before FROM made) AS pairs;

-- Version and variant are right in all of them, and the rest is random.
SELECT bool_and(id::text ~ '^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$') AS well_formed,
       count(DISTINCT right(id::text, 12)) > 99990 AS random
FROM made;

-- The first 48 bits are the time in milliseconds.
SELECT abs(extract(epoch FROM clock_timestamp()) - milliseconds / 1000.0) < 600 AS now
FROM (SELECT ('x' || lpad(left(replace(dms.uuid_v7()::text, '-', ''), 12), 16, '0'))::bit(64)::bigint) AS t (milliseconds);
