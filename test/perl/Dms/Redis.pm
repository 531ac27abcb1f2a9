package Dms::Redis;

# A Redis server that a test controls, and a client of it.
#
#	my $redis = Dms::Redis->new("$dir/redis.sock");	# a server with a socket, and files beside it
#	my $value = $redis->ask('GET', 'key');		# undef: there is none
#	$redis->kill('STOP');				# and CONT, TERM, KILL

use strict;
use warnings;

use File::Basename;
use IO::Socket::UNIX;
use POSIX qw(WNOHANG);
use PostgreSQL::Test::Utils;

# Returns the reason why there can be no server here, or nothing.
sub missing
{
	return system('redis-server --version >/dev/null 2>&1') == 0 ? undef : 'redis-server is not installed';
}

sub new
{
	my ($class, $path, @options) = @_;
	my $self = bless { path => $path, options => \@options }, $class;

	$self->start;
	return $self;
}

sub path { return $_[0]{path} }

# Starts the server, with nothing in it.
sub start
{
	my ($self, @options) = @_;

	unlink $self->{path};
	$self->{pid} = fork // die "cannot fork: $!";
	if ($self->{pid} == 0)
	{
		open STDOUT, '>>', "$self->{path}.log";
		exec { 'redis-server' } 'redis-server', '--port', 0, '--unixsocket', $self->{path}, '--unixsocketperm', 700, '--dir', dirname($self->{path}),
		  '--save', '', '--appendonly', 'no', '--daemonize', 'no', @{ $self->{options} }, @options
		  or POSIX::_exit(1);
	}
	for (1 .. 20 * $PostgreSQL::Test::Utils::timeout_default)
	{
		$self->{client} = undef;
		return if defined eval { $self->ask('PING') } || $@ =~ /NOAUTH/;
		die "redis-server has ended; see $self->{path}.log\n" if waitpid($self->{pid}, WNOHANG) == $self->{pid};
		select undef, undef, undef, 0.05;
	}
	die "redis-server does not answer\n";
}

# Sends a signal to the server; waits for its end if that ends it.
sub kill
{
	my ($self, $signal) = @_;

	CORE::kill($signal, $self->{pid}) or die "there is no server\n";
	return if $signal eq 'STOP' || $signal eq 'CONT';
	waitpid $self->{pid}, 0;
	$self->{pid} = undef;
	$self->{client} = undef;
	return;
}

# Returns the answer to a command; errors die.
sub ask
{
	my ($self, @words) = @_;

	return ($self->ask_all([@words]))[0];
}

# Returns the answers to commands that are sent together.
sub ask_all
{
	my ($self, @commands) = @_;

	$self->{client} //= IO::Socket::UNIX->new(Peer => $self->{path}) or die "cannot connect: $!\n";
	print { $self->{client} } map { my $command = $_; '*' . @$command . "\r\n", map { '$' . length() . "\r\n$_\r\n" } @$command } @commands;
	$self->{client}->flush;
	return map { $self->answer } @commands;
}

# Reads an answer.
sub answer
{
	my ($self) = @_;
	my $client = $self->{client};
	my $line = readline $client // die "the server has closed the connection\n";
	my ($kind, $rest) = $line =~ /^(.)(.*)\r\n$/ or die "not an answer: $line\n";

	die "$rest\n" if $kind eq '-';
	return $rest if $kind eq '+' || $kind eq ':';
	return undef if $rest < 0;
	return [ map { $self->answer } 1 .. $rest ] if $kind eq '*';
	my $value;
	read $client, $value, $rest;
	readline $client;
	return $value;
}

# Returns all keys with a prefix, and their values.
sub values_of
{
	my ($self, $prefix) = @_;
	my $place = 0;
	my %values;

	do
	{
		my $answer = $self->ask('SCAN', $place, 'MATCH', "$prefix*", 'COUNT', 1000);
		my @keys = @{ $answer->[1] };

		$place = $answer->[0];
		@values{@keys} = @{ $self->ask('MGET', @keys) } if @keys;
	} while ($place ne '0');
	delete $values{$_} foreach grep { !defined $values{$_} } keys %values;
	return \%values;
}

sub DESTROY
{
	my ($self) = @_;

	return unless $self->{pid};
	local $?;
	CORE::kill('CONT', $self->{pid});
	CORE::kill('KILL', $self->{pid});
	waitpid $self->{pid}, 0;
	return;
}

1;
