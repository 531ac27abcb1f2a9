-- Idempotency keys: a request that is sent again with the same key is not run
-- again.
SET client_min_messages = warning;
DROP DATABASE IF EXISTS dms_idempotency;
CREATE DATABASE dms_idempotency TEMPLATE template0 ENCODING 'UTF8';
\c dms_idempotency
SET client_min_messages = warning;
CREATE EXTENSION dms;
\getenv top PG_ABS_SRCDIR
\set file :top /examples/schemas/school.json
\set school `cat :'file'`
SELECT dms.deploy_schema(:'school') IS NOT NULL AS deployed;
\pset null (null)
\pset format unaligned
\pset tuples_only on
CREATE FUNCTION plain(value text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
	SELECT regexp_replace(value, '[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}', '{id}', 'g')
$$;
CREATE FUNCTION request(method text, path text, key text, body text DEFAULT NULL)
RETURNS SETOF text LANGUAGE sql AS $$
	SELECT plain(concat_ws(' ', status, headers, body ->> 'type', body -> 'errors'))
	FROM dms.handle_request($1, $2, jsonb_build_object('Idempotency-Key', $3), $4)
$$;
CREATE FUNCTION student(id text, name text DEFAULT 'Ada') RETURNS text LANGUAGE sql AS $$
	SELECT json_build_object('studentUniqueId', id, 'firstName', name, 'lastSurname', 'King', 'birthDate', '2014-02-03')::text
$$;

-- The first answer is repeated, including its headers: still 201, and still
-- etag 1.
SELECT request('POST', '/ed-fi/students', 'k1', student('1'));
SELECT count(DISTINCT (dms.handle_request('POST', '/ed-fi/students', '{"idempotency-key": "k1"}', student('1')))::text) AS answers
FROM generate_series(1, 3);
SELECT status FROM dms.handle_request('POST', '/ed-fi/students', '{}', student('1', 'Augusta'));
SELECT request('POST', '/ed-fi/students', 'k1', student('1'));
SELECT Etag FROM dms.Document;
-- Without the key the request is run again.
SELECT status FROM dms.handle_request('POST', '/ed-fi/students', '{}', student('1'));
SELECT plain(concat_ws(' ', Key, Route, HttpMethod, StatusCode, ResponseHeaders, ResponseBody, IsProcessed, length(RequestFingerprint), ExpiresAt - ClaimedAt > '23:59:59'))
FROM dms.IdempotencyKeys;

-- The same key with another body is refused.
SELECT status, body - 'correlationId' FROM (SELECT status, body::jsonb FROM dms.handle_request('POST', '/ed-fi/students', '{"idempotency-key": "k1"}', student('2'))) AS r;
-- A key belongs to a path and a method.  The query is not part of the path, but
-- its spelling is.
SELECT request('POST', '/ed-fi/students?x=1', 'k1', student('1'));
SELECT request('POST', '/ed-fi/stude%6Ets', 'k1', student('1'));
SELECT request('POST', '/ed-fi/STUDENTS', 'k1', student('1'));
SELECT DocumentUuid AS ada FROM dms.Document \gset
SELECT request('PUT', '/ed-fi/students/' || :'ada', 'k1', (student('1', 'Bea')::jsonb || jsonb_build_object('id', :'ada'))::text);
SELECT request('PUT', '/ed-fi/students/' || :'ada', 'k1', (student('1', 'Bea')::jsonb || jsonb_build_object('id', :'ada'))::text);
SELECT request('DELETE', '/ed-fi/students/' || :'ada', 'k1');
SELECT request('DELETE', '/ed-fi/students/' || :'ada', 'k1');
SELECT request('DELETE', '/ed-fi/students/' || :'ada', 'k2');
SELECT Route = '/ed-fi/students' AS same_route, HttpMethod, Key, StatusCode FROM dms.IdempotencyKeys ORDER BY Id;

-- Keys of requests that only read are ignored, and so are those of requests
-- that are refused before they are run.
SELECT status FROM dms.handle_request('GET', '/ed-fi/students', '{"Idempotency-Key": "k1"}');
SELECT status FROM dms.handle_request('GET', '/ed-fi/students', '{"Idempotency-Key": "not one!"}');
SELECT request('PATCH', '/ed-fi/students', 'k1', '{}');
SELECT request('POST', '/', 'k1', '{}');
SELECT count(*) FROM dms.IdempotencyKeys;

-- Only successful answers are kept: after the cause of a failure is gone, the
-- same request with the same key succeeds.
SELECT request('POST', '/ed-fi/classPeriods', 'k3', '{"classPeriodName": "first", "schoolReference": {"schoolId": 1}}');
SELECT request('POST', '/ed-fi/nothing', 'k3', '{}');
SELECT request('PUT', '/ed-fi/students', 'k3', '{}');
SELECT count(*) FROM dms.IdempotencyKeys WHERE Key = 'k3';
SELECT status FROM dms.handle_request('POST', '/ed-fi/gradeLevelDescriptors', '{}', '{"namespace": "uri://g", "codeValue": "10", "shortDescription": "10"}');
SELECT status FROM dms.handle_request('POST', '/ed-fi/schools', '{}', '{"schoolId": 1, "nameOfInstitution": "S", "gradeLevels": [{"gradeLevelDescriptor": "uri://g#10"}]}');
SELECT request('POST', '/ed-fi/classPeriods', 'k3', '{"classPeriodName": "first", "schoolReference": {"schoolId": 1}}');

-- Invalid keys.
SELECT request('POST', '/ed-fi/students', 'a b', student('1'));
SELECT k, request('POST', '/ed-fi/students', k, student('9')) FROM unnest(ARRAY['ü', 'a_b', repeat('k', 129), '', ' ']) AS k;
SELECT request('POST', '/ed-fi/students', repeat('k', 128), student('3'));
SELECT request('POST', '/ed-fi/' || repeat('s', 250), 'k1', student('1'));
SELECT status FROM dms.handle_request('POST', '/ed-fi/students', '{"Idempotency-Key": ["k", "l"]}', student('1'));

-- A rollback also undoes the claim.
BEGIN;
SELECT request('POST', '/ed-fi/students', 'k4', student('4'));
ROLLBACK;
SELECT request('POST', '/ed-fi/students', 'k4', student('4', 'Other'));

-- An expired key is free.
SELECT request('POST', '/ed-fi/students', 'k5', student('5'));
UPDATE dms.IdempotencyKeys SET ExpiresAt = clock_timestamp() WHERE Key = 'k5';
SELECT request('POST', '/ed-fi/students', 'k5', student('5', 'Later'));
SELECT request('POST', '/ed-fi/students', 'k5', student('5', 'Later'));
SET dms.idempotency_ttl = '1h';
SELECT request('POST', '/ed-fi/students', 'k6', student('6'));
RESET dms.idempotency_ttl;
SELECT ExpiresAt - ClaimedAt < '01:00:01' FROM dms.IdempotencyKeys WHERE Key = 'k6';

-- The functions for endpoints of a front end.  The lease is long enough for
-- this test.
SET dms.idempotency_lease = '1h';
SELECT * FROM dms.idempotency_begin('/mine', 'POST', 'm1', 'print');
SELECT * FROM dms.idempotency_begin('/mine', 'POST', 'm1', 'print');
SELECT * FROM dms.idempotency_begin('/mine', 'POST', 'm1', 'other');
SELECT StatusCode, IsProcessed FROM dms.IdempotencyKeys WHERE Key = 'm1';
SELECT dms.idempotency_complete('/mine', 'POST', 'm1', 201, '{"Location": "/mine/1"}', 'body', 'text/plain; charset=utf-8');
SELECT * FROM dms.idempotency_begin('/mine', 'POST', 'm1', 'print');
SELECT * FROM dms.idempotency_begin('/mine', 'POST', 'm1');
SELECT * FROM dms.idempotency_begin('/mine', 'POST', 'm1', 'other');
-- An answer that is not a success releases the key.
SELECT state FROM dms.idempotency_begin('/mine', 'PATCH', 'm1');
SELECT dms.idempotency_complete('/mine', 'PATCH', 'm1', 500, NULL, NULL, NULL);
SELECT state FROM dms.idempotency_begin('/mine', 'PATCH', 'm1');
-- A request that is not completed within the lease loses the key.
UPDATE dms.IdempotencyKeys SET ClaimedAt = ClaimedAt - interval '3601 s' WHERE HttpMethod = 'PATCH' AND Key = 'm1';
SELECT state FROM dms.idempotency_begin('/mine', 'PATCH', 'm1');
SELECT state FROM dms.idempotency_begin('/mine', 'PATCH', 'm1');
-- An answer that is too large is not truncated: the replay has no body.
SELECT state FROM dms.idempotency_begin('/mine', 'PUT', 'm2', ttl => '1 hour');
SELECT dms.idempotency_complete('/mine', 'PUT', 'm2', 200, '{"ETag": "x"}', repeat('x', 1536 * 1024), 'text/plain');
SELECT * FROM dms.idempotency_begin('/mine', 'PUT', 'm2');
SELECT state FROM dms.idempotency_begin('/mine', 'PUT', 'm3');
SELECT dms.idempotency_complete('/mine', 'PUT', 'm3', 200, '{"ETag": "x"}', repeat('x', 1024 * 1024), 'text/plain');
SELECT response_headers, length(response_body) FROM dms.idempotency_begin('/mine', 'PUT', 'm3');
-- Once there is a fingerprint it must be given.  A request does not meet the keys of such endpoints.
SELECT state FROM dms.idempotency_begin('/ed-fi/students', 'POST', 'm4', 'print');
SELECT state FROM dms.idempotency_begin('/ed-fi/students', 'POST', 'm4');
SELECT request('POST', '/ed-fi/students', 'm4', student('7'));
SELECT Scope, StatusCode FROM dms.IdempotencyKeys WHERE Key = 'm4' ORDER BY Scope;

-- A key belongs to the role that uses it: nobody else is given its answer, or can forge one.
CREATE ROLE dms_idempotency_a;
CREATE ROLE "dms idempotency:b";
SELECT dms.grant_access(r, 'writer') FROM unnest(ARRAY['dms_idempotency_a', 'dms idempotency:b']) AS r;
GRANT EXECUTE ON FUNCTION request(text, text, text, text), student(text, text), plain(text) TO PUBLIC;
SET ROLE "dms idempotency:b";
SELECT state FROM dms.idempotency_begin('/ed-fi/students', 'POST', 'next', encode(sha256(student('20')::bytea), 'hex'));
SELECT dms.idempotency_complete('/ed-fi/students', 'POST', 'next', 201, '{"Location": "/evil"}', '<script>', 'text/html');
SET ROLE dms_idempotency_a;
SELECT request('POST', '/ed-fi/students', 'next', student('20'));
SELECT state FROM dms.idempotency_begin('/mine', 'POST', 'a');
SELECT dms.idempotency_complete('/mine', 'POST', 'a', 200, NULL, 'secret', 'text/plain');
SET ROLE "dms idempotency:b";
SELECT state, response_body FROM dms.idempotency_begin('/mine', 'POST', 'a');
SELECT request('POST', '/ed-fi/students', 'next', student('20', 'Eve'));
-- It also belongs to the user that the front acts for.
SELECT set_config('dms.user', 'u1', false);
SELECT state FROM dms.idempotency_begin('/mine', 'POST', 'a');
SELECT set_config('dms.user', 'u2', false);
SELECT state FROM dms.idempotency_begin('/mine', 'POST', 'a');
SELECT set_config('dms.user', '', false);
RESET ROLE;
SELECT Scope, Key, StatusCode FROM dms.IdempotencyKeys WHERE Key IN ('a', 'next') ORDER BY Scope, Key;
-- How long keys are kept is for the operator to say: nobody keeps one longer, or takes one over earlier.
SET ROLE dms_idempotency_a;
SELECT state FROM dms.idempotency_begin('/mine', 'POST', 'long', ttl => '9999999 years');
SELECT state FROM dms.idempotency_begin('/mine', 'POST', 'short', ttl => '1 min');
SET dms.idempotency_lease = 1;
SET dms.idempotency_ttl = 1;
RESET ROLE;
SELECT Key, date_trunc('second', ExpiresAt - ClaimedAt) FROM dms.IdempotencyKeys WHERE Key IN ('long', 'short') ORDER BY Key;
-- Headers are an object, and a stored answer to a request is JSON.
SELECT state FROM dms.idempotency_begin('/mine', 'POST', 'array');
SELECT dms.idempotency_complete('/mine', 'POST', 'array', 200, '[]', NULL, NULL);
\set VERBOSITY terse
UPDATE dms.IdempotencyKeys SET ResponseHeaders = '[]' WHERE Key = 'k1';
UPDATE dms.IdempotencyKeys SET ResponseBody = '<script>' WHERE Key = 'm4' AND Scope LIKE 'request %';
SELECT request('POST', '/ed-fi/students', 'm4', student('7'));
SELECT set_config('dms.user', repeat('u', 257), false);
DELETE FROM dms.IdempotencyKeys WHERE Key IN ('a', 'next', 'long', 'short', 'array', 'm4');
DROP OWNED BY dms_idempotency_a, "dms idempotency:b";
DROP ROLE dms_idempotency_a, "dms idempotency:b";
\set VERBOSITY sqlstate

-- Invalid arguments.
SELECT dms.idempotency_begin('mine', 'POST', 'm');
SELECT dms.idempotency_begin('/' || repeat('m', 256), 'POST', 'm');
SELECT dms.idempotency_begin('/mine', 'post', 'm');
SELECT dms.idempotency_begin('/mine', 'POST', '');
SELECT dms.idempotency_begin('/mine', 'POST', NULL);
SELECT dms.idempotency_begin('/mine', 'POST', 'm', ttl => '0');
SELECT dms.idempotency_complete('/mine', 'POST', 'none', 200, NULL, NULL, NULL);
SELECT dms.idempotency_complete('/mine', 'POST', 'm1', 99, NULL, NULL, NULL);
SELECT dms.idempotency_complete('/mine', 'POST', 'm1', 200, NULL, NULL, 'plain');
SELECT dms.idempotency_complete('/mine', 'POST', 'm1', 200, NULL, NULL, 'text/');
-- The constraints of the table enforce the same rules for raw SQL.
UPDATE dms.IdempotencyKeys SET Key = 'a b' WHERE Key = 'm1';
UPDATE dms.IdempotencyKeys SET Route = 'mine' WHERE Key = 'm1';
UPDATE dms.IdempotencyKeys SET HttpMethod = 'BREW' WHERE Key = 'm1';
UPDATE dms.IdempotencyKeys SET StatusCode = 600 WHERE Key = 'm1';
UPDATE dms.IdempotencyKeys SET ContentType = 'plain' WHERE Key = 'm1';
UPDATE dms.IdempotencyKeys SET ExpiresAt = CreatedAt WHERE Key = 'm1';
UPDATE dms.IdempotencyKeys SET ResponseBody = repeat('x', 1048577) WHERE Key = 'm1';
UPDATE dms.IdempotencyKeys SET CreatedAt = now() WHERE Key = 'm1';
\set VERBOSITY default

-- A key is found without a scan of all keys of its route: the index by route is
-- for monitoring only.  (Without direct access, this is up to the planner.)
SELECT pg_stat_force_next_flush();
SELECT idx_scan AS scans FROM pg_stat_user_indexes WHERE indexrelname = 'ix_idempotencykeys_route_createdat' \gset
SELECT count(*) FROM generate_series(1, 20) AS n, request('POST', '/ed-fi/students', 'many-' || n, student('1'));
SELECT pg_stat_force_next_flush();
SELECT (idx_scan - :scans) * current_setting('dms.direct_access')::boolean::integer AS scans_by_route
FROM pg_stat_user_indexes
WHERE indexrelname = 'ix_idempotencykeys_route_createdat';
DELETE FROM dms.IdempotencyKeys WHERE Key LIKE 'many-%';

-- Monitoring, and purging expired keys.
SELECT key, http_route, http_method, status_code, response_body_bytes, content_type, is_processed, is_expired
FROM dms.idempotency_keys(route => '/mine', page_size => 3);
SELECT key FROM dms.idempotency_keys(route => '/mine', page => 1, page_size => 3);
SELECT count(*) FROM dms.idempotency_keys(status => 102);
SELECT count(*) FROM dms.idempotency_keys(page => -1);
SELECT count(*) FROM dms.idempotency_keys(page_size => NULL);
SELECT count(*) FROM dms.idempotency_keys(from_time => now() + '1 hour');
SELECT count(*) = (SELECT count(*) FROM dms.IdempotencyKeys) FROM dms.idempotency_keys(to_time => now() + '1 hour');
SELECT dms.purge_idempotency_keys();
UPDATE dms.IdempotencyKeys SET ExpiresAt = clock_timestamp() WHERE Route = '/mine' AND HttpMethod = 'PUT';
SELECT key, is_expired FROM dms.idempotency_keys('/mine') WHERE http_method = 'PUT';
SELECT dms.purge_idempotency_keys();
SELECT key FROM dms.idempotency_keys('/mine') WHERE http_method = 'PUT';

-- Writers need no rights on the table to claim keys; a request of a reader
-- claims none.
CREATE ROLE regress_idempotency;
SELECT dms.grant_access('regress_idempotency', 'writer');
SET ROLE regress_idempotency;
SELECT request('POST', '/ed-fi/students', 'r1', student('8'));
SELECT request('POST', '/ed-fi/students', 'r1', student('8'));
RESET ROLE;
SELECT dms.grant_access('regress_idempotency', 'reader');
SET ROLE regress_idempotency;
SELECT request('POST', '/ed-fi/students', 'r1', student('8'));
RESET ROLE;
SELECT dms.grant_access('regress_idempotency', 'none');
DROP ROLE regress_idempotency;
SELECT kind FROM dms.audit();
