-- For bench/soak: what is seen of the worker.

-- How long after a write its row was there, in milliseconds; the times are those of the clock.
CREATE UNLOGGED TABLE bench.soaked (minute int NOT NULL, lag double precision NOT NULL);
CREATE SEQUENCE bench.minute;
SELECT setval('bench.minute', 1);
CREATE FUNCTION bench.note_soaked() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	INSERT INTO bench.soaked
	SELECT s.last_value, 1000 * extract(epoch FROM clock_timestamp() - NEW.LastModifiedAt) FROM bench.minute AS s;
	RETURN NULL;
END $$;

CREATE TABLE bench.minutes (n int PRIMARY KEY, worker int, memory bigint, writes bigint, documents bigint, changes bigint);
CREATE VIEW bench.minutes_shown AS
SELECT m.n, format('| %s | %s | %s ms | %s ms | %s ms | %s | %s kB | %s |', m.n, m.writes,
	(SELECT round(percentile_cont(0.5) WITHIN GROUP (ORDER BY lag)) FROM bench.soaked AS s WHERE s.minute = m.n),
	(SELECT round(percentile_cont(0.99) WITHIN GROUP (ORDER BY lag)) FROM bench.soaked AS s WHERE s.minute = m.n),
	(SELECT round(max(lag)) FROM bench.soaked AS s WHERE s.minute = m.n),
	m.worker, m.memory, round(m.changes::numeric / greatest(m.documents, 1), 2)) AS line
FROM bench.minutes AS m;

-- Ends a minute: what the worker has now.
CREATE PROCEDURE bench.soak_minute(worker int, memory bigint) LANGUAGE plpgsql AS $$
DECLARE
	this int := (SELECT last_value FROM bench.minute);
BEGIN
	PERFORM nextval('bench.minute');
	INSERT INTO bench.minutes SELECT this, worker, memory, (SELECT count(*) FROM bench.soaked WHERE minute = this),
		(SELECT count(*) FROM dms.Document), (SELECT count(*) FROM dms.DocumentChange);
END $$;
