-- A table of another role replaces the table of a resource, or a core table.
-- expect: [resource] ERROR:  55000: table "cascade.school" belongs to role "mallory", and not to the store's owner "dbo"
-- expect: [member] ERROR:  55000: table "cascade.organization_member" belongs to role "mallory", and not to the store's owner "dbo"
-- expect: [schema] ERROR:  55000: schema "cascade" belongs to role "mallory", which does not have the rights of the store's owner
-- expect: [core] ERROR:  55000: table "dms.edgesource" belongs to role "mallory", and not to the store's owner "dbo"
-- expect: [reassigned] inserted
\ir lib/store.sql
\c - postgres
CREATE FUNCTION public.evil() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS
	$$ BEGIN RAISE NOTICE 'pwned as %', current_user; RETURN NEW; END $$;
ALTER FUNCTION public.evil() OWNER TO mallory;
ALTER TABLE cascade.school OWNER TO mallory;
GRANT USAGE ON SCHEMA cascade TO mallory;
\c - mallory
GRANT ALL ON cascade.school TO dbo;
CREATE TRIGGER evil BEFORE INSERT ON cascade.school FOR EACH ROW EXECUTE FUNCTION public.evil();

\echo =resource=
\c - writer
SELECT outcome FROM dms.upsert_document('Cascade', 'School', '{"schoolId": 2, "name": "Two"}');
\c - postgres
DROP TRIGGER evil ON cascade.school;
ALTER TABLE cascade.school OWNER TO dbo;
ALTER TABLE cascade.organization_member OWNER TO mallory;
GRANT ALL ON cascade.organization_member TO dbo;

\echo =member=
\c - writer
SELECT outcome FROM dms.upsert_document('Cascade', 'School', '{"schoolId": 2, "name": "Two"}');
\c - postgres
ALTER TABLE cascade.organization_member OWNER TO dbo;
ALTER SCHEMA cascade OWNER TO mallory;
GRANT ALL ON SCHEMA cascade TO dbo;

\echo =schema=
\c - writer
SELECT outcome FROM dms.upsert_document('Cascade', 'School', '{"schoolId": 2, "name": "Two"}');
\c - postgres
ALTER SCHEMA cascade OWNER TO dbo;
ALTER TABLE dms.edgesource OWNER TO mallory;

\echo =core=
\c - writer
SELECT outcome FROM dms.upsert_document('Cascade', 'School', '{"schoolId": 2, "name": "Two"}');

-- The whole store can be given to another role.
\echo =reassigned=
\c - postgres
ALTER TABLE dms.edgesource OWNER TO dbo;
REASSIGN OWNED BY dbo TO dep;
\c - writer
SELECT outcome FROM dms.upsert_document('Cascade', 'School', '{"schoolId": 2, "name": "Two"}');
