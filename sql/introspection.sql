-- Descriptions of the deployed schema, for people: its resources, the structure
-- of each, and their relations.
--
-- The schema is a small library, and an extension of it that keeps an archive:
-- test/schemas/introspection.json and introspection-extra.json.
\set home :DBNAME
CREATE DATABASE regress_introspection TEMPLATE template0 ENCODING 'UTF8';
\c regress_introspection
CREATE EXTENSION dms;

-- Without a schema there is nothing to describe.
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

-- Each resource follows those that it refers to, so documents that are loaded
-- in this order find their targets.  A School may refer to any Borrower, so it
-- follows the other subclass.  For references to the same resource no order
-- helps.
SELECT resource, kind, project_endpoint, endpoint, table_name, load_order
FROM dms.resources();

-- Columns are those that hold values of the document, in all its tables.
SELECT resource, column_count AS columns, collection_count AS collections,
       reference_count AS "references", descriptor_count AS descriptors
FROM dms.resources();

-- The values that identify a document, whether they can change, and the
-- superclass under which it is also known.
SELECT resource, identity_paths, identity_can_change, superclass
FROM dms.resources();

--
-- dms.describe_resource()
--

-- First the tables, each with its keys, columns and unique constraints.
SELECT table_name, part, name, type, nullable, json_path, refers_to
FROM dms.describe_resource('Library', 'Book')
WHERE table_name IS NOT NULL AND name IS NOT NULL;

-- Then the rules.  The database itself enforces references and most kinds of
-- uniqueness, for all writers; the other rules are checked by every write of
-- the functions.  Here the copies of a book are unique by a part of the values
-- of their reference, and remarks must differ in some value.
SELECT part, name, json_path, enforced_by
FROM dms.describe_resource('Library', 'Book')
WHERE part IN ('natural key', 'unique', 'equality');

-- Last, the query fields.
SELECT name, type, json_path
FROM dms.describe_resource('Library', 'Book')
WHERE part = 'query field';

-- A natural key lists the values of the identity.  If it may become too wide
-- for an index, it is not a constraint.
SELECT resource, name, d.json_path, enforced_by
FROM unnest(ARRAY['Loan', 'Motto']) resource, dms.describe_resource('Library', resource) d
WHERE part = 'natural key';

-- All descriptors are in one table.
SELECT part, table_name, name, type, json_path, enforced_by
FROM dms.describe_resource('Library', 'GenreDescriptor')
WHERE part <> 'query field';

-- An abstract resource is a view over its subclasses.
SELECT part, table_name, name, type, json_path
FROM dms.describe_resource('Library', 'Borrower');

-- The description agrees with the catalogs: columns, types, and constraints.
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

-- And it is complete.
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

-- The tables of a book, the resources that it refers to, and those that refer
-- to it.
SELECT dms.schema_diagram('Library', 'Book');

-- An author has at most one mentor, who is also an author.
SELECT dms.schema_diagram('Library', 'Author');

-- A loan is identified by its book and its borrower: solid lines.
SELECT dms.schema_diagram('Library', 'Loan');

-- A subclass of Borrower, the abstract resource itself, and a descriptor.
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

-- Names that do not exist, and names of another project.
SELECT * FROM dms.describe_resource('Library', 'Shelf');
\set VERBOSITY sqlstate
SELECT * FROM dms.describe_resource('Archive', 'Book');
SELECT * FROM dms.describe_resource('Librar_', 'B%');
SELECT dms.schema_diagram('', '');
\set VERBOSITY default
SELECT dms.schema_diagram(NULL, 'Book') IS NULL AS nothing;

--
-- Rights: only roles with EXECUTE may call the functions, and they describe
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

-- A damaged model is reported as data corruption, whatever it contains.
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
SELECT d, damaged(d) FROM unnest(ARRAY['[]', '{}', '{"format": 1}', '{"format": "3"}', '{"format": 3}', '{"format": 3, "project": null}',
	'{"format": 3, "project": "Library", "resource": 5}', '{"format": 3, "project": "Library", "resource": "Book", "endpoint": "books"}',
	'{"format": 3, "project": "Library", "resource": "Book", "project_endpoint": "library", "version": "1", "tables": [5]}',
	'{"format": 3, "project": "Library", "resource": "Book", "project_endpoint": "library", "version": "1"}']) AS d;
-- Every number in the model, in turn far too large or negative.
\set numbers '"(kind|type|column|scope|reference|table|projection|join|from)":(-?[0-9]+)'
SELECT name, damaged, count(*) > 0 AS seen
FROM (SELECT Model::text FROM dms.ResourceModel WHERE ResourceName = 'Book') AS model (whole),
	regexp_matches(whole, :'numbers', 'g') WITH ORDINALITY AS f (found, n), unnest(ARRAY['1000000', '-7']) AS value,
	LATERAL (SELECT found[1], damaged(regexp_replace(whole, :'numbers', '"\1":' || value, 1, n::int))) AS d (name, damaged)
GROUP BY 1, 2 ORDER BY name COLLATE "C", damaged COLLATE "C";

\c :home
DROP DATABASE regress_introspection;
