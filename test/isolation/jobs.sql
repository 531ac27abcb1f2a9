-- More to start from, for specs of jobs and diffs.  To be run after fixture.sql and
-- history.sql.  Such specs call history_off() in the end, too.

SET LOCAL client_min_messages = warning;

TRUNCATE dms.Job, dms.DeadJob RESTART IDENTITY;

CREATE OR REPLACE FUNCTION diff_on(resource text) RETURNS jsonb LANGUAGE sql VOLATILE
BEGIN ATOMIC
	SELECT dms.configure_resource('isolation', resource, '{"history": true, "diff": true}');
END;

-- Texts without ids of documents, which differ in every run.
CREATE OR REPLACE FUNCTION without_ids(value jsonb) RETURNS text LANGUAGE sql IMMUTABLE
RETURN regexp_replace(value::text, '[0-9a-f]{8}-[0-9a-f-]{27}', '(id)', 'g');

-- A job of the queue "q".
CREATE OR REPLACE FUNCTION enqueue(payload jsonb, max_attempts int DEFAULT 10) RETURNS void LANGUAGE sql VOLATILE
BEGIN ATOMIC
	SELECT dms.enqueue_job('q', 'k', payload, '2000-01-01 00:00:00+00', max_attempts);
END;

-- Claims jobs, which the session remembers: lease '0 s' is one that has ended at once.
CREATE OR REPLACE FUNCTION claim(queue text, max_jobs int, lease interval DEFAULT NULL)
RETURNS TABLE (payload text, attempt int) LANGUAGE sql VOLATILE
BEGIN ATOMIC
	WITH claimed AS MATERIALIZED (
		SELECT * FROM dms.claim_jobs(queue, max_jobs, lease)),
	noted AS MATERIALIZED (
		SELECT set_config('jobs.lease', COALESCE(max(c.lease::text), gen_random_uuid()::text), false),
			set_config('jobs.ids', COALESCE(array_agg(c.job_id), '{}')::text, false)
		FROM claimed AS c)
	SELECT without_ids(c.payload), c.attempt FROM claimed AS c, noted ORDER BY c.job_id;
END;

-- What a session does with the jobs that it has claimed.
CREATE OR REPLACE FUNCTION complete() RETURNS bigint LANGUAGE sql VOLATILE
BEGIN ATOMIC
	SELECT dms.complete_jobs(current_setting('jobs.ids')::bigint[], current_setting('jobs.lease')::uuid);
END;

CREATE OR REPLACE FUNCTION fail(error text) RETURNS text LANGUAGE sql VOLATILE
BEGIN ATOMIC
	SELECT dms.fail_job((current_setting('jobs.ids')::bigint[])[1], current_setting('jobs.lease')::uuid, error,
		'2000-01-01 00:00:00+00');
END;

CREATE OR REPLACE FUNCTION run() RETURNS bigint LANGUAGE sql VOLATILE
BEGIN ATOMIC
	SELECT dms.run_claimed_jobs(current_setting('jobs.ids')::bigint[], current_setting('jobs.lease')::uuid);
END;

-- Stores a diff of the first two versions of the first document, in the name of somebody.
CREATE OR REPLACE FUNCTION store(who text) RETURNS boolean LANGUAGE sql VOLATILE
BEGIN ATOMIC
	SELECT dms.store_diff(uuid_of(1), 1, 2, jsonb_build_object('patch', who));
END;

-- All jobs, also those that are dead.
CREATE OR REPLACE VIEW jobs AS
SELECT JobId AS job, without_ids(Payload) AS payload, Attempts AS attempts, Lease IS NOT NULL AS leased, false AS dead,
	LastError AS error
FROM dms.Job
UNION ALL SELECT JobId, without_ids(Payload), Attempts, false, true, LastError FROM dms.DeadJob
ORDER BY job;

-- All diffs that are stored.
CREATE OR REPLACE VIEW diffs AS
SELECT OldVersionNumber AS old, VersionNumber AS new, Diff -> 'patch' AS patch FROM dms.VersionDiff ORDER BY 1, 2;
