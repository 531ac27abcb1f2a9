-- The check of a domain runs within the input function of another type: a composite type, an array, a
-- nested composite type.
-- expect: [x3] ERROR:  55000: function public.careless\(bigint\) behind table "cascade.school" has no search_path of its own
\ir ../lib/store.sql
\ir ../lib/careless.sql
CREATE DOMAIN public.checked AS bigint CHECK (public.careless(VALUE));
CREATE TYPE public.pair AS (a bigint, b public.checked);
CREATE TYPE public.pairs AS (p public.pair[]);
ALTER TABLE cascade.school ADD x public.pair, ADD y public.checked[], ADD z public.pairs;
\ir ../lib/trap.sql
SELECT outcome FROM dms.upsert_document('Cascade', 'School', '{"schoolId": 2, "name": "Two"}');
\c - dbo
ALTER TABLE cascade.school DROP x, DROP y;
\ir ../lib/trap.sql
SELECT outcome FROM dms.upsert_document('Cascade', 'School', '{"schoolId": 3, "name": "Two"}');
\c - dbo
ALTER TABLE cascade.school DROP z, ADD t text DEFAULT '(1,2)'::text::public.pair::text;
\ir ../lib/trap.sql
SELECT outcome FROM dms.upsert_document('Cascade', 'School', '{"schoolId": 4, "name": "Two"}');
-- A domain that our check does not find still does not run the caller's code.
\c - dbo
ALTER TABLE cascade.school ALTER t SET DEFAULT (json_populate_record(NULL::public.pair, '{"a": 1, "b": 2}'))::text;
\ir ../lib/trap.sql
SELECT outcome FROM dms.upsert_document('Cascade', 'School', '{"schoolId": 5, "name": "Two"}');

-- A session that has cached facts about a type notices a change.
-- expect: [warm] ^inserted$
-- expect: [warm] ERROR:  55000: function public.careless\(bigint\) behind table "cascade.school" has no search_path of its own
\c - dbo
ALTER TABLE cascade.school DROP t;
CREATE TYPE public.one AS (a bigint);
ALTER TABLE cascade.school ADD x public.one;
\echo =warm=
\c - postgres
SELECT outcome FROM dms.upsert_document('Cascade', 'School', '{"schoolId": 6, "name": "Two"}');
ALTER TYPE public.one ADD ATTRIBUTE b public.checked;
SELECT outcome FROM dms.upsert_document('Cascade', 'School', '{"schoolId": 7, "name": "Two"}');
