# Whatever is sent, a session can be canceled: no function works for long without looking
# for interrupts.
#
# The fault build measures the longest time, in processor time, that a session works
# without a look (src/base/gaps.c).  So the test depends neither on the moment of a cancel
# nor on the speed of the machine.  The work of a call is proportional to its input; the
# longest time without a look must not be.
use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'there is no fault build' unless $ENV{DMS_FAULTS_INSTALL};

# A call may use this much processor time without a look, in ms, or this share of all
# that it uses: PostgreSQL's own JSON parser never looks inside one string or number, its
# indexes sort the values of a filter without a look, and freeing the memory of a large
# input takes its time.
my $LEAST = 200;
my $SHARE = 0.4;

my $schema = slurp_file("$FindBin::RealBin/../../examples/schemas/school.json");
$schema =~ s/'/''/g;

my $node = PostgreSQL::Test::Cluster->new('cancel', install_path => $ENV{DMS_FAULTS_INSTALL});
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', "fsync = off\njit = off\nlog_statement = none\nlog_min_error_statement = panic");
$node->start;
$node->safe_psql('postgres', qq{
	SET client_min_messages = warning;
	CREATE EXTENSION dms;
	CREATE FUNCTION watch_gaps() RETURNS void LANGUAGE c AS '\$libdir/dms', 'dms_watch_gaps';
	CREATE FUNCTION longest_gap() RETURNS text LANGUAGE c AS '\$libdir/dms', 'dms_longest_gap';
	CREATE FUNCTION processor_time() RETURNS bigint LANGUAGE c AS '\$libdir/dms', 'dms_processor_time';
	SELECT dms.deploy_schema('$schema'::json);
	CREATE UNLOGGED TABLE input (name text PRIMARY KEY, value text, tree jsonb);
	ALTER TABLE input ALTER value SET STORAGE EXTERNAL, ALTER tree SET STORAGE EXTERNAL;
});

# Inputs: a text of n parts.
sub input
{
	my ($name, $n, $part, $around) = @_;

	my ($before, $after) = split /\.\.\./, $around;
	$node->safe_psql('postgres', qq{
		INSERT INTO input
		SELECT '$name', '$before' || string_agg($part, ',' ORDER BY g) || '$after' FROM generate_series(1, $n) AS g});
	return;
}

my $grade = q{'{"gradeLevelDescriptor": "uri://ed-fi.org/GradeLevelDescriptor#%s"}'};
input('unknown', 1_000_000, q{'"p' || g || '":1'}, '{...}');
input('repeated', 1_000_000, q{'"p' || g / 2 || '":1'}, '{...}');
input('ids', 1_500_000, q{'"id":1'}, '{...}');
input('numbers', 2_000_000, q{'1'}, '{"gradeLevels": [...]}');
input('nulls', 2_000_000, q{'null'}, '{"gradeLevels": [...]}');
input('zero', 2_000_000, q{'1'}, '{"gradeLevels": [...,"\u0000"]}');
input('grades', 300_000, sprintf($grade, q{' || g || '}), '{"schoolId": 1, "nameOfInstitution": "N", "gradeLevels": [...]}');
input('same', 300_000, sprintf($grade, '9'), '{"schoolId": 1, "nameOfInstitution": "N", "gradeLevels": [...]}');
input('lists', 2_000_000, q{'[]'}, '[...]');
input('values', 200_000, q{g::text}, '{"schoolId": [...]}');
input('names', 200_000, q{'"n' || g || '"'}, '{"nameOfInstitution": [...]}');
input('uuids', 300_000, q{'"' || gen_random_uuid() || '"'}, '{"id": [...]}');
input('uris', 300_000, q{'"uri://g#' || g || '"'}, '{"entryGradeLevelDescriptor": [...]}');
input('tags', 500_000, q{'"a' || g || '"'}, '{"if-match": [...]}');
$node->safe_psql('postgres', q{
	UPDATE input SET tree = value::jsonb WHERE name IN ('unknown', 'values', 'names', 'uuids', 'uris', 'tags');
	INSERT INTO input VALUES ('text', 'x' || repeat(E'\\u00c4', 10000000)), ('blank', repeat(' ', 50000000));
});

# Run a call, and compare its longest gap with all that it did.
sub answers
{
	my ($name, $call, $settings) = @_;

	my $script = ($settings // '') . qq{;
		SET client_min_messages = error;
		SELECT watch_gaps();
		SELECT processor_time() AS before \\gset
		\\set ON_ERROR_STOP off
		SELECT ($call) IS NULL;
		\\set ON_ERROR_STOP on
		SELECT 'gap', processor_time() - :before, longest_gap()};
	my (undef, $out, $error) = $node->psql('postgres', $script, on_error_stop => 0);
	my ($time, $gap, $where) = $out =~ /^gap\|(\d+)\|(\d+)(.*)$/m;
	return fail("$name: $error") unless defined $gap;
	my $allowed = $LEAST > $time * $SHARE ? $LEAST : $time * $SHARE;
	cmp_ok($gap, '<=', $allowed, "$name: $gap of $time ms") or diag(join "\n", split ' ', $where);
	return;
}

# The body of a request.
foreach my $name (qw(unknown repeated ids numbers nulls zero grades same lists blank))
{
	my $body = "SELECT value FROM input WHERE name = '$name'";
	answers("body of $name", "SELECT status FROM dms.handle_request('POST', '/ed-fi/schools', '{}', ($body))");
}
answers('unknown, refused', q{SELECT status FROM dms.handle_request('POST', '/ed-fi/schools', '{}',
	(SELECT value FROM input WHERE name = 'unknown'))}, 'SET dms.unknown_properties = refuse');
answers('body with a key', q{SELECT status FROM dms.handle_request('POST', '/ed-fi/schools', '{"Idempotency-Key": "k"}',
	(SELECT value FROM input WHERE name = 'lists'))});

# Other functions that take JSON.
foreach my $name (qw(unknown numbers repeated))
{
	my $json = "(SELECT value FROM input WHERE name = '$name')::json";
	answers("identity of $name", "SELECT dms.resolve('ed-fi', 'schools', $json)");
	answers("schema of $name", "SELECT dms.deploy_schema($json)");
}

# Filters and headers.
my %resource = (uris => 'studentSchoolAssociations');
foreach my $name (qw(unknown values names uuids uris))
{
	my $resource = $resource{$name} // 'schools';
	answers("filter by $name", "SELECT dms.count_documents('ed-fi', '$resource', (SELECT tree FROM input WHERE name = '$name'))");
}
foreach my $name (qw(unknown tags))
{
	answers("headers of $name", "SELECT status FROM dms.handle_request('GET', '/ed-fi/schools', (SELECT tree FROM input WHERE name = '$name'))");
}

# Diffs: of parts that are compared one by one, of more than that, and of lines.  The parser
# that reads a value is PostgreSQL's.
foreach my $name (qw(names values nulls))
{
	answers("diff of $name", "SELECT dms.json_diff(value::json, ('[' || value || ']')::json) FROM input WHERE name = '$name'");
	answers("diff of $name, one by one", "SELECT dms.json_diff(value::json, replace(value, '1', '2')::json) FROM input WHERE name = '$name'");
}
answers('diff of lines', q{SELECT dms.json_diff(to_json(replace(value, ',', E'\n')), to_json(replace(replace(value, ',', E'\n'), '77', '7'))) FROM input WHERE name = 'names'});
answers('diff of equal lines', q{SELECT dms.json_diff(to_json(repeat(E'a\nb\n', 200000)), to_json(repeat(E'b\na\na\n', 130000)))});

# Texts, where a name is expected.
my $text = q{(SELECT value FROM input WHERE name = 'text')};
answers('lower case', "SELECT octet_length(dms.lower_invariant($text))");
answers('uuid of a name', "SELECT dms.uuid_v5(gen_random_uuid(), $text)");
answers('referential id', "SELECT dms.referential_id('p', 'r', ARRAY['\$.p'], ARRAY[$text])");
answers('name of a resource', "SELECT dms.count_documents('ed-fi', $text)");
answers('name of a level', "SELECT dms.grant_access(current_user, $text)::text");
answers('path', "SELECT status FROM dms.handle_request('GET', '/' || $text)");
answers('fingerprint', "SELECT state FROM dms.idempotency_begin('/x', 'POST', 'k', $text)");
answers('many ids', q{SELECT count(*) FROM dms.update_documents(ARRAY(SELECT gen_random_uuid() FROM generate_series(1, 200000)),
	ARRAY(SELECT '{}'::json FROM generate_series(1, 200000)))});

$node->stop;
done_testing();
