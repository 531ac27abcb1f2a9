-- The owner's trigger tries every way to become the session user.  Functions that it calls still run as
-- the owner.
-- expect: [x6] ERROR:  42501: cannot set parameter "(role|session_authorization)" within security-(definer|restricted)
-- expect: ^safe postgres$
\ir ../lib/store.sql
CREATE TABLE public.what (todo text);
CREATE FUNCTION public.become() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	EXECUTE (SELECT todo FROM public.what);
	IF current_user <> 'dbo' THEN
		RAISE NOTICE 'pwned as %', current_user;
	END IF;
	RETURN NEW;
END $$;
CREATE TRIGGER become BEFORE INSERT ON cascade.school FOR EACH ROW EXECUTE FUNCTION public.become();
\c - postgres
\set try 'SELECT outcome FROM dms.upsert_document(''Cascade'', ''School'', ''{"schoolId": 2, "name": "Two"}'');'
INSERT INTO public.what VALUES ('SET ROLE postgres');
:try
UPDATE public.what SET todo = 'SET LOCAL ROLE NONE';
:try
UPDATE public.what SET todo = 'RESET ROLE';
:try
UPDATE public.what SET todo = 'SET SESSION AUTHORIZATION postgres';
:try
UPDATE public.what SET todo = 'RESET SESSION AUTHORIZATION';
:try
UPDATE public.what SET todo = 'SELECT pg_catalog.set_config(''role'', ''postgres'', false)';
:try
UPDATE public.what SET todo = 'DO $x$ BEGIN IF current_user <> ''dbo'' THEN RAISE NOTICE ''pwned as %'', current_user; END IF; END $x$';
:try
SELECT 'safe ' || current_user;
