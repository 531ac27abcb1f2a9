-- A deploy waits for other deploys, but not for a role that holds a lock which any role can take.
-- expect: ^t$
\c - mallory
BEGIN;
SELECT pg_advisory_xact_lock(x'646d730000000001'::bigint);
PREPARE TRANSACTION 'attack';
\c - dbo
CREATE EXTENSION dms;
SET client_min_messages = warning;
SET lock_timeout = '1s';
SELECT dms.deploy_schema(:'schema') IS NOT NULL AS deployed;
\c - mallory
ROLLBACK PREPARED 'attack';
