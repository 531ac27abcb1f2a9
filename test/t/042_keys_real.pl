# Deletes and changed keys of every resource of the real schema files: what requests
# say about them has the names of query fields, and the values of the documents.
#
# Names and values are worked out by the test's own library, from the schema and from
# the bodies before and after.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../perl";

use Dms::ApiSchema;
use Dms::Copy qw(copy_text);
use Dms::Generate;
use JSON::PP ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $dir = $ENV{APISCHEMA_DIR};
plan skip_all => 'APISCHEMA_DIR names no schema files' unless defined $dir && -r "$dir/ed-fi.json";

my $schema = Dms::ApiSchema->new(dir => $dir);
my $json   = JSON::PP->new->canonical->allow_bignum->allow_nonref;

my $node = PostgreSQL::Test::Cluster->new('keys_real');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', "fsync = off\nautovacuum = off\njit = off\nlog_statement = none");
$node->start;

sql('SET client_min_messages = warning; CREATE EXTENSION dms; SELECT dms.deploy_schema('
	  . join(', ', map { "pg_read_file('$dir/$_.json')::json" } qw(ed-fi tpdm sample homograph)) . ')');
sql(<<'SQL');
CREATE TABLE input (n int PRIMARY KEY, project text, resource text, document json);
-- The values of keys: their names, and where they are in documents.
CREATE TABLE key (project text, resource text, endpoint text, name text, path text[]);
CREATE TABLE before (id uuid PRIMARY KEY, project text, resource text, document_id bigint, body jsonb);

CREATE FUNCTION remember() RETURNS bigint LANGUAGE sql AS $$
	TRUNCATE before;
	INSERT INTO before SELECT DocumentUuid, ProjectName, ResourceName, DocumentId, dms.get_document(DocumentUuid)::jsonb FROM dms.Document;
	SELECT count(*) FROM before;
$$;
CREATE FUNCTION key_of(project text, resource text, body jsonb) RETURNS jsonb LANGUAGE sql STABLE AS $$
	SELECT jsonb_object_agg(k.name, $3 #> k.path) FROM key AS k WHERE (k.project, k.resource) = ($1, $2)
$$;
-- Deletes all documents: those that others refer to when these are gone.
CREATE FUNCTION delete_all() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	document uuid;
	deleted bigint := 0;
	before bigint := -1;
BEGIN
	WHILE before < deleted LOOP
		before := deleted;
		FOR document IN SELECT DocumentUuid FROM dms.Document ORDER BY DocumentId DESC LOOP
			BEGIN
				PERFORM dms.delete_document(document);
				deleted := deleted + 1;
			EXCEPTION WHEN restrict_violation THEN
				NULL;
			END;
		END LOOP;
	END LOOP;
	RETURN deleted;
END $$;
-- All that requests say about the resources, page by page.
CREATE FUNCTION told(what text, low bigint) RETURNS TABLE (resource text, item jsonb) LANGUAGE plpgsql AS $$
DECLARE
	place record;
	answer dms.response;
	n int;
BEGIN
	FOR place IN SELECT DISTINCT k.resource, k.endpoint FROM key AS k ORDER BY 2 LOOP
		n := 0;
		LOOP
			answer := dms.handle_request('GET', place.endpoint || what || '?limit=3&totalCount=true&minChangeVersion=' || low || '&offset=' || n);
			IF answer.status <> 200 THEN
				RAISE EXCEPTION '% %: % %', place.endpoint, what, answer.status, answer.body;
			END IF;
			RETURN QUERY SELECT place.resource, value FROM jsonb_array_elements(answer.body::jsonb);
			n := n + json_array_length(answer.body);
			EXIT WHEN json_array_length(answer.body) = 0;
		END LOOP;
		IF n <> (answer.headers ->> 'Total-Count')::int THEN
			RAISE EXCEPTION '% %: % of %', place.endpoint, what, n, answer.headers ->> 'Total-Count';
		END IF;
	END LOOP;
END $$;
SQL

my $generator = Dms::Generate->new(schema => $schema);
my @entries   = $generator->all;
is(scalar($generator->skipped), 0, 'no resource is skipped');
my $n = 0;
copy('input', map { [ ++$n, @$_{qw(project resource)}, $generator->json($_->{document}) ] } @entries);
copy('key', map { keys_of($_) } $schema->resources);
is(sql('SELECT count(dms.upsert_document(project, resource, document)) FROM (SELECT * FROM input ORDER BY n) AS i'), scalar(@entries), 'documents are written');
is(sql('SELECT count(DISTINCT (project, resource)) FROM input'), scalar($schema->resources), 'of every resource');
is(sql('SELECT project, resource, name FROM key GROUP BY 1, 2, 3 HAVING count(*) > 1'), '', 'names of values are different');

sql('SELECT remember()');
# A value that has a query field is found by its name.
is( sql(q{
		SELECT k.project, k.resource, k.name FROM key AS k JOIN before AS b USING (project, resource)
		WHERE k.name <> k.path[cardinality(k.path)] AND dms.count_documents(k.project, k.resource,
			jsonb_build_object(k.name, b.body #> k.path)) = 0}), '', 'names that are not last names are query fields');

test_changed_keys();
test_deletes();

$node->stop;
done_testing();

# Each type whose identity can be changed by clients: one document of it gets another
# one, and so do all that depend on it.
sub test_changed_keys
{
	my @mutable = grep { $_->{allow_identity_updates} } $schema->resources;

	my $low = newest() + 1;
	sql('CREATE TABLE had AS SELECT * FROM dms.ReferentialIdentity');
	foreach my $resource (@mutable)
	{
		my ($name) = map { substr $_, 2 } grep { !/\..*\.|Descriptor\z/ } @{ $resource->{identity} };
		next unless defined $name;
		my $changed = sql(<<"SQL");
SELECT w.outcome
FROM (SELECT id FROM before WHERE (project, resource) = ('$resource->{project}', '$resource->{name}') ORDER BY document_id LIMIT 1) AS b,
	LATERAL (SELECT dms.get_document(b.id)::jsonb AS body) AS d,
	LATERAL (SELECT CASE WHEN jsonb_typeof(body -> '$name') = 'number' THEN to_jsonb((body ->> '$name')::numeric + 1)
		WHEN body ->> '$name' ~ '^\\d{4}-\\d\\d-\\d\\d\$' THEN to_jsonb((body ->> '$name')::date + 4000)
		ELSE to_jsonb('x' || substr(body ->> '$name', 2)) END AS value) AS v,
	LATERAL dms.update_document(b.id, jsonb_set(body, '{$name}', value)::json) AS w
SQL
		is($changed, 'updated', "$resource->{key}: $name is changed");
	}
	cmp_ok(scalar(@mutable), '>', 3, 'some types can change their keys');
	my $changes = q{SELECT * FROM (SELECT b.resource, b.id, key_of(b.project, b.resource, b.body) AS was, key_of(b.project, b.resource, d.body) AS became
		FROM before AS b, LATERAL (SELECT dms.get_document(b.id)::jsonb AS body) AS d) AS c WHERE was <> became};
	my $told = "SELECT resource, (item ->> 'id')::uuid AS id, item -> 'oldKeyValues' AS was, item -> 'newKeyValues' AS became FROM told('/keyChanges', $low)";
	cmp_ok(sql("SELECT count(*) FROM ($changes) AS c"), '>', scalar(@mutable), 'and those of other types follow');
	is(sql("($changes) EXCEPT ($told) LIMIT 5"), '', 'every changed key is told');
	is(sql("($told) EXCEPT ($changes) LIMIT 5"), '', 'and nothing else');
	is(sql("SELECT * FROM told('/deletes', 0)"), '', 'nothing was deleted');
	is(sql(<<'SQL'), '', 'rows have the ids and the ReferentialIds that documents had');
SELECT t.DocumentId FROM (SELECT DISTINCT ON (DocumentId) * FROM dms.TrackedChange WHERE Kind = 'K' ORDER BY DocumentId, Etag) AS t
JOIN dms.Document AS d USING (DocumentId)
LEFT JOIN had AS p ON (p.DocumentId, p.ProjectName, p.ResourceName) = (d.DocumentId, d.ProjectName, d.ResourceName)
LEFT JOIN had AS a ON a.DocumentId = d.DocumentId AND (a.ProjectName, a.ResourceName) <> (d.ProjectName, d.ResourceName)
WHERE (t.DocumentUuid, t.OldReferentialId, t.OldAliasId) IS DISTINCT FROM (d.DocumentUuid, p.ReferentialId, a.ReferentialId)
SQL
	is(sql(<<'SQL'), '', 'and the etags and numbers of the journal');
SELECT DocumentId FROM dms.TrackedChange AS t WHERE Kind = 'K' AND NOT EXISTS (SELECT FROM dms.DocumentChange AS j
	WHERE (j.ResourceTypeId, j.ChangeVersion + 1, j.DocumentId, j.Etag) = (t.ResourceTypeId, t.ChangeVersion, t.DocumentId, t.Etag))
SQL
	return;
}

# All documents are deleted.
sub test_deletes
{
	my $count = sql('SELECT remember()');
	my $low   = newest() + 1;

	# The trigger makes keys by SQL, and the function without: the rows are the same.
	my $rows = q{SELECT DocumentId, Etag, ResourceTypeId, DocumentUuid, OldKey, OldReferentialId, OldAliasId FROM dms.TrackedChange WHERE Kind = 'D' ORDER BY 1};
	my $raw  = sql("BEGIN; DELETE FROM dms.Document; $rows; ROLLBACK;");
	is(scalar(split /\n/, $raw), $count, 'plain SQL records each delete');
	is(sql('SELECT delete_all()'), $count, 'all documents are deleted');
	ok(sql($rows) eq $raw, 'and the function the same rows');
	my $gone = 'SELECT resource, id, key_of(project, resource, body) FROM before';
	my $told = "SELECT resource, (item ->> 'id')::uuid, item -> 'keyValues' FROM told('/deletes', $low)";
	is(sql("($gone) EXCEPT ($told) LIMIT 5"), '', 'every key is told');
	is(sql("($told) EXCEPT ($gone) LIMIT 5"), '', 'and nothing else');
	is(sql("SELECT count(*) FROM told('/keyChanges', $low)"), 0, 'no key was changed');
	is(sql("SELECT count(DISTINCT item ->> 'changeVersion') > 0 FROM told('/deletes', $low)"), 't', 'with their numbers');
	is(sql('SELECT * FROM dms.audit()'), '', 'the store is in order');
	return;
}

# The newest number of a change.
sub newest
{
	return sql(q{SELECT (dms.handle_request('GET', '/changeQueries/v1/availableChangeVersions')).body ->> 'newestChangeVersion'});
}

# The values of the key of a resource: rows for the table.  A value that is always the
# same as an earlier one of its name is left out.
sub keys_of
{
	my ($resource) = @_;
	my (%named, @rows);

	foreach my $path ($resource->{is_descriptor} ? qw($.namespace $.codeValue) : @{ $resource->{identity} })
	{
		my $name = field_of($resource, $path);
		my @same = @{ $named{$name} || [] };

		push @{ $named{$name} }, $path;
		next if grep { my $other = $_; grep { "@$_" eq "$path $other" || "@$_" eq "$other $path" } @{ $resource->{equality} } } @same;
		push @rows, [ $resource->{project}, $resource->{name}, "/$resource->{project_endpoint}/$resource->{endpoint}",
			@same ? substr($path, 2) : $name, '{' . join(',', split /\./, substr $path, 2) . '}' ];
	}
	return @rows;
}

# The query field of a path: its own, one of a path that must be equal, or its last name.
sub field_of
{
	my ($resource, $path) = @_;

	foreach my $equal ($path, connected($resource, $path))
	{
		my ($field) = grep { my $f = $_; grep { $_->{path} eq $equal } @{ $resource->{query}{$f} } } sort keys %{ $resource->{query} };
		return $field if defined $field;
	}
	return $path =~ s/^.*\.//r;
}

# All paths that equality constraints connect with a path.
sub connected
{
	my ($resource, $path) = @_;
	my %found = ($path => 1);
	my $before = 0;

	while (keys %found > $before)
	{
		$before = keys %found;
		foreach my $pair (@{ $resource->{equality} })
		{
			@found{@$pair} = (1, 1) if grep { $found{$_} } @$pair;
		}
	}
	delete $found{$path};
	return sort keys %found;
}

# Fill a table.
sub copy
{
	my ($table, @rows) = @_;
	my $file = PostgreSQL::Test::Utils::tempdir() . "/$table";

	append_to_file($file, join '', map { join("\t", map { copy_text($_) } @$_) . "\n" } @rows);
	sql("COPY $table FROM '$file'");
	return;
}

sub sql
{
	my ($statement) = @_;

	return $node->safe_psql('postgres', $statement, timeout => 10 * $PostgreSQL::Test::Utils::timeout_default);
}
