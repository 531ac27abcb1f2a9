# Every leaf of stored models, changed to every value in its range and to hostile
# ones; every verb is called after each change.  The answer is "damaged" (XX001),
# an error that says what does not fit, or an answer, and the server lives.
#
# The short form takes some variants of each member of each struct; the long form
# (./check --long) takes all.  DMS_ATTACK_PART=K/N takes the K-th of N parts of
# these, so that several runs can share the work.
use strict;
use warnings;

use Encode ();
use FindBin;
use IPC::Run ();
use JSON::PP ();
use MIME::Base64 ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $LONG     = $ENV{DMS_LONG};
my $PER_KIND = $ENV{DMS_ATTACK_VARIANTS} // 1;   # of a member, in the short form
my $TEXTS    = 5;                                # of other places
my ($PART, $PARTS) = ($ENV{DMS_ATTACK_PART} // '1/1') =~ m{^([1-9]\d*)/([1-9]\d*)$}
  or die 'DMS_ATTACK_PART must be like 1/4';
my $CHUNK    = 500;
my $TOGETHER = 20;                               # in a transaction
my $SESSIONS = $LONG ? `nproc` + 0 : 1;          # each in a copy of the database

# Rows that the variants leave would be looked at again and again.
my $VACUUM   = 'VACUUM ' . join ', ',
  map { "dms.$_" } qw(Store ResourceModel DocumentCache Document ReferenceEdge DocumentChange DocumentVersion);

# Members that lengths are compared with, and that do not count or choose anything.
my %is_length = (max_length => 1);

my $top      = "$FindBin::RealBin/../..";
my $generate = "$top/test/perl/dms-generate";

# Schemas and the resources whose models are changed: all of the small ones, and
# the largest of the real ones.
my @stores = (
	{ name => 'school',  files => ["$top/examples/schemas/school.json"] },
	{ name => 'sites',   files => [ "$top/test/schemas/sites.json", "$top/test/schemas/sites-extra.json" ] },
	{ name => 'cascade', files => ["$top/test/schemas/cascade.json"] },
	{ name => 'equalities', files => ["$top/test/schemas/equalities.json"] },
);
my $real = $ENV{APISCHEMA_DIR};
if (defined $real && -r "$real/ed-fi.json")
{
	push @stores, { name => 'real',
		files     => [ map { "$real/$_.json" } qw(ed-fi tpdm sample homograph) ],
		resources => [ qw(ed-fi/students ed-fi/studentSchoolAssociations ed-fi/staffs
			  ed-fi/assessments ed-fi/studentSpecialEducationProgramAssociations) ] };
}
else
{
	note 'APISCHEMA_DIR names no schema files: only the shipped schemas are attacked';
}

my $node = PostgreSQL::Test::Cluster->new('attack_models');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf',
	"fsync = off\nautovacuum = off\njit = off\nlog_statement = none\nlog_min_messages = fatal\nmax_locks_per_transaction = 256");
$node->start;
attack($_) foreach @stores;
$node->stop;
done_testing();

# Deploy a store, fill it, and try all variants of its models.
sub attack
{
	my ($store) = @_;
	my $db = $store->{name};
	my @variants;

	$node->safe_psql('postgres', "CREATE DATABASE $db");
	$node->safe_psql($db, "SET client_min_messages = warning; CREATE EXTENSION dms;");
	deploy($db, @{ $store->{files} });
	my @targets = documents($store);
	load($store, @targets);
	push @variants, map { variants_of($_) } targets_of($db);
	@variants = some_of(@variants) unless $LONG;
	@variants = map { $variants[$_] } grep { $_ % $PARTS == $PART - 1 } 0 .. $#variants;
	store_variants($db, @variants);
	is($node->safe_psql($db, 'SET client_min_messages = error; SELECT attack.never_answered()'), '',
		"$db: each call is answered for some resource") if $db eq 'cascade';
	my ($tried, $refused, @unfair) = try_all($db, scalar @variants);
	is($tried, scalar @variants, "$db: the server lives through " . @variants . ' changed models');
	cmp_ok($refused, '>', 0, "$db: models are refused ($refused of $tried)");
	cmp_ok($refused, '<', $tried, "$db: not all of them");
	is(join("\n", @unfair), '', "$db: whatever is not answered is refused with a reason");
	return;
}

sub deploy
{
	my ($db, @files) = @_;
	my $array = join ', ', map { "pg_read_file('$_')::json" } @files;

	$node->safe_psql($db, "SET client_min_messages = warning; SELECT dms.deploy_schema(VARIADIC ARRAY[$array])");
	return;
}

# The lines of the generator, as [project, resource, document].
sub generated
{
	my ($store, @options) = @_;
	my @command = ($^X, $generate, @options,
		(map { ('--resource', $_) } @{ $store->{resources} // [] }), @{ $store->{files} });
	open my $pipe, '-|', @command or die "cannot run $generate: $!";
	my @lines = map { JSON::PP::decode_json($_) } <$pipe>;
	close $pipe or die "$generate failed";
	return @lines;
}

# Fill the store; returns for each resource a document that is stored, the same
# with what is required only, and another one.
sub documents
{
	my ($store) = @_;
	my $json = JSON::PP->new->canonical->allow_nonref;
	my (%target, @order, $sql);
	my %wanted = map { $_ => 1 } @{ $store->{resources} // [] };

	foreach my $line (generated($store, '--count', 2))
	{
		my $key = "$line->{project}/$line->{resource}";
		my $document = $json->encode($line->{document});

		$sql .= sprintf "SELECT dms.upsert_document('%s', '%s', \$d\$%s\$d\$);\n",
		  $line->{project}, $line->{resource}, $document;
		next if %wanted && !$wanted{$key};
		push @order, $key unless $target{$key};
		my $part = $target{$key}{stored} ? 'other' : 'stored';
		$target{$key}{$part} //= $document;
	}
	foreach my $line (generated($store, '--minimal'))
	{
		my $key = "$line->{project}/$line->{resource}";
		$target{$key}{smaller} //= $json->encode($line->{document}) if $target{$key};
	}
	my $file = "$PostgreSQL::Test::Utils::tmp_check/attack_$store->{name}.sql";
	append_to_file($file, $sql);
	$node->safe_psql($store->{name}, "SET client_min_messages = warning;\n\\i $file");
	return map {
		my ($project, $resource) = split m{/}, $_;
		+{ project => $project, resource => $resource, %{ $target{$_} } }
	} grep { $target{$_}{smaller} && $target{$_}{other} } @order;
}

sub load
{
	my ($store, @targets) = @_;
	my $db   = $store->{name};
	my $file = "$PostgreSQL::Test::Utils::tmp_check/attack_${db}_targets.sql";
	my $n    = 0;
	my $sql  = "\\i $top/test/attack/models.sql\n";

	foreach my $t (@targets)
	{
		$sql .= sprintf "INSERT INTO attack.target SELECT %d, '%s', '%s', Model::text, ProjectName, ResourceName, \$d\$%s\$d\$, \$d\$%s\$d\$, \$d\$%s\$d\$"
		  . " FROM dms.ResourceModel WHERE ProjectEndpointName = '%s' AND EndpointName = '%s';\n",
		  ++$n, @$t{qw(project resource stored smaller other project resource)};
	}
	$sql .= "INSERT INTO attack.schema SELECT pg_read_file('$_')::json;\n" foreach @{ $store->{files} };
	append_to_file($file, $sql . "CALL attack.prepare();\n");
	$node->safe_psql($db, "SET client_min_messages = warning;\n\\i $file");
	return;
}

sub targets_of
{
	my ($db) = @_;
	my @rows = split /\n/,
	  $node->safe_psql($db, "SELECT target, replace(encode(convert_to(model, 'UTF8'), 'base64'), E'\\n', '') FROM attack.target ORDER BY 1");
	return map {
		my ($target, $text) = split /\|/;
		+{ target => $target, text => Encode::decode('UTF-8', MIME::Base64::decode_base64($text)) }
	} @rows;
}

#
# Variants
#

# All leaves of a JSON text: where they are, the place with array indexes left
# out, and the name of the member.  Also arrays and objects as a whole.
sub leaves_of
{
	my ($text) = @_;
	my (@leaves, @stack);
	my $name;

	pos($text) = 0;
	while (pos($text) < length $text)
	{
		if ($text =~ /\G("(?:[^"\\]|\\.)*"):/gc)
		{
			$name = substr $1, 1, -1;
		}
		elsif ($text =~ /\G([\[{])/gc)
		{
			push @stack, [ $name, pos($text) - 1, $1 ];
			$name = $1 eq '[' ? $name : undef;
		}
		elsif ($text =~ /\G[\]}]/gc)
		{
			my $open = pop @stack;
			push @leaves, [ $open->[1], pos($text) - $open->[1], place_of(@stack, $open), $open->[0] // '', 'whole' ];
			$name = @stack ? $stack[-1][0] : undef;
		}
		elsif ($text =~ /\G("(?:[^"\\]|\\.)*"|[-+.0-9eE]+|true|false|null)/gc)
		{
			push @leaves, [ pos($text) - length $1, length $1, place_of(@stack, [$name]), $name, $1 ];
		}
		else
		{
			$text =~ /\G[,\s]+/gc or die "not JSON at " . pos($text);
		}
	}
	return @leaves;
}

sub place_of
{
	my (@stack) = @_;
	my @names;

	foreach (@stack)
	{
		push @names, $_->[0] if defined $_->[0] && (!@names || $names[-1] ne $_->[0]);
	}
	return join '.', @names;
}

# The numbers from -2 to the largest that the same member has elsewhere in the
# model, and two more.  Of long lengths, only those next to one that is used.
sub range_of
{
	my ($name, @used) = @_;
	my ($most) = sort { $b <=> $a } @used;
	my %next_to = map { ($_ - 1 => 1, $_ => 1, $_ + 1 => 1) } @used;

	return grep { $_ <= 24 || $next_to{$_} || !$is_length{$name} } -2 .. ($most // 0) + 2;
}

# The values that a leaf is changed to: all numbers of its range, or some of the
# texts that the same member has elsewhere in the model, and hostile ones.
sub values_for
{
	my ($leaf, $same) = @_;
	my ($start, $length, $place, $name, $value) = @$leaf;

	return ('[]', '{}', 'null', '0', '""', '[{}]', '[0]') if $value eq 'whole';
	return ('true', 'false', 'null', '1', '"true"') if $value =~ /^[tfn]/;
	if ($value =~ /^"/)
	{
		return ('""', '"x"', 'null', '7', '[]', '"$"', '"$."', '"$.nothing"', '"a.b"', '"a[*]"', '"\u0000"', '"\ud83d\ude00"',
			'"\"; DROP TABLE x; --"', '"' . ('y' x 70) . '"', '"' . ('z' x 5000) . '"', spread($TEXTS, sort keys %$same));
	}
	return (range_of($name, grep { /^-?\d+$/ && $_ < 2000 } keys %$same), 8, 9, 1000, 2147483647, 2147483648, -2147483648, '9223372036854775808', '1.5', '1e2', '-0',
		'null', '"1"', 'true', '[]');
}

sub variants_of
{
	my ($target) = @_;
	my @leaves = leaves_of($target->{text});
	my %same;
	my @variants;

	$same{ $_->[3] }{ $_->[4] } = 1 foreach grep { $_->[4] ne 'whole' } @leaves;
	foreach my $leaf (@leaves)
	{
		my %done = ($leaf->[4] => 1);
		foreach my $value (values_for($leaf, $same{ $leaf->[3] } // {}))
		{
			push @variants, [ $target->{target}, $leaf->[2], $leaf->[0] + 1, $leaf->[1], $value ]
			  unless $done{$value}++;
		}
	}
	return @variants;
}

# Some of a list, spread evenly.
sub spread
{
	my ($n, @all) = @_;

	return @all if @all <= $n;
	return map { $all[ int($_ * @all / $n) ] } 0 .. $n - 1;
}

# Some variants of each place of each target.
sub some_of
{
	my %by_place;

	push @{ $by_place{"$_->[0] $_->[1]"} }, $_ foreach @_;
	return map { spread($PER_KIND, @{ $by_place{$_} }) } sort keys %by_place;
}

sub store_variants
{
	my ($db, @variants) = @_;
	my $file = "$PostgreSQL::Test::Utils::tmp_check/attack_${db}_variants";
	my $n    = 0;

	open my $out, '>:encoding(UTF-8)', $file or die "cannot write $file: $!";
	foreach my $v (@variants)
	{
		my @columns = (++$n, @$v);
		s/\\/\\\\/g, s/\t/\\t/g, s/\n/\\n/g foreach @columns;
		print $out join("\t", @columns), "\n";
	}
	close $out;
	$node->safe_psql($db, "\\copy attack.variant FROM '$file'");
	return;
}

#
# Trying them
#

# Try all variants, shared by some sessions.  A crash ends all sessions: what they
# were trying is tried again, one by one.
sub try_all
{
	my ($db, $total) = @_;
	my @databases = ($db, copies_of($db));
	my (%result, @suspects, @crashed);

	my @queues = map { [] } @databases;

	push @{ $queues[ $_ % @databases ] }, $_ foreach 1 .. $total;
	while (grep { @$_ } @queues)
	{
		my @runs = map { start_some($databases[$_], splice @{ $queues[$_] }, 0, $CHUNK) } grep { @{ $queues[$_] } } 0 .. $#queues;
		foreach my $run (@runs)
		{
			my ($done, @rest) = finish_some($run);
			@result{ keys %$done } = values %$done;
			next unless @rest;
			push @suspects, shift @rest;
			unshift @{ $queues[ $rest[0] % @databases ] }, @rest if @rest;
			$node->poll_query_until('postgres', 'SELECT true');
		}
		last if @suspects > 50;
	}
	foreach my $n (@suspects)
	{
		$node->poll_query_until('postgres', 'SELECT true');
		my $run = start_some($db, $n);
		my ($done) = finish_some($run);
		@result{ keys %$done } = values %$done;
		push @crashed, "variant $n: " . describe($db, $n) . ": " . slurp_file($run->{err}) unless $done->{$n};
	}
	my @unfair = map { $_->[0] } grep { length $_->[0] } map { $result{$_} } sort { $a <=> $b } keys %result;
	return (scalar keys %result, scalar(grep { $_->[1] } values %result), @crashed, @unfair);
}

# Copy a database for each session but the first.
sub copies_of
{
	my ($db) = @_;
	my @copies = map { "${db}_$_" } 2 .. $SESSIONS;

	$node->safe_psql('postgres', "CREATE DATABASE $_ TEMPLATE $db") foreach @copies;
	return @copies;
}

# Start a session that tries some variants.  It reads and writes files, because
# nobody serves the pipes of one session while we wait for another.
sub start_some
{
	my ($db, @all) = @_;
	my @numbers = @all;
	my $file = "$PostgreSQL::Test::Utils::tmp_check/attack_$db";
	my @command = ('psql', '-XAtq', '-d', $node->connstr($db), '-f', "$file.try");

	open my $script, '>', "$file.try" or die "cannot write $file.try: $!";
	print $script "SET client_min_messages = error;\nSET dms.verify_edges = on;\n";
	while (my @some = splice @numbers, 0, $TOGETHER)
	{
		print $script 'BEGIN;', (map { "SELECT $_ AS n, r.* FROM attack.try($_) AS r;\n" } @some), "COMMIT;\n";
		print $script "$VACUUM;\n" if $some[0] % 5 == 0;
	}
	close $script;
	my $harness = IPC::Run::start \@command, '<', '/dev/null', '>', "$file.out", '2>', "$file.err";
	return { harness => $harness, numbers => \@all, out => "$file.out", err => "$file.err" };
}

# Wait for a session.  Returns for each variant that it has tried what is not fair,
# and in how many calls the model was refused; then the variants that are left.
sub finish_some
{
	my ($run) = @_;
	my %done;

	$run->{harness}->finish;
	foreach my $row (split /\n/, slurp_file($run->{out}))
	{
		my ($n, $unfair, $refused) = $row =~ /^(\d+)\|(.*)\|(\d+)$/ or next;
		$done{$n} = [ $unfair, $refused ];
	}
	return (\%done, grep { !$done{$_} } @{ $run->{numbers} });
}

sub describe
{
	my ($db, $n) = @_;

	$node->poll_query_until('postgres', 'SELECT true');
	return $node->safe_psql($db,
		"SELECT t.resource, v.place, left(v.replacement, 80) FROM attack.variant AS v JOIN attack.target AS t USING (target) WHERE variant = $n");
}
