-- An index on a range type calls the functions of the type: one depends on the search_path, one belongs
-- to another role.
-- expect: [path] ERROR:  55000: function public.diff\(bigint,bigint\) behind table "cascade.school" has no search_path of its own
-- expect: [another] ERROR:  55000: function public.diff\(bigint,bigint\) behind table "cascade.school" belongs to role "mallory"
\ir ../lib/store.sql
\ir ../lib/careless.sql
CREATE FUNCTION public.diff(a bigint, b bigint) RETURNS double precision LANGUAGE plpgsql IMMUTABLE AS
	$$ BEGIN RETURN a - b + length((SELECT value FROM settings)); END $$;
CREATE TYPE public.span AS RANGE (subtype = bigint, subtype_diff = public.diff);
ALTER TABLE cascade.school ADD span public.span DEFAULT '[1,3)';
CREATE INDEX ON cascade.school USING gist (span);
INSERT INTO cascade.school (documentid, schoolid, name, span) SELECT n, n, 'x', public.span(n, 2 * n) FROM generate_series(10000, 11000) AS n;
\echo =path=
\ir ../lib/trap.sql
SELECT outcome FROM dms.upsert_document('Cascade', 'School', '{"schoolId": 2, "name": "Two"}');
\echo =another=
\c - postgres
CREATE OR REPLACE FUNCTION public.diff(a bigint, b bigint) RETURNS double precision LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS
	$$ BEGIN RAISE NOTICE 'pwned as %', current_user; RETURN a - b; END $$;
ALTER FUNCTION public.diff(bigint, bigint) OWNER TO mallory;
\c - writer
SELECT outcome FROM dms.upsert_document('Cascade', 'School', '{"schoolId": 3, "name": "Two"}');
