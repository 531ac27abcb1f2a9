-- The store's owner changes the row of dms.Store, or replaces the table.  Nothing there crashes the
-- server.  A value that is not a sensible limit is no limit, and a table that cannot be read is an error.
-- expect: NOTICE:  =SELECT 1=
-- expect: [x29] NOTICE:  inserted|NOTICE:  unchanged|NOTICE:  201
-- expect: [x4] NOTICE:  XX001: table "dms.store" does not have its one row
-- expect: [x7] NOTICE:  55000: table "dms.store" has no column "generation" of the type that is expected
-- expect: [x7] NOTICE:  55000: table "dms.store" has no column "idempotencyttl" of the type that is expected
-- expect: [x14] NOTICE:  55000: "dms.store" is not an ordinary table
-- never: XX000
\ir ../lib/store.sql
SELECT format('ALTER TABLE dms.Store DROP CONSTRAINT %I', conname) FROM pg_constraint WHERE conrelid = 'dms.Store'::regclass \gexec
ALTER TABLE dms.Store ALTER InstanceId DROP NOT NULL, ALTER Generation DROP NOT NULL, ALTER StoreVersion DROP NOT NULL, ALTER Singleton DROP NOT NULL;
CREATE SEQUENCE public.numbers START 2;
CREATE PROCEDURE public.attempt(what text) LANGUAGE plpgsql AS $attempt$
DECLARE
	call text;
	result text;
	n text := nextval('public.numbers');
BEGIN
	RAISE NOTICE '=%=', what;
	EXECUTE what;
	FOREACH call IN ARRAY ARRAY[
		$$SELECT outcome FROM dms.upsert_document('Cascade', 'School', '{"schoolId": %s, "name": "N"}')$$,
		$$SELECT outcome FROM dms.upsert_document('Cascade', 'School', '{"schoolId": 1, "name": "One"}')$$,
		$$SELECT status FROM dms.handle_request('POST', '/cascade/schools', '{"Idempotency-Key": "k%s"}', '{"schoolId": 1000%1$s, "name": "M"}')$$,
		$$SELECT outcome FROM dms.update_document(dms.resolve('Cascade', 'School', '{"schoolId": %s}'), json_build_object('id', dms.resolve('Cascade', 'School', '{"schoolId": %1$s}'), 'schoolId', 1000000 + %1$s, 'name', 'One'))$$,
		$$SELECT state FROM dms.idempotency_begin('/x', 'POST', 'k%s')$$,
		$$SELECT dms.configure_store('{}')$$,
		$$SELECT dms.configure_store('{"verifyEdges": 0.%s}')$$,
		$$SELECT dms.instance_id()$$,
		$$SELECT count(*) FROM dms.audit()$$,
		$$SELECT dms.get_document(dms.resolve('Cascade', 'School', '{"schoolId": 1}')) IS NULL$$]
	LOOP
		BEGIN
			EXECUTE format(call, n) INTO result;
			RAISE NOTICE '%', result;
		EXCEPTION WHEN OTHERS THEN
			RAISE NOTICE '%: %', SQLSTATE, SQLERRM;
		END;
	END LOOP;
	ROLLBACK;
END $attempt$;
\set VERBOSITY terse
CALL attempt('SELECT 1');
CALL attempt('UPDATE dms.Store SET Generation = NULL, InstanceId = NULL, StoreVersion = NULL, Singleton = NULL');
CALL attempt('UPDATE dms.Store SET Generation = 9223372036854775807');
CALL attempt('UPDATE dms.Store SET MaxCascadeSize = -5, VerifyEdges = ''NaN'', IdempotencyLease = -1, IdempotencyTtl = -1');
CALL attempt('UPDATE dms.Store SET MaxCascadeSize = 2147483647, VerifyEdges = ''Infinity'', IdempotencyLease = 2147483647, IdempotencyTtl = 2147483647');
CALL attempt('UPDATE dms.Store SET MaxCascadeSize = -2147483648, VerifyEdges = ''-Infinity'', IdempotencyLease = -2147483648, IdempotencyTtl = -2147483648');
CALL attempt('INSERT INTO dms.Store SELECT * FROM dms.Store');
CALL attempt('DELETE FROM dms.Store');
CALL attempt('ALTER TABLE dms.Store DROP COLUMN Generation');
CALL attempt('ALTER TABLE dms.Store ALTER IdempotencyTtl TYPE text');
CALL attempt('ALTER TABLE dms.Store DROP COLUMN VerifyEdges, ADD COLUMN VerifyEdges float8 GENERATED ALWAYS AS (1) STORED');
CALL attempt('ALTER TABLE dms.Store RENAME TO Other; CREATE TABLE dms.Store AS SELECT * FROM dms.Other');
CALL attempt('ALTER TABLE dms.Store RENAME TO Other; CREATE VIEW dms.Store AS SELECT * FROM dms.Other');
CALL attempt('CREATE TABLE dms.heir () INHERITS (dms.Store); INSERT INTO dms.heir SELECT * FROM dms.Store');
