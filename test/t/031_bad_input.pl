# Bodies that nobody should send: whatever comes in, the answer is an error that
# says what is wrong, the backend lives on, and nothing is written by halves.
#
# DMS_FUZZ_ROUNDS sets how many random bodies are tried, DMS_FUZZ_SEED which.
use strict;
use warnings;
use utf8;

use FindBin;
use lib "$FindBin::RealBin/../perl";

use Dms::ApiSchema;
use Dms::Copy qw(copy_text);
use Dms::Generate;
use Dms::Stored qw(edges_sql);
use Encode qw(decode encode);
use JSON::PP ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $top    = "$FindBin::RealBin/../..";
my $rounds = $ENV{DMS_FUZZ_ROUNDS} || 4000;
my $seed   = $ENV{DMS_FUZZ_SEED} || 1;

# Problems that a body can have; everything else would be a problem of ours.
my $ALLOWED = qr/^(?:inserted|updated|unchanged|ZD400|23503|23505|22P02|54001)\z/;

my $node = PostgreSQL::Test::Cluster->new('bad_input');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', "fsync = off\njit = off\nlog_statement = none");
$node->start;

my %files = (
	school => [qw(examples/schemas/school.json examples/schemas/school-transport.json)],
	types  => [qw(test/schemas/types.json)]);
foreach my $database (sort keys %files)
{
	$node->safe_psql('postgres', "CREATE DATABASE $database");
	query($database, harness());
	query($database, 'SET client_min_messages = warning; SELECT dms.deploy_schema('
		  . join(', ', map { "pg_read_file('$top/$_')::json" } @{ $files{$database} }) . ')');
}
my $pid = $node->safe_psql('postgres', 'SELECT pg_postmaster_start_time()');

test_text();
test_size();
test_unicode();
test_numbers();
test_names();
test_encoding();
test_random_bodies();

is($node->safe_psql('postgres', 'SELECT pg_postmaster_start_time()'), $pid, 'the server did not restart');
unlike(slurp_file($node->logfile), qr/was terminated by signal|PANIC|server process/, 'and no backend crashed');

$node->stop;
done_testing();

#
# What is tested
#

# What is not JSON, or not an object.
sub test_text
{
	my %state = (
		q~''~                                      => '22P02',
		q~'{'~                                     => '22P02',
		q~'{"code": "A",}'~                        => '22P02',
		q~'{''code'': 1}'~                         => '22P02',
		q~'{"code": 01}'~                          => '22P02',
		q~'{"code": NaN}'~                         => '22P02',
		q~'{"code": "A"} {}'~                      => '22P02',
		q~'{"code": "\\x"}'~                       => '22P02',
		q~'{"code": "' || chr(1) || '"}'~          => '22P02',
		q~'[{"code": "A"}]'~                       => 'ZD400',
		q~'null'~                                  => 'ZD400',
		q~'1e999999'~                              => 'ZD400',
		q~repeat('[', 100000)~                     => '54001',
		q~repeat('{"a":', 100000)~                 => '54001',
		q~'{"a":' || repeat('[', 100000) || '1'~   => '54001',
		q~repeat('[', 1000) || repeat(']', 1000)~  => 'ZD400',
		q~'{"x": ' || repeat('[', 2000) || repeat(']', 2000) || '}'~    => 'ZD400',
		q~'{"x": ' || repeat('{"a":', 2000) || '{"b":1,"b":2}' || repeat('}', 2001)~ => 'ZD400',
		q~'{"code": {"a": [1, {}]}, "day": [[]], "number": {}}'~ => 'ZD400');
	foreach my $text (sort keys %state)
	{
		is(state('types', 'Everything', $text), $state{$text}, 'text: ' . substr($text, 0, 40));
	}
	return;
}

# Much of everything.
sub test_size
{
	my $base = q~'{"code": "SIZE", "day": "2025-01-31", "number": 1, "anyText": ' || ~;

	is(state('types', 'Everything', "$base to_json(repeat('x', 10000000)) || '}'"), 'inserted', 'a string of 10 MB');
	is(state('types', 'Everything', "$base to_json(repeat('x', 10000000)) || '}'"), 'unchanged', 'and again');
	is(query('types', q{SELECT length(AnyText) FROM types.Everything WHERE Code = 'SIZE'}), 10000000, 'all of it is stored');
	is(state('types', 'Everything', "$base '\"\", \"shortText\": ' || to_json(repeat('x', 10000000)) || '}'"), 'ZD400',
		'10 MB where ten characters fit');
	is(state('types', 'Everything', "$base '\"\", \"clock\": ' || to_json(repeat('1', 10000000)) || '}'"), 'ZD400',
		'10 MB where a time should be');
	is(state('types', 'Everything', "$base '\"\", \"anyNumber\": ' || repeat('9', 1000000) || '}'"), 'ZD400',
		'a number of a million digits');
	is(state('types', 'Everything', "$base '\"\", \"positiveNumber\": 1.' || repeat('3', 1000000) || '}'"), 'updated',
		'a million digits behind the point are rounded');
	is(state('types', 'Everything', "$base '\"\", ' || to_json(repeat('k', 10000000)) || ': 1, \"positiveNumber\": 1.33}'"), 'unchanged',
		'a key of 10 MB that nobody knows');
	is(state('types', 'Everything', "$base '\"\", \"positiveNumber\": 1.33'"
			  . " || (SELECT string_agg(format(',\"k%s\":%s', n, n), '') FROM generate_series(1, 100000) n) || '}'"),
		'unchanged', '100,000 keys that nobody knows');
	is(state('types', 'Everything', "$base '\"\"'"
			  . " || (SELECT string_agg(format(',\"k%s\":%s', n % 99999, n), '') FROM generate_series(1, 100000) n) || '}'"),
		'ZD400', 'of which one stands twice');

	query('school', q{SELECT dms.upsert_document('Ed-Fi', 'AddressTypeDescriptor',
		'{"namespace": "uri://ed-fi.org/A", "codeValue": "Home", "shortDescription": "Home"}')});
	foreach my $n (1000, 10000)
	{
		my $student = qq~'{"studentUniqueId": "$n", "firstName": "A", "lastSurname": "B", "birthDate": "2010-01-01", "addresses": ['
			|| (SELECT string_agg(format('{"addressTypeDescriptor": "uri://ed-fi.org/A#Home", "streetNumberName": "%s Elm", "city": "Bend",
				"postalCode": "78834", "periods": [{"beginDate": "2020-01-01"}, {"beginDate": "2021-01-01"}]}', n), ',')
			FROM generate_series(1, $n) n) || ']}'~;
		is(state('school', 'Student', $student), 'inserted', "$n elements");
		is(state('school', 'Student', $student), 'unchanged', "$n elements again");
		is(state('school', 'Student', "replace($student, '\"7 Elm\"', '\"07 Elm\"')"), 'updated', "one of $n elements changes");
		is(state('school', 'Student', "replace($student, '\"7 Elm\"', '\"8 Elm\"')"), 'ZD400', "one of $n elements stands twice");
		is(state('school', 'Student', "replace($student, '#Home', '#Tent')"), '23503', "$n descriptors do not exist");
	}
	is(query('school', 'SELECT count(*) FROM edfi.StudentAddressPeriod'), 22000, 'all elements of elements are there');
	is(state('school', 'Section', q~'{"sectionIdentifier": "S", "courseOfferingReference": {"localCourseCode": "C", "schoolId": 1,
			"schoolYear": 2025, "sessionName": "F"}, "classPeriods": [' || (SELECT string_agg(format(
				'{"classPeriodReference": {"classPeriodName": "%s", "schoolId": 1}}', n), ',') FROM generate_series(1, 10000) n) || ']}'~),
		'23503', '10,000 references to nothing');
	is(state('school', 'Section', q~'{"sectionIdentifier": "S", "courseOfferingReference": {"localCourseCode": "C", "schoolId": 1,
			"schoolYear": 2025, "sessionName": "F"}, "classPeriods": [' || (SELECT string_agg(format(
				'{"classPeriodReference": {"classPeriodName": "%s", "schoolId": %s}}', n, n), ',') FROM generate_series(1, 10000) n) || ']}'~),
		'ZD400', '10,000 values that should be equal');
	return;
}

# Every character that there is.
sub test_unicode
{
	# As they are, and escaped, in blocks: outside of the basic plane as pairs.
	my $wrong = query('types', <<'SQL');
SELECT block FROM (
	SELECT n / 4096 AS block, string_agg(chr(n), '' ORDER BY n) AS plain,
		string_agg(CASE WHEN n < 65536 THEN format('\u%s', lpad(to_hex(n), 4, '0'))
			ELSE format('\u%s\u%s', to_hex(55296 + (n - 65536) / 1024), to_hex(56320 + (n - 65536) % 1024)) END, '' ORDER BY n) AS escaped
	FROM generate_series(1, 1114111) AS n WHERE n NOT BETWEEN 55296 AND 57343 GROUP BY 1) AS blocks,
	LATERAL t.written('Everything', 'AnyText', format('{"code": "U", "day": "2025-01-31", "number": 1, "anyText": %s}', to_json(plain))) AS w1,
	LATERAL t.written('Everything', 'AnyText', format('{"code": "U", "day": "2025-01-31", "number": 1, "anyText": "%s"}', escaped)) AS w2
WHERE w1 IS DISTINCT FROM plain OR w2 IS DISTINCT FROM plain ORDER BY 1
SQL
	is($wrong, '', 'every character is stored as it is sent, escaped or not');

	foreach my $text ('\ud800', '\udbff', '\udc00', 'a\ud800b', '\ud800\ud800', '\udc00\ud800', '\ud83d\u0041', '\u0000', 'x\u0000')
	{
		is(state('types', 'Everything', qq~'{"code": "U", "day": "2025-01-31", "number": 1, "anyText": "$text"}'~), 'ZD400', "text: $text");
		is(state('types', 'Everything', qq~'{"code": "U", "day": "2025-01-31", "number": 1, "nobody knows $text": 1}'~), 'ZD400', "key: $text");
	}
	return;
}

sub test_numbers
{
	my @numbers = qw(1e400 -1e400 1e-400 -0.0 99999999999999999999 1.5 1e9999999999 1e-9999999999
	  0e9999999999 2147483648 -2147483649 9223372036854775808 1E+2 "1e400" "-" "+" "." "e5" "1e" "1e+" "--1" "1.2.3"
	  "0x1F" "1_000" "Infinity" "-Infinity" "NaN" "١٢٣" true null [] {});
	my @bodies;
	foreach my $property (qw(smallInteger largeInteger boundedInteger positiveNumber anyNumber digitsOnly number flag clock day moment code))
	{
		foreach my $number (@numbers)
		{
			my %body = (code => '"N"', day => '"2025-01-31"', number => 1, $property => $number);
			push @bodies, sql_text('{' . join(', ', map { qq("$_": $body{$_}) } sort keys %body) . '}');
		}
	}
	is(query('types', "SELECT body, state FROM unnest(ARRAY[@{[join ', ', @bodies]}]) AS body,"
			  . " LATERAL t.state('Types', 'Everything', body) AS state WHERE state NOT IN ('inserted', 'updated', 'unchanged', 'ZD400')"),
		'', @bodies . ' numbers of all kinds, everywhere');
	return;
}

# Names and values that would like to be SQL.
sub test_names
{
	my @hostile = (
		q{'; DROP TABLE edfi.Student; --}, q{"; DROP SCHEMA dms CASCADE; --}, q{$1}, q{%s%s%s%n}, q{\\'}, q{Ed-Fi/Student}, '',
		' ', q{../../etc/passwd}, "Student\n", "\x{202e}tnedutS", 'x' x 300, 'y' x 100000, "Stud\x{fffd}ent", q{pg_catalog.pg_class}, 'NULL');
	is(query('school', 'SELECT DISTINCT state FROM unnest(ARRAY[' . join(', ', map { sql_text($_) } @hostile) . ']) AS name,'
			  . q{ LATERAL (VALUES (t.state(name, 'Student', '{}')), (t.state('Ed-Fi', name, '{}'))) AS v (state)}),
		'42704', 'hostile names are unknown resources');

	foreach my $value (grep { length && length() <= 30 && !/^\s|\s\z/ } @hostile)
	{
		my $json = JSON::PP->new->allow_nonref->encode($value);
		my $body = qq({"studentUniqueId": $json, "firstName": $json, "lastSurname": $json, "birthDate": "2010-01-01"});
		is(state('school', 'Student', sql_text($body)), 'inserted', encode('UTF-8', "as a value: $value"));
		is(query('school', "SELECT count(*) FROM edfi.Student WHERE StudentUniqueId = @{[sql_text($value)]}"
				  . " AND FirstName = StudentUniqueId"), 1, 'is a value');
	}
	return;
}

# Bytes that are no text.
sub test_encoding
{
	my $file = write_file('bytes.sql', "\\set VERBOSITY sqlstate\n"
		  . "SELECT t.state('Ed-Fi', 'Student', '{\"a\": \"\xff\xfe\"}');\n"
		  . "SELECT t.state('Ed-Fi', 'Student', '{\"a\": \"\xed\xa0\x80\"}');\n"
		  . "SELECT t.state('Ed-Fi', 'Student', '{\"a\": \"\xc0\x80\"}');\n"
		  . "SET client_encoding = LATIN1;\n"
		  . "SELECT t.state('Ed-Fi', 'Student', '{\"studentUniqueId\": \"\xe9\", \"firstName\": \"\xe9\", \"lastSurname\": \"B\", \"birthDate\": \"2010-01-01\"}');\n");
	my ($out, $err) = run_command([ 'psql', '-XqAt', '-d', $node->connstr('school'), '-f', $file ]);
	is(scalar(() = $err =~ /22021/g), 3, 'bytes that are not UTF-8 are refused');
	is($out, 'inserted', 'other encodings are converted');
	is(query('school', "SELECT count(*) FROM edfi.Student WHERE FirstName = U&'\\00e9'"), 1, 'and stored as what they mean');
	return;
}

# Valid documents with random damage.
sub test_random_bodies
{
	my $schema = Dms::ApiSchema->new(files => [ map { "$top/$_" } @{ $files{school} } ]);
	my $generator = Dms::Generate->new(schema => $schema, seed => $seed);
	my @entries = $generator->all;
	my @lines = map { [ $_, $generator->json($_->{document}) ] } @entries;
	srand $seed;
	foreach my $round (1 .. $rounds)
	{
		my $entry = $entries[ int rand @entries ];
		my $document = damaged(copy_of($entry->{document}), 1 + int rand 3, \@entries);
		push @lines, [ $entry, damaged_text($generator->json($document)) ];
	}
	my $n    = 0;
	my $file = write_file('bodies', join '', map {
		join("\t", ++$n, $_->[0]{project}, $_->[0]{resource}, copy_text($_->[1])) . "\n"
	} @lines);
	query('school', "COPY t.body (n, project, resource, body) FROM '$file'");

	# Each is tried as an upsert, and as an update of some document of its kind.
	my %answers = map { my ($state, $count) = split /\|/; ($state => $count) } split /\n/,
	  query('school', 'SELECT state, count(*) FROM t.body AS b, LATERAL t.try(b) AS state GROUP BY 1 ORDER BY 1');
	note "seed $seed: " . join ', ', map { "$answers{$_} $_" } sort keys %answers;
	my @wrong = grep { $_ !~ $ALLOWED } keys %answers;
	is_deeply(\@wrong, [], "$rounds damaged bodies get proper answers") or diag query('school',
		'SELECT n, project, resource, state, left(body, 300) FROM t.body, LATERAL t.try(body) AS state'
		  . " WHERE state !~ '^(inserted|updated|unchanged|ZD400|23503|23505|22P02|54001)\$' LIMIT 5");
	cmp_ok($answers{ZD400}, '>', $rounds / 4, 'many are refused');
	cmp_ok(($answers{updated} || 0) + ($answers{inserted} || 0), '>', $rounds / 20, 'and some are not');

	# What was written is consistent.
	my $edges = edges_sql($schema);
	my $stored = 'SELECT ParentDocumentId, ChildDocumentId, EdgeSourceId, IsIdentityComponent FROM dms.ReferenceEdge';
	is(query('school', "(($edges) EXCEPT ALL ($stored)) UNION ALL (($stored) EXCEPT ALL ($edges)) LIMIT 5"), '',
		'edges are the reference columns');
	is(query('school', 'SELECT DocumentId FROM dms.Document EXCEPT SELECT DocumentId FROM dms.IdentityLock'), '',
		'each document has its lock row');
	is(query('school', 'SELECT count(*) FROM dms.Document WHERE DocumentId NOT IN (SELECT DocumentId FROM dms.ReferentialIdentity)'), 0,
		'and an identity');
	return;
}

#
# Damage
#

my @NASTY;

sub damaged
{
	my ($document, $times, $entries) = @_;

	@NASTY = (
		undef, '', ' ', 'x', 'x ' x 200, 0, -1, 1.5, '1e400', 'true', JSON::PP::true, [], {}, [ [] ], [ {} ], [undef], { a => undef },
		"#\$.x=1", "a\nb", "\x{0}", "\x{1f600}" x 40, '2025-02-30', '24:61', 99999999999999, "uri://ed-fi.org/X#y", 'Descriptor')
	  unless @NASTY;
	my $root = [$document];
	foreach (1 .. $times)
	{
		my @places;
		collect($root->[0], \@places);
		last unless @places;
		my ($holder, $key) = @{ $places[ int rand @places ] };
		my $kind = int rand 8;
		if (ref $holder eq 'HASH')
		{
			if    ($kind == 0) { delete $holder->{$key} }
			elsif ($kind == 1) { $holder->{ ucfirst $key } = delete $holder->{$key} }
			elsif ($kind == 2) { $holder->{$key} = [ $holder->{$key} ] }
			elsif ($kind == 3) { $holder->{$key} = { $key => $holder->{$key} } }
			elsif ($kind == 4)
			{
				my $other = $entries->[ int rand @$entries ]{document};
				my @names = sort keys %$other;
				$holder->{$key} = copy_of($other->{ $names[ int rand @names ] });
			}
			elsif ($kind == 5 || $kind == 6) { $holder->{$key} = copy_of(value_like($key, $entries)) }
			else { $holder->{$key} = copy_of($NASTY[ int rand @NASTY ]) }
		}
		elsif ($kind == 0) { splice @$holder, $key, 1 }
		elsif ($kind == 1) { push @$holder, copy_of($holder->[$key]) }
		elsif ($kind == 2) { @$holder = reverse @$holder }
		elsif ($kind == 3) { splice @$holder, $key, 0, undef }
		else               { $holder->[$key] = copy_of($NASTY[ int rand @NASTY ]) }
	}
	return $root->[0];
}

# What a member of this name holds somewhere else.
my %LIKE;

sub value_like
{
	my ($name, $entries) = @_;

	unless (%LIKE)
	{
		foreach my $entry (@$entries)
		{
			my @places;
			collect($entry->{document}, \@places);
			push @{ $LIKE{ $_->[1] } }, $_->[0]{ $_->[1] } foreach grep { ref $_->[0] eq 'HASH' } @places;
		}
	}
	my $values = $LIKE{$name} || [undef];
	return $values->[ int rand @$values ];
}

# Every member and element, with what holds it.
sub collect
{
	my ($data, $places) = @_;

	my @keys = ref $data eq 'HASH' ? sort keys %$data : ref $data eq 'ARRAY' ? 0 .. $#$data : ();
	foreach my $key (@keys)
	{
		push @$places, [ $data, $key ];
		collect(ref $data eq 'HASH' ? $data->{$key} : $data->[$key], $places);
	}
	return;
}

sub copy_of
{
	my ($data) = @_;

	return { map { $_ => copy_of($data->{$_}) } keys %$data } if ref $data eq 'HASH';
	return [ map { copy_of($_) } @$data ] if ref $data eq 'ARRAY';
	return $data;
}

# One text in ten is damaged as text too; a member may come to stand twice.
sub damaged_text
{
	my ($text) = @_;

	return $text if rand() > 0.1;
	my $at   = int rand length $text;
	my $kind = int rand 4;
	if    ($kind == 0) { substr $text, $at, 1, '' }
	elsif ($kind == 1) { substr $text, $at, 0, substr '[]{}"\\,:0e', int rand 10, 1 }
	elsif ($kind == 2) { $text =~ s/("[^"]+":(?:"[^"]*"|\d+))/$1,$1/ }
	else               { $text =~ s/"(\w)/sprintf '"\\u%04x', ord $1/e }
	return $text;
}

#
# Setting up
#

sub harness
{
	return <<'SQL';
CREATE EXTENSION dms;
CREATE SCHEMA t;
CREATE TABLE t.body (n int PRIMARY KEY, project text, resource text, body text);

-- What a write answers: its outcome or the SQLSTATE.  An error of a kind that
-- the extension words itself must come as a problem body.
CREATE FUNCTION t.state(project text, resource text, body text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	detail text;
BEGIN
	RETURN (dms.upsert_document(project, resource, body::json)).outcome;
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
	IF SQLSTATE IN ('ZD400', '23503', '23505', '42704') AND detail::json ->> 'status' IS NULL THEN
		RETURN SQLSTATE || ' in words of PostgreSQL: ' || SQLERRM;
	END IF;
	RETURN SQLSTATE;
END $$;

-- The same for an update of the newest document of that kind; then whichever of
-- both is worse.
CREATE FUNCTION t.try(b t.body) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	state text := t.state(b.project, b.resource, b.body);
	id uuid := (SELECT DocumentUuid FROM dms.Document WHERE ProjectName = b.project AND ResourceName = b.resource
		ORDER BY DocumentId DESC LIMIT 1);
	detail text;
BEGIN
	IF id IS NULL OR b.n % 3 > 0 THEN
		RETURN state;
	END IF;
	PERFORM dms.update_document(id, b.body::json);
	RETURN state;
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
	IF SQLSTATE IN ('ZD400', '23503', '23505') AND detail::json ->> 'status' IS NULL THEN
		RETURN SQLSTATE || ' in words of PostgreSQL: ' || SQLERRM;
	ELSIF SQLSTATE IN ('ZD400', '23503', '23505', '22P02') THEN
		RETURN state;
	END IF;
	RETURN SQLSTATE || ' of an update: ' || SQLERRM;
END $$;

-- What a column holds after a write.
CREATE FUNCTION t.written(resource text, col text, body text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
BEGIN
	EXECUTE format('SELECT %I FROM types.everything WHERE DocumentId = $1', lower(col)) INTO result
		USING (dms.upsert_document('Types', resource, body::json)).document_id;
	RETURN result;
END $$;
SQL
}

sub state
{
	my ($database, $resource, $text) = @_;
	my $project = $database eq 'types' ? 'Types' : 'Ed-Fi';

	return query($database, "SELECT t.state('$project', '$resource', $text)");
}

# A text as a literal of SQL.
sub sql_text
{
	my ($text) = @_;

	$text =~ s/'/''/g;
	return "'$text'";
}

sub query
{
	my ($database, $sql) = @_;

	my $file = write_file('query.sql', encode('UTF-8', $sql));
	my ($out, $err) =
	  run_command([ 'psql', '-XqAt', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr($database), '-f', $file ]);
	die "$database: $err" if $err =~ /ERROR|FATAL|PANIC|server closed/;
	return decode('UTF-8', $out);
}

sub write_file
{
	my ($name, $content) = @_;

	my $file = $node->basedir . "/$name";
	unlink $file;
	append_to_file($file, $content);
	return $file;
}
