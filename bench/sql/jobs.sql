-- Jobs for bench/jobs.
--
-- A loop in plain SQL that claims rows and deletes them, as one would write it: the same
-- table with the same indexes, the same batches, and two transactions for each.
CREATE TABLE bench.job (LIKE dms.Job INCLUDING DEFAULTS INCLUDING IDENTITY INCLUDING INDEXES) WITH (fillfactor = 70);

CREATE PROCEDURE bench.enqueue(kind text, n integer) LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1 .. n LOOP
		IF kind = 'dms' THEN
			PERFORM dms.enqueue_job('bench', 'work', '{"n": 1}');
		ELSE
			INSERT INTO bench.job (Queue, Kind, Payload, RunAt, MaxAttempts)
			VALUES ('bench', 'work', '{"n": 1}', clock_timestamp(), 10);
		END IF;
	END LOOP;
	COMMIT;
END $$;

CREATE PROCEDURE bench.work_dms(batch integer) LANGUAGE plpgsql AS $$
DECLARE
	ids bigint[];
	leases uuid[];
BEGIN
	LOOP
		SELECT array_agg(job_id), array_agg(lease) INTO ids, leases FROM dms.claim_jobs('bench', batch);
		EXIT WHEN ids IS NULL;
		COMMIT;
		PERFORM dms.complete_jobs(ids, leases[1]);
		COMMIT;
	END LOOP;
END $$;

CREATE PROCEDURE bench.work_bare(batch integer) LANGUAGE plpgsql AS $$
DECLARE
	now timestamptz;
	held uuid;
	ids bigint[];
BEGIN
	LOOP
		now := clock_timestamp();
		held := gen_random_uuid();
		WITH due AS MATERIALIZED (
			SELECT JobId FROM bench.job WHERE Queue = 'bench' AND RunAt <= now
			ORDER BY RunAt, JobId LIMIT batch FOR UPDATE SKIP LOCKED),
		claimed AS (
			UPDATE bench.job AS j SET RunAt = now + interval '60 s', Attempts = Attempts + 1, Lease = held
			FROM due WHERE j.JobId = due.JobId RETURNING j.JobId, j.Lease, j.Kind, j.Payload, j.Attempts)
		SELECT array_agg(JobId) INTO ids FROM claimed;
		EXIT WHEN ids IS NULL;
		COMMIT;
		DELETE FROM bench.job WHERE JobId = ANY (ids) AND Lease = held;
		COMMIT;
	END LOOP;
END $$;

-- Documents with a title and a content of 20 lines.
CREATE TABLE bench.ids (n integer PRIMARY KEY, id uuid NOT NULL);

CREATE PROCEDURE bench.make(n integer) LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1 .. n LOOP
		INSERT INTO bench.ids SELECT i, document_uuid FROM dms.upsert_document('docs', 'documents',
			json_build_object('title', 'new', 'content', repeat('a line of document ' || i || E'\n', 20)));
		COMMIT;
	END LOOP;
END $$;

CREATE PROCEDURE bench.change(n integer, title text) LANGUAGE plpgsql AS $$
DECLARE
	ids uuid[] := ARRAY(SELECT i.id FROM bench.ids AS i WHERE i.n <= change.n ORDER BY i.n);
BEGIN
	FOR i IN 1 .. n LOOP
		PERFORM dms.update_document(ids[i],
			json_build_object('title', title, 'content', repeat('a line of document ' || i || E'\n', 20) || title));
		COMMIT;
	END LOOP;
END $$;

-- Changes of which nobody waits for another: each session has documents of its own.
CREATE FUNCTION bench.change_one(client integer, step integer) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
	RETURN (SELECT etag FROM dms.update_document((SELECT i.id FROM bench.ids AS i WHERE i.n = 1 + client * 100 + step % 100),
		json_build_object('title', 'step', 'content', repeat('a line' || E'\n', 20) || step)));
END $$;
