package Dms::Session;

# A psql that a test talks to.
#
#	my $session = Dms::Session->new($node, $database);
#	$session->say("SELECT 1;\n");			# goes on at once
#	my $out = $session->ask("SELECT 1;\n");		# waits for what comes of it

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

# The process of the server that it talks to.
sub pid { return $_[0]{pid} }

# Say something, and do not wait for what comes of it.
sub say
{
	my ($self, $text) = @_;

	$self->{timeout}->start;
	$self->{in} .= $text;
	$self->{psql}->pump_nb while length $self->{in};
	return;
}

# Say something, and wait until that and all before is done; returns all that came.
sub ask
{
	my ($self, $text) = @_;

	$self->say($text);
	$self->expect;
	$self->{psql}->pump until $self->answered;
	return $self->answer;
}

# The same step by step, for tests that do something else meanwhile: expect() once,
# then look() until it is true, then answer().
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
