-- The tour that ./quickstart gives.  Every statement can be repeated in psql.
\pset footer off
\set ECHO all

-- The extension is code only; a database owner may create it.
CREATE EXTENSION dms;

-- Every document has an identity: natural-key values that it is known by.
-- Its ReferentialId is made from the resource's names and those values, so
-- whoever knows the values can find the document in one lookup.
SELECT dms.referential_id('Ed-Fi', 'School',
                          paths => ARRAY['$.schoolId'],
                          vals => ARRAY['123']);

-- It is a UUIDv5, and anybody can make the same one from the same name.
SELECT dms.uuid_v5('edf1edf1-3df1-3df1-3df1-3df1edf1edf1', 'Ed-FiSchool$.schoolId=123');

-- Documents get UUIDs that sort by the time of their making.
SELECT dms.uuid_v7() AS first, dms.uuid_v7() AS second;

-- Code-list values are equal in any case, in every language.
SELECT dms.lower_invariant('uri://ed-fi.org/GradeLevelDescriptor#ÉLÉMENTAIRE');

-- A schema file says which documents there are.  This one is a small school,
-- in the shape of the Ed-Fi standard; psql reads it into a variable.
\set school `cat examples/schemas/school.json`
SELECT dms.deploy_schema(:'school');

-- Ordinary tables came out: one for each kind of document, and one for each
-- collection in it.  They are yours; comments say what they hold.
SELECT c.oid::regclass AS "table", obj_description(c.oid) AS holds
FROM pg_class AS c
WHERE relnamespace = 'edfi'::regnamespace AND relkind = 'r'
ORDER BY 1;

-- An enrollment: what it refers to is one column each, its identity a key.
\d edfi.StudentSchoolAssociation

-- Deploying the same again changes nothing, however the file is written.
SELECT dms.deploy_schema(:'school'::jsonb::json);
