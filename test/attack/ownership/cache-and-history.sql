-- Somebody with the level admin switches the cache and the recording of changes, and purges
-- histories.  What the owner has added to these tables must not find the caller's tables then,
-- whether rows are deleted, tables are truncated, or the versions are read by a statement.
\c - dbo
SET client_min_messages = warning;
CREATE EXTENSION dms;
SELECT dms.deploy_schema(:'schema') IS NOT NULL;
SELECT dms.set_change_tracking(true), dms.set_cache_mode('off');
SELECT dms.configure_resource('Cascade', 'School', '{"history": true, "retainVersions": 1}');
SELECT outcome FROM dms.upsert_document('Cascade', 'School', '{"schoolId": 1, "name": "a"}');
SELECT outcome FROM dms.upsert_document('Cascade', 'School', '{"schoolId": 1, "name": "b"}');
SELECT outcome FROM dms.upsert_document('Cascade', 'School', '{"schoolId": 1, "name": "c"}');
SELECT dms.grant_access('writer', 'admin');
\ir ../lib/careless.sql
CREATE FUNCTION public.note() RETURNS trigger LANGUAGE plpgsql AS
	$$ BEGIN INSERT INTO log VALUES (TG_OP); RETURN OLD; END $$;
ALTER TABLE dms.documentversion DROP CONSTRAINT documentversion_pkey CASCADE;

-- Without the key, versions are read by statements.
\ir ../lib/trap.sql
\echo =purged=
-- expect: [purged] ^1$
SELECT dms.purge_history(1);
\c - dbo
ALTER TABLE dms.documentversion ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY part ON dms.documentversion USING (public.careless(versionnumber));
\ir ../lib/trap.sql
\echo =policy=
-- expect: [policy] ERROR:  55000: function public.careless\(bigint\) behind table "dms.documentversion" has no search_path of its own
SELECT dms.purge_history();

\c - dbo
CREATE TRIGGER note BEFORE TRUNCATE ON dms.documentcache FOR EACH STATEMENT EXECUTE FUNCTION public.note();
CREATE TRIGGER note BEFORE TRUNCATE ON dms.trackedchange FOR EACH STATEMENT EXECUTE FUNCTION public.note();
\ir ../lib/trap.sql
\echo =truncated=
-- expect: [truncated] ERROR:  55000: function public.note\(\) behind table "dms.documentcache" has no search_path of its own
-- expect: [truncated] ERROR:  55000: function public.note\(\) behind table "dms.trackedchange" has no search_path of its own
SELECT dms.clear_cache();
SELECT dms.set_change_tracking(false);

\c - dbo
SET client_min_messages = error;
SELECT dms.set_cache_mode('eventual');
CREATE TRIGGER note BEFORE DELETE ON dms.changeconsumer FOR EACH ROW EXECUTE FUNCTION public.note();
\ir ../lib/trap.sql
\echo =deleted=
-- expect: [deleted] ERROR:  55000: function public.note\(\) behind table "dms.changeconsumer" has no search_path of its own
SELECT dms.set_cache_mode('off');

-- With a search_path of its own, the trigger finds the table of the owner.
\c - dbo
ALTER FUNCTION public.note() SET search_path = pg_catalog, public, pg_temp;
\ir ../lib/trap.sql
\echo =careful=
-- expect: [careful] NOTICE:  00000: the mode of the cache is "off"
-- expect: [careful] NOTICE:  00000: changes are not recorded any more
-- expect: [careful] ^DELETE,TRUNCATE,TRUNCATE$
SELECT dms.set_cache_mode('off');
SELECT dms.clear_cache();
SELECT dms.set_change_tracking(false);
\c - dbo
SELECT string_agg(line, ',' ORDER BY line) FROM public.log;
