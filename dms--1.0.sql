-- dms 1.0: the functions and types of the extension.
--
-- The extension is code and the data is yours: no table is created here.

\echo Use "CREATE EXTENSION dms" to load this file. \quit

-- ---------------------------------------------------------------------------
-- UUIDs and identities.  Pure functions: anybody may call them.
-- ---------------------------------------------------------------------------

CREATE FUNCTION dms.uuid_v5(namespace uuid, name text) RETURNS uuid
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'dms_uuid_v5';
COMMENT ON FUNCTION dms.uuid_v5(uuid, text) IS
'the UUIDv5 (RFC 4122, SHA-1) of the UTF-8 bytes of a name in a namespace';

-- Parallel restricted: the order within a session needs one process.
CREATE FUNCTION dms.uuid_v7() RETURNS uuid
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'dms_uuid_v7';
COMMENT ON FUNCTION dms.uuid_v7() IS
'a new UUIDv7; each is greater than those that the session made before';

-- Not strict: a NULL is a mistake of the caller's and must not pass silently.
CREATE FUNCTION dms.referential_id(project text, resource text, paths text[], vals text[])
RETURNS uuid
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'dms_referential_id';
COMMENT ON FUNCTION dms.referential_id(text, text, text[], text[]) IS
'the ReferentialId of an identity: the UUIDv5 of its resource''s names and its path=value elements';

CREATE FUNCTION dms.lower_invariant(value text) RETURNS text
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'dms_lower_invariant';
COMMENT ON FUNCTION dms.lower_invariant(text) IS
'lower case by Unicode''s simple case mapping, whatever the locale and collation';
