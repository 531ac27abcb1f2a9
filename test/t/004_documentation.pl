# Runs every block of SQL, shell and Python in README.md, CONTRIBUTING.md and doc/*.md
# as it is printed, and compares the results that the pages print.  Also checks that
# links lead somewhere and that lines are not too long.
#
# A page is one psql session in a database of its own; its blocks run in the order
# in which they are printed.  The language of a fenced block says what is done:
#
#	sql, sh, python		run; an error or an exit status fails the test
#	text, json, mermaid	the result of the block directly before it
#	... norun: REASON	shown only; the test prints the list of these
#
# A result that has "ERROR:" is an error that the page wants.  White space, rulers of
# tables, numbers of rows, ids of documents and times are not compared, and "..." matches anything,
# so that a page can break lines and leave parts out.  Shell variables live on from
# block to block, files go to a scratch directory that looks like the checkout, and
# port 8080 is replaced by a free one.
use strict;
use warnings;

use Cwd qw(abs_path);
use File::Basename;
use FindBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $WIDTH = 99;
my %RUN = map { $_ => 1 } qw(sql sh python);
my %RESULT = map { $_ => 1 } qw(text json mermaid);
my $top = abs_path("$FindBin::RealBin/../..");

# The first Python on the path may not find Debian's packages.
my ($python) =
  grep { system(qq($_ -c "import psycopg2" 2>/dev/null)) == 0 } qw(python3 /usr/bin/python3);
my $has_curl = system('curl --version >/dev/null 2>&1') == 0;

my $node = PostgreSQL::Test::Cluster->new('documentation');
$node->init(extra => [ '--encoding=UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', "fsync = off");
$node->start;

my @norun;
test_page($_) foreach grep { -e $_ } "$top/README.md", "$top/CONTRIBUTING.md", sort glob("$top/doc/*.md");
note("shown only:\n", map { "  $_\n" } @norun);
is(scalar(grep { !/: \S/ } @norun), 0, 'every block that is shown only has a reason');

$node->stop;
done_testing();

# Check a page, and run its blocks.
sub test_page
{
	my ($file) = @_;
	my $page = $file =~ s/^\Q$top\E\///r;
	my @blocks = read_blocks($file, $page);

	is(join(' ', dead_links($file)), '', "$page: links lead somewhere");
	foreach my $block (grep { defined $_->{norun} } @blocks)
	{
		push @norun, "$page:$block->{line}: $block->{norun}";
	}
	@blocks = grep { $RUN{ $_->{language} } && !defined $_->{norun} } @blocks;
	return unless @blocks;
	run_blocks($page, @blocks);
	check_block($page, $_) foreach @blocks;
	return;
}

# Read the fenced blocks of a page; results become part of the block before them.
sub read_blocks
{
	my ($file, $page) = @_;
	my (@blocks, @wide, @unclear, $inside, $last);
	my @lines = split /\n/, slurp_file($file);

	utf8::decode($_) foreach @lines;
	foreach my $number (1 .. @lines)
	{
		my $line = $lines[ $number - 1 ];

		push @wide, $number if length(expand($line)) > $WIDTH && $line !~ m{^\S*https?://\S+$};
		if ($inside && $line =~ /^```\s*$/)
		{
			if ($inside->{result} && $last) { $last->{expected} = $inside->{text} }
			else { push @blocks, $inside }
			$last = $RUN{ $inside->{language} } && !defined $inside->{norun} ? $inside : undef;
			$inside = undef;
		}
		elsif ($inside) { $inside->{text} .= "$line\n" }
		elsif ($line =~ /^```(\w*)\s*(.*)$/)
		{
			my ($language, $rest) = ($1, $2);

			$inside = { language => $language, line => $number, text => '' };
			if ($rest =~ /^norun\b:? *(.*)$/) { $inside->{norun} = $1 }
			elsif ($rest ne '') { push @unclear, $number }
			$inside->{result} = 1 if $RESULT{$language} && $rest eq '';
			push @unclear, $number if $language eq '' || ($inside->{result} && !$last);
		}
		elsif ($line =~ /\S/) { $last = undef }
	}
	is("@wide", '', "$page: no line is longer than $WIDTH columns");
	is("@unclear", '', "$page: blocks have a language, and results follow what they are a result of");
	return @blocks;
}

# The links of a page to files and headings that do not exist.
sub dead_links
{
	my ($file) = @_;
	my $text = slurp_file($file) =~ s/^```.*?^```$//smgr;

	return grep { !link_target($file, $_) } grep { !/^https?:/ } $text =~ /\]\(([^)\s]+)\)/g;
}

sub link_target
{
	my ($file, $link) = @_;
	my ($path, $anchor) = $link =~ /^([^#]*)(?:#(.*))?$/;
	my $target = length $path ? dirname($file) . "/$path" : $file;

	return -e $target unless defined $anchor && -e $target;
	return grep { heading_anchor($_) eq $anchor } slurp_file($target) =~ /^#+ +(.*)$/mg;
}

# The name that GitHub gives a heading.
sub heading_anchor
{
	my ($heading) = @_;

	return lc($heading) =~ s/[^\w\s-]//gr =~ s/\s/-/gr;
}

# A line with its tabs replaced by blanks.
sub expand
{
	my ($line) = @_;

	1 while $line =~ s/^([^\t]*)\t/$1 . ' ' x (4 - length($1) % 4)/e;
	return $line;
}

# Run the blocks of a page by one psql, which leaves the output of each in {output}
# and the exit status of shell and Python blocks in {status}.
sub run_blocks
{
	my ($page, @blocks) = @_;
	my $database = basename($page, '.md') =~ s/\W/_/gr;
	my $port = PostgreSQL::Test::Cluster::get_free_port();
	my $dir = make_scratch();
	my $script = "\\pset pager off\n";

	$node->safe_psql('postgres', qq(CREATE DATABASE "$database" TEMPLATE template0 ENCODING 'UTF8'));
	foreach my $number (0 .. $#blocks)
	{
		my $block = $blocks[$number];

		$block->{text} =~ s/\b8080\b/$port/g;
		$block->{missing} = missing($block);
		$script .= "\\echo\n\\echo \@\@ $number\n";
		next if $block->{missing};
		$script .= $block->{language} eq 'sql' ? $block->{text} : shell_call($dir, $number, $block);
	}
	append_to_file("$dir/.run/script", "$script\n\\echo\n\\echo \@\@ end\n");

	local %ENV = ($node->_get_env, PGDATABASE => $database, PATH => "$dir/.run:$ENV{PATH}");
	my $patience = 10 * $PostgreSQL::Test::Utils::timeout_default;
	system("cd '$dir' && timeout $patience psql -X -q <.run/script >.run/output 2>&1");
	my $output = slurp_file("$dir/.run/output");
	utf8::decode($output);
	$output =~ s/\b$port\b/8080/g;
	like($output, qr/^\@\@ end$/m, "$page: psql reached the end");
	foreach my $number (0 .. $#blocks)
	{
		($blocks[$number]{output}) = $output =~ /^\@\@ $number\n(.*?)(?=^\@\@ )/ms;
		($blocks[$number]{status}) = map { -e $_ ? slurp_file($_) : 0 } "$dir/.run/$number.status";
	}
	end_processes("$dir/.run/processes");
	return;
}

# A directory that looks like the checkout; what blocks write stays in it.
sub make_scratch
{
	my $dir = PostgreSQL::Test::Utils::tempdir();

	symlink $_, "$dir/" . basename($_) foreach glob("$top/*");
	mkdir "$dir/.run";
	chomp(my $path = $python ? qx(command -v $python) : '');
	symlink $path, "$dir/.run/python3" if $path;
	return $dir;
}

# Say which program the block needs and the machine does not have.
sub missing
{
	my ($block) = @_;

	my $serves = $block->{language} eq 'sh' && $block->{text} =~ /\bcurl\b|serve\.py|\$front/;

	return 'curl' if $serves && !$has_curl;
	return 'python3-psycopg2' if !$python && ($serves || $block->{language} eq 'python');
	return;
}

# Write the files of a block that is not SQL, and return the psql command that runs it.
# The block is sourced with all variables exported, and the next one reads them.
sub shell_call
{
	my ($dir, $number, $block) = @_;
	my $run = "$dir/.run";

	append_to_file("$run/$number", $block->{text});
	append_to_file("$run/$number.sh",
		$block->{language} eq 'python' ? "exec python3 $run/$number\n" : <<"END");
set -a -e -o pipefail
[ ! -e $run/variables ] || . $run/variables
. $run/$number
jobs -p >>$run/processes
export -p | grep -v ' BASHOPTS\\| SHELLOPTS' >$run/variables
END
	return "\\! bash $run/$number.sh </dev/null; echo \$? >$run/$number.status\n";
}

# End what the blocks of a page left running.
sub end_processes
{
	my ($file) = @_;

	return unless -e $file;
	kill 'TERM', $_ foreach grep { /^\d+$/ } split /\s+/, slurp_file($file);
	return;
}

# Give a block that was run its verdict.
sub check_block
{
	my ($page, $block) = @_;
	my $name = "$page:$block->{line}: $block->{language}";
	my $output = $block->{output} // '(did not run)';
	my $wants_error = defined $block->{expected} && $block->{expected} =~ /ERROR:/;

  SKIP:
	{
		skip "$name: there is no $block->{missing}", 1 if $block->{missing};

		my $ok = defined $block->{output} && $block->{status} == 0;

		$ok &&= $output !~ /\bERROR:|^(?:FATAL|invalid command|psql:)/m unless $wants_error;
		$ok &&= normal($output) =~ pattern($block->{expected}) if defined $block->{expected};
		ok($ok, $name . (defined $block->{expected} ? ', with its result' : ''))
		  or diag("--- block\n$block->{text}--- printed result\n", $block->{expected} // "(none)\n",
			"--- result (exit status ", $block->{status} =~ s/\s//r, ")\n$output");
	}
	return;
}

# Take out of a result what changes from run to run, and white space.
sub normal
{
	my ($text) = @_;

	$text =~ s/\b[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}\b/<uuid>/g;
	$text =~ s/\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d(?::?\d\d)?)?/<time>/g;
	$text =~ s/^(?:Server|Date): .*\n//mg;
	$text =~ s/^\(\d+ rows?\)$//mg;
	$text =~ s/^NOTICE:  deployed .*$//mg;
	$text =~ s/(Content-Length:) \d+/$1 <length>/g;
	$text =~ s/-{2,}(?:\+-{2,})*/--/g;
	$text =~ s/\s+//g;
	return $text;
}

# A pattern that matches the normal form of the printed result.
sub pattern
{
	my ($expected) = @_;
	my $pattern = join '.*?', map { quotemeta } split /\Q...\E/, normal($expected), -1;

	return qr/^$pattern$/s;
}
