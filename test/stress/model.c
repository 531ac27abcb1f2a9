/*
 * model.c
 *		The documents of the stress test: identities, bodies, and the documents
 *		that can be derived from others.
 */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uuid/uuid.h>

#include "stress.h"

#define URI "uri://ed-fi.org/"
#define SCHOOLS 3
#define SCHOOL_IDS 9
#define SESSION_NAMES 6
#define COURSES 3
#define SECTIONS 4
#define STUDENTS 8

#define ENROLMENT_PATHS(prefix) \
	prefix "beginDate", prefix "localCourseCode", prefix "schoolId", prefix "schoolYear", \
	prefix "sectionIdentifier", prefix "sessionName", prefix "studentUniqueId"
#define PERIOD_PATHS(prefix) \
	prefix "gradingPeriodDescriptor", prefix "gradingPeriodName", prefix "schoolId", prefix "schoolYear"

const Type	types[NTYPES] = {
	[SCHOOL] = {"School", "$.educationOrganizationId", 1, {"$.schoolId"}},
	[COURSE] = {"Course", NULL, 2, {"$.courseCode", "$.educationOrganizationReference.educationOrganizationId"}},
	[GRADING_PERIOD] = {"GradingPeriod", NULL, 4, {"$.gradingPeriodDescriptor", "$.gradingPeriodName",
	"$.schoolReference.schoolId", "$.schoolYearTypeReference.schoolYear"}},
	[SESSION] = {"Session", NULL, 3, {"$.schoolReference.schoolId", "$.schoolYearTypeReference.schoolYear", "$.sessionName"}},
	[COURSE_OFFERING] = {"CourseOffering", NULL, 5, {"$.localCourseCode", "$.schoolReference.schoolId",
	"$.sessionReference.schoolId", "$.sessionReference.schoolYear", "$.sessionReference.sessionName"}},
	[SECTION] = {"Section", NULL, 5, {"$.courseOfferingReference.localCourseCode", "$.courseOfferingReference.schoolId",
	"$.courseOfferingReference.schoolYear", "$.courseOfferingReference.sessionName", "$.sectionIdentifier"}},
	[ENROLMENT] = {"StudentSectionAssociation", NULL, 7, {"$.beginDate", "$.sectionReference.localCourseCode",
			"$.sectionReference.schoolId", "$.sectionReference.schoolYear", "$.sectionReference.sectionIdentifier",
	"$.sectionReference.sessionName", "$.studentReference.studentUniqueId"}},
	[GRADE] = {"Grade", NULL, 12, {"$.gradeTypeDescriptor", PERIOD_PATHS("$.gradingPeriodReference."),
	ENROLMENT_PATHS("$.studentSectionAssociationReference.")}},
	[REPORT_CARD] = {"ReportCard", NULL, 6, {"$.educationOrganizationReference.educationOrganizationId",
	PERIOD_PATHS("$.gradingPeriodReference."), "$.studentReference.studentUniqueId"}},
};

/* Returns a random number by splitmix64, which is the same on all platforms. */
static uint64_t
next(Random *random)
{
	uint64_t	z = random->state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* Returns a random number below a limit. */
uint32_t
draw(Random *random, uint32_t below)
{
	return (uint32_t) (next(random) >> 33) % below;
}

/* Returns true with a probability in percent. */
bool
chance(Random *random, int percent)
{
	return (int) draw(random, 100) < percent;
}

/* Set a value of an identity. */
void
set_value(Subject *subject, int i, const char *format,...)
{
	va_list		args;

	va_start(args, format);
	vsnprintf(subject->values[i], VALUE_SIZE, format, args);
	va_end(args);
}

/* Set values from one text, separated by a character that none of them contains. */
void
split_values(Subject *subject, const char *joined)
{
	for (int i = 0; i < types[subject->type].nvalues; i++)
	{
		size_t		length = strcspn(joined, "|");

		set_value(subject, i, "%.*s", (int) length, joined);
		joined += length + (joined[length] == '|');
	}
}

/* Join the values of an identity to one text. */
void
join_values(const Subject *subject, char *joined)
{
	*joined = '\0';
	for (int i = 0; i < types[subject->type].nvalues; i++)
	{
		strcat(joined, i == 0 ? "" : "|");
		strcat(joined, subject->values[i]);
	}
}

/* Returns true if the values at a path are numbers. */
static bool
is_number(const char *path)
{
	size_t		length = strlen(path);

	return strcmp(path + length - 2, "Id") == 0 && strstr(path, "UniqueId") == NULL
		? true : strcmp(path + length - 4, "Year") == 0;
}

/* Add the members of an object whose path has this prefix. */
static void
append_members(char *body, const Subject *subject, const char *prefix)
{
	const Type *type = &types[subject->type];
	const char *comma = "";

	for (int i = 0; i < type->nvalues; i++)
	{
		const char *quote = is_number(type->paths[i]) ? "" : "\"";

		if (strncmp(type->paths[i], prefix, strlen(prefix)) != 0)
			continue;
		sprintf(body + strlen(body), "%s\"%s\": %s%s%s", comma, type->paths[i] + strlen(prefix),
				quote, subject->values[i], quote);
		comma = ", ";
	}
}

/* Append the identity's part of a body: plain values and reference objects. */
static void
append_identity(char *body, const Subject *subject)
{
	const Type *type = &types[subject->type];
	char		done[256] = "";

	for (int i = 0; i < type->nvalues; i++)
	{
		const char *path = type->paths[i] + 2;
		const char *dot = strchr(path, '.');
		char		prefix[64];
		const char *quote = is_number(path) ? "" : "\"";

		if (dot == NULL)
		{
			sprintf(body + strlen(body), "\"%s\": %s%s%s, ", path, quote, subject->values[i], quote);
			continue;
		}
		sprintf(prefix, "$.%.*s.", (int) (dot - path), path);
		if (strstr(done, prefix) != NULL)
			continue;
		strcat(done, prefix);
		sprintf(body + strlen(body), "\"%.*s\": {", (int) (dot - path), path);
		append_members(body, subject, prefix);
		strcat(body, "}, ");
	}
}

/* Append up to two grading periods of a session's school and year. */
static void
append_periods(char *body, const Subject *session, Random *random)
{
	uint32_t	n = draw(random, 3);

	strcat(body, "\"gradingPeriods\": [");
	for (uint32_t i = 0; i < n; i++)
		sprintf(body + strlen(body), "%s{\"gradingPeriodReference\": {\"gradingPeriodDescriptor\": \"" URI "GradingPeriodDescriptor#First\","
				" \"gradingPeriodName\": \"P%u\", \"schoolId\": %s, \"schoolYear\": %s}}",
				i == 0 ? "" : ", ", i, session->values[0], session->values[1]);
	strcat(body, "], ");
}

/* Make a body with the subject's identity and random other values. */
void
write_body(const Subject *subject, Random *random, char *body)
{
	uint32_t	n = draw(random, 4);

	strcpy(body, "{");
	append_identity(body, subject);
	switch (subject->type)
	{
		case SCHOOL:
			sprintf(body + strlen(body), "\"nameOfInstitution\": \"School %u\","
					" \"educationOrganizationCategories\": [{\"educationOrganizationCategoryDescriptor\": \"" URI "EducationOrganizationCategoryDescriptor#School\"}],"
					" \"gradeLevels\": [{\"gradeLevelDescriptor\": \"" URI "GradeLevelDescriptor#Tenth grade\"}]}", n);
			break;
		case COURSE:
			strcat(body, "\"courseTitle\": \"Course\", \"numberOfParts\": 1, \"identificationCodes\":"
				   " [{\"courseIdentificationSystemDescriptor\": \"" URI "CourseIdentificationSystemDescriptor#Local\", \"identificationCode\": \"c\"}]}");
			break;
		case GRADING_PERIOD:
			strcat(body, "\"beginDate\": \"2030-01-01\", \"endDate\": \"2030-06-01\", \"totalInstructionalDays\": 80}");
			break;
		case SESSION:
			append_periods(body, subject, random);
			sprintf(body + strlen(body), "\"beginDate\": \"2030-01-01\", \"endDate\": \"2030-06-01\","
					" \"termDescriptor\": \"" URI "TermDescriptor#Fall\", \"totalInstructionalDays\": %u}", n);
			break;
		case COURSE_OFFERING:
			sprintf(body + strlen(body), "\"courseReference\": {\"courseCode\": \"C%u\", \"educationOrganizationId\": %s}, \"localCourseTitle\": \"T%u\"}",
					draw(random, COURSES), subject->values[1], n);
			break;
		case SECTION:
			sprintf(body + strlen(body), "\"sectionName\": \"Section %u\"}", n);
			break;
		case ENROLMENT:
			sprintf(body + strlen(body), "\"endDate\": \"2030-06-0%u\"}", n + 1);
			break;
		case GRADE:
			sprintf(body + strlen(body), "\"numericGradeEarned\": %u}", n);
			break;
		case REPORT_CARD:
			sprintf(body + strlen(body), "\"grades\": [%s], \"numberOfDaysAbsent\": %u}", subject->grades, n);
			break;
		case NTYPES:
			break;
	}
}

/* Compute the UUIDv5 of an identity by libuuid, independently of the extension. */
void
referential_id(const Subject *subject, bool alias, char *id)
{
	const Type *type = &types[subject->type];
	char		name[2048];
	uuid_t		namespace;
	uuid_t		made;

	if (alias)
		sprintf(name, "Ed-FiEducationOrganization%s=%s", type->superclass_path, subject->values[0]);
	else
	{
		sprintf(name, "Ed-Fi%s", type->resource);
		for (int i = 0; i < type->nvalues; i++)
		{
			size_t		length = strlen(type->paths[i]);
			char	   *value = name + strlen(name) + length + 1 + (i > 0);

			sprintf(name + strlen(name), "%s%s=%s", i > 0 ? "#" : "", type->paths[i], subject->values[i]);
			if (strcmp(type->paths[i] + length - 10, "Descriptor") == 0)
				for (; *value; value++)
					*value = (char) tolower((unsigned char) *value);
		}
	}
	uuid_parse("edf1edf1-3df1-3df1-3df1-3df1edf1edf1", namespace);
	uuid_generate_sha1(made, namespace, name, strlen(name));
	uuid_unparse_lower(made, id);
}

/* Make the reference of a report card to a grade, or to its sibling. */
static void
write_grade_reference(char *text, const Subject *grade, const char *kind)
{
	static const char *const members[] = {"gradeTypeDescriptor", "gradingPeriodDescriptor", "gradingPeriodName", "schoolId",
		"gradingPeriodSchoolYear", "beginDate", "localCourseCode", NULL, "schoolYear", "sectionIdentifier",
	"sessionName", "studentUniqueId"};

	strcat(text, "{\"gradeReference\": {");
	for (int i = 0; i < MAX_VALUES; i++)
	{
		const char *quote;

		if (members[i] == NULL)
			continue;
		quote = is_number(members[i]) ? "" : "\"";
		sprintf(text + strlen(text), "%s\"%s\": %s%s%s", i == 0 ? "" : ", ", members[i], quote,
				i == 0 ? kind : grade->values[i], quote);
	}
	strcat(text, "}}");
}

/* Derive a report card from a grade, mostly with references to grades. */
static void
derive_report_card(Subject *card, const Subject *grade, Random *random)
{
	static const char *const kinds[] = {URI "GradeTypeDescriptor#Final", URI "GradeTypeDescriptor#Exam"};

	set_value(card, 0, "%s", grade->values[3]);
	for (int i = 1; i <= 4; i++)
		set_value(card, i, "%s", grade->values[i]);
	set_value(card, 5, "%s", grade->values[11]);
	if (chance(random, 15))
		return;
	write_grade_reference(card->grades, grade, grade->values[0]);
	if (chance(random, 30))
	{
		strcat(card->grades, ", ");
		write_grade_reference(card->grades, grade, kinds[strcmp(grade->values[0], kinds[0]) == 0]);
	}
}

/* Derive a document whose identity contains that of a document of the level below. */
bool
derive(Subject *dependent, TypeId type, const Subject *from, Random *random)
{
	const char (*v)[VALUE_SIZE] = from->values;

	memset(dependent, 0, sizeof(Subject));
	dependent->type = type;
	switch (type)
	{
		case SESSION:
			set_value(dependent, 0, "%s", v[0]);
			set_value(dependent, 1, "%u", 2030 + draw(random, 2));
			set_value(dependent, 2, "S%u", draw(random, SESSION_NAMES));
			return true;
		case COURSE_OFFERING:
			set_value(dependent, 0, "L%u", draw(random, COURSES));
			for (int i = 1; i <= 4; i++)
				set_value(dependent, i, "%s", v[i == 1 ? 0 : i - 2]);
			return true;
		case SECTION:
			set_value(dependent, 0, "%s", v[0]);
			set_value(dependent, 1, "%s", v[1]);
			set_value(dependent, 2, "%s", v[3]);
			set_value(dependent, 3, "%s", v[4]);
			set_value(dependent, 4, "I%u", draw(random, SECTIONS));
			return true;
		case ENROLMENT:
			set_value(dependent, 0, "2030-01-0%u", 1 + draw(random, 2));
			set_value(dependent, 1, "%s", v[0]);
			set_value(dependent, 2, "%s", v[1]);
			set_value(dependent, 3, "%s", v[2]);
			set_value(dependent, 4, "%s", v[4]);
			set_value(dependent, 5, "%s", v[3]);
			set_value(dependent, 6, "T%u", draw(random, STUDENTS));
			return true;
		case GRADE:
			set_value(dependent, 0, URI "GradeTypeDescriptor#%s", chance(random, 50) ? "Final" : "Exam");
			set_value(dependent, 1, URI "GradingPeriodDescriptor#First");
			set_value(dependent, 2, "P%u", draw(random, 2));
			set_value(dependent, 3, "%s", v[2]);
			set_value(dependent, 4, "%s", v[3]);
			for (int i = 0; i < 7; i++)
				set_value(dependent, 5 + i, "%s", v[i]);
			return true;
		case REPORT_CARD:
			derive_report_card(dependent, from, random);
			return true;
		default:
			return false;
	}
}

/* Change the own value in the identity of a document; returns false if it has none. */
bool
rename_subject(Subject *subject, Random *random)
{
	switch (subject->type)
	{
		case SCHOOL:
			set_value(subject, 0, "%u", 100 + draw(random, SCHOOL_IDS));
			return options.rename_schools;
		case SESSION:
			if (chance(random, 15))
				set_value(subject, 1, "%u", 2030 + draw(random, 2));
			set_value(subject, 2, "S%u", draw(random, SESSION_NAMES));
			return true;
		case SECTION:
			set_value(subject, 4, "I%u", draw(random, SECTIONS));
			return true;
		case ENROLMENT:
			set_value(subject, 0, "2030-01-0%u", 1 + draw(random, 2));
			set_value(subject, 6, "T%u", draw(random, STUDENTS));
			return true;
		case GRADE:
			set_value(subject, 0, URI "GradeTypeDescriptor#%s", chance(random, 50) ? "Final" : "Exam");
			set_value(subject, 2, "P%u", draw(random, 2));
			return true;
		default:
			return false;
	}
}

/* Insert or update a document of the set-up. */
static void
upsert(PGconn *conn, const char *resource, const char *body)
{
	const char *values[2] = {resource, body};
	PGresult   *result = PQexecParams(conn, "SELECT dms.upsert_document('Ed-Fi', $1, $2)", 2, NULL, values, NULL, NULL, 0);

	if (PQresultStatus(result) != PGRES_TUPLES_OK)
		die("set-up of %s: %s%s", resource, PQerrorMessage(conn), body);
	PQclear(result);
}

/* Insert or update a subject, with a random body. */
static void
upsert_subject(PGconn *conn, Subject *subject, Random *random)
{
	char		body[BODY_SIZE];

	write_body(subject, random, body);
	upsert(conn, types[subject->type].resource, body);
}

/* Create the documents of a school: courses, and grading periods in both years. */
static void
set_up_school(PGconn *conn, int school_id, Random *random)
{
	Subject		subject = {.type = SCHOOL};

	set_value(&subject, 0, "%d", school_id);
	upsert_subject(conn, &subject, random);
	for (int i = 0; i < COURSES; i++)
	{
		subject.type = COURSE;
		set_value(&subject, 0, "C%d", i);
		set_value(&subject, 1, "%d", school_id);
		upsert_subject(conn, &subject, random);
	}
	for (int i = 0; i < 4; i++)
	{
		subject.type = GRADING_PERIOD;
		set_value(&subject, 0, URI "GradingPeriodDescriptor#First");
		set_value(&subject, 1, "P%d", i % 2);
		set_value(&subject, 2, "%d", school_id);
		set_value(&subject, 3, "%d", 2030 + i / 2);
		upsert_subject(conn, &subject, random);
	}
}

/* Create the first documents. */
void
set_up(PGconn *conn)
{
	static const char *const descriptors[][2] = {
		{"TermDescriptor", "Fall"}, {"GradeLevelDescriptor", "Tenth grade"}, {"GradeTypeDescriptor", "Final"},
		{"GradeTypeDescriptor", "Exam"}, {"GradingPeriodDescriptor", "First"},
		{"EducationOrganizationCategoryDescriptor", "School"}, {"CourseIdentificationSystemDescriptor", "Local"}
	};
	Random		random = {options.seed};
	char		body[BODY_SIZE];

	for (size_t i = 0; i < sizeof(descriptors) / sizeof(descriptors[0]); i++)
	{
		sprintf(body, "{\"namespace\": \"" URI "%s\", \"codeValue\": \"%s\", \"shortDescription\": \"x\"}",
				descriptors[i][0], descriptors[i][1]);
		upsert(conn, descriptors[i][0], body);
	}
	for (int year = 2030; year < 2032; year++)
	{
		sprintf(body, "{\"schoolYear\": %d, \"schoolYearDescription\": \"%d\", \"currentSchoolYear\": false}", year, year);
		upsert(conn, "SchoolYearType", body);
	}
	for (int i = 0; i < STUDENTS; i++)
	{
		sprintf(body, "{\"studentUniqueId\": \"T%d\", \"firstName\": \"F\", \"lastSurname\": \"L\", \"birthDate\": \"2014-01-01\"}", i);
		upsert(conn, "Student", body);
	}
	for (int i = 0; i < SCHOOLS; i++)
		set_up_school(conn, 100 + i, &random);
}
