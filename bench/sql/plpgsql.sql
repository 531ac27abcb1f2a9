-- plpgsql: the whole protocol in one PL/pgSQL function, written for this one
-- resource.  ReferentialIds come from uuid-ossp.
--
-- It does what dms.upsert_document() does for an enrollment: checks the body
-- (coarsely: by its casts), resolves all references in one statement, answers
-- "unchanged" without a lock, claims the identity or finds and locks the
-- document that has it, writes what differs.  Students, schools and descriptors
-- cannot be renamed, so they need no lock, as in dms.

CREATE EXTENSION IF NOT EXISTS "uuid-ossp";

CREATE TYPE @store@.write_result AS (outcome text, document_uuid uuid, document_id bigint,
	etag bigint, last_modified_at timestamptz);

CREATE FUNCTION @store@.upsert(document json) RETURNS @store@.write_result
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
	body constant jsonb := document;
	ns constant uuid := 'edf1edf1-3df1-3df1-3df1-3df1edf1edf1';
	student_key constant text := body #>> '{studentReference,studentUniqueId}';
	school_key constant text := body #>> '{schoolReference,schoolId}';
	entry constant date := body ->> 'entryDate';
	exit_date constant date := body ->> 'exitWithdrawDate';
	equivalency constant numeric(5,4) := body ->> 'fullTimeEquivalency';
	is_primary constant boolean := body ->> 'primarySchool';
	own_rid constant uuid := uuid_generate_v5(ns, 'Ed-FiStudentSchoolAssociation$.entryDate=' || entry::text
		|| '#$.schoolReference.schoolId=' || school_key || '#$.studentReference.studentUniqueId=' || student_key);
	student_rid constant uuid := uuid_generate_v5(ns, 'Ed-FiStudent$.studentUniqueId=' || student_key);
	school_rid constant uuid := uuid_generate_v5(ns, 'Ed-FiSchool$.schoolId=' || school_key);
	grade_rid constant uuid := uuid_generate_v5(ns, 'Ed-FiGradeLevelDescriptor$.descriptor='
		|| lower(body ->> 'entryGradeLevelDescriptor'));
	plan_rids uuid[];
	student bigint;
	school bigint;
	grade bigint;
	plans bigint[];
	result @store@.write_result;
	same boolean;
BEGIN
	IF student_key IS NULL OR school_key IS NULL OR entry IS NULL OR body -> 'entryGradeLevelDescriptor' IS NULL THEN
		RAISE 'a required property is missing';
	END IF;
	plan_rids := ARRAY(SELECT uuid_generate_v5(ns, 'Ed-FiEducationPlanDescriptor$.descriptor='
			|| lower(p ->> 'educationPlanDescriptor'))
		FROM jsonb_array_elements(body -> 'educationPlans') AS p);

	SELECT max(DocumentId) FILTER (WHERE ReferentialId = own_rid),
		max(DocumentId) FILTER (WHERE ReferentialId = student_rid),
		max(DocumentId) FILTER (WHERE ReferentialId = school_rid),
		max(DocumentId) FILTER (WHERE ReferentialId = grade_rid),
		array_agg(DocumentId ORDER BY array_position(plan_rids, ReferentialId))
			FILTER (WHERE ReferentialId = ANY (plan_rids))
	INTO result.document_id, student, school, grade, plans
	FROM @store@.ReferentialIdentity
	WHERE ReferentialId = ANY (plan_rids || own_rid || student_rid || school_rid || grade_rid);
	IF student IS NULL OR school IS NULL OR grade IS NULL
		OR cardinality(plans) IS DISTINCT FROM cardinality(plan_rids)
	THEN
		RAISE foreign_key_violation USING MESSAGE = 'document refers to documents that do not exist';
	END IF;

	IF result.document_id IS NOT NULL THEN
		SELECT d.DocumentUuid, d.Etag, d.LastModifiedAt,
			r.EntryGradeLevelDescriptor_DescriptorId = grade
				AND r.ExitWithdrawDate IS NOT DISTINCT FROM exit_date
				AND r.FullTimeEquivalency IS NOT DISTINCT FROM equivalency
				AND r.PrimarySchool IS NOT DISTINCT FROM is_primary
				AND ARRAY(SELECT c.EducationPlanDescriptor_DescriptorId
					FROM @store@.StudentSchoolAssociationEducationPlan AS c
					WHERE c.StudentSchoolAssociation_DocumentId = r.DocumentId ORDER BY c.Ordinal) = plans
		INTO result.document_uuid, result.etag, result.last_modified_at, same
		FROM @store@.Document AS d JOIN @store@.StudentSchoolAssociation AS r USING (DocumentId)
		WHERE d.DocumentId = result.document_id;
		IF same THEN
			result.outcome := 'unchanged';
			RETURN result;
		END IF;
	END IF;

	LOOP
		IF result.document_id IS NULL THEN
			WITH p AS (
				INSERT INTO @store@.ReferentialIdentity (ReferentialId, DocumentId, ProjectName, ResourceName)
				VALUES (own_rid, nextval('@store@.document_documentid_seq'), 'Ed-Fi', 'StudentSchoolAssociation')
				ON CONFLICT (ReferentialId) DO NOTHING RETURNING DocumentId
			), l AS (
				INSERT INTO @store@.IdentityLock SELECT DocumentId FROM p
			)
			INSERT INTO @store@.Document (DocumentId, DocumentUuid, ProjectName, ResourceName, ResourceVersion)
			SELECT DocumentId, dms.uuid_v7(), 'Ed-Fi', 'StudentSchoolAssociation', '5.1.0' FROM p
			RETURNING DocumentId, DocumentUuid, Etag, LastModifiedAt
			INTO result.document_id, result.document_uuid, result.etag, result.last_modified_at;
			EXIT WHEN FOUND;
			SELECT DocumentId INTO result.document_id
			FROM @store@.ReferentialIdentity WHERE ReferentialId = own_rid;
		ELSE
			SELECT DocumentUuid, Etag, LastModifiedAt
			INTO result.document_uuid, result.etag, result.last_modified_at
			FROM @store@.Document WHERE DocumentId = result.document_id FOR NO KEY UPDATE;
			IF FOUND AND EXISTS (SELECT FROM @store@.ReferentialIdentity
				WHERE ReferentialId = own_rid AND DocumentId = result.document_id)
			THEN
				RETURN @store@.update_locked(result, student, school, grade, exit_date, equivalency,
					is_primary, plans);
			END IF;
			SELECT DocumentId INTO result.document_id
			FROM @store@.ReferentialIdentity WHERE ReferentialId = own_rid;
		END IF;
	END LOOP;

	INSERT INTO @store@.StudentSchoolAssociation (DocumentId, EntryDate, School_DocumentId, Student_DocumentId,
		EntryGradeLevelDescriptor_DescriptorId, ExitWithdrawDate, FullTimeEquivalency, PrimarySchool)
	VALUES (result.document_id, entry, school, student, grade, exit_date, equivalency, is_primary);
	INSERT INTO @store@.StudentSchoolAssociationEducationPlan
		(StudentSchoolAssociation_DocumentId, Ordinal, EducationPlanDescriptor_DescriptorId)
	SELECT result.document_id, u.n - 1, u.plan FROM unnest(plans) WITH ORDINALITY AS u (plan, n);
	INSERT INTO @store@.ReferenceEdge (ParentDocumentId, ChildDocumentId, EdgeSourceId, IsIdentityComponent)
	SELECT result.document_id, e.child, e.source, e.flag
	FROM (VALUES (student, @edge_student@, true), (school, @edge_school@, true), (grade, @edge_grade@, false))
		AS e (child, source, flag)
	UNION ALL
	SELECT result.document_id, u.plan, @edge_plan@, false FROM unnest(plans) AS u (plan);
	result.outcome := 'inserted';
	RETURN result;
END
$$;

-- Write what differs into a document that is locked.
CREATE FUNCTION @store@.update_locked(result @store@.write_result, student bigint, school bigint,
	grade bigint, exit_date date, equivalency numeric, is_primary boolean, plans bigint[])
RETURNS @store@.write_result
LANGUAGE plpgsql AS $$
DECLARE
	differs boolean;
BEGIN
	UPDATE @store@.StudentSchoolAssociation
	SET EntryGradeLevelDescriptor_DescriptorId = grade, ExitWithdrawDate = exit_date,
		FullTimeEquivalency = equivalency, PrimarySchool = is_primary
	WHERE DocumentId = result.document_id
		AND (EntryGradeLevelDescriptor_DescriptorId <> grade
			OR ExitWithdrawDate IS DISTINCT FROM exit_date
			OR FullTimeEquivalency IS DISTINCT FROM equivalency
			OR PrimarySchool IS DISTINCT FROM is_primary);
	differs := FOUND;
	IF plans IS DISTINCT FROM ARRAY(SELECT EducationPlanDescriptor_DescriptorId
		FROM @store@.StudentSchoolAssociationEducationPlan
		WHERE StudentSchoolAssociation_DocumentId = result.document_id ORDER BY Ordinal)
	THEN
		differs := true;
		DELETE FROM @store@.StudentSchoolAssociationEducationPlan
		WHERE StudentSchoolAssociation_DocumentId = result.document_id AND Ordinal >= cardinality(plans);
		UPDATE @store@.StudentSchoolAssociationEducationPlan
		SET EducationPlanDescriptor_DescriptorId = plans[Ordinal + 1]
		WHERE StudentSchoolAssociation_DocumentId = result.document_id
			AND EducationPlanDescriptor_DescriptorId <> plans[Ordinal + 1];
		INSERT INTO @store@.StudentSchoolAssociationEducationPlan
			(StudentSchoolAssociation_DocumentId, Ordinal, EducationPlanDescriptor_DescriptorId)
		SELECT result.document_id, u.n - 1, u.plan FROM unnest(plans) WITH ORDINALITY AS u (plan, n)
		ON CONFLICT (StudentSchoolAssociation_DocumentId, Ordinal) DO NOTHING;
	END IF;
	IF NOT (SELECT count(*) = 3 + cardinality(plans) AND bool_and(CASE EdgeSourceId
			WHEN @edge_student@ THEN ChildDocumentId = student
			WHEN @edge_school@ THEN ChildDocumentId = school
			WHEN @edge_grade@ THEN ChildDocumentId = grade
			WHEN @edge_plan@ THEN ChildDocumentId = ANY (plans)
			ELSE false END)
		FROM @store@.ReferenceEdge WHERE ParentDocumentId = result.document_id)
	THEN
		differs := true;
		WITH wanted AS (
			SELECT * FROM (VALUES (student, @edge_student@::bigint, true), (school, @edge_school@, true),
				(grade, @edge_grade@, false)) AS e (child, source, flag)
			UNION
			SELECT u.plan, @edge_plan@, false FROM unnest(plans) AS u (plan)
		), surplus AS (
			DELETE FROM @store@.ReferenceEdge AS e WHERE e.ParentDocumentId = result.document_id
				AND NOT EXISTS (SELECT FROM wanted AS w WHERE w.child = e.ChildDocumentId
					AND w.source = e.EdgeSourceId)
		)
		INSERT INTO @store@.ReferenceEdge (ParentDocumentId, ChildDocumentId, EdgeSourceId, IsIdentityComponent)
		SELECT result.document_id, w.child, w.source, w.flag FROM wanted AS w
		ON CONFLICT (ParentDocumentId, EdgeSourceId, ChildDocumentId) DO NOTHING;
	END IF;
	result.outcome := 'unchanged';
	IF differs THEN
		UPDATE @store@.Document SET Etag = Etag + 1, ResourceVersion = '5.1.0',
			LastModifiedAt = greatest(clock_timestamp(), LastModifiedAt)
		WHERE DocumentId = result.document_id
		RETURNING Etag, LastModifiedAt INTO result.etag, result.last_modified_at;
		result.outcome := 'updated';
	END IF;
	RETURN result;
END
$$;
