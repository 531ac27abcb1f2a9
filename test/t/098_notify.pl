# With dms.notify those who listen are told about jobs and about documents: each version
# that is committed once, in the order in which they were written, and nothing else.
# Beyond a thousand documents of a transaction they are counted.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";

use Dms::Session;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('notify');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', "fsync = off\nlog_statement = none\nmax_prepared_transactions = 2");
$node->start;
my $school = slurp_file("$FindBin::RealBin/../../examples/schemas/school.json");
$school =~ s/'/''/g;
$node->safe_psql('postgres', "SET client_min_messages = warning; CREATE EXTENSION dms; SELECT dms.deploy_schema('$school')");
$node->safe_psql('postgres', q{
	CREATE TABLE name (id uuid PRIMARY KEY, name text);
	CREATE FUNCTION put(resource text, name text, document json) RETURNS void LANGUAGE sql AS $$
		INSERT INTO name SELECT document_uuid, name FROM dms.upsert_document('ed-fi', resource, document) ON CONFLICT (id) DO NOTHING
	$$;
	CREATE FUNCTION id(wanted text) RETURNS uuid LANGUAGE sql STABLE RETURN (SELECT id FROM name WHERE name = wanted);
	CREATE FUNCTION student(wanted text, surname text DEFAULT 'King') RETURNS json LANGUAGE sql AS $$
		SELECT json_build_object('studentUniqueId', wanted, 'firstName', wanted, 'lastSurname', surname, 'birthDate', '2014-02-03')
	$$;
	CREATE FUNCTION session(wanted text) RETURNS json LANGUAGE sql AS $$
		SELECT json_build_object('sessionName', wanted, 'schoolReference', json_build_object('schoolId', 1),
			'schoolYearTypeReference', json_build_object('schoolYear', 2025), 'termDescriptor', 'uri://ed-fi.org/TermDescriptor#Fall',
			'beginDate', '2024-08-20', 'endDate', '2024-12-20', 'totalInstructionalDays', 80)
	$$;
	CREATE FUNCTION offering(code text, session text) RETURNS json LANGUAGE sql AS $$
		SELECT json_build_object('localCourseCode', code, 'schoolReference', json_build_object('schoolId', 1),
			'courseReference', json_build_object('courseCode', 'ALG', 'educationOrganizationId', 1),
			'sessionReference', json_build_object('schoolId', 1, 'schoolYear', 2025, 'sessionName', session))
	$$;
	SELECT put('gradeLevelDescriptors', 'grade', '{"namespace": "uri://ed-fi.org/GradeLevelDescriptor", "codeValue": "Ninth", "shortDescription": "9"}');
	SELECT put('termDescriptors', 'term', '{"namespace": "uri://ed-fi.org/TermDescriptor", "codeValue": "Fall", "shortDescription": "Fall"}');
	SELECT put('schoolYearTypes', 'year', '{"schoolYear": 2025, "currentSchoolYear": true, "schoolYearDescription": "2024-25"}');
	SELECT put('schools', 'school', '{"schoolId": 1, "nameOfInstitution": "S", "gradeLevels": [{"gradeLevelDescriptor": "uri://ed-fi.org/GradeLevelDescriptor#Ninth"}]}');
	SELECT put('courses', 'course', '{"courseCode": "ALG", "courseTitle": "Algebra", "numberOfParts": 1, "educationOrganizationReference": {"educationOrganizationId": 1}}');
	SELECT put('sessions', 'fall', session('Fall')), put('sessions', 'spring', session('Spring'));
	SELECT put('courseOfferings', 'offering' || n, offering('C' || n, 'Fall')) FROM generate_series(1, 3) AS n;
	SELECT count(put('courseOfferings', 'many' || n, offering('C' || n, 'Spring'))) FROM generate_series(1, 1200) AS n;
});

my $listener = Dms::Session->new($node, 'postgres');
$listener->ask("LISTEN dms_documents; LISTEN dms_jobs;\n");
my $marks = 0;

is(heard('off', q{SELECT put('students', 'none', student('none'))}), '', 'nobody is told by default');
is(heard('jobs', q{SELECT put('students', 'jobs only', student('jobs'))}), '', 'or if only jobs are told of');

# Writes of one document.
is(heard('documents', q{SELECT put('students', 'ada', student('ada'))}), 'ada 1 inserted', 'a new document');
is(heard('documents', q{SELECT put('students', 'ada', student('ada'))}), '', 'an unchanged one is no news');
is(heard('documents', q{SELECT dms.update_document(id('ada'), student('ada', 'Byron')); SELECT put('students', 'ada', student('ada', 'Lovelace'))}),
	'ada 2 updated, ada 3 updated', 'a changed one, with its version');
is(heard('documents', q{BEGIN; SELECT put('students', 'ada', student('ada', 'A')); SELECT put('students', 'ada', student('ada', 'B')); ROLLBACK}),
	'', 'a transaction that is rolled back is not told');
is(heard('documents', q{
	BEGIN;
	SELECT put('students', 'ada', student('ada', 'A'));
	SAVEPOINT s;
	SELECT put('students', 'bob', student('bob'));
	ROLLBACK TO s;
	SELECT put('students', 'ada', student('ada', 'B'));
	COMMIT}), 'ada 4 updated, ada 5 updated', 'nor a savepoint, and versions come in their order');
is(heard('documents', q{DO $$ BEGIN PERFORM dms.update_document(id('ada'), '{}'); EXCEPTION WHEN OTHERS THEN NULL; END $$}), '', 'nor what is refused');
is(heard('documents', q{SELECT dms.handle_request('PUT', '/ed-fi/students/' || id('ada'), '{"If-Match": "\"1\""}', (student('ada', 'X')::jsonb || jsonb_build_object('id', id('ada')))::text)}),
	'', 'nor an answer that is an error');
is(heard('documents', q{SELECT dms.delete_document(id('ada'))}), 'ada 6 deleted', 'a delete is a version, too');

# Documents that change because others do.
is(heard('documents', q{SELECT dms.update_document(id('fall'), session('Autumn'))}, 'sorted'),
	'fall 2 updated, offering1 2 cascaded, offering2 2 cascaded, offering3 2 cascaded', 'a cascade');
is(heard('documents', q{SELECT dms.set_parent(id('offering1'), id('fall')), dms.set_parent(id('offering2'), id('offering1')), dms.set_parent(id('offering3'), id('fall'))}),
	'', 'relations are not parts of documents');
is(heard('documents', q{SELECT dms.delete_document(id('fall'))}, 'sorted'),
	'fall 3 deleted, offering1 3 deleted, offering2 3 deleted, offering3 3 deleted', 'a subtree');

# Versions that are restored.
$node->safe_psql('postgres', q{SELECT dms.configure_resource('ed-fi', 'students', '{"history": true, "diff": true}'); CALL dms.baseline_history('ed-fi', 'students')});
is(heard('documents', q{SELECT put('students', 'eve', student('eve')); SELECT put('students', 'eve', student('eve', 'Adams'));
	SELECT dms.restore_document(id('eve'), 1); SELECT dms.delete_document(id('eve')); SELECT dms.restore_document(id('eve'), 2)}),
	'eve 1 inserted, eve 2 updated, eve 3 restored, eve 4 deleted, eve 5 restored', 'versions that are restored');

# Both.
is(heard('all', q{BEGIN; SELECT put('students', 'eve', student('eve', 'Both')); SELECT put('students', 'eve', student('eve', 'Again')); COMMIT}),
	'eve 6 updated, job dms, eve 7 updated', 'documents and jobs; a queue is told once');
is(heard('jobs', q{SELECT put('students', 'eve', student('eve', 'Jobs'))}), 'job dms', 'only jobs');

# Large transactions.
is(heard('documents', q{SELECT dms.update_document(id('spring'), session('Late'))}, 'sorted'), 'Ed-Fi.CourseOffering 1200, spring 2 updated', 'a large cascade is one notification');
is(heard('documents', q{SELECT count(put('students', 's' || n, student('s' || n))) FROM generate_series(1, 1000) AS n}, 'count'),
	'1000', 'a thousand documents are told one by one');
is(heard('documents', q{
	BEGIN;
	SELECT count(put('students', 't' || n, student('t' || n))) FROM generate_series(1, 1010) AS n;
	SELECT dms.update_document(id('spring'), session('Later'));
	COMMIT}, 'beyond'), 'Ed-Fi.CourseOffering 1200, Ed-Fi.Session 1, Ed-Fi.Student 10', 'what is beyond is counted, by resource');
is(heard('documents', q{
	BEGIN;
	SELECT count(put('students', 's' || n, student('s' || n, 'X'))) FROM generate_series(1, 1005) AS n;
	SAVEPOINT one;
	SELECT count(put('students', 's' || n, student('s' || n, 'Y'))) FROM generate_series(1, 7) AS n;
	SAVEPOINT two;
	SELECT count(put('students', 's' || n, student('s' || n, 'Z'))) FROM generate_series(1, 20) AS n;
	ROLLBACK TO two;
	SELECT count(put('students', 's' || n, student('s' || n, 'Z'))) FROM generate_series(1, 3) AS n;
	RELEASE one;
	SAVEPOINT three;
	SELECT dms.update_document(id('spring'), session('Latest'));
	ROLLBACK TO three;
	COMMIT}, 'beyond'), 'Ed-Fi.Student 15', 'but not what a savepoint has taken back');
is(heard('documents', q{SELECT put('students', 's1', student('s1', 'W'))}), 's1 5 updated', 'the next transaction begins anew');
my (undef, undef, $err) = $node->psql('postgres', q{SET dms.notify = documents; BEGIN; SELECT put('students', 's2', student('s2', 'W')); PREPARE TRANSACTION 'p'});
like($err, qr/cannot PREPARE a transaction that has executed LISTEN, UNLISTEN, or NOTIFY/, 'a transaction that notifies cannot be prepared');
is($node->safe_psql('postgres', 'SELECT * FROM dms.audit()'), '', 'the store is in order');

$listener->finish;
$node->stop;
done_testing();

# Returns what is heard of SQL that runs with a setting of dms.notify.  With "sorted" it is
# in the order of names; with "count" only its number, and with "beyond" what is counted.
sub heard
{
	my ($about, $sql, $how) = @_;
	my $mark = 'mark ' . ++$marks;
	my $out = '';

	$node->safe_psql('postgres', "SET client_min_messages = warning; SET dms.notify = '$about'; $sql; RESET dms.notify; NOTIFY dms_documents, '$mark'");
	$out .= $listener->ask("SELECT 1;\n") until $out =~ /payload "$mark"/;
	my %names = map { split /\|/ } split /\n/, $node->safe_psql('postgres', 'SELECT id, name FROM name');
	my @heard;
	foreach ($out =~ /^Asynchronous notification (.*) received from /mg)
	{
		next if /"mark /;
		push @heard, /^"dms_documents" with payload "\{"documentId": "(.*)", "version": (\d+), "kind": "(\w+)"\}"$/ ? ($names{$1} // $1) . " $2 $3"
			: /^"dms_documents" with payload "\{"resource": "(.*)", "count": (\d+)\}"$/ ? "$1 $2"
			: /^"dms_jobs" with payload "(.*)"$/ ? "job $1"
			: $_;
	}
	return scalar(@heard) if ($how // '') eq 'count';
	@heard = grep { /^\S+ \d+$/ } @heard if ($how // '') eq 'beyond';
	@heard = sort @heard if $how;
	return join(', ', @heard);
}
