-- A store that belongs to dbo, and a role that may write to it.
\c - dbo
SET client_min_messages = warning;
CREATE EXTENSION dms;
SELECT dms.deploy_schema(:'schema') IS NOT NULL AS deployed;
SELECT dms.grant_access('writer', 'writer');
SELECT outcome FROM dms.upsert_document('Cascade', 'School', '{"schoolId": 1, "name": "One"}');
RESET client_min_messages;
