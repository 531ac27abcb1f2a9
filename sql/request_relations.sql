-- Requests about relations between documents: parents, collections, accounts, records.
SET client_min_messages = warning;
\set home :DBNAME
CREATE DATABASE dms_request_relations TEMPLATE template0 ENCODING 'UTF8';
\c dms_request_relations
SET client_min_messages = warning;
CREATE EXTENSION dms;
\getenv top PG_ABS_SRCDIR
\set file :top /examples/schemas/system.json
\set schema `cat :'file'`
SELECT dms.deploy_schema(:'schema') IS NOT NULL AS deployed;
SELECT dms.configure_store('{"urnDomain": "pp"}') ->> 'urnDomain' AS domain;

\pset null (null)
\pset format unaligned
\pset tuples_only on
-- Ids differ from run to run: the answers have names instead.
CREATE FUNCTION named(value text) RETURNS text LANGUAGE plpgsql STABLE AS $$
DECLARE
	named record;
BEGIN
	FOR named IN SELECT DocumentUuid, coalesce(a.Name, u.Name, c.Name, j.Name, s.Name) AS name FROM dms.Document AS d
		LEFT JOIN system.Account AS a USING (DocumentId) LEFT JOIN system.User AS u USING (DocumentId)
		LEFT JOIN system.JobCollection AS c USING (DocumentId) LEFT JOIN system.Job AS j USING (DocumentId)
		LEFT JOIN system.System AS s USING (DocumentId)
	LOOP
		value := replace(value, named.DocumentUuid::text, '(' || named.name || ')');
	END LOOP;
	RETURN regexp_replace(regexp_replace(value, '\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z', '{time}', 'g'),
		'[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}', '{id}', 'g');
END $$;
CREATE FUNCTION request(method text, path text, body text DEFAULT NULL, headers jsonb DEFAULT '{}')
RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	answer dms.response := dms.handle_request(method, path, '{"correlationid": "c1"}' || headers, body);
BEGIN
	RETURN NEXT named(concat_ws(E'\n', answer.status || ' ' || answer.headers, answer.body));
END $$;
CREATE FUNCTION id(wanted text) RETURNS uuid LANGUAGE sql STABLE AS $$
	SELECT DocumentUuid FROM dms.Document AS d
	WHERE EXISTS (SELECT FROM (SELECT DocumentId, Name FROM system.Account UNION ALL SELECT DocumentId, Name FROM system.User
		UNION ALL SELECT DocumentId, Name FROM system.JobCollection UNION ALL SELECT DocumentId, Name FROM system.Job
		UNION ALL SELECT DocumentId, Name FROM system.System) AS n WHERE n.DocumentId = d.DocumentId AND n.Name = wanted)
$$;
CREATE FUNCTION at(wanted text) RETURNS text LANGUAGE sql STABLE AS $$
	SELECT '/system/' || lower(ResourceName) || 's/' || DocumentUuid FROM dms.Document WHERE DocumentUuid = id(wanted)
$$;

--
-- Creating documents, and attaching them in the same request
--

SELECT request('POST', '/system/systems', '{"systemId": "1", "name": "system"}');
SELECT request('POST', '/system/accounts', '{"accountId": "1", "name": "east"}', jsonb_build_object('dms-parent', id('system')));
SELECT request('POST', '/system/users', '{"userId": "1", "name": "ann"}', jsonb_build_object('DMS-Parent', dms.urn(id('east')), 'dms-account', dms.urn(id('east'))));
-- A new document gets the account of its parent, unless it is given one.
SELECT request('POST', '/system/jobs', '{"jobId": "1", "name": "job1"}', jsonb_build_object('dms-parent', id('ann')));
SELECT request('POST', '/system/jobs', '{"jobId": "2", "name": "job2"}', jsonb_build_object('dms-parent', id('ann'), 'dms-account', id('system')));
-- The same request again changes nothing; with other headers, it moves the document.
SELECT request('POST', '/system/jobs', '{"jobId": "2", "name": "job2"}', jsonb_build_object('dms-parent', id('ann'), 'dms-account', id('system')));
SELECT request('POST', '/system/jobs', '{"jobId": "2", "name": "job2"}', jsonb_build_object('dms-parent', id('east'), 'dms-account', id('east')));
SELECT named(dms.parent(id('job2'))::text);

-- What is not valid is refused, and nothing is created.
SELECT h, status, body ->> 'type', body ->> 'detail', body -> 'errors'
FROM unnest(ARRAY['{"dms-parent": "x"}', '{"dms-account": "urn:pp:x"}', '{"dms-parent": "urn:pp:System.Job::01890000-0000-7000-8000-000000000000"}',
	'{"dms-account": "01890000-0000-7000-8000-000000000000"}', '{"dms-parent": ["a", "b"]}']::jsonb[]) AS h,
	dms.handle_request('POST', '/system/jobs', h, '{"jobId": "3", "name": "job3"}');
SELECT id('job3');
-- The body is checked first.
SELECT status, body ->> 'type' FROM dms.handle_request('POST', '/system/jobs', '{"dms-parent": "01890000-0000-7000-8000-000000000000"}', '{}');
-- A key is for the headers, too.
SELECT request('POST', '/system/jobs', '{"jobId": "4", "name": "job4"}', jsonb_build_object('Idempotency-Key', 'k1', 'dms-parent', id('ann')));
SELECT request('POST', '/system/jobs', '{"jobId": "4", "name": "job4"}', jsonb_build_object('Idempotency-Key', 'k1', 'dms-parent', id('ann')));
SELECT status, body ->> 'type' FROM dms.handle_request('POST', '/system/jobs', jsonb_build_object('Idempotency-Key', 'k1', 'dms-parent', id('east')), '{"jobId": "4", "name": "job4"}');

--
-- Parents and children
--

SELECT request('GET', at('job1') || '/parent');
SELECT request('PUT', at('job1') || '/parent', json_build_object('parentUrn', dms.urn(id('job2')))::text);
SELECT request('GET', at('job1') || '/ancestors');
-- The body that was read can be sent back; an id does as well.
SELECT request('PUT', at('job1') || '/parent', (dms.handle_request('GET', at('job1') || '/parent')).body::text);
SELECT request('PUT', at('job1') || '/parent', json_build_object('parentUrn', id('ann'))::text);
-- Nothing is above itself.
SELECT request('PUT', at('east') || '/parent', json_build_object('parentUrn', id('job1'))::text);
SELECT request('PUT', at('east') || '/parent', json_build_object('parentUrn', id('east'))::text);
SELECT request('PUT', at('job1') || '/parent', '{"parentUrn": "01890000-0000-7000-8000-000000000000"}');
SELECT left(b, 40), status, body ->> 'type', body ->> 'detail', body -> 'validationErrors'
FROM unnest(ARRAY[NULL, '', '{', '[]', 'null', '{}', '{"parentUrn": null}', '{"parentUrn": 1}', '{"parentUrn": "x"}', '{"parent": "x"}',
	'{"parentUrn": "x", "parentUrn": "x"}', repeat('[', 2000)]) AS b, dms.handle_request('PUT', at('job1') || '/parent', '{}', b);
SELECT status FROM dms.handle_request('PUT', at('job1') || '/parent', '{"Content-Type": "text/plain"}', '{}');
SELECT request('DELETE', at('job1') || '/parent');
SELECT request('GET', at('job1') || '/parent');
SELECT request('DELETE', at('job1') || '/parent');
SELECT status FROM dms.handle_request('PUT', at('job1') || '/parent', '{}', json_build_object('parentUrn', id('ann'))::text);

-- Lists of children have pages, by their URNs.
SELECT request('GET', at('ann') || '/children');
SELECT request('GET', at('east') || '/children?limit=1');
SELECT request('GET', at('east') || '/children?after=' || id('job2'));
SELECT request('GET', at('east') || '/children?Type=System.User&LIMIT=10');
SELECT request('GET', at('east') || '/children?type=System.User&after=' || dms.urn(id('ann')));
SELECT request('GET', at('east') || '/children?type=System.Nothing');
SELECT q, status, body ->> 'type', body -> 'errors'
FROM unnest('{limit=x,limit=501,limit=-1,limit=1&limit=2,after=x,after=urn:pp:System.Job::1,after=01890000-0000-7000-8000-000000000000,offset=1,name=ann,%zz=1}'::text[]) AS q,
	dms.handle_request('GET', at('east') || '/children?' || q);
SELECT request('GET', at('job1') || '/ancestors?limit=1');

-- Deleting a parent deletes what is below it, unless that is referred to.
SELECT status FROM dms.handle_request('POST', '/system/jobs', '{}', '{"jobId": "5", "name": "job5", "userReference": {"userId": "1"}}');
SELECT request('DELETE', at('east'));

--
-- Collections
--

SELECT status FROM dms.handle_request('POST', '/system/jobCollections', '{}', '{"jobCollectionId": "1", "name": "jobs"}');
SELECT status FROM dms.handle_request('POST', '/system/jobCollections', '{}', '{"jobCollectionId": "2", "name": "more jobs"}');
SELECT request('PUT', at('jobs') || '/members/' || id('job1'));
SELECT request('PUT', at('jobs') || '/members/' || dms.urn(id('job2')), '{"conveys": true}');
SELECT request('PUT', at('more jobs') || '/members/' || id('job1'), '{}');
SELECT named(MemberUuid::text), Conveys FROM dms.CollectionMember ORDER BY 1, 2;
SELECT request('GET', at('jobs') || '/members');
SELECT request('GET', at('jobs') || '/members?limit=1&type=System.Job&after=' || id('job1'));
SELECT request('GET', at('job1') || '/collections');
SELECT b, status, body -> 'validationErrors'
FROM unnest(ARRAY['{"conveys": "true"}', '{"conveys": null}', '{"convey": true}', '[]', 'true', 'x']) AS b,
	dms.handle_request('PUT', at('jobs') || '/members/' || id('job1'), '{}', b);
SELECT request('PUT', at('jobs') || '/members/01890000-0000-7000-8000-000000000000');
SELECT request('PUT', at('jobs') || '/members/1');
SELECT request('PUT', '/system/jobCollections/01890000-0000-7000-8000-000000000000/members/' || id('job1'));
SELECT request('DELETE', at('jobs') || '/members/' || id('job1'));
SELECT request('DELETE', at('jobs') || '/members/' || id('job1'));
SELECT request('DELETE', at('jobs') || '/members/urn:pp:System.Job::' || dms.uuid_v7());

--
-- Accounts, records, and documents by their URNs
--

SELECT request('GET', '/dms/accounts/' || id('east') || '/documents');
SELECT request('GET', '/DMS/Accounts/' || dms.urn(id('east')) || '/documents?type=System.User');
SELECT status FROM unnest(ARRAY['01890000-0000-7000-8000-000000000000', 'x', 'urn:x', 'urn:pp:System.Job::x']) AS i, dms.handle_request('GET', '/dms/accounts/' || i || '/documents');

SELECT request('GET', '/dms/records?pk=Parent%23' || dms.urn(id('ann')));
SELECT request('GET', '/dms/records?pk=Resource%23' || dms.urn(id('ann')));
SELECT request('GET', '/dms/records?pk=Parent%23' || dms.urn(id('east')) || '&sk=Child%23urn:pp:System.U');
SELECT request('GET', '/dms/records?index=InvertedIndex&pk=Child%23' || dms.urn(id('ann')));
SELECT request('GET', '/dms/records?index=ResourcesByAccountIndex&limit=1&pk=' || dms.urn(id('east')) || '&after=' || dms.urn(id('job2')));
SELECT dms.claim_unique_key('System.User', 'emailAddress', 'ann@example.org', id('ann'));
SELECT request('GET', '/dms/records?pk=UniqueKeyValue%23System.User%23emailAddress%23ann@example.org');
SELECT q, status, body ->> 'type', body -> 'errors'
FROM unnest('{"",pk=x,pk=,pk=Resource%23x,pk=Resource%23urn:pp:A::x,pk=UniqueKeyValue%23x,pk=Resource%23urn:pp:A::x&index=x,sk=x,pk=x&pk=y,pk=x&q=1,pk=x&limit=501}'::text[]) AS q,
	dms.handle_request('GET', '/dms/records?' || q);

SELECT request('GET', '/' || dms.urn(id('ann')));
SELECT request('GET', '/URN:PP:System.User::' || upper(id('ann')::text), NULL, '{"If-None-Match": "\"1\""}');
SELECT n, status, body ->> 'type' FROM unnest(ARRAY['urn:', 'urn:pp:System.User::1', 'urn:pp:System.User::01890000-0000-7000-8000-000000000000', 'urn:other:System.User::' || id('ann'),
	'urn:pp:System.Job::' || id('ann')]) AS u, named(u) AS n, dms.handle_request('GET', '/' || u) ORDER BY status, length(u);
-- Paths take a URN where they take an id, if it is that of a document of the resource.
SELECT status FROM dms.handle_request('GET', '/system/users/' || dms.urn(id('ann')));
SELECT request('GET', '/system/jobs/' || dms.urn(id('ann')));
SELECT request('DELETE', '/system/jobs/' || dms.urn(id('ann')));
SELECT request('GET', '/system/users/urn:pp');
SELECT request('PUT', '/system/users/' || dms.urn(id('ann')), json_build_object('id', id('ann'), 'userId', '1', 'name', 'ann', 'emailAddress', 'ann@example.org')::text);

--
-- Paths, methods, rights
--

SELECT m, p, status, headers ->> 'Allow', body ->> 'type'
FROM unnest('{GET,POST,PUT,DELETE,PATCH}'::text[]) AS m,
	unnest('{/parent,/children,/ancestors,/collections,/members,/members/01890000-0000-7000-8000-000000000000,/parent/x,/children/x,/members/x/y}'::text[]) AS p,
	dms.handle_request(m, at('ann') || p, '{}', '{}')
WHERE status IN (404, 405) ORDER BY p, m;
SELECT m, named(p), status, headers ->> 'Allow', body ->> 'detail'
FROM unnest('{GET,POST}'::text[]) AS m, unnest(ARRAY['/dms', '/dms/records/x', '/dms/accounts', '/dms/accounts/' || id('east'), '/dms/nothing',
	'/dms/records', '/' || dms.urn(id('ann'))]) AS p, dms.handle_request(m, p, '{}', '{}') WHERE status <> 400 AND status <> 200 ORDER BY 1, 2;
-- A document of another resource has nothing here.
SELECT m, p, status FROM (VALUES ('GET', '/parent'), ('PUT', '/parent'), ('DELETE', '/parent'), ('GET', '/children'), ('GET', '/ancestors'), ('GET', '/collections'),
	('GET', '/members'), ('PUT', '/members/' || id('job1')), ('DELETE', '/members/' || id('job1'))) AS r (m, path),
	named(path) AS p, dms.handle_request(m, '/system/jobs/' || id('ann') || path, '{}', CASE WHEN m = 'PUT' AND path = '/parent' THEN json_build_object('parentUrn', id('job1'))::text END);

CREATE ROLE regress_request_relations;
SELECT dms.grant_access('regress_request_relations', 'reader');
SELECT at('ann') AS ann, at('jobs') AS jobs, id('job1') AS job1, id('east') AS east \gset
SET ROLE regress_request_relations;
SELECT p, status FROM unnest(ARRAY['/parent', '/children', '/ancestors', '/collections', '/members']) AS p, dms.handle_request('GET', :'ann' || p);
SELECT m, status, body -> 'errors' FROM (VALUES ('PUT', :'ann' || '/parent'), ('DELETE', :'ann' || '/parent'), ('PUT', :'jobs' || '/members/' || :'job1'),
	('DELETE', :'jobs' || '/members/' || :'job1'), ('POST', '/system/jobs')) AS r (m, p), dms.handle_request(m, p, '{}', '{}');
RESET ROLE;
-- The right to write documents is not the right to relate them.
SELECT dms.grant_access('regress_request_relations', 'writer');
REVOKE EXECUTE ON FUNCTION dms.set_parent FROM regress_request_relations;
REVOKE EXECUTE ON FUNCTION dms.set_account FROM regress_request_relations;
REVOKE EXECUTE ON FUNCTION dms.children FROM regress_request_relations;
SET ROLE regress_request_relations;
SELECT h, status, body -> 'errors' FROM unnest(ARRAY['{}', '{"dms-parent": "x"}', '{"dms-account": "x"}']::jsonb[]) AS h,
	dms.handle_request('POST', '/system/jobs', h, '{"jobId": "6", "name": "job6"}');
SELECT status, body -> 'errors' FROM dms.handle_request('GET', :'ann' || '/children');
RESET ROLE;
SELECT * FROM dms.audit();
-- A document that exists, but cannot be locked, is not looked for again and again.
DELETE FROM dms.IdentityLock WHERE DocumentId = (SELECT DocumentId FROM dms.Document WHERE DocumentUuid = id('job1'));
\set VERBOSITY sqlstate
SET statement_timeout = '5min';
SELECT request('POST', '/system/jobs', '{"jobId": "1", "name": "job1"}', jsonb_build_object('dms-parent', id('east')));
SELECT request('POST', '/system/jobs', '{"jobId": "1", "name": "job1"}', jsonb_build_object('dms-account', id('east')));
RESET statement_timeout;
SELECT kind FROM dms.audit();
DROP OWNED BY regress_request_relations;

-- Projects cannot have the endpoint "dms".
\set VERBOSITY terse
SELECT dms.deploy_schema(replace(:'schema', '"projectEndpointName": "system"', '"projectEndpointName": "Dms"')::json);
\c :home
DROP DATABASE dms_request_relations;
DROP ROLE regress_request_relations;
