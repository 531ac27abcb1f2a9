package Dms::Session;

# A psql session that a test controls.
#
#	my $session = Dms::Session->new($node, $database);
#	$session->say("SELECT 1;\n");			# returns at once
#	my $out = $session->ask("SELECT 1;\n");		# waits for the result

use strict;
use warnings;

use IPC::Run;
use PostgreSQL::Test::Utils;

sub new
{
	my ($class, $node, $database) = @_;
	my $self = bless { in => '', out => '', asked => 0 }, $class;

	$self->{timeout} = IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default);
	$self->{psql} = IPC::Run::start(
		[ 'psql', '-X', '-q', '-A', '-t', '-v', 'ON_ERROR_STOP=0', '-d', $node->connstr($database) ],
		'<', \$self->{in}, '>', \$self->{out}, '2>&1', $self->{timeout});
	$self->{pid} = $self->ask("SELECT pg_backend_pid();\n") =~ s/\s//gr;
	return $self;
}

# Returns the process id of the session's backend.
sub pid { return $_[0]{pid} }

# Sends SQL without waiting for its result.
sub say
{
	my ($self, $text) = @_;

	$self->{timeout}->start;
	$self->{in} .= $text;
	$self->{psql}->pump_nb while length $self->{in};
	return;
}

# Sends SQL, waits until it and all SQL before it is done, and returns all output.
sub ask
{
	my ($self, $text) = @_;

	$self->say($text);
	$self->expect;
	$self->{psql}->pump until $self->answered;
	return $self->answer;
}

# ask() in steps, for tests that do something else meanwhile: call expect() once, then
# look() until it returns true, then answer().
sub expect
{
	my ($self) = @_;

	$self->{word} = 'answer ' . ++$self->{asked};
	$self->say("\\echo $self->{word}\n");
	return;
}

sub look
{
	my ($self) = @_;

	$self->{psql}->pump_nb;
	return $self->answered;
}

sub answered { return $_[0]{out} =~ /^$_[0]{word}$/m }

sub answer
{
	my ($self) = @_;
	my $out = $self->{out};

	$self->{out} = '';
	return $out =~ s/^$self->{word}\n//mr;
}

sub finish
{
	my ($self) = @_;

	$self->{timeout}->start;
	$self->{psql}->finish;
	return;
}

1;
