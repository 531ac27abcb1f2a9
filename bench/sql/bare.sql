-- bare: the rows of a document, and nothing else.  Everything is resolved
-- beforehand: the caller knows all keys, and whether the document is new.  What
-- is left is what any design with these tables has to do.

-- A new enrollment: Document, IdentityLock, ReferentialIdentity, root row, two
-- child rows, five edges.
CREATE FUNCTION @store@.insert_enrollment(referential_id uuid, document_uuid uuid, student bigint,
	school bigint, entry date, grade bigint, plan bigint, exit date) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
	id bigint;
BEGIN
	INSERT INTO @store@.Document (DocumentUuid, ProjectName, ResourceName, ResourceVersion)
	VALUES (document_uuid, 'Ed-Fi', 'StudentSchoolAssociation', '5.1.0')
	RETURNING DocumentId INTO id;
	INSERT INTO @store@.IdentityLock (DocumentId) VALUES (id);
	INSERT INTO @store@.ReferentialIdentity (ReferentialId, DocumentId, ProjectName, ResourceName)
	VALUES (referential_id, id, 'Ed-Fi', 'StudentSchoolAssociation');
	INSERT INTO @store@.StudentSchoolAssociation (DocumentId, EntryDate, School_DocumentId, Student_DocumentId,
		EntryGradeLevelDescriptor_DescriptorId, ExitWithdrawDate, FullTimeEquivalency, PrimarySchool)
	VALUES (id, entry, school, student, grade, exit, 0.875, true);
	INSERT INTO @store@.StudentSchoolAssociationEducationPlan
		(StudentSchoolAssociation_DocumentId, Ordinal, EducationPlanDescriptor_DescriptorId)
	VALUES (id, 0, plan), (id, 1, plan + 1);
	INSERT INTO @store@.ReferenceEdge (ParentDocumentId, ChildDocumentId, EdgeSourceId, IsIdentityComponent)
	VALUES (id, student, @edge_student@, true), (id, school, @edge_school@, true),
		(id, grade, @edge_grade@, false), (id, plan, @edge_plan@, false), (id, plan + 1, @edge_plan@, false);
	RETURN id;
END
$$;

-- Is the enrollment what is stored?  Reads its header, root row and child rows.
CREATE FUNCTION @store@.compare_enrollment(id bigint, student bigint, school bigint, entry date,
	grade bigint, plan bigint, exit date) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
	document record;
	root record;
	plans bigint[];
BEGIN
	SELECT DocumentUuid, Etag, LastModifiedAt INTO document
	FROM @store@.Document WHERE DocumentId = id;
	SELECT Student_DocumentId, School_DocumentId, EntryDate, EntryGradeLevelDescriptor_DescriptorId,
		ExitWithdrawDate, FullTimeEquivalency, PrimarySchool INTO root
	FROM @store@.StudentSchoolAssociation WHERE DocumentId = id;
	SELECT array_agg(EducationPlanDescriptor_DescriptorId ORDER BY Ordinal) INTO plans
	FROM @store@.StudentSchoolAssociationEducationPlan WHERE StudentSchoolAssociation_DocumentId = id;
	RETURN plans = ARRAY[plan, plan + 1]
		AND root IS NOT DISTINCT FROM ROW (student, school, entry, grade, exit, 0.875::numeric(5,4), true);
END
$$;

-- The one value that differs, and the etag.
CREATE FUNCTION @store@.change_enrollment(id bigint, exit date) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
	result bigint;
BEGIN
	PERFORM FROM @store@.Document WHERE DocumentId = id FOR NO KEY UPDATE;
	UPDATE @store@.StudentSchoolAssociation SET ExitWithdrawDate = exit WHERE DocumentId = id;
	UPDATE @store@.Document SET Etag = Etag + 1, LastModifiedAt = greatest(clock_timestamp(), LastModifiedAt)
	WHERE DocumentId = id RETURNING Etag INTO result;
	RETURN result;
END
$$;
