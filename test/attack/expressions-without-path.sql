-- Everything else that a write evaluates, when it runs or when it is planned.
-- expect: [default x3] ERROR:  55000: function public.careless\(\) behind table "[a-z.]*" has no search_path of its own
-- expect: [generated x3] ERROR:  55000: function public.careless\(pg_catalog.text\) behind table "[a-z.]*" has no search_path of its own
-- expect: [check x3] ERROR:  55000: function public.careless\(bigint\) behind table "[a-z.]*" has no search_path of its own
-- expect: [domain x3] ERROR:  55000: function public.careless\(pg_catalog.text\) behind table "[a-z.]*" has no search_path of its own
-- expect: [index x3] ERROR:  55000: function public.careless\(pg_catalog.text\) behind table "[a-z.]*" has no search_path of its own
-- expect: [partial x3] ERROR:  55000: function public.careless\(bigint\) behind table "[a-z.]*" has no search_path of its own
-- expect: [planned x3] ERROR:  55000: function public.careless\(\) behind table "[a-z.]*" has no search_path of its own
-- expect: [statistics x3] ERROR:  55000: function public.careless\(\) behind table "[a-z.]*" has no search_path of its own
-- expect: [referenced] ERROR:  55000: function public.careless\(\) behind table "[a-z.]*" has no search_path of its own
-- expect: [condition x3] ERROR:  55000: function public.careless\(bigint\) behind table "[a-z.]*" has no search_path of its own
-- expect: [rule] ERROR:  55000: function public.careless\(pg_catalog.text\) behind table "[a-z.]*" has no search_path of its own
-- expect: [behind a rule] ERROR:  55000: function public.note\(\) behind table "[a-z.]*" has no search_path of its own
-- expect: [policy x3] ERROR:  55000: function public.careless\(bigint\) behind table "[a-z.]*" has no search_path of its own
-- expect: [operator x3] ERROR:  55000: function public.careless_eq\(pg_catalog.text,pg_catalog.text\) behind table "[a-z.]*" has no search_path of its own
-- expect: [cast] ERROR:  55000: function public.careless_cast\(pg_catalog.text\) behind table "[a-z.]*" has no search_path of its own
-- expect: [aggregate] ERROR:  55000: function public.careless_step\(pg_catalog.text,pg_catalog.text\) behind table "[a-z.]*" has no search_path of its own
-- expect: [direct] ^inserted$
\ir lib/store.sql
\ir lib/careless.sql

-- Most of it is evaluated only by statements.
\c - postgres
ALTER DATABASE :"DBNAME" SET dms.direct_access = off;
\c - dbo

\echo =default=
ALTER TABLE cascade.school ADD extra text;
ALTER TABLE cascade.school ALTER extra SET DEFAULT public.careless();
\ir lib/try.sql
ALTER TABLE cascade.school DROP extra;

\echo =generated=
ALTER TABLE cascade.school ADD extra text GENERATED ALWAYS AS (public.careless(name)) STORED;
\ir lib/try.sql
ALTER TABLE cascade.school DROP extra;

\echo =check=
ALTER TABLE cascade.school ADD CONSTRAINT extra CHECK (public.careless(schoolid));
\ir lib/try.sql
ALTER TABLE cascade.school DROP CONSTRAINT extra;

\echo =domain=
CREATE DOMAIN public.odd AS text CHECK (public.careless(VALUE) <> '');
ALTER TABLE cascade.school ADD extra public.odd;
\ir lib/try.sql
ALTER TABLE cascade.school DROP extra;

\echo =index=
CREATE INDEX extra ON cascade.school (public.careless(name));
\ir lib/try.sql
DROP INDEX cascade.extra;

\echo =partial=
CREATE INDEX extra ON cascade.school (name) WHERE public.careless(schoolid);
\ir lib/try.sql
DROP INDEX cascade.extra;

\echo =planned=
CREATE INDEX extra ON cascade.school ((name || public.careless()));
\ir lib/try.sql
DROP INDEX cascade.extra;

\echo =statistics=
CREATE STATISTICS public.extra ON (name || public.careless()), schoolid FROM cascade.school;
\ir lib/try.sql
DROP STATISTICS public.extra;

-- The check of a foreign key is a statement, too, which is planned.
\echo =referenced=
CREATE INDEX extra ON cascade.school ((name || public.careless()));
\ir lib/trap.sql
SELECT outcome FROM dms.upsert_document('Cascade', 'Session', '{"schoolReference": {"schoolId": 1}, "sessionName": "Fall"}');
\c - dbo
DROP INDEX cascade.extra;

\echo =condition=
CREATE FUNCTION public.careful() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS 'BEGIN RETURN NEW; END';
CREATE TRIGGER extra BEFORE INSERT OR UPDATE ON cascade.school FOR EACH ROW WHEN (public.careless(NEW.schoolid)) EXECUTE FUNCTION public.careful();
\ir lib/try.sql
DROP TRIGGER extra ON cascade.school;

\echo =rule=
CREATE RULE extra AS ON INSERT TO cascade.school DO ALSO INSERT INTO public.log VALUES (public.careless(NEW.name));
\ir lib/try.sql
DROP RULE extra ON cascade.school;

\echo =behind a rule=
CREATE FUNCTION public.note() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM value FROM settings; RETURN NEW; END';
CREATE TRIGGER note BEFORE INSERT ON public.log FOR EACH ROW EXECUTE FUNCTION public.note();
CREATE RULE extra AS ON INSERT TO cascade.school DO ALSO INSERT INTO public.log VALUES (NEW.name);
\ir lib/try.sql
DROP RULE extra ON cascade.school;

\echo =policy=
CREATE POLICY extra ON cascade.school USING (public.careless(schoolid));
ALTER TABLE cascade.school ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
\ir lib/try.sql
DROP POLICY extra ON cascade.school;
ALTER TABLE cascade.school DISABLE ROW LEVEL SECURITY, NO FORCE ROW LEVEL SECURITY;

\echo =operator=
CREATE FUNCTION public.careless_eq(text, text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN EXISTS (SELECT value FROM settings WHERE value <> ''''); END';
CREATE OPERATOR public.=== (LEFTARG = text, RIGHTARG = text, FUNCTION = public.careless_eq);
ALTER TABLE cascade.school ADD CONSTRAINT extra CHECK (name::text OPERATOR(public.===) name::text);
\ir lib/try.sql
ALTER TABLE cascade.school DROP CONSTRAINT extra;

\echo =cast=
CREATE TYPE public.mood AS ENUM ('x', 'One', 'Two', 'Too', 'Three');
CREATE FUNCTION public.careless_cast(varchar) RETURNS public.mood LANGUAGE plpgsql IMMUTABLE AS
	'BEGIN RETURN (SELECT value FROM settings)::pg_catalog.text::public.mood; END';
CREATE CAST (varchar AS public.mood) WITH FUNCTION public.careless_cast(varchar) AS ASSIGNMENT;
CREATE FUNCTION public.careless_cast(text) RETURNS public.mood LANGUAGE plpgsql IMMUTABLE AS
	'BEGIN RETURN (SELECT value FROM settings)::pg_catalog.text::public.mood; END';
CREATE CAST (text AS public.mood) WITH FUNCTION public.careless_cast(text) AS ASSIGNMENT;
ALTER TABLE cascade.school ALTER name TYPE public.mood USING 'One';
\ir lib/try.sql
ALTER TABLE cascade.school ALTER name TYPE varchar(30);

\echo =aggregate=
CREATE FUNCTION public.careless_step(text, text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN (SELECT value FROM settings); END';
CREATE AGGREGATE public.careless_sum(text) (SFUNC = public.careless_step, STYPE = text);
CREATE RULE extra AS ON INSERT TO cascade.school DO ALSO INSERT INTO public.settings SELECT public.careless_sum(relname) FROM pg_catalog.pg_class WHERE relname = 'pg_class';
\ir lib/try.sql
DROP RULE extra ON cascade.school;

-- With direct access, the check of a foreign key plans nothing, so there is nothing to
-- refuse.
\echo =direct=
\c - postgres
ALTER DATABASE :"DBNAME" RESET dms.direct_access;
\c - dbo
CREATE INDEX extra ON cascade.school ((name || public.careless()));
\ir lib/trap.sql
SELECT outcome FROM dms.upsert_document('Cascade', 'Session', '{"schoolReference": {"schoolId": 1}, "sessionName": "Fall"}');
