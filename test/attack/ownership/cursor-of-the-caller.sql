-- The owner's trigger closes a cursor of the caller and opens another one with the same name, which the
-- caller fetches from; or it reads the caller's rows.
-- expect: [replaced] ERROR:  24000: cannot drop active portal "mine"
-- expect: [read] ERROR:  55000: portal "mine" cannot be run
-- expect: [caught] ^inserted$
-- expect: [caught x2] ^7$
-- expect: [own] ^inserted$
-- expect: [own x2] ^7$
\ir ../lib/store.sql
CREATE FUNCTION public.evil() RETURNS integer LANGUAGE plpgsql AS
	$$ BEGIN IF current_user <> 'dbo' THEN RAISE NOTICE 'pwned as %', current_user; END IF; RETURN 1; END $$;
CREATE FUNCTION public.leave() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS
	$$ DECLARE c refcursor := 'mine'; BEGIN CLOSE c; OPEN c FOR SELECT public.evil(); RETURN NEW; END $$;
CREATE TRIGGER leave BEFORE INSERT ON cascade.school FOR EACH ROW EXECUTE FUNCTION public.leave();
\echo =replaced=
\c - postgres
BEGIN;
DECLARE mine CURSOR FOR SELECT 7;
SELECT outcome FROM dms.upsert_document('Cascade', 'School', '{"schoolId": 2, "name": "Two"}');
FETCH FROM mine;
ROLLBACK;

\echo =read=
\c - dbo
CREATE OR REPLACE FUNCTION public.leave() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	c refcursor;
	r record;
BEGIN
	SELECT name INTO c FROM pg_cursors WHERE name <> '';
	FETCH c INTO r;
	RAISE NOTICE 'pwned: %', r;
	RETURN NEW;
END $$;
\c - postgres
BEGIN;
DECLARE mine CURSOR FOR SELECT rolname, rolpassword FROM pg_authid;
SELECT outcome FROM dms.upsert_document('Cascade', 'School', '{"schoolId": 2, "name": "Two"}');
ROLLBACK;

-- After an error that the owner or the caller catches, the caller has its cursor again.
\echo =caught=
\c - dbo
CREATE OR REPLACE FUNCTION public.leave() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	c refcursor := 'mine';
BEGIN
	IF NEW.schoolid < 10 THEN
		CLOSE c;
	END IF;
	BEGIN
		CLOSE c;
		OPEN c FOR SELECT public.evil();
	EXCEPTION WHEN invalid_cursor_state THEN
		RETURN NEW;
	END;
	RETURN NULL;
END $$;
\c - postgres
BEGIN;
DECLARE mine SCROLL CURSOR FOR SELECT 7;
SELECT outcome FROM dms.upsert_document('Cascade', 'School', '{"schoolId": 10, "name": "Two"}');
FETCH FROM mine;
SELECT (dms.handle_request('POST', '/cascade/schools', '{}', '{"schoolId": 2, "name": "Two"}')).status;
ROLLBACK;
BEGIN;
DECLARE mine SCROLL CURSOR FOR SELECT 7;
SAVEPOINT a;
SELECT outcome FROM dms.upsert_document('Cascade', 'School', '{"schoolId": 2, "name": "Two"}');
ROLLBACK TO a;
FETCH FROM mine;
CLOSE mine;
COMMIT;

-- The cursor of a loop of the caller, and cursors of the owner's functions, still work.
\echo =own=
\c - dbo
CREATE OR REPLACE FUNCTION public.leave() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	c CURSOR FOR SELECT 1;
	d refcursor;
BEGIN
	OPEN c;
	CLOSE c;
	OPEN d FOR SELECT 1;
	CLOSE d;
	FOR e IN c LOOP
		NULL;
	END LOOP;
	RETURN NEW;
END $$;
\c - postgres
BEGIN;
DECLARE mine SCROLL CURSOR WITH HOLD FOR SELECT 7;
DO $$
DECLARE
	r record;
BEGIN
	FOR r IN SELECT n FROM generate_series(20, 25) AS n LOOP
		PERFORM dms.upsert_document('Cascade', 'School', json_build_object('schoolId', r.n, 'name', 'x'));
	END LOOP;
END $$;
SELECT outcome FROM dms.upsert_document('Cascade', 'School', '{"schoolId": 26, "name": "Two"}');
FETCH FROM mine;
COMMIT;
SELECT outcome FROM dms.upsert_document('Cascade', 'School', '{"schoolId": 27, "name": "Two"}');
FETCH PRIOR FROM mine;
FETCH NEXT FROM mine;
CLOSE mine;
