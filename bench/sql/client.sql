-- client: what the statements of an application share.

CREATE EXTENSION IF NOT EXISTS "uuid-ossp";

-- A ReferentialId.  An application makes it itself; here it costs the server
-- what it would cost the application.
CREATE FUNCTION @store@.rid(name text) RETURNS uuid
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN uuid_generate_v5('edf1edf1-3df1-3df1-3df1-3df1edf1edf1', name);

CREATE FUNCTION @store@.enrollment_rid(student integer, school integer, entry date) RETURNS uuid
LANGUAGE sql STABLE PARALLEL SAFE
RETURN uuid_generate_v5('edf1edf1-3df1-3df1-3df1-3df1edf1edf1', 'Ed-FiStudentSchoolAssociation$.entryDate='
	|| entry::text || '#$.schoolReference.schoolId=' || school::text
	|| '#$.studentReference.studentUniqueId=' || student::text);
