-- A writer's calls: an insert, an update and an insert by a request.
\ir trap.sql
SELECT floor(random() * 1e6)::int AS n \gset
SELECT outcome FROM dms.upsert_document('Cascade', 'School', json_build_object('schoolId', :n, 'name', 'New'));
SELECT outcome FROM dms.upsert_document('Cascade', 'School', json_build_object('schoolId', 1, 'name', :'n'));
SELECT (dms.handle_request('POST', '/cascade/schools', '{}', format('{"schoolId": %s, "name": "Newer"}', 1000000 + :n))).status;
\c - dbo
