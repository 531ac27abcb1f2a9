-- What is deployed, for people: which resources there are, what each looks
-- like, and how it hangs together with others.
--
-- The schema is a small library, and an extension of it that keeps an archive:
-- test/schemas/introspection.json and introspection-extra.json.
\set home :DBNAME
CREATE DATABASE regress_introspection TEMPLATE template0 ENCODING 'UTF8';
\c regress_introspection
CREATE EXTENSION dms;

-- Without a schema there is nothing to tell.
\set VERBOSITY terse
SELECT * FROM dms.resources();
SELECT * FROM dms.describe_resource('Library', 'Book');
SELECT dms.schema_diagram('Library', 'Book');
\set VERBOSITY default

\getenv directory PG_ABS_SRCDIR
\set file :directory /test/schemas/introspection.json
\set library `cat :'file'`
\set file :directory /test/schemas/introspection-extra.json
\set archive `cat :'file'`
SET client_min_messages = warning;
SELECT dms.deploy_schema(:'library', :'archive') IS NOT NULL AS deployed;
RESET client_min_messages;

--
-- dms.resources()
--

-- Each resource comes behind all that it refers to: documents that are loaded
-- in this order find what they need.  A School may refer to any Borrower, so it
-- comes behind the other one; what refers to its own kind has no better place.
SELECT resource, kind, project_endpoint, endpoint, table_name, load_order
FROM dms.resources();

-- Columns are those that hold something of the document, in all its tables.
SELECT resource, column_count AS columns, collection_count AS collections,
       reference_count AS "references", descriptor_count AS descriptors
FROM dms.resources();

-- Which values a document is known by, whether they can change, and under which
-- other name it is known.
SELECT resource, identity_paths, identity_can_change, superclass
FROM dms.resources();

--
-- dms.describe_resource()
--

-- First the tables, each with its keys, its columns and what is unique in it.
SELECT table_name, part, name, type, nullable, json_path, refers_to
FROM dms.describe_resource('Library', 'Book')
WHERE table_name IS NOT NULL AND name IS NOT NULL;

-- Then the rules.  The database itself enforces references and most kinds of
-- uniqueness, whoever writes; the rest holds because every write is checked.
-- Here the copies of a book are unique by a part of what their reference says,
-- and the remarks must differ in whatever they have.
SELECT part, name, json_path, enforced_by
FROM dms.describe_resource('Library', 'Book')
WHERE part IN ('natural key', 'unique', 'equality');

-- Last, what queries can ask for.
SELECT name, type, json_path
FROM dms.describe_resource('Library', 'Book')
WHERE part = 'query field';

-- A natural key lists the values of the identity.  One that may become too wide
-- for an index is not a constraint.
SELECT resource, name, d.json_path, enforced_by
FROM unnest(ARRAY['Loan', 'Motto']) resource, dms.describe_resource('Library', resource) d
WHERE part = 'natural key';

-- All descriptors are in one table.
SELECT part, table_name, name, type, json_path, enforced_by
FROM dms.describe_resource('Library', 'GenreDescriptor')
WHERE part <> 'query field';

-- An abstract resource is a view over the resources that extend it.
SELECT part, table_name, name, type, json_path
FROM dms.describe_resource('Library', 'Borrower');

-- It is all as described: columns, types, and constraints.
CREATE TEMP VIEW described AS
SELECT r.kind, d.* FROM dms.resources() r, dms.describe_resource(r.project, r.resource) d;

SELECT table_name, name, type, nullable
FROM described WHERE part IN ('key', 'column') AND kind <> 'abstract'
EXCEPT
SELECT attrelid::regclass::text, attname,
       replace(format_type(atttypid, atttypmod), 'character varying', 'varchar'), NOT attnotnull
FROM pg_attribute;

SELECT table_name, name FROM described WHERE part IN ('natural key', 'unique') AND name IS NOT NULL
EXCEPT
SELECT conrelid::regclass::text, conname FROM pg_constraint WHERE contype = 'u';

SELECT table_name, name FROM described WHERE refers_to IS NOT NULL AND kind <> 'abstract'
EXCEPT
SELECT conrelid::regclass::text, attname
FROM pg_constraint JOIN pg_attribute ON attrelid = conrelid AND ARRAY[attnum] = conkey
WHERE contype = 'f';

-- And nothing is left out.
SELECT attrelid::regclass, attname
FROM pg_attribute JOIN pg_class c ON c.oid = attrelid
WHERE relnamespace IN ('library'::regnamespace, 'archive'::regnamespace)
  AND relkind = 'r' AND relname <> 'borrower_member' AND attnum > 0
EXCEPT
SELECT table_name::regclass, name FROM described;

SELECT conrelid::regclass, conname FROM pg_constraint
WHERE contype = 'u' AND connamespace IN ('library'::regnamespace, 'archive'::regnamespace)
EXCEPT
SELECT table_name::regclass, name FROM described;

--
-- dms.schema_diagram()
--
\pset format unaligned
\pset tuples_only on

-- The tables of a book, what it refers to, and what refers to it.
SELECT dms.schema_diagram('Library', 'Book');

-- An author has at most one mentor, who is an author too.
SELECT dms.schema_diagram('Library', 'Author');

-- A loan is known by its book and its borrower: solid lines.
SELECT dms.schema_diagram('Library', 'Loan');

-- A kind of borrower, all kinds of borrowers, and a descriptor.
SELECT dms.schema_diagram('Library', 'School');
SELECT dms.schema_diagram('Library', 'Borrower');
SELECT dms.schema_diagram('Library', 'GenreDescriptor');

\pset format aligned
\pset tuples_only off

--
-- Names
--

-- Names and endpoint names, in any case.
SELECT count(DISTINCT dms.schema_diagram(project, resource))
FROM unnest(ARRAY['Library', 'library', 'LIBRARY']) project,
     unnest(ARRAY['Branch', 'branch', 'branches', 'BRANCHES']) resource;

-- What there is not, and names of another project.
SELECT * FROM dms.describe_resource('Library', 'Shelf');
\set VERBOSITY sqlstate
SELECT * FROM dms.describe_resource('Archive', 'Book');
SELECT * FROM dms.describe_resource('Librar_', 'B%');
SELECT dms.schema_diagram('', '');
\set VERBOSITY default
SELECT dms.schema_diagram(NULL, 'Book') IS NULL AS nothing;

--
-- Rights: they are for those who were granted the right to call them, and tell
-- what the caller may read.
--
\set VERBOSITY terse
CREATE ROLE regress_librarian;
GRANT USAGE ON SCHEMA dms TO regress_librarian;
SET ROLE regress_librarian;
SELECT count(*) FROM dms.resources();
RESET ROLE;
GRANT EXECUTE ON FUNCTION dms.resources() TO regress_librarian;
SET ROLE regress_librarian;
SELECT count(*) FROM dms.resources();
RESET ROLE;
GRANT SELECT ON dms.ResourceModel TO regress_librarian;
SET ROLE regress_librarian;
SELECT count(*) FROM dms.resources();
RESET ROLE;

DROP OWNED BY regress_librarian;
DROP ROLE regress_librarian;

-- A model that somebody has damaged is told, whatever it would have us read.
CREATE FUNCTION damaged(model text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	UPDATE dms.ResourceModel SET Model = damaged.model::json WHERE ResourceName = 'Book';
	PERFORM * FROM dms.resources();
	RAISE SQLSTATE 'ZZZZZ';
EXCEPTION
	WHEN SQLSTATE 'ZZZZZ' THEN
		RETURN 'sound';
	WHEN data_corrupted THEN
		RETURN SQLERRM;
END $$;
SELECT d, damaged(d) FROM unnest(ARRAY['[]', '{}', '{"format": 1}', '{"format": "2"}', '{"format": 2}', '{"format": 2, "project": null}',
	'{"format": 2, "project": "Library", "resource": 5}', '{"format": 2, "project": "Library", "resource": "Book", "endpoint": "books"}',
	'{"format": 2, "project": "Library", "resource": "Book", "project_endpoint": "library", "version": "1", "tables": [5]}',
	'{"format": 2, "project": "Library", "resource": "Book", "project_endpoint": "library", "version": "1"}']) AS d;
-- Every number of it, in turn far too large, or negative.
\set numbers '"(kind|type|column|scope|reference|table|projection|join|from)":(-?[0-9]+)'
SELECT name, damaged, count(*) > 0 AS seen
FROM (SELECT Model::text FROM dms.ResourceModel WHERE ResourceName = 'Book') AS model (whole),
	regexp_matches(whole, :'numbers', 'g') WITH ORDINALITY AS f (found, n), unnest(ARRAY['1000000', '-7']) AS value,
	LATERAL (SELECT found[1], damaged(regexp_replace(whole, :'numbers', '"\1":' || value, 1, n::int))) AS d (name, damaged)
GROUP BY 1, 2 ORDER BY name COLLATE "C", damaged COLLATE "C";

\c :home
DROP DATABASE regress_introspection;
