-- A store with two students, for ./quickstart redis.
\set school `cat examples/schemas/school.json`
SET client_min_messages = warning;
CREATE EXTENSION dms;
\o /dev/null
SELECT dms.deploy_schema(:'school');
-- A worker begins with the changes that come after it has seen the store.
DO $$
BEGIN
	FOR i IN 1 .. 600 LOOP
		EXIT WHEN EXISTS (SELECT FROM dms.ChangeConsumer WHERE Name = 'redis');
		PERFORM pg_sleep(0.1), dms.upsert_document('ed-fi', 'students', json_build_object(
			'studentUniqueId', '1000', 'firstName', i::text, 'lastSurname', 'King', 'birthDate', '2014-02-03'));
		COMMIT;
	END LOOP;
END $$;
SELECT dms.upsert_document('ed-fi', 'students', json_build_object(
	'studentUniqueId', n::text, 'firstName', 'Ada', 'lastSurname', 'King', 'birthDate', '2014-02-03'))
FROM generate_series(1001, 1002) AS n;
