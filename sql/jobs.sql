-- Jobs: they are due at a time, claimed with a lease, and completed or tried again.
SET client_min_messages = warning;
DROP DATABASE IF EXISTS dms_jobs;
CREATE DATABASE dms_jobs TEMPLATE template0 ENCODING 'UTF8';
SELECT current_database() AS home \gset
\c dms_jobs
SET client_min_messages = warning;
CREATE EXTENSION dms;

-- There are jobs only in a store.
SELECT dms.enqueue_job('mail', 'send', '{}');
SELECT * FROM dms.job_stats();
\getenv top PG_ABS_SRCDIR
\set file :top /test/schemas/isolation.json
\set schema `cat :'file'`
SELECT dms.deploy_schema(:'schema') IS NOT NULL AS deployed;
\pset null (null)
\set VERBOSITY terse
CREATE VIEW jobs AS
SELECT JobId AS id, Queue AS queue, Kind AS kind, Payload AS payload, RunAt > clock_timestamp() AS waits, Attempts AS attempts,
	MaxAttempts AS max, Lease IS NOT NULL AS leased, LastError AS error
FROM dms.Job ORDER BY JobId;

-- A job is there if its transaction commits.
BEGIN;
SELECT dms.enqueue_job('mail', 'send', '{"to": "nobody"}') > 0 AS enqueued;
ROLLBACK;
SELECT count(*) FROM jobs;
ALTER SEQUENCE dms.job_jobid_seq RESTART;
SELECT dms.enqueue_job('mail', 'send', '{"to": "ada"}');
SELECT dms.enqueue_job('mail', 'send', '[1, 2]', now() - interval '1 hour', 2);
SELECT dms.enqueue_job('mail', 'send', '"later"', now() + interval '1 hour');
SELECT dms.enqueue_job('other', 'count', '{"documentId": "0190b7a6-0000-7000-8000-000000000001"}');
SELECT * FROM jobs;
SELECT queue, due, waiting, leased, dead, oldest_due > interval '0' AS oldest FROM dms.job_stats();

-- A claim takes those that are due of one queue, the oldest ones first, and no more than
-- it is asked for.  They are held until the lease ends.
SELECT job_id, kind, payload, attempt FROM dms.claim_jobs('mail', 1);
SELECT job_id, lease AS lease_of_1, attempt FROM dms.claim_jobs('mail') \gset
SELECT :job_id AS job, :attempt AS attempt;
SELECT count(*) FROM dms.claim_jobs('mail');
SELECT * FROM jobs;
SELECT queue, due, waiting, leased, dead FROM dms.job_stats();

-- Who does not hold a job can do nothing with it.
SELECT dms.complete_jobs('{1, 2, 3, 4, 5}', gen_random_uuid()) AS completed;
SELECT dms.fail_job(1, gen_random_uuid(), 'no') AS fate;
SELECT dms.release_jobs('{1, 2, 3}', gen_random_uuid()) AS released;
SELECT dms.complete_jobs('{}', :'lease_of_1') AS completed;
SELECT dms.complete_jobs('{1, 2, 3}', :'lease_of_1') AS completed;
SELECT id, attempts FROM jobs;

-- A lease that has ended: the job is due again, and the attempt counts.  Whoever still
-- works on it may complete it, unless somebody else has claimed it.
UPDATE dms.Job SET RunAt = now() WHERE JobId = 2 RETURNING Lease AS old_lease \gset
SELECT job_id, lease AS new_lease, attempt FROM dms.claim_jobs('mail') \gset
SELECT :job_id AS job, :attempt AS attempt;
SELECT dms.complete_jobs('{2}', :'old_lease') AS completed, dms.fail_job(2, :'old_lease', 'late') AS fate;
SELECT dms.release_jobs('{2}', :'new_lease', '0 s') AS released;
SELECT id, waits, attempts, leased FROM jobs WHERE id = 2;

-- A job that fails is due again after a pause that doubles, and varies by 20 percent.
SET dms.job_backoff = '8 s';
SELECT job_id, lease, attempt FROM dms.claim_jobs('mail') \gset
SELECT dms.enqueue_job('pause', 'fail', 'null', max_attempts => 6) AS pause_id \gset
CREATE FUNCTION fail_once(queue text, error text) RETURNS TABLE (attempt int, fate text, pause_fits boolean) LANGUAGE plpgsql AS $$
DECLARE
	j record;
	began timestamptz;
BEGIN
	UPDATE dms.Job AS w SET RunAt = clock_timestamp() WHERE w.Queue = $1;
	SELECT * INTO STRICT j FROM dms.claim_jobs($1);
	attempt := j.attempt;
	began := clock_timestamp();
	fate := dms.fail_job(j.job_id, j.lease, error);
	SELECT EXTRACT(epoch FROM w.RunAt - began) / p.pause >= 0.8 AND EXTRACT(epoch FROM w.RunAt - clock_timestamp()) / p.pause <= 1.2
	INTO pause_fits
	FROM dms.Job AS w, LATERAL (SELECT 8 * 2 ^ (j.attempt - 1)) AS p (pause) WHERE w.JobId = j.job_id;
	RETURN NEXT;
END $$;
SELECT f.* FROM generate_series(1, 5) AS n, fail_once('pause', 'error ' || n) AS f;
SELECT payload, attempts, error, leased FROM jobs WHERE queue = 'pause';

-- After its last attempt it dies.  It can be put back, with all attempts.
SELECT * FROM fail_once('pause', 'the last error');
SELECT Queue, Kind, Payload, Attempts, MaxAttempts, LastError FROM dms.DeadJob;
SELECT queue, due, waiting, leased, dead FROM dms.job_stats();
SELECT dms.retry_jobs('{-1}') AS retried;
SELECT dms.retry_jobs(ARRAY[:pause_id]) AS retried;
SELECT queue, attempts, max, error FROM jobs WHERE queue = 'pause';
SELECT dms.retry_jobs() AS retried;

-- A pause has a limit, and may be chosen.
SET dms.job_backoff = '1 h';
UPDATE dms.Job SET MaxAttempts = 1000, Attempts = 998 WHERE Queue = 'pause';
SELECT attempt, fate FROM fail_once('pause', repeat('x', 10000));
SELECT RunAt < now() + interval '73 min' AS limited, length(LastError) AS kept FROM dms.Job WHERE Queue = 'pause';
RESET dms.job_backoff;
UPDATE dms.Job SET RunAt = now() WHERE Queue = 'pause' RETURNING MaxAttempts;
SELECT job_id, lease FROM dms.claim_jobs('pause') \gset
SELECT dms.fail_job(:job_id, :'lease', 'x', '2100-01-01 00:00:00+00') AS fate;
TRUNCATE dms.DeadJob;

-- A worker that dies uses up attempts, too.  The claim that finds none left buries the
-- job, and goes on to the next.
INSERT INTO dms.Job (Queue, Kind, Payload, RunAt, Attempts, MaxAttempts)
SELECT 'crash', 'kill', to_jsonb(n), now() - interval '1 s' * (10 - n), (n < 5)::int, 1 FROM generate_series(1, 6) AS n;
SELECT payload, attempt FROM dms.claim_jobs('crash', 2);
SELECT Payload, Attempts, LastError FROM dms.DeadJob ORDER BY JobId;
SELECT dms.retry_jobs() AS retried;

-- The queue "dms" has jobs that the library runs.  It has no others.
SELECT dms.enqueue_job('dms', 'mail', '{}');
SELECT dms.enqueue_job('dms', 'diff', '{"to": "nobody"}', max_attempts => 1) AS bad_id \gset
CALL dms.run_jobs();
SELECT Payload, LastError FROM dms.DeadJob;
BEGIN;
CALL dms.run_jobs();
ROLLBACK;
SET dms.job_poll = '10 ms';
CALL dms.run_jobs('50 ms');
CALL dms.run_jobs('-1 s');
SELECT dms.run_claimed_jobs('{1, 2}', gen_random_uuid()) AS succeeded;

-- Arguments.
SELECT dms.enqueue_job(NULL, 'k', '{}');
SELECT dms.enqueue_job('', 'k', '{}');
SELECT dms.enqueue_job('q', repeat('k', 65), '{}');
SELECT dms.enqueue_job('q', 'k', NULL);
SELECT dms.enqueue_job('q', 'k', '{}', 'infinity');
SELECT dms.enqueue_job('q', 'k', '{}', max_attempts => 0);
SELECT dms.claim_jobs(NULL);
SELECT dms.claim_jobs('q', -1);
SELECT dms.claim_jobs('q', 10001);
SELECT dms.claim_jobs('q', 1, '-1 s');
SELECT dms.complete_jobs(NULL, NULL);
SELECT dms.complete_jobs('{1, null}', gen_random_uuid());
SELECT dms.complete_jobs('{{1, 2}, {3, 4}}', gen_random_uuid()) AS completed;
SELECT dms.fail_job(1, gen_random_uuid(), NULL);
SELECT dms.release_jobs('{1}', gen_random_uuid(), '-1 s');
SELECT dms.release_jobs('{1}', gen_random_uuid(), NULL);
SELECT dms.run_claimed_jobs(NULL, NULL);
BEGIN READ ONLY;
SELECT dms.enqueue_job('q', 'k', '{}');
ROLLBACK;
BEGIN READ ONLY;
SELECT dms.claim_jobs('q');
ROLLBACK;

-- The index finds what is due among all that waits.  A plan by statistics is the same.
INSERT INTO dms.Job (Queue, Kind, Payload, RunAt, MaxAttempts)
SELECT 'many', 'k', '{}', now() + interval '1 h' * n, 1 FROM generate_series(1, 2000) AS n;
SELECT dms.enqueue_job('many', 'k', '{"n": 1}') IS NOT NULL AS enqueued;
ANALYZE dms.Job;
SELECT pg_stat_force_next_flush();
SELECT idx_tup_read AS before FROM pg_stat_user_indexes WHERE indexrelname = 'job_due_ix' \gset
SELECT payload FROM dms.claim_jobs('many');
SELECT pg_stat_force_next_flush();
SELECT idx_tup_read - :before < 20 AS read_what_is_due FROM pg_stat_user_indexes WHERE indexrelname = 'job_due_ix';

-- Roles.  The queue "dms" is for administrators, and so are its tables.
CREATE ROLE regress_jobs_reader;
CREATE ROLE regress_jobs_writer;
CREATE ROLE regress_jobs_admin;
SELECT dms.grant_access('regress_jobs_reader', 'reader'), dms.grant_access('regress_jobs_writer', 'writer'), dms.grant_access('regress_jobs_admin', 'admin');
SET ROLE regress_jobs_reader;
SELECT count(*) > 0 AS counts FROM dms.job_stats();
SELECT dms.enqueue_job('q', 'k', '{}');
SELECT dms.claim_jobs('q');
SET ROLE regress_jobs_writer;
SELECT dms.enqueue_job('q', 'k', '{}') > 0 AS enqueued;
SELECT job_id, lease FROM dms.claim_jobs('q') \gset
SELECT dms.fail_job(:job_id, :'lease', 'x', now()) AS fate;
SELECT job_id, lease FROM dms.claim_jobs('q') \gset
SELECT dms.release_jobs(ARRAY[:job_id], :'lease', '0 s') AS released;
SELECT job_id, lease FROM dms.claim_jobs('q') \gset
SELECT dms.complete_jobs(ARRAY[:job_id], :'lease') AS completed;
SELECT dms.enqueue_job('dms', 'diff', '{}');
SELECT dms.claim_jobs('dms');
SELECT dms.retry_jobs();
SELECT dms.run_claimed_jobs('{1}', gen_random_uuid());
CALL dms.run_jobs();
SELECT * FROM dms.Job;
SELECT * FROM dms.DeadJob;
SET dms.job_max_attempts = 1;
SET dms.job_backoff = 0;
SET dms.notify = 'off';
SET ROLE regress_jobs_admin;
SELECT dms.enqueue_job('dms', 'diff', '{}') > 0 AS enqueued;
SELECT job_id, lease FROM dms.claim_jobs('dms') \gset
SELECT dms.run_claimed_jobs(ARRAY[:job_id], :'lease') AS succeeded;
SELECT dms.retry_jobs() AS retried;
CALL dms.run_jobs();
SELECT count(*) > 0 AS sees FROM dms.Job;
RESET ROLE;

-- Those who listen are told about jobs, documents, or both, if a setting says so.
-- test/t/098_notify.pl listens.
SET dms.notify = jobs;
SET dms.notify = documents;
SET dms.notify = 'all';
SET dms.notify = versions;
RESET dms.notify;

-- Owners may have a trigger that refuses rows: nothing is lost without an error.
CREATE FUNCTION no_row() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS 'BEGIN RETURN NULL; END';
CREATE TRIGGER no_row BEFORE INSERT ON dms.Job FOR EACH ROW EXECUTE FUNCTION no_row();
SELECT dms.enqueue_job('q', 'k', '{}');
DROP TRIGGER no_row ON dms.Job;

\c :home
SET client_min_messages = warning;
DROP DATABASE dms_jobs;
DROP ROLE regress_jobs_reader, regress_jobs_writer, regress_jobs_admin;
