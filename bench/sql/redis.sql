-- Students for bench/redis.
CREATE SEQUENCE bench.value;

-- Write some students: new ones, or another value.  Each is a transaction.
CREATE PROCEDURE bench.make(first integer, last integer) LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN first .. last LOOP
		PERFORM dms.upsert_document('ed-fi', 'students', json_build_object('studentUniqueId', i::text,
			'firstName', nextval('bench.value')::text, 'lastSurname', 'King', 'birthDate', '2014-02-03'));
		COMMIT;
	END LOOP;
END $$;
