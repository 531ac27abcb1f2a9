-- Calls of all kinds, for bench/requests.

CREATE SEQUENCE bench.student;

CREATE FUNCTION bench.student(n bigint) RETURNS text
LANGUAGE sql IMMUTABLE
RETURN '{"studentUniqueId": "' || n::text || '", "firstName": "Ada", "lastSurname": "King", "birthDate": "2014-02-03"}';

CREATE FUNCTION bench.post(n bigint, key text DEFAULT NULL) RETURNS integer
LANGUAGE sql VOLATILE
RETURN (dms.handle_request('POST', '/ed-fi/students', CASE WHEN key IS NULL THEN '{}'::jsonb
	ELSE jsonb_build_object('Idempotency-Key', key) END, bench.student(n))).status;

-- Student 0 is the one that is not changed.
SELECT document_uuid AS student FROM dms.upsert_document('Ed-Fi', 'Student', bench.student(0)::json) \gset
SELECT format('CREATE FUNCTION bench.unchanged() RETURNS uuid LANGUAGE sql IMMUTABLE RETURN %L::uuid', :'student') \gexec

CREATE PROCEDURE bench.calls(kind text, round integer, n integer)
LANGUAGE plpgsql AS $$
DECLARE
	id text := bench.unchanged()::text;
BEGIN
	FOR i IN 1..n LOOP
		CASE kind
		WHEN 'upsert-new' THEN PERFORM dms.upsert_document('Ed-Fi', 'Student', bench.student(nextval('bench.student'))::json);
		WHEN 'request-new' THEN PERFORM bench.post(nextval('bench.student'));
		WHEN 'keyed-new' THEN PERFORM bench.post(nextval('bench.student'), format('new-%s-%s', round, i));
		WHEN 'upsert-same' THEN PERFORM dms.upsert_document('Ed-Fi', 'Student', bench.student(0)::json);
		WHEN 'request-same' THEN PERFORM bench.post(0);
		WHEN 'keyed-same' THEN PERFORM bench.post(0, format('same-%s-%s', round, i));
		WHEN 'replay' THEN PERFORM bench.post(0, format('same-%s-%s', round, i));
		WHEN 'get' THEN PERFORM dms.get_document(id::uuid);
		WHEN 'request-get' THEN PERFORM dms.handle_request('GET', '/ed-fi/students/' || id);
		END CASE;
		COMMIT;
	END LOOP;
END
$$;
