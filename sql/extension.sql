-- The extension is code only.  It can be dropped and created again at any time,
-- and it describes itself.

CREATE EXTENSION dms;
SELECT extname, extversion, nspname, extrelocatable
FROM pg_extension JOIN pg_namespace n ON n.oid = extnamespace
WHERE extname = 'dms';
DROP EXTENSION dms;
CREATE EXTENSION dms;

-- A database owner who is not superuser can install it.
SELECT superuser, trusted, relocatable, schema
FROM pg_available_extension_versions
WHERE name = 'dms' AND version = '1.0';

-- It has functions and types, but no tables that a dump would miss.
SELECT c.relname, c.relkind
FROM pg_depend d JOIN pg_class c ON d.classid = 'pg_class'::regclass AND d.objid = c.oid
WHERE d.deptype = 'e'
  AND d.refclassid = 'pg_extension'::regclass
  AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'dms')
  AND c.relkind <> 'c';

-- The functions of the extension.
CREATE TEMP VIEW dms_function AS
SELECT p.oid::regprocedure AS signature, p.*
FROM pg_depend d JOIN pg_proc p ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid
WHERE d.deptype = 'e'
  AND d.refclassid = 'pg_extension'::regclass
  AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'dms');

-- Every object of the extension has a comment.  (From PostgreSQL 17 on, array
-- types are members of an extension as well; they need none.)
SELECT o.type, o.identity
FROM pg_depend d,
     LATERAL pg_identify_object(d.classid, d.objid, d.objsubid) AS o
WHERE d.deptype = 'e'
  AND d.refclassid = 'pg_extension'::regclass
  AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'dms')
  AND o.identity NOT LIKE '%[]'
  AND obj_description(d.objid, d.classid::regclass::name) IS NULL
ORDER BY 1, 2;

-- Every argument of a function has a name, for calls with name => value.
SELECT signature FROM dms_function
WHERE pronargs > 0 AND (proargnames IS NULL OR '' = ANY (proargnames))
ORDER BY signature::text;

-- Functions in SQL and PL languages do not rely on the caller's search path.  A
-- procedure that ends transactions cannot set its own, and qualifies every
-- name.
SELECT signature FROM dms_function
WHERE prolang <> (SELECT oid FROM pg_language WHERE lanname = 'c')
  AND NOT COALESCE(proconfig @> ARRAY['search_path=pg_catalog, pg_temp'], false)
ORDER BY signature::text;

-- Functions without access to data may be called by PUBLIC, others only by
-- roles to which they were granted.
SELECT signature, provolatile AS volatile, proisstrict AS strict, proparallel AS parallel
FROM dms_function
WHERE has_function_privilege('public', oid, 'EXECUTE')
ORDER BY signature::text COLLATE "C";

-- Functions that load models are parallel unsafe, because these are read in a newer
-- snapshot than that of the query.
SELECT signature FROM dms_function
WHERE prolang = (SELECT oid FROM pg_language WHERE lanname = 'c') AND provolatile <> 'i' AND proparallel <> 'u'
ORDER BY signature::text COLLATE "C";

-- \df dms.* lists what users call; helpers are in a schema of their own.
SELECT proname AS for_users, count(*) AS forms
FROM dms_function WHERE pronamespace = 'dms'::regnamespace GROUP BY 1 ORDER BY proname COLLATE "C";
SELECT DISTINCT proname COLLATE "C" AS internal FROM dms_function
WHERE pronamespace = 'dms_internal'::regnamespace ORDER BY 1;
-- Only the owner of the functions can create anything there.
SELECT count(*) = 0 AS all_are_of_its_owner FROM dms_function AS f
JOIN pg_namespace AS n ON n.nspname = 'dms_internal' WHERE f.proowner <> n.nspowner;
SELECT array_agg(DISTINCT a.privilege_type) AS others
FROM pg_namespace AS n, aclexplode(n.nspacl) AS a WHERE n.nspname = 'dms_internal' AND a.grantee <> n.nspowner;
