-- The checker's own view of the store: the identities of documents, by its own joins, and
-- their references, by the reference columns.
CREATE SCHEMA stress;

CREATE VIEW stress.School AS
SELECT DocumentId, ARRAY[SchoolId::text] AS Vals FROM edfi.School;

CREATE VIEW stress.Course AS
SELECT c.DocumentId, ARRAY[c.CourseCode::text, s.SchoolId::text] AS Vals
  FROM edfi.Course AS c JOIN edfi.School AS s ON s.DocumentId = c.EducationOrganization_DocumentId;

CREATE VIEW stress.GradingPeriod AS
SELECT g.DocumentId, ARRAY[d.Uri::text, g.GradingPeriodName::text, s.SchoolId::text, y.SchoolYear::text] AS Vals
  FROM edfi.GradingPeriod AS g
  JOIN dms.Descriptor AS d ON d.DocumentId = g.GradingPeriodDescriptor_DescriptorId
  JOIN edfi.School AS s ON s.DocumentId = g.School_DocumentId
  JOIN edfi.SchoolYearType AS y ON y.DocumentId = g.SchoolYearType_DocumentId;

CREATE VIEW stress.Session AS
SELECT e.DocumentId, ARRAY[s.SchoolId::text, y.SchoolYear::text, e.SessionName::text] AS Vals
  FROM edfi.Session AS e
  JOIN edfi.School AS s ON s.DocumentId = e.School_DocumentId
  JOIN edfi.SchoolYearType AS y ON y.DocumentId = e.SchoolYearType_DocumentId;

CREATE VIEW stress.CourseOffering AS
SELECT o.DocumentId,
       ARRAY[o.LocalCourseCode::text, s.SchoolId::text, e.Vals[1], e.Vals[2], e.Vals[3]] AS Vals
  FROM edfi.CourseOffering AS o
  JOIN edfi.School AS s ON s.DocumentId = o.School_DocumentId
  JOIN stress.Session AS e ON e.DocumentId = o.Session_DocumentId;

CREATE VIEW stress.Section AS
SELECT c.DocumentId, ARRAY[o.Vals[1], o.Vals[2], o.Vals[4], o.Vals[5], c.SectionIdentifier::text] AS Vals
  FROM edfi.Section AS c
  JOIN stress.CourseOffering AS o ON o.DocumentId = c.CourseOffering_DocumentId;

CREATE VIEW stress.StudentSectionAssociation AS
SELECT a.DocumentId,
       ARRAY[a.BeginDate::text, c.Vals[1], c.Vals[2], c.Vals[3], c.Vals[5], c.Vals[4], t.StudentUniqueId::text] AS Vals
  FROM edfi.StudentSectionAssociation AS a
  JOIN stress.Section AS c ON c.DocumentId = a.Section_DocumentId
  JOIN edfi.Student AS t ON t.DocumentId = a.Student_DocumentId;

CREATE VIEW stress.Grade AS
SELECT g.DocumentId, d.Uri::text || p.Vals || a.Vals AS Vals
  FROM edfi.Grade AS g
  JOIN dms.Descriptor AS d ON d.DocumentId = g.GradeTypeDescriptor_DescriptorId
  JOIN stress.GradingPeriod AS p ON p.DocumentId = g.GradingPeriod_DocumentId
  JOIN stress.StudentSectionAssociation AS a ON a.DocumentId = g.StudentSectionAssociation_DocumentId;

CREATE VIEW stress.ReportCard AS
SELECT r.DocumentId, s.SchoolId::text || p.Vals || t.StudentUniqueId::text AS Vals
  FROM edfi.ReportCard AS r
  JOIN edfi.School AS s ON s.DocumentId = r.EducationOrganization_DocumentId
  JOIN stress.GradingPeriod AS p ON p.DocumentId = r.GradingPeriod_DocumentId
  JOIN edfi.Student AS t ON t.DocumentId = r.Student_DocumentId;

-- Every reference column that the test fills.
CREATE VIEW stress.Reference AS
SELECT School_DocumentId AS Parent, EducationOrganizationCategoryDescriptor_DescriptorId AS Child,
       'School:desc:$.educationOrganizationCategories[*].educationOrganizationCategoryDescriptor' AS Source, false AS Identity
  FROM edfi.SchoolEducationOrganizationCategory
UNION ALL SELECT School_DocumentId, GradeLevelDescriptor_DescriptorId, 'School:desc:$.gradeLevels[*].gradeLevelDescriptor', false FROM edfi.SchoolGradeLevel
UNION ALL SELECT Course_DocumentId, CourseIdentificationSystemDescriptor_DescriptorId, 'Course:desc:$.identificationCodes[*].courseIdentificationSystemDescriptor', false FROM edfi.CourseIdentificationCode
UNION ALL SELECT DocumentId, EducationOrganization_DocumentId, 'Course:docref:$.educationOrganizationReference', true FROM edfi.Course
UNION ALL SELECT DocumentId, GradingPeriodDescriptor_DescriptorId, 'GradingPeriod:desc:$.gradingPeriodDescriptor', true FROM edfi.GradingPeriod
UNION ALL SELECT DocumentId, School_DocumentId, 'GradingPeriod:docref:$.schoolReference', true FROM edfi.GradingPeriod
UNION ALL SELECT DocumentId, SchoolYearType_DocumentId, 'GradingPeriod:docref:$.schoolYearTypeReference', true FROM edfi.GradingPeriod
UNION ALL SELECT DocumentId, School_DocumentId, 'Session:docref:$.schoolReference', true FROM edfi.Session
UNION ALL SELECT DocumentId, SchoolYearType_DocumentId, 'Session:docref:$.schoolYearTypeReference', true FROM edfi.Session
UNION ALL SELECT DocumentId, TermDescriptor_DescriptorId, 'Session:desc:$.termDescriptor', false FROM edfi.Session
UNION ALL SELECT Session_DocumentId, GradingPeriod_DocumentId, 'Session:docref:$.gradingPeriods[*].gradingPeriodReference', false FROM edfi.SessionGradingPeriod
UNION ALL SELECT DocumentId, School_DocumentId, 'CourseOffering:docref:$.schoolReference', true FROM edfi.CourseOffering
UNION ALL SELECT DocumentId, Session_DocumentId, 'CourseOffering:docref:$.sessionReference', true FROM edfi.CourseOffering
UNION ALL SELECT DocumentId, Course_DocumentId, 'CourseOffering:docref:$.courseReference', false FROM edfi.CourseOffering
UNION ALL SELECT DocumentId, CourseOffering_DocumentId, 'Section:docref:$.courseOfferingReference', true FROM edfi.Section
UNION ALL SELECT DocumentId, Section_DocumentId, 'StudentSectionAssociation:docref:$.sectionReference', true FROM edfi.StudentSectionAssociation
UNION ALL SELECT DocumentId, Student_DocumentId, 'StudentSectionAssociation:docref:$.studentReference', true FROM edfi.StudentSectionAssociation
UNION ALL SELECT DocumentId, GradeTypeDescriptor_DescriptorId, 'Grade:desc:$.gradeTypeDescriptor', true FROM edfi.Grade
UNION ALL SELECT DocumentId, GradingPeriod_DocumentId, 'Grade:docref:$.gradingPeriodReference', true FROM edfi.Grade
UNION ALL SELECT DocumentId, StudentSectionAssociation_DocumentId, 'Grade:docref:$.studentSectionAssociationReference', true FROM edfi.Grade
UNION ALL SELECT DocumentId, EducationOrganization_DocumentId, 'ReportCard:docref:$.educationOrganizationReference', true FROM edfi.ReportCard
UNION ALL SELECT DocumentId, GradingPeriod_DocumentId, 'ReportCard:docref:$.gradingPeriodReference', true FROM edfi.ReportCard
UNION ALL SELECT DocumentId, Student_DocumentId, 'ReportCard:docref:$.studentReference', true FROM edfi.ReportCard
UNION ALL SELECT ReportCard_DocumentId, Grade_DocumentId, 'ReportCard:docref:$.grades[*].gradeReference', false FROM edfi.ReportCardGrade;

CREATE VIEW stress.Edge AS
SELECT e.ParentDocumentId AS Parent, e.ChildDocumentId AS Child, s.EdgeSourceKey::text AS Source, e.IsIdentityComponent AS Identity
  FROM dms.ReferenceEdge AS e LEFT JOIN dms.EdgeSource AS s USING (EdgeSourceId);

-- Every root row, with its resource.
CREATE VIEW stress.Root AS
SELECT DocumentId, 'School' AS Resource FROM edfi.School
UNION ALL SELECT DocumentId, 'SchoolYearType' FROM edfi.SchoolYearType
UNION ALL SELECT DocumentId, 'Student' FROM edfi.Student
UNION ALL SELECT DocumentId, 'Course' FROM edfi.Course
UNION ALL SELECT DocumentId, 'GradingPeriod' FROM edfi.GradingPeriod
UNION ALL SELECT DocumentId, 'Session' FROM edfi.Session
UNION ALL SELECT DocumentId, 'CourseOffering' FROM edfi.CourseOffering
UNION ALL SELECT DocumentId, 'Section' FROM edfi.Section
UNION ALL SELECT DocumentId, 'StudentSectionAssociation' FROM edfi.StudentSectionAssociation
UNION ALL SELECT DocumentId, 'Grade' FROM edfi.Grade
UNION ALL SELECT DocumentId, 'ReportCard' FROM edfi.ReportCard
UNION ALL SELECT DocumentId, split_part(Discriminator, ':', 2) FROM dms.Descriptor;

-- The ends of each relation, and what its row says about the far one.  They are looked up
-- one by one below, because there are no statistics on new tables.
CREATE VIEW stress.Relation AS
SELECT 'child' AS What, ChildDocumentId AS FarId, ChildTypeId AS TypeId, ChildUuid AS Uuid, ParentDocumentId AS NearId FROM dms.ParentChild
UNION ALL SELECT 'member', MemberDocumentId, MemberTypeId, MemberUuid, CollectionDocumentId FROM dms.CollectionMember
UNION ALL SELECT 'document of an account', DocumentId, ResourceTypeId, DocumentUuid, AccountId FROM dms.DocumentAccount;

-- All that is above a document.
CREATE VIEW stress.Ancestor AS
WITH RECURSIVE up (DocumentId, Above) AS (
	SELECT ChildDocumentId, ParentDocumentId FROM dms.ParentChild
	UNION SELECT u.DocumentId, p.ParentDocumentId FROM up AS u JOIN dms.ParentChild AS p ON p.ChildDocumentId = u.Above
)
SELECT DocumentId, Above FROM up;

-- Violated invariants, one row per finding.
CREATE VIEW stress.Finding AS
SELECT 'reference without edge' AS What, Parent AS DocumentId, Source || ' -> ' || Child AS Detail
  FROM (SELECT Parent, Child, 'Ed-Fi.' || Source AS Source, Identity FROM stress.Reference EXCEPT SELECT * FROM stress.Edge) AS x
UNION ALL
SELECT 'edge without reference', Parent, Source || ' -> ' || Child
  FROM (SELECT * FROM stress.Edge EXCEPT SELECT Parent, Child, 'Ed-Fi.' || Source, Identity FROM stress.Reference) AS x
UNION ALL
SELECT 'reference to nothing', r.Parent, r.Source || ' -> ' || r.Child
  FROM stress.Reference AS r
 WHERE NOT EXISTS (SELECT FROM stress.Root AS t WHERE t.DocumentId = r.Child)
    OR NOT EXISTS (SELECT FROM dms.Document AS d WHERE d.DocumentId = r.Child)
    OR NOT EXISTS (SELECT FROM dms.Document AS d WHERE d.DocumentId = r.Parent)
UNION ALL
SELECT 'document without root row or of another resource', d.DocumentId, d.ResourceName::text
  FROM dms.Document AS d LEFT JOIN stress.Root AS t ON t.DocumentId = d.DocumentId
 WHERE t.Resource IS DISTINCT FROM d.ResourceName::text
UNION ALL
SELECT 'root row without document', t.DocumentId, t.Resource
  FROM stress.Root AS t LEFT JOIN dms.Document AS d ON d.DocumentId = t.DocumentId WHERE d.DocumentId IS NULL
UNION ALL
SELECT 'document or lock row without the other', coalesce(d.DocumentId, l.DocumentId), d.ResourceName::text
  FROM dms.Document AS d FULL JOIN dms.IdentityLock AS l ON l.DocumentId = d.DocumentId
 WHERE d.DocumentId IS NULL OR l.DocumentId IS NULL
UNION ALL
SELECT 'document with a wrong number of ReferentialIds', coalesce(d.DocumentId, r.DocumentId), d.ResourceName || ' has ' || coalesce(r.n, 0)
  FROM dms.Document AS d
  FULL JOIN (SELECT DocumentId, count(*) AS n FROM dms.ReferentialIdentity GROUP BY DocumentId) AS r ON r.DocumentId = d.DocumentId
 WHERE coalesce(r.n, 0) IS DISTINCT FROM CASE WHEN d.ResourceName = 'School' THEN 2 ELSE 1 END
UNION ALL
SELECT 'two school ids in a course offering', DocumentId, Vals::text FROM stress.CourseOffering WHERE Vals[2] <> Vals[3]
UNION ALL
SELECT 'two schools or years in a grade', DocumentId, Vals::text FROM stress.Grade WHERE Vals[4] <> Vals[8] OR Vals[5] <> Vals[9]
UNION ALL
SELECT 'report card and grade do not fit', r.DocumentId, r.Vals::text || g.Vals::text
  FROM edfi.ReportCardGrade AS c
  JOIN stress.ReportCard AS r ON r.DocumentId = c.ReportCard_DocumentId
  JOIN stress.Grade AS g ON g.DocumentId = c.Grade_DocumentId
 WHERE r.Vals[2:5] <> g.Vals[2:5] OR r.Vals[6] <> g.Vals[12]
UNION ALL
SELECT 'session and grading period do not fit', s.DocumentId, s.Vals::text || p.Vals::text
  FROM edfi.SessionGradingPeriod AS c
  JOIN stress.Session AS s ON s.DocumentId = c.Session_DocumentId
  JOIN stress.GradingPeriod AS p ON p.DocumentId = c.GradingPeriod_DocumentId
 WHERE s.Vals[1:2] <> p.Vals[3:4]
UNION ALL
SELECT r.What || ' of nothing, or of another type or id', r.FarId, 'related to ' || r.NearId
  FROM stress.Relation AS r
 WHERE (SELECT count(*) FROM dms.Document AS d JOIN dms.ResourceType AS t USING (ProjectName, ResourceName)
         WHERE d.DocumentId = r.FarId AND (t.ResourceTypeId, d.DocumentUuid) = (r.TypeId, r.Uuid)) = 0
    OR (SELECT count(*) FROM dms.Document AS d WHERE d.DocumentId = r.NearId) = 0
UNION ALL
SELECT 'document above itself', DocumentId, 'among its ancestors' FROM stress.Ancestor WHERE DocumentId = Above
UNION ALL
SELECT 'unique value of nothing, or of another type', u.DocumentId, u.ResourceType || ' ' || u.Key || ' ' || u.Value
  FROM dms.UniqueKeyValue AS u
 WHERE u.DocumentId IS NOT NULL
   AND (SELECT count(*) FROM dms.Document AS d JOIN dms.ResourceType AS t USING (ProjectName, ResourceName)
         WHERE d.DocumentId = u.DocumentId AND t.ResourceType = u.ResourceType) = 0
UNION ALL
SELECT 'document without its one row of the journal', d.DocumentId, d.ResourceName || ' has ' || count(j.Etag)
  FROM dms.Document AS d JOIN dms.ResourceType AS t USING (ProjectName, ResourceName)
  LEFT JOIN dms.DocumentChange AS j ON j.DocumentId = d.DocumentId AND j.Etag = d.Etag AND j.ResourceTypeId = t.ResourceTypeId
 GROUP BY d.DocumentId, d.ResourceName HAVING count(j.Etag) <> 1;
