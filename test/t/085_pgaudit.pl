# pgaudit logs who reads and writes which table, by a hook of the executor.  With it
# loaded, nothing is read or written past the executor, so that nothing is missing in its
# log, and all functions give the same results.
use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $config = $ENV{PG_CONFIG} // 'pg_config';
chomp(my $library = `"$config" --pkglibdir`);
plan skip_all => 'pgaudit is not installed (Debian: postgresql-15-pgaudit)'
  unless -e "$library/pgaudit.so";

my $schema = slurp_file("$FindBin::RealBin/../schemas/cascade.json");
$schema =~ s/'/''/g;

my $node = PostgreSQL::Test::Cluster->new('pgaudit');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', q{
shared_preload_libraries = 'pgaudit'
log_statement = none
log_line_prefix = '%u '
});
$node->start;

# Returns the output of statements as a role, and what pgaudit logged meanwhile:
# "role class command table", without duplicates.
sub audited
{
	my ($role, $sql) = @_;

	my $offset = -s $node->logfile;
	my ($code, $out, $error) = $node->psql('postgres', $sql, extra_params => [ '-U', $role ]);
	my %seen;

	foreach my $line (split /\n/, slurp_file($node->logfile, $offset))
	{
		$seen{"$1 $2 $3 $4"} = 1
		  if $line =~ /^(\S+) .*AUDIT: SESSION,\d+,\d+,(READ|WRITE|DDL|FUNCTION),([A-Z ]+),\w*,([^,]*),/;
	}
	diag($error) if $code != 0;
	return ($out, \%seen);
}

# Checks that the log has these lines.
sub logged
{
	my ($seen, @lines) = @_;

	foreach my $line (@lines)
	{
		ok($seen->{$line}, "logged: $line") or diag(join "\n", sort keys %$seen);
	}
	return;
}

my ($out, $seen);

$node->safe_psql('postgres', q{
	CREATE ROLE district LOGIN; CREATE ROLE front LOGIN; CREATE ROLE reports LOGIN;
	GRANT CREATE ON DATABASE postgres TO district;
	ALTER DATABASE postgres OWNER TO district;
	ALTER SYSTEM SET pgaudit.log = 'all';
	ALTER SYSTEM SET pgaudit.log_relation = on;
	CREATE EXTENSION pgaudit;
	SELECT pg_reload_conf()});

# A deploy: commands of a function, as pgaudit's event triggers see them.
$node->safe_psql('postgres', qq{
	SET SESSION AUTHORIZATION district;
	SET client_min_messages = warning;
	CREATE EXTENSION dms;
	SELECT dms.deploy_schema('$schema'::json);
	SELECT dms.grant_access('front', 'writer');
	SELECT dms.grant_access('reports', 'reader')});
like(slurp_file($node->logfile), qr/AUDIT: SESSION,\d+,\d+,DDL,CREATE TABLE,TABLE,cascade\.school,/, 'a deploy is logged');

# Writes run as the owner of the store.  pgaudit leaves out what runs with the rights of a
# role that the connected one is no member of, as in functions that are SECURITY DEFINER.
# So it logs the calls of a writer, with their arguments, and the statements of the owner.
my $writes = q{
	SELECT outcome FROM dms.upsert_document('Cascade', 'School', '{"schoolId": %d, "name": "North"}');
	SELECT outcome FROM dms.upsert_document('Cascade', 'School', '{"schoolId": %1$d, "name": "South"}');
	SELECT outcome FROM dms.upsert_document('Cascade', 'School', '{"schoolId": %1$d, "name": "South"}');
	SELECT outcome FROM dms.upsert_document('Cascade', 'Note', '{"noteId": %1$d, "schoolReference": {"schoolId": %1$d}}')};
my @statements = ('WRITE INSERT dms.document', 'WRITE INSERT cascade.school', 'WRITE UPDATE cascade.school',
	'WRITE INSERT cascade.note', 'WRITE INSERT dms.referenceedge');
($out, $seen) = audited('front', sprintf $writes, 10);
is($out, "inserted\nupdated\nunchanged\ninserted", 'a writer writes documents');
logged($seen, 'front FUNCTION EXECUTE dms.upsert_document');
is(scalar(grep { / WRITE / } keys %$seen), 0, 'not logged: statements that run as the owner');
($out, $seen) = audited('district', sprintf $writes, 20);
is($out, "inserted\nupdated\nunchanged\ninserted", 'the owner writes documents');
logged($seen, map { "district $_" } 'FUNCTION EXECUTE dms.upsert_document', @statements);

# Reads by key, which otherwise need no statement.
my $school = $node->safe_psql('postgres', q{SELECT dms.resolve('Cascade', 'School', '{"schoolId": 10}')});
my $note = $node->safe_psql('postgres', q{SELECT dms.resolve('Cascade', 'Note', '{"noteId": 10}')});
($out, $seen) = audited('reports', "SELECT dms.get_document('$note') -> 'schoolReference' ->> 'schoolId'");
is($out, 10, 'a document is read');
logged($seen, map { "reports READ SELECT $_" } qw(dms.document cascade.note cascade.school));
($out, $seen) = audited('reports', "SELECT count(*) FROM dms.query_documents('Cascade', 'School')");
is($out, 2, 'a page is read');
logged($seen, 'reports READ SELECT cascade.school', 'reports FUNCTION EXECUTE dms.query_documents');

# A change of identity, with its dependents.
($out, $seen) = audited('district', qq{
	SELECT count(dms.upsert_document('Cascade', 'Session', json_build_object('sessionName', 'S' || n, 'schoolReference', json_build_object('schoolId', 10))))
	FROM generate_series(1, 20) AS n;
	SELECT outcome FROM dms.update_document('$school', '{"id": "$school", "schoolId": 11, "name": "South"}')});
is($out, "20\nupdated", 'a change of identity');
logged($seen, map { "district WRITE $_" } 'UPDATE dms.document', 'DELETE dms.referentialidentity', 'INSERT dms.referentialidentity');
is($node->safe_psql('postgres', "SELECT dms.get_document('$note') -> 'schoolReference' ->> 'schoolId'"), 11, 'dependents follow');

# Deletes, and the audit of the store.
($out, $seen) = audited('front', "SELECT dms.delete_document('$note')");
is($out, 't', 'a document is deleted');
logged($seen, 'front FUNCTION EXECUTE dms.delete_document');
is($node->safe_psql('postgres', 'SELECT count(*) FROM dms.audit()'), 0, 'the store is sound');

# Rights on single objects: only what the auditor role could do is logged.
$node->safe_psql('postgres', q{
	ALTER SYSTEM SET pgaudit.log = 'none';
	ALTER SYSTEM SET pgaudit.role = 'auditor';
	CREATE ROLE auditor;
	GRANT SELECT ON cascade.school TO auditor;
	SELECT pg_reload_conf()});
my $offset = -s $node->logfile;
audited('reports', "SELECT dms.get_document('$school')");
my $log = slurp_file($node->logfile, $offset);
like($log, qr/^reports .*AUDIT: OBJECT,\d+,\d+,READ,SELECT,TABLE,cascade\.school,/m, 'object logging sees a read by key');
unlike($log, qr/dms\.document,/, 'and nothing else');

unlike(slurp_file($node->logfile), qr/ERROR: |PANIC: /, 'no error in the log');

$node->stop;
done_testing();
